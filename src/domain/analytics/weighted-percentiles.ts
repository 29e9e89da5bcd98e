/** Percentiles of the values of a date by the weights that lie on them, and their mean, for as many weights as are asked for. */
export interface WeightedPercentiles {
  /** Room for the values of a date, [size]; NaN where missing. */
  readonly values: Float64Array;
  /**
   * By the weights told last: the mean by the weights with their signs, NaN where these add up to 0, and the share of
   * the weights, by their magnitude, that has a value, [2].
   */
  readonly average: Float64Array;
  /** Parts the first of the values by their range, once for all weights. @param count n @cost O(n) */
  part(count: number): void;
  /**
   * The least value at or below which a share of the weights lies, for each share; NaN where no weight has a value.
   * @param weights [n], by their magnitude
   * @param out     [shares]
   * @cost O(n) on average, whatever the order of the values
   */
  by(weights: Float64Array, out: Float64Array): void;
}

/** What rounding may leave of a share: sums of equal weights reach it. */
const SLACK = 1e-12;

/** Parts of a range of values of equal width: a few values in each. */
const BUCKETS = 128;

/** Values that are sorted rather than parted. */
const FEW = 24;

/** Positive values whose largest is so many times the least are parted by their magnitude: those of companies are. */
const WIDE = 16;

/** Values by the part of their range that they lie in. */
interface Parted {
  readonly values: Float64Array;
  /** The same memory, two words a value: of positive ones the second ascends with them, about as their logarithm does. */
  readonly words: Int32Array;
  /** Bucket of each value. */
  readonly buckets: Uint8Array;
  /** First value of each bucket, and the one behind each; negative where there is none. */
  readonly heads: Int32Array;
  readonly next: Int32Array;
  count: number;
}

/** Values and the weights by their buckets; the values of a bucket are parted again a level deeper. */
interface Level {
  readonly parted: Parted;
  /** Of values that were collected from a bucket. */
  readonly weights: Float64Array;
  readonly lying: Float64Array;
}

interface Sought {
  /** Weights that each share comes to, ascending. */
  readonly limits: Float64Array;
  readonly out: Float64Array;
  levelAt(depth: number): Level;
}

/** The shares that lie among some values: from one to before another, and what of the weights is below all of them. */
interface Among {
  readonly first: number;
  readonly last: number;
  readonly below: number;
}

/**
 * Percentiles of one set of names: the range of the values is parted, and a part in which a share lies is parted again,
 * until few are left to sort.
 * @param size   names at most
 * @param shares ascending, from 0 to 1
 */
export function weightedPercentiles(size: number, shares: readonly number[]): WeightedPercentiles {
  const levels: Level[] = [];
  const levelAt = (depth: number): Level => (levels[depth] ??= levelOf(size));
  const { parted, lying } = levelAt(0);
  const limits = new Float64Array(shares.length);
  const average = new Float64Array(2);
  return {
    values: parted.values,
    average,
    part: (count) => void part(parted, count),
    by(weights, out) {
      const covered = sumInto(average, lying, parted, weights);
      out.fill(NaN);
      if (covered === 0) return;
      for (let s = 0; s < limits.length; s++) limits[s] = shares[s]! * covered * (1 - SLACK);
      seek({ limits, out, levelAt }, { depth: 0, weights }, { first: 0, last: limits.length, below: 0 });
    },
  };
}

function levelOf(size: number): Level {
  const values = new Float64Array(size);
  return {
    parted: {
      values,
      words: new Int32Array(values.buffer),
      buckets: new Uint8Array(size),
      heads: new Int32Array(BUCKETS),
      next: new Int32Array(size),
      count: 0,
    },
    weights: new Float64Array(size),
    lying: new Float64Array(BUCKETS),
  };
}

/**
 * Puts each value into its bucket, those of a bucket in ascending order of their places.
 * @returns whether there are several buckets: equal values and endless ranges are one
 */
function part(parted: Parted, count: number): boolean {
  const { values, words, buckets, heads, next } = parted;
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  parted.count = count;
  heads.fill(-1);
  if (least > 0 && most > WIDE * least && most < Infinity) {
    const lowest = magnitudeOf(least);
    const magnitudes = (BUCKETS - 1) / (magnitudeOf(most) - lowest);
    for (let i = count - 1; i >= 0; i--) {
      if (values[i] !== values[i]) continue;
      const bucket = ((words[2 * i + 1]! - lowest) * magnitudes) | 0;
      buckets[i] = bucket;
      next[i] = heads[bucket]!;
      heads[bucket] = i;
    }
    return true;
  }
  const scale = scaleOf(least, most);
  for (let i = count - 1; i >= 0; i--) {
    if (values[i] !== values[i]) continue;
    const bucket = ((values[i]! - least) * scale) | 0;
    buckets[i] = bucket;
    next[i] = heads[bucket]!;
    heads[bucket] = i;
  }
  return scale > 0;
}

/** Buckets in a unit of a range, 0 where it is one bucket. */
function scaleOf(least: number, most: number): number {
  const scale = (BUCKETS - 1) / (most - least);
  return scale > 0 && scale < Infinity ? scale : 0;
}

const one = new Float64Array(1);
const wordsOfOne = new Int32Array(one.buffer);

function magnitudeOf(key: number): number {
  one[0] = key;
  return wordsOfOne[1]!;
}

/** @param average overwritten @param lying overwritten with the weights by bucket @returns the weights with a value */
function sumInto(average: Float64Array, lying: Float64Array, parted: Parted, weights: Float64Array): number {
  const { values, buckets, count } = parted;
  lying.fill(0);
  let gross = 0;
  let covered = 0;
  let total = 0;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const weight = weights[i]!;
    if (weight === 0) continue;
    const magnitude = Math.abs(weight);
    gross += magnitude;
    const value = values[i]!;
    if (value !== value) continue;
    covered += magnitude;
    total += weight;
    sum += weight * value;
    lying[buckets[i]!]! += magnitude;
  }
  average[0] = total === 0 ? NaN : sum / total;
  average[1] = gross === 0 ? 0 : covered / gross;
  return covered;
}

interface Weighted {
  readonly depth: number;
  readonly weights: Float64Array;
}

/** The shares among the values of a level, by the buckets in which they lie. */
function seek(sought: Sought, of: Weighted, { first, last, below }: Among): void {
  const { limits, levelAt } = sought;
  const { lying } = levelAt(of.depth);
  const top = topOf(lying);
  let share = first;
  let reached = below;
  for (let bucket = 0; share < last; bucket++) {
    const before = reached;
    reached = bucket === top ? Infinity : before + lying[bucket]!;
    const from = share;
    while (share < last && reached >= limits[share]!) share++;
    if (share > from) seekIn(sought, of, bucket, { first: from, last: share, below: before });
  }
}

/** The last bucket with a weight: whatever rounding leaves of a share lies in it. */
function topOf(lying: Float64Array): number {
  let top = BUCKETS - 1;
  while (top > 0 && lying[top] === 0) top--;
  return top;
}

/** The shares among the values of a bucket. */
function seekIn(sought: Sought, of: Weighted, bucket: number, among: Among): void {
  const { parted, weights, lying } = sought.levelAt(of.depth + 1);
  const count = collect(sought.levelAt(of.depth).parted, of.weights, bucket, { values: parted.values, weights });
  if (count <= FEW || !part(parted, count)) {
    sortedInto(sought, { values: parted.values, weights, count }, among);
    return;
  }
  lying.fill(0);
  for (let i = 0; i < count; i++) lying[parted.buckets[i]!]! += weights[i]!;
  seek(sought, { depth: of.depth + 1, weights }, among);
}

interface Values {
  readonly values: Float64Array;
  readonly weights: Float64Array;
}

/** Copies the values of a bucket that have a weight. @returns how many */
function collect({ values, heads, next }: Parted, weights: Float64Array, bucket: number, to: Values): number {
  let count = 0;
  for (let i = heads[bucket]!; i >= 0; i = next[i]!) {
    if (weights[i] === 0) continue;
    to.values[count] = values[i]!;
    to.weights[count++] = Math.abs(weights[i]!);
  }
  return count;
}

/** The shares among some values by sorting these; what rounding leaves unreached is the largest. */
function sortedInto(
  { limits, out }: Sought,
  { values, weights, count }: Values & { readonly count: number },
  { first, last, below }: Among,
): void {
  for (let k = 1; k < count; k++) {
    const value = values[k]!;
    const weight = weights[k]!;
    let to = k;
    for (; to > 0 && values[to - 1]! > value; to--) {
      values[to] = values[to - 1]!;
      weights[to] = weights[to - 1]!;
    }
    values[to] = value;
    weights[to] = weight;
  }
  let reached = below;
  let share = first;
  for (let k = 0; k < count && share < last; k++) {
    reached += weights[k]!;
    while (share < last && reached >= limits[share]!) out[share++] = values[k]!;
  }
  while (share < last) out[share++] = values[count - 1]!;
}
