// Method: the range of the values is divided into buckets. A bucket that contains a percentile is divided again, until
// few values are left to sort.

/** Number of buckets of equal width in a range. */
const BUCKETS: i32 = 128;
const LYING_BYTES: usize = 1024;

/** Maximum number of values that are sorted rather than divided. */
const FEW_VALUES: i32 = 24;

/**
 * Minimum ratio of the largest to the smallest positive value for a division by magnitude. Values of companies usually
 * have such a ratio.
 */
const WIDE_RATIO: f64 = 16;

/** Maximum depth of division. At this depth, the remaining values are sorted, whatever their number. */
const LEVELS: i32 = 8;

/** Tolerance for rounding errors of cumulative weights. With it, sums of equal weights reach a share exactly. */
const SLACK: f64 = 1e-12;

/** Bucket of entries without a value or weight. */
const NO_BUCKET: u8 = 255;

/** Number of buckets compared at a time. */
const LANES: i32 = 16;

// State shared by all levels of one call, and the sums of a level.
let limits: usize = 0;
let foundValues: usize = 0;
let levels: usize = 0;
let workspace: usize = 0;
let gross: f64 = 0;
let covered: f64 = 0;
let total: f64 = 0;
let sum: f64 = 0;

@inline
function computeBytes(count: i32): usize {
  return <usize>((count + LANES - 1) & -LANES);
}

/** Returns the bytes of a level: weights by bucket, bucket numbers, values and their weights. */
@inline
function computeLevelBytes(count: usize): usize {
  return LYING_BYTES + 17 * count;
}

export function weightedPercentilesScratch(count: i32, shares: i32): usize {
  return (<usize>shares << 3) + <usize>LEVELS * computeLevelBytes(computeBytes(count));
}

/** See `sums/weighted-percentiles`. */
export function weightedPercentiles(
  values: usize,
  weights: usize,
  count: i32,
  shares: usize,
  shareCount: i32,
  out: usize,
  scratch: usize,
): void {
  limits = scratch;
  foundValues = out + 16;
  levels = scratch + (<usize>shareCount << 3);
  workspace = computeBytes(count);
  partition(values, weights, count, levels, true);
  store<f64>(out, total == 0 ? NaN : sum / total);
  store<f64>(out, gross == 0 ? 0 : covered / gross, 8);
  if (covered == 0) {
    for (let s = 0; s < shareCount; s++) store<f64>(foundValues + (<usize>s << 3), NaN);
    return;
  }
  for (let s = 0; s < shareCount; s++) {
    const offset = <usize>s << 3;
    store<f64>(limits + offset, load<f64>(shares + offset) * covered * (1 - SLACK));
  }
  seek(values, weights, count, 0, 0, shareCount, 0);
}

/**
 * Assigns each value with a weight to its bucket and computes the sums of weights. Assigns values to a single bucket
 * only if `counts` is true.
 * @returns true if there are several buckets: equal values and infinite ranges have only one
 */
function partition(values: usize, weights: usize, count: i32, level: usize, counts: bool): bool {
  let lows = f64x2.splat(Infinity);
  let highs = f64x2.splat(-Infinity);
  let i = 0;
  for (; i + 2 <= count; i += 2) {
    const pair = v128.load(values + (<usize>i << 3));
    lows = f64x2.pmin(lows, pair);
    highs = f64x2.pmax(highs, pair);
  }
  let least = min<f64>(f64x2.extract_lane(lows, 0), f64x2.extract_lane(lows, 1));
  let most = max<f64>(f64x2.extract_lane(highs, 0), f64x2.extract_lane(highs, 1));
  if (i < count) {
    const last = load<f64>(values + (<usize>i << 3));
    if (last < least) least = last;
    if (last > most) most = last;
  }
  const isWide = least > 0 && most > WIDE_RATIO * least && most < Infinity;
  const scale = <f64>(BUCKETS - 1) / (most - least);
  const isParted = isWide || (scale > 0 && scale < Infinity);
  if (!isParted && !counts) return false;
  memory.fill(level, 0, LYING_BYTES);
  const buckets = level + LYING_BYTES;
  for (let end = <usize>count; end < computeBytes(count); end++) store<u8>(buckets + end, NO_BUCKET);
  if (isWide) {
    const lowest = <i32>(reinterpret<u64>(least) >> 32);
    const magnitudes = <f64>(<i32>(reinterpret<u64>(most) >> 32) - lowest);
    placePercentile(values, weights, count, level, true, lowest, 0, <f64>(BUCKETS - 1) / magnitudes);
  } else {
    placePercentile(values, weights, count, level, false, 0, least, isParted ? scale : 0);
  }
  return isParted;
}

/**
 * Assigns values to buckets. @param byMagnitude by the upper half of the number, which increases approximately with the
 * logarithm of a positive number
 */
@inline
function placePercentile(
  values: usize,
  weights: usize,
  count: i32,
  level: usize,
  byMagnitude: bool,
  lowest: i32,
  least: f64,
  scale: f64,
): void {
  const buckets = level + LYING_BYTES;
  let g: f64 = 0;
  let c: f64 = 0;
  let t: f64 = 0;
  let s: f64 = 0;
  for (let i: usize = 0; i < <usize>count; i++) {
    const value = load<f64>(values + (i << 3));
    const weight = load<f64>(weights + (i << 3));
    const magnitude = abs(weight);
    g += magnitude;
    if (weight == 0 || value != value) {
      store<u8>(buckets + i, NO_BUCKET);
      continue;
    }
    c += magnitude;
    t += weight;
    s += weight * value;
    let bucket: i32 = 0;
    if (byMagnitude) bucket = <i32>(<f64>(load<i32>(values + (i << 3), 4) - lowest) * scale);
    else if (scale > 0) bucket = <i32>((value - least) * scale);
    store<u8>(buckets + i, <u8>bucket);
    const lying = level + (<usize>bucket << 3);
    store<f64>(lying, load<f64>(lying) + magnitude);
  }
  gross = g;
  covered = c;
  total = t;
  sum = s;
}

/** Finds the percentiles of shares [first, last) among the values of a level from the bucket weights. */
function seek(values: usize, weights: usize, count: i32, depth: i32, first: i32, last: i32, below: f64): void {
  const level = levels + <usize>depth * computeLevelBytes(workspace);
  // Assigns the shares that rounding left over to the last bucket with a weight.
  let top = BUCKETS - 1;
  while (top > 0 && load<f64>(level + (<usize>top << 3)) == 0) top--;
  let share = first;
  let reached = below;
  for (let bucket = 0; share < last; bucket++) {
    const before = reached;
    reached = bucket == top ? Infinity : before + load<f64>(level + (<usize>bucket << 3));
    const from = share;
    while (share < last && reached >= load<f64>(limits + (<usize>share << 3))) share++;
    if (share > from) seekIn(values, weights, count, depth, bucket, from, share, before);
  }
}

/** Finds the percentiles of shares [first, last) among the values of a bucket. */
function seekIn(
  values: usize,
  weights: usize,
  count: i32,
  depth: i32,
  bucket: i32,
  first: i32,
  last: i32,
  below: f64,
): void {
  const level = levels + <usize>depth * computeLevelBytes(workspace);
  const next = level + computeLevelBytes(workspace);
  const valuesOut = next + LYING_BYTES + workspace;
  const weighing = valuesOut + (workspace << 3);
  const collected = collect(values, weights, count, level + LYING_BYTES, bucket, valuesOut, weighing);
  if (collected > FEW_VALUES && depth + 2 < LEVELS && partition(valuesOut, weighing, collected, next, false)) {
    seek(valuesOut, weighing, collected, depth + 1, first, last, below);
  } else {
    sortInto(valuesOut, weighing, collected, first, last, below);
  }
}

/** Copies the values of a bucket and their absolute weights. @returns the number of values */
function collect(
  values: usize,
  weights: usize,
  count: i32,
  buckets: usize,
  bucket: i32,
  valuesOut: usize,
  weighing: usize,
): i32 {
  const wanted = i8x16.splat(<i8>bucket);
  let collected: i32 = 0;
  for (let i = 0; i < count; i += LANES) {
    let mask = i8x16.bitmask(i8x16.eq(v128.load(buckets + <usize>i), wanted));
    while (mask != 0) {
      const from = <usize>(i + ctz(mask)) << 3;
      store<f64>(valuesOut + (<usize>collected << 3), load<f64>(values + from));
      store<f64>(weighing + (<usize>collected << 3), abs(load<f64>(weights + from)));
      collected++;
      mask &= mask - 1;
    }
  }
  return collected;
}

/**
 * Finds the percentiles of shares [first, last) by sorting the values. Shares that are not reached because of rounding
 * get the largest value.
 */
function sortInto(values: usize, weights: usize, count: i32, first: i32, last: i32, below: f64): void {
  for (let k = 1; k < count; k++) {
    const value = load<f64>(values + (<usize>k << 3));
    const weight = load<f64>(weights + (<usize>k << 3));
    let to = <usize>k << 3;
    while (to > 0 && load<f64>(values + to - 8) > value) {
      store<f64>(values + to, load<f64>(values + to - 8));
      store<f64>(weights + to, load<f64>(weights + to - 8));
      to -= 8;
    }
    store<f64>(values + to, value);
    store<f64>(weights + to, weight);
  }
  let reached = below;
  let share = first;
  for (let k = 0; k < count && share < last; k++) {
    reached += load<f64>(weights + (<usize>k << 3));
    while (share < last && reached >= load<f64>(limits + (<usize>share << 3))) {
      store<f64>(foundValues + (<usize>share << 3), load<f64>(values + (<usize>k << 3)));
      share++;
    }
  }
  const largest = load<f64>(values + (<usize>(count - 1) << 3));
  for (; share < last; share++) store<f64>(foundValues + (<usize>share << 3), largest);
}
