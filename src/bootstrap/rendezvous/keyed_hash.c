/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SipHash-2-4. Words are little-endian, whatever the machine's are, so that the published results hold.
 */
#include "bootstrap/rendezvous/keyed_hash.h"

#include <endian.h>
#include <string.h>

struct sip_state {
    uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(struct sip_state *state, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        state->a += state->b;
        state->c += state->d;
        state->b = rotate(state->b, 13) ^ state->a;
        state->d = rotate(state->d, 16) ^ state->c;
        state->a = rotate(state->a, 32) + state->d;
        state->c += state->b;
        state->b = rotate(state->b, 17) ^ state->c;
        state->d = rotate(state->d, 21) ^ state->a;
        state->c = rotate(state->c, 32);
    }
}

static void absorb(struct sip_state *state, uint64_t word)
{
    state->d ^= word;
    mix(state, 2);
    state->a ^= word;
}

static uint64_t squeeze(struct sip_state *state)
{
    mix(state, 4);
    return htole64(state->a ^ state->b ^ state->c ^ state->d);
}

/* The last word has what is left of the data, and the number of bytes modulo 256 in its highest one. */
static void absorb_all(struct sip_state *state, const unsigned char *data, size_t size)
{
    uint64_t word;
    size_t at = 0;
    for (; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        absorb(state, le64toh(word));
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; at + i < size; i++)
        word |= (uint64_t)data[at + i] << (8 * i);
    absorb(state, word);
}

struct shmemi_key shmemi_keyed_hash(const struct shmemi_key *key, const void *data, size_t size)
{
    const uint64_t first = le64toh(key->word[0]), second = le64toh(key->word[1]);
    struct sip_state state = {
        first ^ UINT64_C(0x736f6d6570736575),
        second ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        first ^ UINT64_C(0x6c7967656e657261),
        second ^ UINT64_C(0x7465646279746573),
    };
    struct shmemi_key hash;
    absorb_all(&state, data, size);
    state.c ^= 0xee;
    hash.word[0] = squeeze(&state);
    state.b ^= 0xdd;
    hash.word[1] = squeeze(&state);
    return hash;
}
