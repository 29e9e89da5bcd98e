import { gemmScratch } from './gemm';
import { teamGemm, teamSymv, teamSymvScratch } from './team';
import { addScaled, addTransposed, dot, gemv } from './vectors';

/** Number of columns reduced between two updates of the trailing matrix. */
const WIDTH: i32 = 32;

/**
 * Returns the scratch size. The scratch contains two small vectors, the panels V and W, a copy of V, and the panel of
 * the products.
 */
export function tridiagonaliseScratch(n: i32): usize {
  return (<usize>WIDTH << 5) + <usize>(3 * WIDTH) * (<usize>n << 3) + max(gemmScratch(), teamSymvScratch(n));
}

/**
 * Reduces a symmetric matrix, upper triangle row-major, to T = Q' A Q: `d` is the diagonal, e[i] couples i and i + 1
 * (e[n-1] = 0). Row i right of the diagonal becomes the Householder vector v_i (its first entry 1), `tau` its factor:
 * H_i = I - tau v v', Q = H_0 H_1 ... H_(n-2). The part below the diagonal is neither read nor written.
 *
 * The rows of a block are updated one by one, the trailing matrix only after the block, by one product of rank 2 x
 * WIDTH. A team shares both halves of the work: the products with the trailing matrix and its updates.
 */
export function tridiagonalise(a: usize, n: i32, d: usize, e: usize, tau: usize, scratch: usize): void {
  const ld = <usize>n << 3;
  const v = scratch + (<usize>WIDTH << 5);
  const w = v + <usize>WIDTH * ld;
  const update = w + <usize>(2 * WIDTH) * ld;
  for (let k = 0; k < n; k += WIDTH) {
    const width = min(WIDTH, n - k);
    for (let p = 0; p < width; p++) reduceRow(a, n, k + p, p, d, e, tau, v, w, scratch, update);
    const after = k + width;
    if (after < n) {
      const skip = <usize>after << 3;
      packTwice(v, w, width, ld);
      const m = n - after;
      teamGemm(m, 2 * width, m, v + skip, 8, ld, v + <usize>width * ld + skip, ld, 8, a + <usize>after * (ld + 8), ld, -1, true, update);
    }
  }
}

/** Copies V, W and V one below the other, starting at V. The product [V W]' [W V] is then a single product. */
function packTwice(v: usize, w: usize, width: i32, ld: usize): void {
  const bytes = <usize>width * ld;
  memory.copy(v + bytes, w, bytes);
  memory.copy(v + 2 * bytes, v, bytes);
}

/**
 * Updates row i and computes its Householder vector. Also computes the vector w for the update of the trailing matrix.
 */
function reduceRow(a: usize, n: i32, i: i32, p: i32, d: usize, e: usize, tau: usize, v: usize, w: usize, small: usize, sums: usize): void {
  const ld = <usize>n << 3;
  const here = <usize>i << 3;
  const row = a + <usize>i * ld + here;
  // Computes a_i -= V' (W column i) + W' (V column i) over the columns i..n.
  gather(w + here, ld, p, small);
  addTransposed(v + here, p, n - i, ld, small, row, -1);
  gather(v + here, ld, p, small);
  addTransposed(w + here, p, n - i, ld, small, row, -1);
  store<f64>(d + here, load<f64>(row));
  if (i == n - 1) {
    store<f64>(e + here, 0);
    store<f64>(tau + here, 0);
    return;
  }
  const m = n - i - 1;
  const x = row + 8;
  const factor = reflect(x, m, e + here);
  store<f64>(tau + here, factor);
  const vp = v + <usize>p * ld + here + 8;
  const wp = w + <usize>p * ld + here + 8;
  memory.copy(vp, x, <usize>m << 3);
  memory.fill(wp, 0, <usize>m << 3);
  if (factor == 0) return;
  teamSymv(a + <usize>(i + 1) * (ld + 8), m, ld, vp, wp, sums);
  gemv(w + here + 8, p, m, ld, vp, small);
  addTransposed(v + here + 8, p, m, ld, small, wp, -1);
  gemv(v + here + 8, p, m, ld, vp, small);
  addTransposed(w + here + 8, p, m, ld, small, wp, -1);
  scale(factor, wp, m);
  addScaled(-0.5 * factor * dot(wp, vp, m), vp, wp, m);
}

/**
 * Computes the Householder vector of x in place, with a first entry of 1. Stores the first entry of the reflected x.
 * Returns tau, which is 0 if x needs no reflection.
 */
function reflect(x: usize, m: i32, beta: usize): f64 {
  const alpha = load<f64>(x);
  const tail = m > 1 ? dot(x + 8, x + 8, m - 1) : 0;
  store<f64>(x, 1);
  if (tail == 0) {
    store<f64>(beta, alpha);
    return 0;
  }
  const norm = sqrt(alpha * alpha + tail);
  const b = alpha >= 0 ? -norm : norm;
  scale(1 / (alpha - b), x + 8, m - 1);
  store<f64>(beta, b);
  return (b - alpha) / b;
}

function gather(from: usize, stride: usize, count: i32, to: usize): void {
  for (let q = 0; q < count; q++) store<f64>(to + (<usize>q << 3), load<f64>(from + <usize>q * stride));
}

export function scale(factor: f64, x: usize, n: i32): void {
  for (let i = 0; i < n; i++) store<f64>(x + (<usize>i << 3), factor * load<f64>(x + (<usize>i << 3)));
}
