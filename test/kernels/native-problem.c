// Solves one problem by the native kernels of an instruction set, for tests on an emulator: words say what, the operands
// come on the standard input, the result goes to the output.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(set)                                                                                                          \
  int64_t product_scratch_##set(void);                                                                                        \
  void product_##set(int32_t, int32_t, int32_t, const double *, ptrdiff_t, ptrdiff_t, const double *, ptrdiff_t, ptrdiff_t,   \
                     double *, ptrdiff_t, double, int32_t, double *);                                                         \
  void symmetric_rank_k_##set(const double *, int32_t, int32_t, double *, double *);                                          \
  int32_t cholesky_##set(double *, int32_t, double *);                                                                        \
  void solve_lower_##set(const double *, int32_t, double *, int32_t, double *);                                               \
  void solve_lower_transposed_##set(const double *, int32_t, double *, int32_t, double *);                                    \
  void symv_rows_##set(const double *, int32_t, ptrdiff_t, const double *, double *, int32_t, int32_t);                       \
  static void solve_##set(const char *kernel, const long *n, double **at, double *scratch) {                                  \
    if (!strcmp(kernel, "rank-k")) symmetric_rank_k_##set(at[0], n[0], n[1], at[1], scratch);                                 \
    else if (!strcmp(kernel, "product"))                                                                                      \
      product_##set(n[0], n[1], n[2], at[0], n[3] ? 1 : n[1], n[3] ? n[0] : 1, at[1], n[4] ? 1 : n[2], n[4] ? n[1] : 1,       \
                    at[2], n[2], n[5] ? -1 : 1, n[6], scratch);                                                               \
    else if (!strcmp(kernel, "cholesky")) cholesky_##set(at[0], n[0], scratch);                                               \
    else if (!strcmp(kernel, "solve")) solve_lower_##set(at[0], n[0], at[1], n[1], scratch);                                  \
    else if (!strcmp(kernel, "solve-transposed")) solve_lower_transposed_##set(at[0], n[0], at[1], n[1], scratch);            \
    else if (!strcmp(kernel, "symmetric-product")) symv_rows_##set(at[0], n[0], n[0], at[1], at[2], n[1], n[2]);              \
    else exit(2);                                                                                                             \
  }

#if defined(__aarch64__)
DECLARE(neon)
#else
DECLARE(avx2)
DECLARE(avx512)
#endif

static double *doubles(long count) { return aligned_alloc(64, (size_t)(count * 8 + 127) / 64 * 64); }

/** Words: set, kernel, number of operands, lengths of the operands, sizes. */
int main(int count, char **words) {
  const int operands = atoi(words[3]);
  double *at[3];
  long last = 0;
  for (int k = 0; k < operands; k++) {
    last = atol(words[4 + k]);
    at[k] = doubles(last);
    if (fread(at[k], 8, last, stdin) != (size_t)last) return 3;
  }
  long sizes[8] = {0};
  for (int k = 4 + operands; k < count; k++) sizes[k - 4 - operands] = atol(words[k]);
  double *scratch = doubles(1 << 20);
#if defined(__aarch64__)
  solve_neon(words[2], sizes, at, scratch);
#else
  if (!strcmp(words[1], "avx2")) solve_avx2(words[2], sizes, at, scratch);
  else solve_avx512(words[2], sizes, at, scratch);
#endif
  return fwrite(at[operands - 1], 8, last, stdout) == (size_t)last ? 0 : 4;
}
