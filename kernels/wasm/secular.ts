/** Maximum number of steps per root; five are usual, and bisection guarantees convergence. */
const STEPS_MAX: i32 = 200;

/**
 * Computes root i of 1/rho + sum_j z2_j / (d_j - x) = 0 for ascending distinct d, positive z2 and rho. The root is the
 * i-th eigenvalue of D + rho z z'. Writes d_j - root to `delta`, each to full relative precision, and returns the root.
 * The root is computed as a distance from the nearer pole. The steps are rational interpolations at the two adjacent
 * poles within a bracket ("the middle way", Li (1993), LAPACK working note 89). A step outside the bracket is replaced
 * by bisection.
 */
export function secularRoot(i: i32, k: i32, d: usize, z2: usize, rho: f64, delta: usize): f64 {
  if (k == 1) {
    store<f64>(delta, -rho * load<f64>(z2));
    return load<f64>(d) + rho * load<f64>(z2);
  }
  const inverseRho = 1 / rho;
  const last = i == k - 1;
  let origin = i;
  let low: f64 = 0;
  let high: f64;
  let x: f64;
  if (last) {
    high = rho * sumAll(z2, k);
    x = 0.5 * high;
  } else {
    const half = 0.5 * (readAt(d, i + 1) - readAt(d, i));
    evaluate(i, k, d, z2, readAt(d, i), half, delta);
    const middle = inverseRho + psi + phi;
    x = computeFirstGuess(i, half + half, middle - readAt(z2, i) / readAt(delta, i) - readAt(z2, i + 1) / readAt(delta, i + 1), middle >= 0, z2);
    if (middle >= 0) {
      high = half;
    } else {
      origin = i + 1;
      low = -half;
      high = 0;
    }
    if (!(x > low && x < high)) x = 0.5 * (low + high);
  }
  const base = readAt(d, origin);
  for (let step = 0; step < STEPS_MAX; step++) {
    evaluate(last ? k - 2 : i, k, d, z2, base, x, delta);
    const value = inverseRho + psi + phi;
    const slope = psiSlope + phiSlope;
    const noise = 8 * (magnitude + inverseRho) + abs(x) * slope;
    if (abs(value) <= f64.EPSILON * noise) break;
    if (value < 0) low = x;
    else high = x;
    let next = x + computeStep(readAt(delta, last ? k - 2 : i), readAt(delta, last ? k - 1 : i + 1), value, last);
    if (!(next > low && next < high)) next = bisect(low, high);
    if (next == x || high - low <= f64.EPSILON * max(abs(low), abs(high))) break;
    x = next;
  }
  for (let j = 0; j < k; j++) store<f64>(delta + (<usize>j << 3), (readAt(d, j) - base) - x);
  return base + x;
}

// Sums of the last evaluation. They are variables, because a function can return only one number; the only caller reads
// them immediately.
let psi: f64 = 0;
let phi: f64 = 0;
let psiSlope: f64 = 0;
let phiSlope: f64 = 0;
let magnitude: f64 = 0;
let partial: f64 = 0;
let partialSlope: f64 = 0;

// @ts-ignore: decorator
@inline
function readAt(p: usize, i: i32): f64 {
  return load<f64>(p + (<usize>i << 3));
}

/**
 * Computes psi, the terms up to `split`, phi, the terms after it, and their slopes. Writes d_j - base - x to `delta`.
 */
function evaluate(split: i32, k: i32, d: usize, z2: usize, base: f64, x: f64, delta: usize): void {
  computeTerms(0, split + 1, d, z2, base, x, delta);
  psi = partial;
  psiSlope = partialSlope;
  magnitude = abs(partial);
  computeTerms(split + 1, k, d, z2, base, x, delta);
  phi = partial;
  phiSlope = partialSlope;
  magnitude += abs(partial);
}

function computeTerms(from: i32, to: i32, d: usize, z2: usize, base: f64, x: f64, delta: usize): void {
  const bases = f64x2.splat(base);
  const xs = f64x2.splat(x);
  const one = f64x2.splat(1);
  let total = f64x2.splat(0);
  let slope = f64x2.splat(0);
  let j = from;
  for (; j + 2 <= to; j += 2) {
    const o = <usize>j << 3;
    const gap = f64x2.sub(f64x2.sub(v128.load(d + o), bases), xs);
    v128.store(delta + o, gap);
    const inverse = f64x2.div(one, gap);
    const term = f64x2.mul(v128.load(z2 + o), inverse);
    total = f64x2.add(total, term);
    slope = f64x2.add(slope, f64x2.mul(term, inverse));
  }
  partial = f64x2.extract_lane(total, 0) + f64x2.extract_lane(total, 1);
  partialSlope = f64x2.extract_lane(slope, 0) + f64x2.extract_lane(slope, 1);
  if (j < to) {
    const gap = (readAt(d, j) - base) - x;
    store<f64>(delta + (<usize>j << 3), gap);
    const term = readAt(z2, j) / gap;
    partial += term;
    partialSlope += term / gap;
  }
}

/** Returns the root of the two-pole model around the middle of the interval, as a distance from the nearer pole. */
function computeFirstGuess(i: i32, gap: f64, c: f64, left: bool, z2: usize): f64 {
  const zl = readAt(z2, i);
  const zr = readAt(z2, i + 1);
  if (left) {
    const a = c * gap + zl + zr;
    const b = zl * gap;
    const root = sqrt(abs(a * a - 4 * b * c));
    return a > 0 ? (2 * b) / (a + root) : (a - root) / (2 * c);
  }
  const a = c * gap - zl - zr;
  const b = zr * gap;
  const root = sqrt(abs(a * a + 4 * b * c));
  return a < 0 ? (2 * b) / (a - root) : -(a + root) / (2 * c);
}

/**
 * Returns the step to the root of the two-pole model at the current point. Returns a Newton step if the model has the
 * wrong direction.
 */
function computeStep(dl: f64, dr: f64, value: f64, last: bool): f64 {
  const slope = psiSlope + phiSlope;
  let c = value - dl * psiSlope - dr * phiSlope;
  const a = (dl + dr) * value - dl * dr * slope;
  const b = dl * dr * value;
  const root = sqrt(abs(a * a - 4 * b * c));
  let eta: f64;
  if (last) {
    c = abs(c);
    eta = c == 0 ? -value / slope : a >= 0 ? (a + root) / (2 * c) : (2 * b) / (a - root);
  } else {
    eta = c == 0 ? b / a : a <= 0 ? (a - root) / (2 * c) : (2 * b) / (a + root);
  }
  return value * eta >= 0 ? -value / slope : eta;
}

/**
 * Returns the middle of the bracket. Next to a pole, returns a sixteenth of the bracket, because roots there may be
 * smaller by orders of magnitude.
 */
function bisect(low: f64, high: f64): f64 {
  if (low == 0) return high * 0.0625;
  if (high == 0) return low * 0.0625;
  return 0.5 * (low + high);
}

function sumAll(z2: usize, k: i32): f64 {
  let total: f64 = 0;
  for (let j = 0; j < k; j++) total += readAt(z2, j);
  return total;
}
