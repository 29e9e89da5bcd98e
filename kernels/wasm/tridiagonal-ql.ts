/** Maximum number of sweeps per eigenvalue; a handful are usual. */
const SWEEPS_MAX: i32 = 60;

/**
 * Computes the eigenvalues of a symmetric tridiagonal matrix by implicit QL, in place and unsorted. If `rows` is given,
 * also rotates the rows of that [n x columns] matrix, which are `ld` bytes apart. Returns false if an eigenvalue does
 * not converge.
 */
export function tridiagonalQl(d: usize, e: usize, n: i32, rows: usize, columns: i32, ld: usize): bool {
  const floor = f64.EPSILON * f64.EPSILON * findLargest(d, e, n);
  let blockEnd = -1;
  for (let l = 0; l < n; l++) {
    for (let sweep = 0; ; sweep++) {
      const m = findFirstNegligible(d, e, n, l, floor);
      if (m == l) break;
      if (l > blockEnd) {
        blockEnd = m;
        if (abs(load<f64>(getAddress(d, m))) < abs(load<f64>(getAddress(d, l)))) reverse(d, e, l, m, rows, columns, ld);
      }
      if (sweep == SWEEPS_MAX) return false;
      qlSweep(d, e, l, m, rows, columns, ld);
    }
  }
  return true;
}

// @ts-ignore: decorator
@inline
function getAddress(p: usize, i: i32): usize {
  return p + (<usize>i << 3);
}

function findLargest(d: usize, e: usize, n: i32): f64 {
  let result: f64 = 0;
  for (let i = 0; i < n; i++) result = max(result, max(abs(load<f64>(getAddress(d, i))), abs(load<f64>(getAddress(e, i)))));
  return result;
}

/**
 * Returns the first negligible off-diagonal entry. `floor` is far below the rounding errors of the matrix. It ends
 * iterations on noise between zero eigenvalues.
 */
function findFirstNegligible(d: usize, e: usize, n: i32, l: i32, floor: f64): i32 {
  let m = l;
  while (m < n - 1) {
    const neighbours = abs(load<f64>(getAddress(d, m))) + abs(load<f64>(getAddress(d, m + 1)));
    if (abs(load<f64>(getAddress(e, m))) <= f64.EPSILON * neighbours + floor) break;
    m++;
  }
  return m;
}

/** Reverses a block, so that its large entries come last. If they come first, QL converges slowly or not at all. */
function reverse(d: usize, e: usize, l: i32, m: i32, rows: usize, columns: i32, ld: usize): void {
  for (let i = l, j = m; i < j; i++, j--) {
    exchange(getAddress(d, i), getAddress(d, j), 1);
    if (columns > 0) exchange(rows + <usize>i * ld, rows + <usize>j * ld, columns);
  }
  for (let i = l, j = m - 1; i < j; i++, j--) exchange(getAddress(e, i), getAddress(e, j), 1);
}

function exchange(x: usize, y: usize, n: i32): void {
  for (let i = 0; i < n; i++) {
    const value = load<f64>(getAddress(x, i));
    store<f64>(getAddress(x, i), load<f64>(getAddress(y, i)));
    store<f64>(getAddress(y, i), value);
  }
}

function qlSweep(d: usize, e: usize, l: i32, m: i32, rows: usize, columns: i32, ld: usize): void {
  const el = load<f64>(getAddress(e, l));
  const dl = load<f64>(getAddress(d, l));
  let g = (load<f64>(getAddress(d, l + 1)) - dl) / (2 * el);
  let r = sqrt(g * g + 1);
  g = load<f64>(getAddress(d, m)) - dl + el / (g + (g >= 0 ? r : -r));
  let s: f64 = 1;
  let c: f64 = 1;
  let p: f64 = 0;
  for (let i = m - 1; i >= l; i--) {
    const ei = load<f64>(getAddress(e, i));
    const f = s * ei;
    const b = c * ei;
    r = sqrt(f * f + g * g);
    store<f64>(getAddress(e, i + 1), r);
    if (r == 0) {
      store<f64>(getAddress(d, i + 1), load<f64>(getAddress(d, i + 1)) - p);
      store<f64>(getAddress(e, m), 0);
      return;
    }
    const inverse = 1 / r;
    s = f * inverse;
    c = g * inverse;
    g = load<f64>(getAddress(d, i + 1)) - p;
    const t = (load<f64>(getAddress(d, i)) - g) * s + 2 * c * b;
    p = s * t;
    store<f64>(getAddress(d, i + 1), g + p);
    g = c * t - b;
    if (columns > 0) rotate(rows + <usize>i * ld, ld, columns, c, s);
  }
  store<f64>(getAddress(d, l), load<f64>(getAddress(d, l)) - p);
  store<f64>(getAddress(e, l), g);
  store<f64>(getAddress(e, m), 0);
}

/** Rotates two adjacent rows. */
export function rotate(row: usize, ld: usize, n: i32, c: f64, s: f64): void {
  const next = row + ld;
  const cc = f64x2.splat(c);
  const ss = f64x2.splat(s);
  const even = <usize>(n & ~1) << 3;
  let i: usize = 0;
  for (; i < even; i += 16) {
    const x = v128.load(row + i);
    const y = v128.load(next + i);
    v128.store(next + i, f64x2.add(f64x2.mul(ss, x), f64x2.mul(cc, y)));
    v128.store(row + i, f64x2.sub(f64x2.mul(cc, x), f64x2.mul(ss, y)));
  }
  if (n & 1) {
    const x = load<f64>(row + i);
    const y = load<f64>(next + i);
    store<f64>(next + i, s * x + c * y);
    store<f64>(row + i, c * x - s * y);
  }
}
