// A x for a symmetric matrix A, bit-identical to `symvRows` in `kernels/wasm/vectors.ts`. The product of a row with x is summed
// in two lanes, for even and for odd columns. The contribution of a row to later entries does not depend on the vector width.
#include "lanes.h"

typedef double pair __attribute__((vector_size(16)));
typedef double pair_anywhere __attribute__((vector_size(16), aligned(8), may_alias));

INLINE pair load_pair(const double *from) { return *(const pair_anywhere *)from; }

/** Multiplies the square block on the diagonal of four rows. */
static void add_corner(const double *a, ptrdiff_t step, const double *x, double *out) {
  for (int r = 0; r < 4; r++) {
    double total = 0;
    for (int s = 0; s < 4; s++) total += (r <= s ? a[r * step + s] : a[s * step + r]) * x[s];
    out[r] += total;
  }
}

/** Multiplies four rows of n columns right of their diagonal block: computes their products with x and their contributions to later entries. */
static void add_four(const double *a, ptrdiff_t step, int32_t n, const double *head, const double *x, double *out_head, double *out) {
  const double *const rows[4] = {a, a + step, a + 2 * step, a + 3 * step};
  pair sums[4] = {{0}, {0}, {0}, {0}};
  const vector own[4] = {(vector){0} + head[0], (vector){0} + head[1], (vector){0} + head[2], (vector){0} + head[3]};
  int32_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    const vector left = load(rows[0] + j) * own[0] + load(rows[1] + j) * own[1];
    const vector right = load(rows[2] + j) * own[2] + load(rows[3] + j) * own[3];
    store(out + j, load(out + j) + (left + right));
    EACH (int p = 0; p < LANES; p += 2) {
      const pair value = load_pair(x + j + p);
      EACH (int r = 0; r < 4; r++) sums[r] += load_pair(rows[r] + j + p) * value;
    }
  }
  for (; j + 2 <= n; j += 2) {
    const pair value = load_pair(x + j);
    EACH (int r = 0; r < 4; r++) sums[r] += load_pair(rows[r] + j) * value;
    for (int32_t s = j; s < j + 2; s++)
      out[s] += (rows[0][s] * head[0] + rows[1][s] * head[1]) + (rows[2][s] * head[2] + rows[3][s] * head[3]);
  }
  double totals[4];
  EACH (int r = 0; r < 4; r++) totals[r] = sums[r][0] + sums[r][1];
  if (j < n) {
    for (int r = 0; r < 4; r++) totals[r] += rows[r][j] * x[j];
    out[j] += (rows[0][j] * head[0] + rows[1][j] * head[1]) + (rows[2][j] * head[2] + rows[3][j] * head[3]);
  }
  for (int r = 0; r < 4; r++) out_head[r] += totals[r];
}

/**
 * Computes out += A x for the rows [first, last) of the upper triangle. The distance between rows is `step`. `first` is a
 * multiple of 4, and `last` is a multiple of 4 or n.
 */
void KERNEL(symv_rows)(const double *a, int32_t n, ptrdiff_t step, const double *x, double *out, int32_t first, int32_t last) {
  int32_t i = first;
  for (; i + 4 <= last; i += 4) {
    const double *corner = a + i * (step + 1);
    add_corner(corner, step, x + i, out + i);
    add_four(corner + 4, step, n - i - 4, x + i, x + i + 4, out + i, out + i + 4);
  }
  for (; i < last; i++) {
    const double *row = a + i * step;
    double total = row[i] * x[i];
    for (int32_t j = i + 1; j < n; j++) {
      total += row[j] * x[j];
      out[j] += row[j] * x[i];
    }
    out[i] += total;
  }
}
