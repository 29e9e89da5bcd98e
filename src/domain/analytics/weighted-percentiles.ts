/** Percentiles of values by the weights that lie on them, date by date, and their mean. */
export interface WeightedPercentiles {
  /**
   * Of the values told last: their mean by the weights with their signs, NaN where these add up to 0, and the share of
   * the weights, by their magnitude, that has a value, [2].
   */
  readonly average: Float64Array;
  /**
   * The least value at or below which a share of the weights lies, for each share; NaN where no weight has a value.
   * @param values  [n], NaN where missing
   * @param weights [n], by their magnitude
   * @param out     [shares]
   * @cost O(n) on average, whatever the order of the values
   */
  into(out: Float64Array, values: Float64Array, weights: Float64Array): void;
}

/** What rounding may leave of a share: sums of equal weights reach it. */
const SLACK = 1e-12;

/** Parts of a range of values of equal width: a few values in each. */
const BUCKETS = 128;

/** Values that are sorted rather than parted. */
const FEW = 24;

/** Positive values whose largest is so many times the least are parted by their magnitude: those of companies are. */
const WIDE = 16;

/** Values with what lies on them; those of a part lie together, in the order of their places. */
interface Weighted {
  readonly keys: Float64Array;
  /** The same memory, two words a key: of positive keys the second ascends with them, about as their logarithm does. */
  readonly words: Int32Array;
  readonly weights: Float64Array;
  /** Part of the range that each lies in. */
  readonly buckets: Uint8Array;
}

/** Some values, and what of the weights lies below all of them. */
interface Part {
  readonly depth: number;
  /** Place of the first of them. */
  readonly at: number;
  readonly count: number;
  readonly below: number;
  /** The shares that lie in it: from one to before another. */
  readonly first: number;
  readonly last: number;
}

interface Sought {
  /** Weights that each share comes to, ascending. */
  readonly limits: Float64Array;
  readonly out: Float64Array;
  /** Room for the values of the parts of parts. */
  levelAt(depth: number): Weighted;
}

/**
 * Percentiles of one set of names: the range of the values is parted, and a part in which a share lies is parted again,
 * until few are left to sort.
 * @param size   n
 * @param shares ascending, from 0 to 1
 */
export function weightedPercentiles(size: number, shares: readonly number[]): WeightedPercentiles {
  const room = (): Weighted => {
    const keys = new Float64Array(size);
    const words = new Int32Array(keys.buffer);
    return { keys, words, weights: new Float64Array(size), buckets: new Uint8Array(size) };
  };
  const whole = room();
  const levels = [whole];
  const levelAt = (depth: number): Weighted => (levels[depth] ??= room());
  const limits = new Float64Array(shares.length);
  const average = new Float64Array(2);
  return {
    average,
    into(out, values, weights) {
      const { keys, weights: sizes } = whole;
      let gross = 0;
      let covered = 0;
      let total = 0;
      let sum = 0;
      let least = Infinity;
      let most = -Infinity;
      let count = 0;
      for (let i = 0; i < size; i++) {
        const weight = weights[i]!;
        if (weight === 0) continue;
        const magnitude = Math.abs(weight);
        gross += magnitude;
        const value = values[i]!;
        if (value !== value) continue;
        covered += magnitude;
        total += weight;
        sum += weight * value;
        if (value < least) least = value;
        if (value > most) most = value;
        keys[count] = value;
        sizes[count++] = magnitude;
      }
      average[0] = total === 0 ? NaN : sum / total;
      average[1] = gross === 0 ? 0 : covered / gross;
      out.fill(NaN);
      if (count === 0) return;
      for (let s = 0; s < limits.length; s++) limits[s] = shares[s]! * covered * (1 - SLACK);
      range[0] = least;
      range[1] = most;
      seek({ limits, out, levelAt }, { depth: 0, at: 0, count, below: 0, first: 0, last: limits.length });
    },
  };
}

/** The least and the largest value of a part, for the one that is looked at next. */
const range = new Float64Array(2);

/** Values and weights by bucket, of one part at a time. */
const held = new Int32Array(BUCKETS);
const lying = new Float64Array(BUCKETS);

/** Where the values of a bucket go in the next level; negative where no share lies in it. */
const placed = new Int32Array(BUCKETS);

/** The shares of a part: by the buckets of its range in which they lie. */
function seek(sought: Sought, part: Part): void {
  const { depth, at, count } = part;
  const level = sought.levelAt(depth);
  if (count <= FEW || !intoBuckets(level, part)) {
    sortedInto(sought, level, part);
    return;
  }
  const { keys, weights, buckets } = level;
  const parts = partsWith(sought, part);
  const next = sought.levelAt(depth + 1);
  for (let i = at; i < at + count; i++) {
    const to = placed[buckets[i]!]!;
    if (to < 0) continue;
    next.keys[to] = keys[i]!;
    next.weights[to] = weights[i]!;
    placed[buckets[i]!] = to + 1;
  }
  for (const inner of parts) {
    if (inner.count > FEW) findRange(next, inner);
    seek(sought, inner);
  }
}

function findRange({ keys }: Weighted, { at, count }: Part): void {
  let least = keys[at]!;
  let most = least;
  for (let i = at; i < at + count; i++) {
    const key = keys[i]!;
    if (key < least) least = key;
    if (key > most) most = key;
  }
  range[0] = least;
  range[1] = most;
}

/** Parts the values of a part by their range. @returns whether it can be: equal values and endless ranges are one bucket */
function intoBuckets({ keys, words, weights, buckets }: Weighted, { depth, at, count }: Part): boolean {
  const least = range[0]!;
  const most = range[1]!;
  if (!(most - least > 0 && most - least < Infinity)) return false;
  const scale = (BUCKETS - 1) / (most - least);
  const isWide = depth === 0 && least > 0 && most > WIDE * least;
  if (!isWide && scale === Infinity) return false;
  held.fill(0);
  lying.fill(0);
  if (isWide) {
    const lowest = magnitudeOf(least);
    const magnitudes = (BUCKETS - 1) / (magnitudeOf(most) - lowest);
    for (let i = at; i < at + count; i++) {
      const bucket = ((words[2 * i + 1]! - lowest) * magnitudes) | 0;
      buckets[i] = bucket;
      held[bucket]!++;
      lying[bucket]! += weights[i]!;
    }
    return true;
  }
  for (let i = at; i < at + count; i++) {
    const bucket = ((keys[i]! - least) * scale) | 0;
    buckets[i] = bucket;
    held[bucket]!++;
    lying[bucket]! += weights[i]!;
  }
  return true;
}

const one = new Float64Array(1);
const wordsOfOne = new Int32Array(one.buffer);

function magnitudeOf(key: number): number {
  one[0] = key;
  return wordsOfOne[1]!;
}

/** The buckets in which shares lie, and their places; the last share may be left to the last bucket by rounding. */
function partsWith({ limits }: Sought, { depth, at, below: before, first, last }: Part): Part[] {
  const parts: Part[] = [];
  placed.fill(-1);
  let below = before;
  let share = first;
  let to = at;
  for (let bucket = 0; share < last; bucket++) {
    const reached = bucket === BUCKETS - 1 ? Infinity : below + lying[bucket]!;
    const from = share;
    while (share < last && reached >= limits[share]!) share++;
    if (share > from) {
      const count = held[bucket]!;
      placed[bucket] = to;
      parts.push({ depth: depth + 1, at: to, count, below, first: from, last: share });
      to += count;
    }
    below = reached;
  }
  return parts;
}

/** The shares of a part by sorting it; what rounding leaves unreached is its largest value. */
function sortedInto(
  { limits, out }: Sought,
  { keys, weights }: Weighted,
  { at, count, below, first, last }: Part,
): void {
  for (let k = at + 1; k < at + count; k++) {
    const key = keys[k]!;
    const weight = weights[k]!;
    let to = k;
    for (; to > at && keys[to - 1]! > key; to--) {
      keys[to] = keys[to - 1]!;
      weights[to] = weights[to - 1]!;
    }
    keys[to] = key;
    weights[to] = weight;
  }
  let reached = below;
  let share = first;
  for (let k = at; k < at + count && share < last; k++) {
    reached += weights[k]!;
    while (share < last && reached >= limits[share]!) out[share++] = keys[k]!;
  }
  while (share < last) out[share++] = keys[at + count - 1]!;
}
