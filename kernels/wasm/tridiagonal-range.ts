/**
 * Maximum number of bisections until two ends are adjacent or as near to zero as rounding permits, relative to the
 * largest entry. Bisection goes from 1 to 2^-104; the number includes a margin.
 */
const HALVINGS_MAX: i32 = 128;

/**
 * Computes the smallest and largest eigenvalue of a symmetric tridiagonal matrix by bisection. Gershgorin's circles
 * give the range. The number of eigenvalues at or below a value is the number of negative pivots of the shifted matrix.
 * Both ends are bisected in the two lanes of one vector, which needs no more divisions than one end. `e` is overwritten
 * with its squares. Returns false if an entry is not finite.
 */
export function tridiagonalRange(d: usize, e: usize, n: i32, out: usize): bool {
  let low = f64.POSITIVE_INFINITY;
  let high = f64.NEGATIVE_INFINITY;
  let before: f64 = 0;
  let square: f64 = 1;
  for (let i = 0; i < n; i++) {
    const diagonal = load<f64>(getAddress(d, i));
    const after = i < n - 1 ? abs(load<f64>(getAddress(e, i))) : 0;
    low = min(low, diagonal - (before + after));
    high = max(high, diagonal + (before + after));
    store<f64>(getAddress(e, i), after * after);
    square = max(square, after * after);
    before = after;
  }
  if (!(high - low < f64.POSITIVE_INFINITY)) return false;
  const pivot = f64.MIN_NORMAL_VALUE * square;
  const rounding = f64.EPSILON * f64.EPSILON * max(abs(low), abs(high));
  const least = countNotAbove(d, e, n, pivot, f64x2.splat(low));
  let bottom = low; // smallest eigenvalue: none is at or below this value
  let smallest = i64x2.extract_lane(least, 0) > 0 ? low : high; // at least one eigenvalue is at or below this value
  let top = low; // largest eigenvalue: not all are at or below this value
  let largest = high; // all eigenvalues are at or below this value
  for (let halving = 0; halving < HALVINGS_MAX; halving++) {
    const a = bottom + (smallest - bottom) / 2;
    const b = top + (largest - top) / 2;
    const isFound = a <= bottom || a >= smallest || smallest - bottom <= rounding;
    if (isFound && (b <= top || b >= largest || largest - top <= rounding)) break;
    const counts = countNotAbove(d, e, n, pivot, f64x2.replace_lane(f64x2.splat(a), 1, b));
    if (i64x2.extract_lane(counts, 0) > 0) smallest = a;
    else bottom = a;
    if (i64x2.extract_lane(counts, 1) == n) largest = b;
    else top = b;
  }
  store<f64>(out, smallest);
  store<f64>(out, largest, 8);
  return true;
}

/**
 * Returns the number of eigenvalues at or below the value in each lane, from pivots of at least `pivot` in magnitude.
 */
function countNotAbove(d: usize, squares: usize, n: i32, pivot: f64, x: v128): v128 {
  const pivots = f64x2.splat(pivot);
  const negative = f64x2.splat(-pivot);
  let counts = i64x2.splat(0);
  let q = f64x2.sub(v128.load_splat<f64>(d), x);
  for (let i = 0; i < n; i++) {
    q = v128.bitselect(negative, q, f64x2.lt(f64x2.abs(q), pivots));
    counts = i64x2.add(counts, i64x2.shr_u(q, 63));
    if (i == n - 1) break;
    q = f64x2.sub(f64x2.sub(v128.load_splat<f64>(getAddress(d, i + 1)), x), f64x2.div(v128.load_splat<f64>(getAddress(squares, i)), q));
  }
  return counts;
}

// @ts-ignore: decorator
@inline
function getAddress(p: usize, i: i32): usize {
  return p + (<usize>i << 3);
}
