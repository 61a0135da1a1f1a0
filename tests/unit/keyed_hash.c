/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keyed hash gives the results that its authors have published (SipHash-2-4, 128 bits: key 00 01 ... 0f, data 00 01 ...),
 * and others as soon as a bit of the key or of the data is another one.
 */
#include "bootstrap/rendezvous/keyed_hash.h"
#include "unit.h"

#include <string.h>

enum { KEY_BYTES = 16, DATA_MOST = 64 };

static const struct {
    size_t size;
    unsigned char hash[KEY_BYTES];
} published[] = {
    {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
    {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
    {7, {0xa1, 0xf1, 0xeb, 0xbe, 0xd8, 0xdb, 0xc1, 0x53, 0xc0, 0xb8, 0x4a, 0xa6, 0x1f, 0xf0, 0x82, 0x39}},
    {8, {0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97, 0xb4}},
    {15, {0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9}},
    {63, {0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c}},
};

static bool gives(const unsigned char *key_bytes, const unsigned char *data, size_t size, const unsigned char *expected)
{
    struct shmemi_key key, hash;
    memcpy(&key, key_bytes, sizeof key);
    hash = shmemi_keyed_hash(&key, data, size);
    return !memcmp(&hash, expected, sizeof hash);
}

int main(void)
{
    unsigned char key[KEY_BYTES], data[DATA_MOST];
    for (unsigned i = 0; i < DATA_MOST; i++)
        data[i] = (unsigned char)i;
    memcpy(key, data, sizeof key);
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        const size_t size = published[i].size;
        CHECK(gives(key, data, size, published[i].hash));
        CHECK(!gives(key, data, size + 1, published[i].hash));
        for (size_t bit = 0; bit < 8 * (sizeof key + size); bit++) {
            unsigned char *byte = bit < 8 * sizeof key ? &key[bit / 8] : &data[bit / 8 - sizeof key];
            *byte ^= (unsigned char)(1 << bit % 8);
            CHECK(!gives(key, data, size, published[i].hash));
            *byte ^= (unsigned char)(1 << bit % 8);
        }
    }
    return 0;
}
