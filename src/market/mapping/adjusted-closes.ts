import { formatDay, type Day } from '#domain/time/days.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import type { Problem, Problems } from '../tables/problems.js';
import { SPLIT_RATIO_MIN, SPLIT_RATIOS } from '../content/split-ratios.js';
import { countDecimals, SINGLE_PRECISION, computeUnit } from '../content/written-precision.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { Panels } from '../panels/panels.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';

/**
 * Rounding rules of vendors, which are tried in turn: one rounding, a rounding after every dividend, or rounding of
 * closes that were not rounded before.
 */
const ROUNDINGS = [
  ...[1, 2, 4, 8].map((times) => ({ relative: times * SINGLE_PRECISION, units: 0 })),
  { relative: SINGLE_PRECISION, units: 1 },
] as const;

/** Maximum cash on the day of a split, as a fraction of the price. */
const SPLIT_CASH_MAX = 0.05;

/**
 * Maximum amount that does not count as a dividend, as a fraction of the price. Smaller amounts arise because adjusted
 * closes are rounded.
 */
const DIVIDEND_MIN = 1e-6;

/**
 * Fraction of the previous price from which on a dividend is suspect. A price move of this size without an action is
 * suspect too.
 */
const LARGE_DIVIDEND = 0.5;

/** Minimum number of decimals of a rounded dividend: cents. It applies if prices have more decimals. */
const CASH_DECIMALS = 2;
/** Maximum number of decimals of a rounded dividend. It is the full precision of a price with few digits. */
const CASH_DECIMALS_MAX = 15;

/** Interval of numbers consistent with rounding. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** Closes and adjusted closes of one security, on the days with both. */
export interface Closes {
  readonly days: readonly Day[];
  readonly close: readonly number[];
  readonly adjusted: readonly number[];
  /** Days with adjusted closes of 0 or less. */
  readonly refused: readonly (readonly [day: Day, adjusted: number])[];
}

/** Days on which the adjusted close is a constant multiple of the close (a plateau). */
interface Plateau {
  /** Position of the first day of the plateau. */
  readonly from: number;
  readonly factor: Range;
  /** Relative rounding of the adjusted close of the first day. */
  readonly rounding: number;
}

/** Actions that adjusted closes imply. */
export interface ImpliedActions {
  readonly actions: readonly CorporateAction[];
  readonly errors: readonly DividendError[];
}

interface SecurityActions {
  readonly actions: CorporateAction[];
  readonly errors: DividendError[];
}

/**
 * Derives cash dividends, and also splits if closes are as traded. Between two ex-dates, the adjusted close is a
 * constant multiple m of the close, up to the vendor's rounding. On an ex-date, vendors multiply all earlier adjusted
 * closes by 1 - dividend / previous close, so that dividend = previous close x (1 - m before / m after). If the
 * multiple falls without an explanation, a warning is given.
 * @cost O(days x securities)
 */
export function deriveActions(
  panels: Panels,
  adjustment: MarketData['adjustment'],
  problems: Problems,
): ImpliedActions {
  const adjustedCloses = panels.fields.get(ADJUSTED_CLOSE);
  if (adjustedCloses === undefined) return { actions: [], errors: [] };
  const results = panels.identifiers.map((identifier, n) =>
    collectActions(identifier, createCloses(panels, adjustedCloses, n), adjustment, problems),
  );
  return {
    actions: results.flatMap((securityActions) => securityActions.actions),
    errors: results.flatMap((securityActions) => securityActions.errors),
  };
}

/** Returns an action without other terms. */
export const createPlainAction = (
  terms: Pick<CorporateAction, 'identifier' | 'type' | 'value' | 'exDay'>,
): CorporateAction => ({
  ...terms,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

/** Returns the closes and adjusted closes of a security. */
export function createCloses({ identifiers, dates, fields }: Panels, adjusted: Float64Array, n: number): Closes {
  const closes = fields.get('CLOSE')!; // every market has this field
  const series = { days: [] as Day[], close: [] as number[], adjusted: [] as number[] };
  const refusals: (readonly [Day, number])[] = [];
  for (let t = 0; t < dates.length; t++) {
    const cell = t * identifiers.length + n;
    if (adjusted[cell]! <= 0) refusals.push([dates[t]!, adjusted[cell]!]);
    if (!(closes[cell]! > 0 && adjusted[cell]! > 0)) continue;
    series.days.push(dates[t]!);
    series.close.push(closes[cell]!);
    series.adjusted.push(adjusted[cell]!);
  }
  return { ...series, refused: refusals };
}

function collectActions(
  identifier: string,
  closes: Closes,
  adjustment: MarketData['adjustment'],
  problems: Problems,
): SecurityActions {
  const actions: CorporateAction[] = [];
  const errors: DividendError[] = [];
  const add = (type: 'DIVIDEND' | 'SPLIT', value: number, exDay: Day) =>
    actions.push(createPlainAction({ identifier, type, value, exDay }));
  if (closes.refused.length > 0) problems.warning(describeNonPositiveClose(identifier, closes.refused));
  const [first, ...steps] = listSteps(listPlateaus(closes, adjustment), adjustment);
  const decimals = Math.min(CASH_DECIMALS, countDecimals(closes.close) ?? CASH_DECIMALS);
  // Multiple after the actions so far. It is consistent with the rounding of all days.
  let factor = first?.factor ?? { low: 1, high: 1 };
  for (const { from, factor: range, split, rounding } of steps) {
    const rise = divideRanges(range, factor);
    const day = closes.days[from]!;
    // A dividend on the day of a split is paid per share after the split.
    const previousClose = closes.close[from - 1]! / split;
    const cash = { low: previousClose * (1 - split / rise.low), high: previousClose * (1 - split / rise.high) };
    if (cash.high < 0) {
      problems.warning(createFallProblem(identifier, day, computeMiddle(rise)));
      factor = range;
      continue;
    }
    if (split !== 1) add('SPLIT', split, day);
    const isPaid = cash.low > 0 && computeMiddle(cash) > Math.max(rounding, DIVIDEND_MIN) * previousClose;
    const dividend = isPaid ? roundWithin(cash, { error: rounding * previousClose, decimals }) : 0;
    if (dividend > 0) {
      add('DIVIDEND', dividend, day);
      errors.push({ identifier, exDay: day, error: cash.high - cash.low + 2 * rounding * previousClose });
    }
    if (dividend > LARGE_DIVIDEND * previousClose)
      problems.warning(
        createLargeDividend(identifier, day, { dividend, before: previousClose, isWhole: closes.refused.length === 0 }),
      );
    const expectedFactor = scaleRange(factor, split / (1 - dividend / previousClose));
    factor =
      expectedFactor.low > range.high || expectedFactor.high < range.low
        ? range
        : intersectRanges(range, expectedFactor);
  }
  return { actions, errors };
}

/** Plateau with the ratio of the split at its beginning. The ratio is 1 if there is no split. */
interface Step extends Plateau {
  readonly split: number;
}

/**
 * Returns the plateaus with their splits. A split without cash changes the multiple exactly by its ratio. The range of
 * each plateau therefore limits the range of the other.
 */
function listSteps(plateaus: readonly Plateau[], adjustment: MarketData['adjustment']): Step[] {
  const steps = plateaus.map((plateau, i) => {
    const previousPlateau = plateaus[i - 1];
    const split =
      previousPlateau === undefined || adjustment !== 'none'
        ? 1
        : findSplitRatio(divideRanges(plateau.factor, previousPlateau.factor));
    return { ...plateau, split };
  });
  const narrowFactor = (i: number, otherRange: Range) =>
    (steps[i] = { ...steps[i]!, factor: intersectRanges(steps[i]!.factor, otherRange) });
  const isAlone = ({ split, factor }: Step, before: Step) =>
    split !== 1 && split * before.factor.low <= factor.high && split * before.factor.high >= factor.low;
  const isAloneByStep = steps.map((step, i) => i > 0 && isAlone(step, steps[i - 1]!));
  for (let i = 1; i < steps.length; i++)
    if (isAloneByStep[i]) narrowFactor(i, scaleRange(steps[i - 1]!.factor, steps[i]!.split));
  for (let i = steps.length - 1; i > 0; i--)
    if (isAloneByStep[i]) narrowFactor(i - 1, scaleRange(steps[i]!.factor, 1 / steps[i]!.split));
  return steps;
}

function createFallProblem(identifier: string, day: Day, rise: number): Problem {
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} falls by ${((1 - rise) * 100).toPrecision(3)}% against the close on ${formatDay(day)}; no dividend does that, and none is derived.`,
    value: formatDay(day),
  };
}

/** Describes adjusted closes of 0 or less. A dividend above the price would cause them. */
function describeNonPositiveClose(identifier: string, refusedCloses: Closes['refused']): Problem {
  const [day, first] = refusedCloses[0]!; // the list is not empty
  const last = refusedCloses.at(-1)!;
  const lastDayText = refusedCloses.length === 1 ? '' : ` through ${formatDay(last[0])}`;
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} is 0 or less on ${formatDay(day)}${lastDayText} (${refusedCloses.length} ${refusedCloses.length === 1 ? 'day' : 'days'}, the first ${first}): no dividends are derived of them, and total growth lacks what was paid then. Give them as the table corporate_actions, without adjusted_close.`,
    value: formatDay(day),
  };
}

function createLargeDividend(
  identifier: string,
  day: Day,
  { dividend, before, isWhole }: { readonly dividend: number; readonly before: number; readonly isWhole: boolean },
): Problem {
  const returnsText = isWhole ? ' Total returns include it, price returns do not.' : '';
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} implies a dividend of ${dividend} after a close of ${before} on ${formatDay(day)}: as large may be a split of no common ratio, or a spin-off.${returnsText}`,
    value: formatDay(day),
  };
}

/**
 * Returns the plateaus of a security. Uses the smallest rounding with the fewest unexplained falls of the multiple:
 * dividends only raise the multiple, but rounding changes it in both directions.
 */
function listPlateaus(closes: Closes, adjustment: MarketData['adjustment']): Plateau[] {
  const unit = computeUnit(closes.adjusted);
  let bestPlateaus: Plateau[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const { relative, units } of ROUNDINGS) {
    const plateaus = dividePlateaus(closes, relative, { unit, closeUnit: units * computeUnit(closes.close) });
    const fallCount = plateaus.filter((_, i) => isFall(plateaus, i, adjustment)).length;
    if (fallCount >= fewest) continue;
    bestPlateaus = plateaus;
    fewest = fallCount;
    if (fallCount === 0) break;
  }
  return bestPlateaus;
}

const isFall = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  i > 0 && plateaus[i]!.factor.high < plateaus[i - 1]!.factor.low && !isSplit(plateaus, i, adjustment);

const isSplit = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  adjustment === 'none' && findSplitRatio(divideRanges(plateaus[i]!.factor, plateaus[i - 1]!.factor)) !== 1;

/** Divides days into plateaus. Each plateau is as long as one multiple fits its days. */
function dividePlateaus(
  { close, adjusted }: Closes,
  relative: number,
  { unit, closeUnit }: { readonly unit: number; readonly closeUnit: number },
): Plateau[] {
  const plateaus: { from: number; factor: Range; rounding: number }[] = [];
  for (let t = 0; t < close.length; t++) {
    const slack = adjusted[t]! * (relative + closeUnit / 2 / close[t]!) + unit / 2;
    const factorRange = { low: (adjusted[t]! - slack) / close[t]!, high: (adjusted[t]! + slack) / close[t]! };
    const last = plateaus.at(-1);
    const low = Math.max(factorRange.low, last?.factor.low ?? 0);
    const high = Math.min(factorRange.high, last?.factor.high ?? Number.POSITIVE_INFINITY);
    if (last === undefined || low > high)
      plateaus.push({ from: t, factor: factorRange, rounding: slack / adjusted[t]! });
    else last.factor = { low, high };
  }
  return plateaus;
}

/**
 * Returns the simplest split ratio that is consistent with a rise and little or no cash. Returns 1 if there is none.
 */
function findSplitRatio({ low, high }: Range): number {
  if (high > 1 && low < SPLIT_RATIO_MIN) return 1;
  const exactRatio = SPLIT_RATIOS.find((ratio) => ratio >= low && ratio <= high);
  return exactRatio ?? SPLIT_RATIOS.find((ratio) => ratio <= high && ratio * (1 + SPLIT_CASH_MAX) >= low) ?? 1;
}

const computeMiddle = ({ low, high }: Range) => (low + high) / 2;

/** Returns the range of quotients of positive numbers in two ranges. */
const divideRanges = (above: Range, below: Range): Range => ({
  low: above.low / below.high,
  high: above.high / below.low,
});

const scaleRange = ({ low, high }: Range, by: number): Range => ({ low: low * by, high: high * by });

/** Returns the intersection of two ranges. If rounding separates them, returns a single number between them. */
function intersectRanges(range: Range, otherRange: Range): Range {
  const low = Math.max(range.low, otherRange.low);
  return { low, high: Math.max(low, Math.min(range.high, otherRange.high)) };
}

/**
 * Returns the middle of a range, rounded to as few decimals as possible but at least `decimals`. The rounding error
 * stays within the error of the vendor.
 */
function roundWithin(range: Range, { error, decimals }: { readonly error: number; readonly decimals: number }): number {
  const exact = computeMiddle(range);
  for (let digits = decimals; digits <= CASH_DECIMALS_MAX; digits++) {
    const value = Number(exact.toFixed(digits));
    if (value > 0 && ((value >= range.low && value <= range.high) || Math.abs(value - exact) <= error)) return value;
  }
  return exact;
}
