/** Formatting of numbers in sentences, with all decimals except the noise of arithmetic. */

/** Formats a number with grouped thousands: `1,000,000`, `0.05`. */
export function formatNumber(value: number): string {
  const [whole = '', decimals] = removeNumberNoise(String(value)).split('.');
  if (whole.includes('e')) return String(value);
  const groupedDigits = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? groupedDigits : `${groupedDigits}.${decimals}`;
}

/** Formats a count with its noun: `1 finding`, `1,000 indices`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`;

/** Formats a fraction as percent by shifting decimals: 0.07 is `7%`. */
export const formatShare = (fraction: number): string => {
  const [digits = '', exponent = '0'] = removeNumberNoise(String(fraction)).split('e');
  return `${formatNumber(Number(`${digits}e${Number(exponent) + 2}`))}%`;
};

/**
 * Standard deviation, relative to the size of the values, below which values are constant. Prices, levels and their
 * growth have rounding errors of about 1e-16 of their size, which accumulate over a window.
 */
const CONSTANT_DEVIATION = 1e-12;

export const CONSTANT_VARIANCE = CONSTANT_DEVIATION ** 2;

/**
 * Returns true if a standard deviation consists of rounding errors.
 * @param scale size of the values. Default: 1, the size of growth factors, from which returns are computed
 */
export function isConstant(deviation: number, scale = 1): boolean {
  return deviation <= CONSTANT_DEVIATION * scale;
}

/**
 * Returns 1 for securities without variance, [n]. Their volatility is 0 relative to the value of a unit and to the
 * largest volatility.
 * @param variances [n]
 */
export function findRiskless(variances: Float64Array): Uint8Array {
  const largest = variances.reduce((most, variance) => Math.max(most, variance), 0);
  const scale = Math.max(1, Math.sqrt(largest));
  return Uint8Array.from(variances, (variance) => (isConstant(Math.sqrt(Math.max(0, variance)), scale) ? 1 : 0));
}

/**
 * Computes the dot product, summed in ascending order.
 * @param a [n]
 * @param b [n]
 * @cost O(n)
 */
export function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Number of items per part: about a second of work, after which another job may run. */
const ITEMS_PER_PART = 8;
/** Maximum number of parts of a job, which limits rows in the database and files in the folder of the job. */
const PARTS_MAX = 5000;

/** Division of items into parts of equal size; the last part may be smaller. */
export function divideEvenly(items: number) {
  const size = Math.max(ITEMS_PER_PART, Math.ceil(items / PARTS_MAX));
  return {
    count: Math.ceil(items / size),
    /** Returns the indices of the items in a part. */
    positions: (part: number): readonly number[] =>
      Array.from({ length: Math.min(size, items - part * size) }, (_, i) => part * size + i),
  };
}

/** Part contained in an output. */
interface LocatedPart {
  readonly part: number;
  /** Index of the output, and position of the part within it. */
  readonly output: number;
  readonly at: number;
}

/**
 * Locations of parts in outputs. `first` has the first location of each part, in the order of the parts; `others` has
 * all further locations.
 */
interface PartLocations {
  readonly first: readonly LocatedPart[];
  readonly others: readonly LocatedPart[];
}

/** Locates the parts in outputs. Several outputs may contain the same part. */
export function locateParts(outputs: readonly { readonly parts: readonly number[] }[]): PartLocations {
  const first = new Map<number, LocatedPart>();
  const locatedParts: LocatedPart[] = [];
  for (const [output, { parts }] of outputs.entries())
    for (const [position, part] of parts.entries()) {
      const locatedPart = { part, output, at: position };
      if (first.has(part)) locatedParts.push(locatedPart);
      else first.set(part, locatedPart);
    }
  return { first: [...first.values()].toSorted((a, b) => a.part - b.part), others: locatedParts };
}

/** Number types in stored runs. */
interface NumbersByType {
  readonly f64: Float64Array;
  readonly i32: Int32Array;
  readonly u8: Uint8Array;
}

export type NumberType = keyof NumbersByType;
export type NumbersOf<K extends NumberType> = NumbersByType[K];
export type Numbers = NumbersOf<NumberType>;

export const NUMBER_TYPES = { f64: Float64Array, i32: Int32Array, u8: Uint8Array } as const satisfies Record<
  NumberType,
  unknown
>;

export function findNumberType(numbers: Numbers): NumberType {
  return numbers instanceof Float64Array ? 'f64' : numbers instanceof Int32Array ? 'i32' : 'u8';
}

export function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function sumDifferences(reference: Float64Array, weights: Float64Array): number {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += Math.abs(weights[i]! - reference[i]!);
  return total;
}

/** Returns the positions of the flags that are 1, ascending. */
export function listPositions(flags: Uint8Array): number[] {
  const positions: number[] = [];
  for (let i = 0; i < flags.length; i++) if (flags[i] === 1) positions.push(i);
  return positions;
}

export function joinFloats(before: Float64Array, added: Float64Array): Float64Array {
  const joined = new Float64Array(before.length + added.length);
  joined.set(before);
  joined.set(added, before.length);
  return joined;
}

/** Concatenates arrays of one type; returns the array itself if there is only one. */
export function concatenate(parts: readonly Numbers[]): Numbers {
  const [first] = parts;
  if (first === undefined) throw new Error('no parts to concatenate');
  if (parts.length === 1) return first;
  const joinedNumbers = new NUMBER_TYPES[findNumberType(first)](parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    joinedNumbers.set(part, position);
    position += part.length;
  }
  return joinedNumbers;
}

/**
 * Returns a quantile between the adjacent order statistics (type 7 of Hyndman and Fan). Returns NaN for an empty
 * sample. @param share from 0 to 1
 */
export function computeQuantile(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const lowerIndex = Math.floor(position);
  const low = sorted[lowerIndex] ?? NaN;
  return low + (position - lowerIndex) * ((sorted[lowerIndex + 1] ?? low) - low);
}

/**
 * Returns the median of an unsorted sample; for an even count, the mean of the two middle values. NaN for an empty
 * sample.
 */
export function computeMedian(sample: Iterable<number>): number {
  const sortedSample = Float64Array.from(sample).sort();
  const half = sortedSample.length >> 1;
  if (sortedSample.length % 2 === 1) return sortedSample[half]!;
  return ((sortedSample[half - 1] ?? NaN) + (sortedSample[half] ?? NaN)) / 2;
}

/**
 * Returns the upper median of an unsorted sample; for an even count, the larger of the two middle values. NaN for an
 * empty sample.
 */
export function findUpperMedian(sample: Iterable<number>): number {
  const sortedSample = Float64Array.from(sample).sort();
  return sortedSample[sortedSample.length >> 1] ?? NaN;
}

/** Maximum number of decimals of a price in a message. */
const DECIMALS_MAX = 8;

/**
 * Formats the prices of one message with the same number of decimals: two, or as many as the smallest price needs for
 * three significant digits.
 */
export function formatPrices(prices: readonly number[]): readonly string[] {
  const digits = 2 - Math.floor(Math.log10(Math.min(...prices)));
  const decimals = Number.isNaN(digits) ? 2 : Math.min(DECIMALS_MAX, Math.max(2, digits));
  return prices.map((price) => price.toFixed(decimals));
}

/**
 * Rounds to a number of decimals, halves away from zero. Rounds the shortest decimal representation, so 1.005 becomes
 * 1.01 with two decimals.
 * @param decimals 0 to 15
 */
export function roundHalfAwayFromZero(value: number, decimals: number): number {
  if (!Number.isFinite(value)) return value;
  const magnitude = Math.abs(value);
  const roundedMagnitude = shiftDecimals(Math.round(shiftDecimals(magnitude, decimals)), -decimals);
  return value < 0 ? 0 - roundedMagnitude : roundedMagnitude;
}

/** Multiplies a number by a power of ten, by its decimal digits. */
function shiftDecimals(value: number, by: number): number {
  const [digits, exponent = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(exponent) + by}`);
}

/**
 * Returns the index of the last element at most `value` in an ascending array. Returns -1 if every element is greater.
 * @cost O(log n)
 */
export function findLastAtMost(ascending: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Returns the index of the first element at least `value` in an ascending array of integers; its length if every
 * element is smaller.
 */
export function findFirstAtLeast(ascending: ArrayLike<number>, value: number): number {
  return findLastAtMost(ascending, value - 1) + 1;
}

/** Range of an array, and a position in it. */
interface SelectedRange {
  readonly from: number;
  /** Last index of the range. */
  readonly to: number;
  readonly position: number;
}

/**
 * Selects a value by Hoare's algorithm. Moves the value that belongs at a position of the sorted range to this
 * position, and returns it. Afterwards no earlier value in the range is larger. No value may be NaN. @cost linear on
 * average
 */
export function select(values: Float64Array, { from, to, position }: SelectedRange): number {
  let left = from;
  let right = to;
  while (left < right) {
    const pivot = values[position]!;
    let i = left;
    let j = right;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const savedValue = values[i]!;
      values[i++] = values[j]!;
      values[j--] = savedValue;
    }
    if (j < position) left = i;
    if (i > position) right = j;
  }
  return values[position]!;
}

/** Digits of half a key: lowest bit and number of bits. */
const DIGITS = [
  [0, 11],
  [11, 11],
  [22, 10],
] as const;

const SIGN = 0x80000000;

/**
 * Returns positions sorted by ascending keys; the sort is stable. It is a radix sort of the bits of the keys, which are
 * first transformed so that their order is that of the numbers.
 * @param keys [n] without -0 and NaN
 * @param positions [n] or longer
 * @returns [n]
 * @cost O(n), six passes of 3 ns per key
 */
export function sortByBits(keys: Float64Array, positions: Int32Array): Int32Array {
  const count = keys.length;
  const halves = new Uint32Array(keys.slice().buffer); // low word before high word
  const [low, high] = [new Uint32Array(count), new Uint32Array(count)];
  let from = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const top = halves[2 * i + 1]!;
    const isNegative = top >= SIGN;
    high[i] = isNegative ? ~top : top | SIGN;
    low[i] = isNegative ? ~halves[2 * i]! : halves[2 * i]!;
    from[i] = i;
  }
  let to = new Int32Array(count);
  for (const half of [low, high])
    for (const [shift, width] of DIGITS)
      if (sortByDigit(half, { shift, mask: (1 << width) - 1 }, from, to)) [from, to] = [to, from];
  for (let i = 0; i < count; i++) to[i] = positions[from[i]!]!;
  return to;
}

/** Sorts by one digit. @returns false, without changes, if all keys have an equal digit */
function sortByDigit(
  half: Uint32Array,
  { shift, mask }: { readonly shift: number; readonly mask: number },
  from: Int32Array,
  to: Int32Array,
): boolean {
  const count = half.length;
  const ends = new Int32Array(mask + 2);
  for (let i = 0; i < count; i++) ends[((half[i]! >>> shift) & mask) + 1]! += 1;
  if (ends[((half[0]! >>> shift) & mask) + 1] === count) return false;
  for (let digit = 1; digit <= mask; digit++) ends[digit]! += ends[digit - 1]!;
  for (let i = 0; i < count; i++) {
    const position = from[i]!;
    to[ends[(half[position]! >>> shift) & mask]!++] = position;
  }
  return true;
}

/** A decimal number within a text. */
const DECIMALS = /(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.]*\d)/g;

/** Number of significant digits that arithmetic on doubles keeps. Later digits may be noise. */
const EXACT_DIGITS = 12;
/** Minimum number of significant digits of a result with noise. */
const NOISY_DIGITS = 15;
/** Maximum number of significant digits of a decimal number that a person would write. */
const SHORT_DIGITS = 9;

/**
 * Returns a text whose decimal numbers have no noise of double arithmetic: `0.8999999999999999` becomes `0.9`. Other
 * numbers are unchanged, and so is a text in which two different numbers would become equal.
 */
export function removeNumberNoise(text: string): string {
  const numbers = text.match(DECIMALS);
  if (numbers === null || numbers.every((number) => countDigits(number) < NOISY_DIGITS)) return text;
  const distinct = new Set([...numbers, ...(text.match(/(?<![\w.])\d+(?![\w.]*\d)/g) ?? [])]);
  const shortened = new Set([...distinct].map(shorten));
  return shortened.size === distinct.size ? text.replaceAll(DECIMALS, shorten) : text;
}

function shorten(number: string): string {
  if (countDigits(number) < NOISY_DIGITS) return number;
  const rounded = String(Number(Number(number).toPrecision(EXACT_DIGITS)));
  return countDigits(rounded) <= SHORT_DIGITS ? rounded : number;
}

/** Returns the number of significant digits. */
const countDigits = (number: string): number => number.replace(/e.*$/, '').replace('.', '').replace(/^0+/, '').length;
