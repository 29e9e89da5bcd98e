// Processors of threads that work together.
#define _GNU_SOURCE
#include <stdint.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Returns the id of the calling thread. */
int32_t thread_here(void) { return (int32_t)syscall(SYS_gettid); }

/**
 * Makes the next wake-up of a thread choose among the processors of the calling thread without the one on which it runs.
 * Changes nothing if there is no other.
 */
void wake_elsewhere(int32_t thread) {
  cpu_set_t processors;
  const int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(0, sizeof processors, &processors) != 0) return;
  CPU_CLR(here, &processors);
  if (CPU_COUNT(&processors) > 0) sched_setaffinity(thread, sizeof processors, &processors);
}

/** Permits the calling thread to run on all processors of another thread. */
void run_anywhere(int32_t thread) {
  cpu_set_t processors;
  if (sched_getaffinity(thread, sizeof processors, &processors) == 0) sched_setaffinity(0, sizeof processors, &processors);
}
#else
int32_t thread_here(void) { return 0; }
void wake_elsewhere(int32_t thread) { (void)thread; }
void run_anywhere(int32_t thread) { (void)thread; }
#endif
