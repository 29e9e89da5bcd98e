import { computeCovariance, computeReturns } from '../analytics/returns.js';
import { findLastAtMost, roundHalfAwayFromZero } from '../base/numbers.js';
import type { Day } from '../base/time.js';

/** Levels from outside, on ascending days. */
export interface OutsideLevels {
  readonly days: Int32Array;
  readonly values: Float64Array;
  /** Decimals to which they are rounded; null if they are not rounded. */
  readonly decimals: number | null;
  /** True if the first level is itself rounded, so that the scale is fitted over all sessions. */
  readonly isScaled?: boolean;
}

/** Maximum number of outside levels: 80 years of sessions. */
export const LEVELS_MAX = 20_000;

/** Maximum number of decimals of a rounded level. */
const DECIMALS_MAX = 9;

/** Relative error of levels that two programs compute in full precision. */
export const PRECISION = 1e-11;

/** Returns the decimals to which values are rounded. Returns null if they are not rounded. */
export function findDecimals(values: Float64Array): number | null {
  for (let decimals = 0; decimals <= DECIMALS_MAX; decimals++)
    if (values.every((value) => roundHalfAwayFromZero(value, decimals) === value)) return decimals;
  return null;
}

/** Fewest units of the last digit that lie between two numbers of float32 that are written with more digits than they have. */
const FLOAT32_UNITS = 8;

/**
 * Returns the numbers that a program with float32 numbers has written with more digits than they have, such as 17949.36914
 * for 17949.37. Returns other values as they are.
 */
export function readFloat32(values: Float64Array): Float64Array {
  const countDigits = (value: number): number => Math.floor(Math.log10(value)) + 1;
  const significant = values.reduce(
    (most, value) => Math.max(most, countDigits(value) + (findDecimals(Float64Array.of(value)) ?? Infinity)),
    0,
  );
  const isWritten = (value: number): boolean => {
    const unit = Number.isFinite(significant) ? computeUnit(significant - countDigits(value)) : 0;
    const step = FLOAT32_PART * value;
    return Math.abs(value - Math.fround(value)) <= 1.0001 * unit && step > FLOAT32_UNITS * unit;
  };
  return values.length > 0 && values.every(isWritten) && values.some((value) => shorten(value) !== value)
    ? values.map(shorten)
    : values;
}

/** Least distance of float32 numbers, relative to them: 2 to the power of -24. */
const FLOAT32_PART = 1 / 16_777_216;

/** Returns the number with the fewest decimals whose float32 number is that of a value. */
function shorten(value: number): number {
  for (let decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
    const short = roundHalfAwayFromZero(value, decimals);
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}

/** Returns the number of decimals of a number as it is written, at most 6. */
export const countDecimals = (value: number): number => Math.min(findDecimals(Float64Array.of(value)) ?? 6, 6);

/** Returns true if a value has at most some decimals. */
export const hasDecimals = (value: number, decimals: number): boolean =>
  Math.abs(roundHalfAwayFromZero(value, decimals) - value) <= PRECISION * Math.abs(value);

/** Returns one unit of the last of some decimals. */
export const computeUnit = (decimals: number): number => Number(`1e-${decimals}`);

/** Returns half a unit of the last digit of an outside level, with the error of the computation. */
export function computeTolerance({ decimals }: Pick<OutsideLevels, 'decimals'>, value: number): number {
  return (
    (decimals === null ? 0 : 0.5 * computeUnit(decimals)) + PRECISION * Math.abs(value) * (decimals === null ? 10 : 1)
  );
}

/** Sessions that no cause explains. */
export interface Unexplained {
  /** First days of levels with another, unknown scale. */
  readonly breaks: readonly Day[];
  /** Single days whose levels are left out. */
  readonly skipped: readonly Day[];
  /** Days of levels that differ by one unit of the last digit here and there, for which no cause is searched. */
  readonly noise: readonly Day[];
}

export const NOTHING: Unexplained = { breaks: [], skipped: [], noise: [] };

/** Agreement of the levels of a run with those from outside. */
export interface Agreement {
  /** Position in the outside levels of the first difference; their number if there is none. */
  readonly reach: number;
  /** Range of scales that fit every session before it. */
  readonly low: number;
  readonly high: number;
}

/** Levels of a run. */
export interface OwnLevels {
  readonly days: Int32Array;
  readonly levels: Float64Array;
}

/**
 * Compares levels up to the first difference. Levels that begin equal have the scale 1; otherwise the scale is in the
 * range that fits all sessions within their rounding.
 */
export function compareLevels(
  own: OwnLevels,
  outside: OutsideLevels,
  { breaks, skipped, noise }: Unexplained,
): Agreement {
  const left = new Set(skipped);
  const small = new Set(noise);
  const state = { low: 0, high: Number.POSITIVE_INFINITY, isFirst: true };
  let s = 0;
  for (let t = 0; t < outside.days.length; t++) {
    const day = outside.days[t]!;
    while (s < own.days.length && own.days[s]! < day) s++;
    if (own.days[s] !== day) {
      if (s >= own.days.length) return { reach: t, low: state.low, high: state.high };
      continue;
    }
    if (breaks.includes(day)) Object.assign(state, { low: 0, high: Number.POSITIVE_INFINITY });
    if (left.has(day)) continue;
    const [level, value] = [own.levels[s]!, outside.values[t]!];
    const tolerance = computeTolerance(outside, value);
    if (state.isFirst && outside.isScaled !== true && Math.abs(level - value) <= tolerance)
      Object.assign(state, { low: 1, high: 1 });
    state.isFirst = false;
    if (small.has(day)) {
      // A small difference may last: it widens the range.
      if (Number.isFinite(state.high))
        Object.assign(state, {
          low: Math.min(state.low, (value - tolerance) / level),
          high: Math.max(state.high, (value + tolerance) / level),
        });
      continue;
    }
    const slack = 1e-15;
    const low = Math.max(state.low, (value - tolerance) / level);
    const high = Math.min(state.high, (value + tolerance) / level);
    if (!(low <= high * (1 + slack))) return { reach: t, low: state.low, high: state.high };
    Object.assign(state, state.low === 1 && state.high === 1 ? {} : { low, high });
  }
  return { reach: outside.days.length, low: state.low, high: state.high };
}

/** Returns the level of a run on a day; NaN if it has none. */
export function levelOn({ days, levels }: OwnLevels, day: Day): number {
  const at = findLastAtMost(days, day);
  return days[at] === day ? levels[at]! : Number.NaN;
}

/** Sessions that must agree with a fitted scale, and how many more than without it. */
const SCALED_SESSIONS = 20;
const SCALED_MORE = 10;

/**
 * Returns levels whose scale is fitted if their first one is rounded: the levels of a run that begins from it then differ
 * from them by a last digit here and there. Single wrong levels, and a step after the first sessions, do not matter.
 */
export function fitScale(outside: OutsideLevels, own: OwnLevels): OutsideLevels {
  const { values, days, decimals } = outside;
  const isShort = decimals === 0 ? values[0]! % 10 === 0 : decimals !== null && hasDecimals(values[0]!, decimals - 1);
  if (decimals === null || isShort) return outside;
  const ranges = Array.from(days, (day, t) => {
    const [level, value] = [levelOn(own, day), values[t]!];
    const tolerance = computeTolerance(outside, value);
    return { low: (value - tolerance) / level, high: (value + tolerance) / level };
  });
  const count = ranges.filter(({ low, high }) => low <= 1 && high >= 1).length;
  const most = countMost(ranges, ranges[0]!);
  const least = Math.min(Math.max(count + SCALED_MORE, SCALED_SESSIONS), days.length);
  return most > count && most >= least ? { ...outside, isScaled: true } : outside;
}

type Range = Pick<Agreement, 'low' | 'high'>;

/** Returns the largest number of ranges that have one number of a range in common. */
function countMost(ranges: readonly Range[], within: Range): number {
  const common = ranges.filter(({ low, high }) => low <= within.high && high >= within.low);
  const lows = common.map(({ low }) => Math.max(low, within.low)).toSorted((a, b) => a - b);
  const highs = common.map(({ high }) => high).toSorted((a, b) => a - b);
  let ended = 0;
  return lows.reduce((most, low, k) => {
    while (highs[ended]! < low) ended++;
    return Math.max(most, k + 1 - ended);
  }, 0);
}

/** Returns true if the levels of two runs agree within the rounding of the outside levels. */
export const haveEqualLevels = (a: OwnLevels, b: OwnLevels, outside: OutsideLevels): boolean =>
  outside.days.every((day, t) => {
    const tolerance = (2 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;
    return Math.abs(levelOn(a, day) / levelOn(b, day) - 1) <= tolerance;
  });

/** Returns the outside levels on the days of a run. */
export function selectCommon({ days, values, decimals }: OutsideLevels, own: OwnLevels): OutsideLevels {
  const isCommon = (day: Day): boolean => levelOn(own, day) > 0;
  return {
    days: days.filter(isCommon),
    values: values.filter((value, t) => isCommon(days[t]!) && value > 0),
    decimals,
  };
}

/** Returns the number of sessions whose returns agree within rounding. */
export function countEqualReturns(own: OwnLevels, outside: OutsideLevels): number {
  let count = 0;
  for (let t = 1; t < outside.days.length; t++) {
    const [before, value] = [outside.values[t - 1]!, outside.values[t]!];
    const growth = levelOn(own, outside.days[t]!) / levelOn(own, outside.days[t - 1]!);
    const tolerance =
      computeTolerance(outside, value) / before + (computeTolerance(outside, before) * value) / (before * before);
    if (Math.abs(value / before - growth) <= tolerance) count++;
  }
  return count;
}

/** Comparison of the returns of a run with those of levels from outside. */
export interface ComparedReturns {
  /** Number of returns between common sessions. */
  readonly count: number;
  /** Number of returns that agree within rounding. */
  readonly equal: number;
  /** Null if the returns of one of them are all equal. */
  readonly correlation: number | null;
  /** Present if the levels are most likely not those of the run. */
  readonly sentence?: string | undefined;
}

/** Returns from which their agreement is judged. */
const RETURNS_LEAST = 20;

/** Fraction of returns that agree below which nothing of the levels seems to be that of the run. */
const AGREED_LEAST = 0.05;

/** Correlation of returns from which two levels are those of one index. */
const SAME_INDEX = 0.99;

/** Compares the returns of a run with those of levels from outside. */
export function compareReturns(own: OwnLevels, outside: OutsideLevels): ComparedReturns {
  const common = selectCommon(outside, own);
  const levels = Float64Array.from(common.days, (day) => levelOn(own, day));
  const [a, b] = [computeReturns(levels), computeReturns(common.values)];
  const [aa, ab, bb] = [computeCovariance(a, a), computeCovariance(a, b), computeCovariance(b, b)];
  const compared = {
    count: a.length,
    equal: countEqualReturns(own, common),
    correlation: aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : null,
  };
  const { count, equal, correlation } = compared;
  const isOther = correlation !== null && correlation < SAME_INDEX && equal < AGREED_LEAST * count;
  if (!isOther || count < RETURNS_LEAST) return compared;
  const sentence = `Hardly any return agrees (${equal} of ${count}), and the correlation of the returns is ${correlation.toFixed(4)}: most likely these are levels of another index, in another currency or with moved dates.`;
  return { ...compared, sentence };
}

/** Returns outside / own - 1 on every common session. */
export function listErrors(own: OwnLevels, { days, values }: OutsideLevels, scale: number): Float64Array {
  return Float64Array.from(days, (day, t) => values[t]! / (levelOn(own, day) * scale) - 1);
}

/**
 * Returns positions of errors that show their course: all of few; of many, equally spaced ones and those on both sides of
 * the largest changes, so that a difference of one session is among them.
 * @param most maximum number of positions, even
 */
export function listShownSessions(errors: Float64Array, most: number): number[] {
  const last = errors.length - 1;
  if (errors.length <= most) return [...errors.keys()];
  const stride = Math.ceil(last / (most / 2 - 1));
  const change = (t: number): number => Math.abs(errors[t]! - errors[t - 1]!);
  const changes = Int32Array.from({ length: last }, (_, t) => t + 1).sort((a, b) => change(b) - change(a));
  const shown = new Set([0, last]);
  for (let t = stride; t < last; t += stride) shown.add(t);
  for (const t of changes) {
    if (shown.size > most - 2) break;
    shown.add(t - 1).add(t);
  }
  return [...shown].sort((a, b) => a - b);
}

/** Returns true if a level agrees within the rounding, by the error of `listErrors`, which is relative to the own level. */
export const isEqualAt = (errors: Float64Array, t: number, outside: OutsideLevels): boolean =>
  Math.abs(errors[t]! / (1 + errors[t]!)) * outside.values[t]! <=
  1.000001 * computeTolerance(outside, outside.values[t]!);
