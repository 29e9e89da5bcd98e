// What this processor can run.
#include <stdint.h>

/** The address of a buffer. */
uintptr_t address_of(void *buffer) { return (uintptr_t)buffer; }

/** The instruction sets that this processor and its system have: 1 AVX2, 2 AVX-512, 4 NEON, added up. */
int32_t sets_here(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return (__builtin_cpu_supports("avx2") ? 1 : 0) + (__builtin_cpu_supports("avx512f") ? 2 : 0);
#elif defined(__aarch64__)
  return 4;
#else
  return 0;
#endif
}
