// Instruction sets of this processor.
#include <stdint.h>

/** Returns the address of a buffer. */
uintptr_t address_of(void *buffer) { return (uintptr_t)buffer; }

/** Returns the sum of the instruction sets that the processor and the system support: 1 is AVX2, 2 is AVX-512, 4 is NEON. */
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
