// SPDX-License-Identifier: BSD-3-Clause
//
// As seeded.c, in C++.
#include "choose.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

static bool is_racy;
static int total;

template <class Type> struct symmetric_delete {
    void operator()(Type *block) const
    {
        shmem_free(block);
    }
};
template <class Type> using symmetric = std::unique_ptr<Type[], symmetric_delete<Type>>;

template <class Type> symmetric<Type> make_symmetric(size_t n)
{
    return symmetric<Type>(static_cast<Type *>(shmem_calloc(n, sizeof(Type))));
}

// A vector is sent; the mistake: it is gone before the transfer is complete.
static void vector_source()
{
    auto target = make_symmetric<long>(256);
    {
        std::vector<long> source(256, me);
        shmem_putmem_nbi(target.get(), source.data(), source.size() * sizeof(long), right); // vector_source
        if (!is_racy)
            shmem_quiet();
    } // vector_source
    shmem_barrier_all();
    total += static_cast<int>(target[5]);
}

// One thread sends, another counts what has been sent; the mistake: it sends once more without waiting.
static void sender_thread()
{
    static int inbox;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_sent = false;
    std::thread sender([&] {
        shmem_int_p(&inbox, 1, right); // sender_thread
        shmem_quiet();
        const std::lock_guard<std::mutex> guard(mutex);
        is_sent = true;
        changed.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    if (!is_racy)
        changed.wait(lock, [&] { return is_sent; });
    lock.unlock();
    if (is_racy || is_sent)
        shmem_int_p(&inbox, 2, right); // sender_thread
    sender.join();
}

// Samples are sorted into the memory of their owners; the mistake: the next room there is looked up by a load.
class owner_lists
{
    symmetric<int> samples = make_symmetric<int>(64);
    symmetric<int> n_samples = make_symmetric<int>(1);

  public:
    void add(int sample)
    {
        const int owner = sample % n_pes;
        const int at = is_racy && owner == me ? n_samples[0]++                                      // sample_sort
                                              : shmem_int_atomic_fetch_inc(n_samples.get(), owner); // sample_sort
        shmem_int_p(&samples[at % 64], sample, owner);
        shmem_quiet();
    }
    int sum() const
    {
        shmem_barrier_all();
        return std::accumulate(&samples[0], &samples[0] + n_samples[0], 0);
    }
};

static void sample_sort()
{
    static owner_lists *const lists = new owner_lists;
    for (int i = 0; i < 9; i++)
        lists->add(3 * i + (i + me) % 3);
    if (!is_racy)
        total += lists->sum();
}

static const struct program programs[] = {PROGRAM(vector_source), PROGRAM(sender_thread), PROGRAM(sample_sort)};

int main(int argc, char **argv)
{
    (void)left;
    is_racy = argc > 2 && !strcmp(argv[2], "racy");
    return run_chosen(argc, argv, programs, sizeof programs / sizeof *programs);
}
