import { tridiagonalEigen } from './divide-and-conquer';
import { mergeScratch } from './merge-memory';
import { gemmScratch } from './gemm';
import { teamGemm } from './team';
import { tridiagonalise, tridiagonaliseScratch } from './tridiagonal';
import { tridiagonalQl } from './tridiagonal-ql';
import { tridiagonalRange } from './tridiagonal-range';
import { dot } from './vectors';

/** Number of Householder vectors applied together. */
const WIDTH: i32 = 64;

export function symmetricEigenvaluesScratch(n: i32): usize {
  return (<usize>n << 3) * 4 + tridiagonaliseScratch(n);
}

export function symmetricEigenScratch(n: i32): usize {
  const back = (<usize>n << 3) * <usize>(3 * WIDTH) + (<usize>(2 * WIDTH * WIDTH) << 3) + gemmScratch();
  return (<usize>n << 3) * 3 + max(tridiagonaliseScratch(n), max(mergeScratch(n), back));
}

/**
 * Computes the eigenvalues of a symmetric [n x n] matrix, unsorted. The matrix is also the workspace. The lower
 * triangle keeps its entries while the upper one is reduced, and the matrix is restored at the end.
 */
export function symmetricEigenvalues(a: usize, n: i32, values: usize, scratch: usize): bool {
  const bytes = <usize>n << 3;
  const diagonal = scratch;
  const e = diagonal + bytes;
  const tau = e + bytes;
  saveDiagonal(a, n, diagonal);
  tridiagonalise(a, n, values, e, tau, tau + bytes);
  restore(a, n, diagonal);
  return tridiagonalQl(values, e, n, 0, 0, 0);
}

/** Computes the smallest and the largest eigenvalue, [2], with the scratch of `symmetricEigenvalues`. */
export function symmetricEigenvalueRange(a: usize, n: i32, range: usize, scratch: usize): bool {
  const bytes = <usize>n << 3;
  const diagonal = scratch;
  const e = diagonal + bytes;
  const tau = e + bytes;
  const d = tau + bytes;
  saveDiagonal(a, n, diagonal);
  tridiagonalise(a, n, d, e, tau, d + bytes);
  restore(a, n, diagonal);
  return tridiagonalRange(d, e, n, range);
}

/**
 * Computes the eigenvalues, ascending, and the unit eigenvectors of the largest `count` as the last rows of `vectors`,
 * [n x n]; the other rows are workspace. The matrix is restored at the end.
 */
export function symmetricEigen(a: usize, n: i32, count: i32, values: usize, vectors: usize, scratch: usize): bool {
  const bytes = <usize>n << 3;
  const diagonal = scratch;
  const e = diagonal + bytes;
  const tau = e + bytes;
  const rest = tau + bytes;
  saveDiagonal(a, n, diagonal);
  tridiagonalise(a, n, values, e, tau, rest);
  const converged = tridiagonalEigen(values, e, n, count, vectors, rest);
  if (converged) transformBack(a, n, tau, vectors + <usize>(n - count) * bytes, count, rest);
  restore(a, n, diagonal);
  return converged;
}

function saveDiagonal(a: usize, n: i32, to: usize): void {
  for (let i = 0; i < n; i++) store<f64>(to + (<usize>i << 3), load<f64>(a + <usize>i * (<usize>(n + 1) << 3)));
}

/** Restores the upper triangle from the lower one and the saved diagonal, in blocks of order 32. */
function restore(a: usize, n: i32, diagonal: usize): void {
  const ld = <usize>n << 3;
  for (let i = 0; i < n; i++) store<f64>(a + <usize>i * (ld + 8), load<f64>(diagonal + (<usize>i << 3)));
  for (let ib = 0; ib < n; ib += 32) {
    const iEnd = min(ib + 32, n);
    for (let jb = ib; jb < n; jb += 32) {
      const jEnd = min(jb + 32, n);
      for (let i = ib; i < iEnd; i++) {
        for (let j = max(jb, i + 1); j < jEnd; j++) {
          store<f64>(a + <usize>i * ld + (<usize>j << 3), load<f64>(a + <usize>j * ld + (<usize>i << 3)));
        }
      }
    }
  }
}

/**
 * Replaces the rows of Z, [rows x n], by the rows of Z Q'. Q is the product of the Householder reflections in the upper
 * triangle. Blocks are applied from the last to the first, each as I - V' T' V (compact WY form, Schreiber & Van Loan
 * (1989), SIAM J. Sci. Stat. Comput. 10(1), 53-57).
 */
function transformBack(a: usize, n: i32, tau: usize, z: usize, rows: i32, scratch: usize): void {
  const ld = <usize>n << 3;
  const v = scratch;
  const first = v + <usize>WIDTH * ld; // Z V' [rows x WIDTH]
  const second = first + <usize>WIDTH * ld; // times T'
  const t = second + <usize>WIDTH * ld;
  const small = t + (<usize>(WIDTH * WIDTH) << 3);
  const product = small + (<usize>(WIDTH * WIDTH) << 3);
  for (let k = ((n - 1) / WIDTH) * WIDTH; k >= 0; k -= WIDTH) {
    const width = min(WIDTH, n - k);
    const start = k + 1;
    const m = n - start;
    if (m <= 0) continue;
    copyReflectors(a, n, k, width, v);
    formFactorT(v, n, start, width, tau + (<usize>k << 3), t);
    const offset = <usize>start << 3;
    const row = <usize>width << 3;
    memory.fill(first, 0, <usize>rows * row);
    memory.fill(second, 0, <usize>rows * row);
    teamGemm(rows, m, width, z + offset, ld, 8, v + offset, 8, ld, first, row, 1, false, product);
    teamGemm(rows, width, width, first, row, 8, t, 8, <usize>WIDTH << 3, second, row, 1, false, product);
    teamGemm(rows, width, m, second, row, 8, v + offset, ld, 8, z + offset, ld, -1, false, product);
  }
}

/** Copies reflectors k to k + width - 1 as rows over all columns, zero before their first entry. */
function copyReflectors(a: usize, n: i32, k: i32, width: i32, v: usize): void {
  const ld = <usize>n << 3;
  for (let p = 0; p < width; p++) {
    const row = v + <usize>p * ld;
    const from = min(k + p + 1, n);
    memory.fill(row, 0, <usize>from << 3);
    memory.copy(row + (<usize>from << 3), a + <usize>(k + p) * ld + (<usize>from << 3), <usize>(n - from) << 3);
  }
}

/** Computes the upper triangular T of the forward product H_k ... H_(k + width - 1) = I - V T V'. */
function formFactorT(v: usize, n: i32, start: i32, width: i32, tau: usize, t: usize): void {
  const ld = <usize>n << 3;
  const row = <usize>WIDTH << 3;
  memory.fill(t, 0, <usize>WIDTH * row);
  for (let p = 0; p < width; p++) {
    const factor = load<f64>(tau + (<usize>p << 3));
    store<f64>(t + <usize>p * (row + 8), factor);
    const from = <usize>(start + p) << 3;
    const column = t + (<usize>p << 3);
    for (let q = 0; q < p; q++) {
      store<f64>(column + <usize>q * row, -factor * dot(v + <usize>q * ld + from, v + <usize>p * ld + from, max(n - start - p, 0)));
    }
    // Computes column := T[0..p, 0..p] column from the top. Row q needs only entries below it, which are not changed
    // yet.
    for (let q = 0; q < p; q++) {
      let total: f64 = 0;
      for (let s = q; s < p; s++) total += load<f64>(t + <usize>q * row + (<usize>s << 3)) * load<f64>(column + <usize>s * row);
      store<f64>(column + <usize>q * row, total);
    }
  }
}
