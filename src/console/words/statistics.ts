import type { RebalanceRow } from '#clients/typescript/divisor.js';
import type { ReadLevels } from '#base/level-file.js';
import { parseDayNumber } from './dates.js';
import { countValues } from './numbers.js';

/** Measures that compare level series on the same dates. Returns are simple returns between consecutive sessions. */

type Levels = readonly (number | null)[];

/** Returns the number of sessions per year: 365 for markets that trade on weekends, otherwise 252. */
export const countSessionsOfYear = (dates: readonly string[]): number =>
  dates.some((date) => new Date(date).getUTCDay() % 6 === 0) ? 365 : 252;

/** Returns the simple returns between one level and the next. A return is null if one of the levels is missing. */
export const computeReturns = (levels: Levels): readonly (number | null)[] =>
  levels.slice(1).map((level, t) => {
    const before = levels[t] ?? null;
    return level === null || before === null ? null : level / before - 1;
  });

/** Returns the drawdown at each level: the level divided by the highest level so far, minus 1. */
export function computeDrawdowns(levels: Levels): readonly (number | null)[] {
  let peak = 0;
  return levels.map((level) => {
    if (level === null) return null;
    peak = Math.max(peak, level);
    return level / peak - 1;
  });
}

/**
 * Returns the return of each calendar year. It is measured from the last level of the previous year; in the first year,
 * from the first level.
 */
export function computeCalendarYears(dates: readonly string[], levels: Levels): ReadonlyMap<string, number> {
  const years = new Map<string, number>();
  let base: number | null = null;
  let last: number | null = null;
  let year = '';
  dates.forEach((date, t) => {
    const level = levels[t] ?? null;
    if (level === null) return;
    const yearText = date.slice(0, 4);
    if (yearText !== year) {
      base = last ?? level;
      year = yearText;
    }
    last = level;
    years.set(yearText, level / base! - 1); // `base` is set at the first level
  });
  return years;
}

const computeMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function computeCovariance(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [computeMean(a), computeMean(b)];
  // `b` has the length of `a`
  return a.reduce((sum, value, t) => sum + (value - meanA) * (b[t]! - meanB), 0) / (a.length - 1);
}

export interface Relative {
  readonly correlation: number | null;
  readonly beta: number | null;
  readonly trackingErrorAnnual: number | null;
  readonly upCapture: number | null;
  readonly downCapture: number | null;
}

/** Computes the measures of one series relative to another. Only sessions on which both have a return count. */
export function compareWith(levels: Levels, reference: Levels, sessions: number): Relative {
  return createRelative(computeReturns(levels), computeReturns(reference), sessions);
}

function createRelative(levels: Levels, reference: Levels, sessions: number): Relative {
  const [a, b] = pairLevels(levels, reference);
  if (a.length < 2)
    return { correlation: null, beta: null, trackingErrorAnnual: null, upCapture: null, downCapture: null };
  const [own2, both, reference2] = [computeCovariance(a, a), computeCovariance(a, b), computeCovariance(b, b)];
  const differences = a.map((value, t) => value - b[t]!); // `b` has the length of `a`
  return {
    correlation: own2 > 0 && reference2 > 0 ? both / Math.sqrt(own2 * reference2) : null,
    beta: reference2 > 0 ? both / reference2 : null,
    trackingErrorAnnual: Math.sqrt(computeCovariance(differences, differences) * sessions),
    upCapture: computeCapture(a, b, (value) => value > 0),
    downCapture: computeCapture(a, b, (value) => value < 0),
  };
}

function pairLevels(a: readonly (number | null)[], b: readonly (number | null)[]): [number[], number[]] {
  const pairs = a.flatMap((value, t) => {
    const other = b[t] ?? null;
    return value === null || other === null ? [] : [[value, other] as const];
  });
  return [pairs.map(([value]) => value), pairs.map(([, other]) => other)];
}

/**
 * Computes the capture ratio. It is the geometric mean return divided by that of the reference, on sessions on which
 * the reference return has a given sign.
 */
function computeCapture(
  ownReturns: readonly number[],
  reference: readonly number[],
  isOn: (value: number) => boolean,
): number | null {
  const positions = reference.flatMap((value, t) => (isOn(value) ? [t] : []));
  if (positions.length === 0) return null;
  const mean = (values: readonly number[]) =>
    Math.expm1(positions.reduce((sum, t) => sum + Math.log1p(values[t]!), 0) / positions.length);
  return mean(ownReturns) / mean(reference);
}

export type RollingMeasure = 'volatility' | 'correlation' | 'beta';

/**
 * Computes a measure at each date over the last `window` returns up to that date. It is null before there are enough
 * returns.
 * @cost the window length for each date
 */
export function computeRolling(
  measure: RollingMeasure,
  levels: Levels,
  { reference, window, sessions }: RollingTerms,
): Levels {
  const [all, others] = [computeReturns(levels), computeReturns(reference)];
  return levels.map((_, t) => {
    if (t < window) return null;
    const windowReturns = all.slice(t - window, t);
    if (measure !== 'volatility') return createRelative(windowReturns, others.slice(t - window, t), sessions)[measure];
    const returns = windowReturns.filter((value) => value !== null);
    return returns.length < 2 ? null : Math.sqrt(computeCovariance(returns, returns) * sessions);
  });
}

interface RollingTerms {
  readonly reference: Levels;
  readonly window: number;
  readonly sessions: number;
}

/**
 * Returns the weight that two portfolios have in common: the smaller of the two weights, summed over all securities.
 */
export function countOverlap(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [name, weight] of a) sum += Math.max(0, Math.min(weight, b.get(name) ?? 0));
  return sum;
}

/** Returns the median of numbers; 0 if there are none. */
export function computeMedian(values: readonly number[]): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  const [low, high] = [
    sortedValues[Math.floor((sortedValues.length - 1) / 2)],
    sortedValues[Math.ceil((sortedValues.length - 1) / 2)],
  ];
  return ((low ?? 0) + (high ?? 0)) / 2;
}

/** Returns the cumulative sums of values within each calendar year. */
export function sumByYear(dates: readonly string[], values: readonly (number | null)[]): number[] {
  let sum = 0;
  return dates.map((date, t) => {
    if (t > 0 && date.slice(0, 4) !== dates[t - 1]!.slice(0, 4)) sum = 0;
    return (sum += values[t] ?? 0);
  });
}

/** Share of the sessions in the tail of a distribution of returns. */
const TAIL = 0.05;

/**
 * Computes the historical value at risk at 95%. It is the smallest loss among the worst 5% of the sessions, whose
 * number is rounded up. It is positive for a loss, and null without returns.
 */
export function computeValueAtRisk(returns: readonly (number | null)[]): number | null {
  const sortedReturns = returns.filter((value) => value !== null).toSorted((a, b) => a - b);
  const edge = sortedReturns[Math.ceil(sortedReturns.length * TAIL) - 1];
  return edge === undefined ? null : -edge;
}

const DAYS_PER_YEAR = 365.25;

/**
 * Adds up a figure of the rebalances and returns the sum per year, from the first to the last rebalance. Returns null
 * for fewer than two rebalances. The first composition has no turnover.
 */
export function computeYearlySum<R extends Pick<RebalanceRow, 'date'>>(
  rebalances: readonly R[],
  readValue: (row: R) => number | null,
): number | null {
  const [first, last] = [rebalances[0], rebalances.at(-1)];
  if (first === undefined || last === undefined || first === last) return null;
  const years = (parseDayNumber(last.date) - parseDayNumber(first.date)) / DAYS_PER_YEAR;
  const sum = rebalances.reduce((total, row) => total + (readValue(row) ?? 0), 0);
  return sum / years;
}

/** Levels of a run. */
interface RunLevels {
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

/** Common sessions from which hints on the returns are given. */
const RETURNS_LEAST = 20;

/** Fraction of returns that agree below which nothing of the levels seems to be that of the run. */
const AGREED_LEAST = 0.05;

/** Correlation of returns from which two levels are those of one index. */
const SAME_INDEX = 0.99;

/** Most decimals of a level that a vendor stored as float32; it is written with more of them. */
const FLOAT32_DECIMALS = 4;

/** Note to the user before a comparison. */
export interface Hint {
  readonly kind: 'info' | 'warning';
  readonly text: string;
}

/** Returns what the user should know before a comparison: levels of another index, decimals without information, too few sessions. */
export function listHints({ levels, written }: ReadLevels, { index, data }: RunLevels): Hint[] {
  const hints: Hint[] = [];
  const warn = (text: string): void => void hints.push({ kind: 'warning', text });
  const own = new Map(index.map((date, t) => [date, data[t] ?? Number.NaN]));
  const common = levels.filter(({ date }) => own.get(date)! > 0);
  const values = levels.map(({ value }) => value);
  const carried = Math.max(...values.map((value) => String(value).split('.')[1]?.length ?? 0));
  const stored = Array.from({ length: FLOAT32_DECIMALS + 1 }, (_, d) => d).find((d) =>
    values.every((value) => Math.fround(Number(value.toFixed(d))) === Math.fround(value)),
  );
  const decimals = stored !== undefined && carried > FLOAT32_DECIMALS ? stored : carried;
  if (decimals < written) {
    const example = levels.find(({ value }) => String(value).length > value.toFixed(decimals).length)?.value;
    hints.push({
      kind: 'info',
      text: `The levels are written with ${countValues(written, 'decimal')}, but their values carry ${decimals}${example === undefined ? '' : ` (${example} is ${example.toFixed(decimals)} in single precision)`}. They are compared with ${decimals}.`,
    });
  }
  if (common.length < 2) {
    warn(
      `${common.length === 0 ? 'None' : 'Only one'} of the ${countValues(levels.length, 'date')} is a session of the run, ${index[0]} to ${index.at(-1)}. A comparison needs at least 2.`,
    );
    return hints;
  }
  if (common.length <= RETURNS_LEAST) return hints;
  const pairs = common.slice(1).map(({ date, value }, k) => {
    const before = common[k]!;
    const [own_, outside] = [own.get(date)! / own.get(before.date)! - 1, value / before.value - 1];
    return { own: own_, outside, tolerance: 10 ** -decimals / Math.min(value, before.value) + 1e-12 };
  });
  const agreed = pairs.filter(({ own: a, outside: b, tolerance }) => Math.abs(a - b) <= tolerance).length;
  if (agreed >= AGREED_LEAST * pairs.length) return hints;
  const [a, b] = [pairs.map((pair) => pair.own), pairs.map((pair) => pair.outside)];
  const correlation = computeCovariance(a, b) / Math.sqrt(computeCovariance(a, a) * computeCovariance(b, b));
  const reason =
    correlation >= SAME_INDEX
      ? 'another return variant or currency, or levels with a fee or moved by a rate on every session'
      : 'another index, another currency or moved dates';
  warn(
    `Hardly any return agrees (${agreed} of ${pairs.length}), from the first session on. The correlation of the returns is ${correlation.toFixed(4)}: most likely ${reason}.`,
  );
  return hints;
}
