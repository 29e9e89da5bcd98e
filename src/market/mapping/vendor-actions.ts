import { findFirstAtLeast } from '#domain/base/numbers.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import {
  computePriceUnit,
  countCommonDecimals,
  SINGLE_PRECISION,
  SPLIT_RATIO_MIN,
  SPLIT_RATIOS,
} from '../content/action-rows.js';
import type { DividendError } from '../content/market-content.js';
import { type Panels, removeEmptyLines } from '../panels/panels.js';
import type { DataProblem, Problems } from '../tables/problems.js';
import { ADJUSTED_CLOSE, STATED_DIVIDENDS, STATED_GAINS, STATED_SPLITS } from './columns.js';

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
interface Closes {
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
function deriveActions(panels: Panels, adjustment: MarketData['adjustment'], problems: Problems): ImpliedActions {
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
const createPlainAction = (
  terms: Pick<CorporateAction, 'identifier' | 'type' | 'value' | 'exDay'>,
): CorporateAction => ({
  ...terms,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

function createCloses({ identifiers, dates, fields }: Panels, adjusted: Float64Array, n: number): Closes {
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
  const decimals = Math.min(CASH_DECIMALS, countCommonDecimals(closes.close) ?? CASH_DECIMALS);
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

function createFallProblem(identifier: string, day: Day, rise: number): DataProblem {
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} falls by ${((1 - rise) * 100).toPrecision(3)}% against the close on ${formatDay(day)}; no dividend does that, and none is derived.`,
    value: formatDay(day),
  };
}

/** Describes adjusted closes of 0 or less. A dividend above the price would cause them. */
function describeNonPositiveClose(identifier: string, refusedCloses: Closes['refused']): DataProblem {
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
): DataProblem {
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
  const unit = computePriceUnit(closes.adjusted);
  let bestPlateaus: Plateau[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const { relative, units } of ROUNDINGS) {
    const plateaus = dividePlateaus(closes, relative, { unit, closeUnit: units * computePriceUnit(closes.close) });
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

/** Panels without the columns from which actions are read, and these actions. */
export interface DerivedMarket {
  readonly panels: Panels;
  readonly actions: readonly CorporateAction[];
  readonly derived: DerivedActions;
  readonly errors: readonly DividendError[];
}

type Terms = Pick<Mapping, 'adjusted_close' | 'dividends_from'> & { readonly adjustment: MarketData['adjustment'] };

/**
 * Returns the actions that adjusted closes imply or that the vendor states, as the mapping requires. Reports each
 * difference between both.
 * @cost O(days x securities)
 */
export function readVendorActions(panels: Panels, terms: Terms, problems: Problems): DerivedMarket {
  const { fields } = panels;
  const implied = deriveActions(panels, terms.adjustment, problems);
  const stated = listStatedActions(panels, terms.adjustment);
  const hasDividends = fields.has(STATED_DIVIDENDS);
  if (fields.has(ADJUSTED_CLOSE))
    for (const [column, type] of [
      [STATED_DIVIDENDS, 'DIVIDEND'],
      [STATED_SPLITS, 'SPLIT'],
    ] as const)
      if (fields.has(column) && (type === 'DIVIDEND' || terms.adjustment === 'none'))
        compareActions({ panels, type, terms, stated, implied }, problems);
  const isStated = terms.dividends_from === 'column';
  if (isStated && !hasDividends)
    problems.error({
      code: 'MISSING_COLUMN',
      path: 'mapping.dividends_from',
      column: 'Dividends',
      message: 'dividends_from is column, but the market has no column of dividends, such as Dividends or divCash.',
    });
  const splits = isStated && fields.has(STATED_SPLITS) ? stated : implied.actions;
  const actions = [
    ...(isStated ? stated : implied.actions).filter(({ type }) => type === 'DIVIDEND'),
    ...splits.filter(({ type }) => type === 'SPLIT'),
  ];
  const dividends = actions.filter(({ type }) => type === 'DIVIDEND').length;
  return {
    panels: removeEmptyLines({
      ...panels,
      fields: new Map([...fields].filter(([name]) => !name.startsWith('\u0000'))),
    }),
    actions,
    derived: { dividends, splits: actions.length - dividends },
    errors: isStated ? [] : implied.errors,
  };
}

/** Returns the dividends and splits in the columns of the vendor. Splits count only if closes are as traded. */
function listStatedActions(
  { identifiers, dates, fields }: Panels,
  adjustment: MarketData['adjustment'],
): CorporateAction[] {
  const dividends = fields.get(STATED_DIVIDENDS);
  const gains = dividends && fields.get(STATED_GAINS);
  const splits = adjustment === 'none' ? fields.get(STATED_SPLITS) : undefined;
  const results: CorporateAction[] = [];
  if (dividends === undefined && splits === undefined) return results;
  dates.forEach((exDay, t) => {
    for (let n = 0; n < identifiers.length; n++) {
      const cell = t * identifiers.length + n;
      const cash = readNumber(dividends, cell) + readNumber(gains, cell);
      const ratio = readNumber(splits, cell);
      const identifier = identifiers[n]!;
      if (cash > 0) results.push(createPlainAction({ identifier, type: 'DIVIDEND', value: cash, exDay }));
      if (ratio > 0 && ratio !== 1) results.push(createPlainAction({ identifier, type: 'SPLIT', value: ratio, exDay }));
    }
  });
  return results;
}

const readNumber = (panel: Float64Array | undefined, cell: number) => {
  const value = panel?.[cell] ?? 0;
  return value > 0 ? value : 0;
};

/** Maximum unit of the last decimal of prices and dividends. Without it, whole numbers would have a unit of 1. */
const UNIT_MAX = 0.01;
/** Maximum difference of two ratios of a split, as a fraction. */
const SPLIT_TOLERANCE = 1e-3;

interface Comparison {
  readonly panels: Panels;
  readonly type: 'DIVIDEND' | 'SPLIT';
  readonly terms: Terms;
  readonly stated: readonly CorporateAction[];
  readonly implied: { readonly actions: readonly CorporateAction[]; readonly errors: readonly DividendError[] };
}

/** Reports the differences between the dividends or splits of both sources, by security and bar. */
function compareActions({ panels, type, terms, stated, implied }: Comparison, problems: Problems): void {
  const adjustedCloses = panels.fields.get(ADJUSTED_CLOSE)!; // the caller has checked it
  const [adjusted, used] = [
    terms.adjusted_close,
    terms.dividends_from === 'column' ? 'The column' : terms.adjusted_close,
  ];
  const formatAction = (value: number) =>
    value === 0 ? 'none' : `a ${type === 'DIVIDEND' ? 'dividend' : 'split'} of ${value}`;
  const [statedActions, impliedActions] = [groupBySecurity(stated, type), groupBySecurity(implied.actions, type)];
  const errors = new Map(implied.errors.map(({ identifier, exDay, error }) => [`${identifier} ${exDay}`, error]));
  panels.identifiers.forEach((identifier, n) => {
    const [own, derived] = [statedActions.get(identifier) ?? [], impliedActions.get(identifier) ?? []];
    if (own.length + derived.length === 0) return;
    const closes = createCloses(panels, adjustedCloses, n);
    const [ownSums, derivedSums] = [sumByBar(own, closes), sumByBar(derived, closes)];
    const unit = Math.min(UNIT_MAX, computePriceUnit(own.map(({ value }) => value)));
    for (const bar of [...new Set([...ownSums.keys(), ...derivedSums.keys()])].toSorted((a, b) => a - b)) {
      const [ownValue, derivedValue] = [ownSums.get(bar) ?? 0, derivedSums.get(bar) ?? 0];
      const day = closes.days[bar]!;
      const error = errors.get(`${identifier} ${day}`) ?? computeTolerance(closes, bar);
      const tolerance = type === 'SPLIT' ? SPLIT_TOLERANCE * ownValue : error + unit / 2;
      if (Math.abs(ownValue - derivedValue) <= tolerance) continue;
      problems.warning({
        code: 'ADJUSTMENT_UNEXPLAINED',
        path: `market.${identifier}`,
        message: `The column of the vendor states ${formatAction(ownValue)} for ${identifier} on ${formatDay(day)}, and ${adjusted} implies ${formatAction(derivedValue)}. ${used} is used.`,
        value: formatDay(day),
      });
    }
  });
}

function groupBySecurity(
  actions: readonly CorporateAction[],
  type: CorporateAction['type'],
): ReadonlyMap<string, readonly CorporateAction[]> {
  const groups = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    if (action.type !== type) continue;
    const group = groups.get(action.identifier);
    if (group === undefined) groups.set(action.identifier, [action]);
    else group.push(action);
  }
  return groups;
}

/** Returns the sum of dividends, or the product of splits, of a security by bar, except for its first bar. */
function sumByBar(actions: readonly CorporateAction[], closes: Closes): Map<number, number> {
  const days = Int32Array.from(closes.days);
  const sums = new Map<number, number>();
  for (const { type, value, exDay } of actions) {
    const bar = findFirstAtLeast(days, exDay);
    if (bar === 0 || bar === days.length) continue;
    const before = sums.get(bar);
    sums.set(bar, before === undefined ? value : type === 'SPLIT' ? before * value : before + value);
  }
  return sums;
}

/** Returns the largest dividend that the rounding of closes hides. */
function computeTolerance({ close, adjusted }: Closes, bar: number): number {
  const unit = Math.min(UNIT_MAX, computePriceUnit(adjusted));
  const rounding = unit / adjusted[bar - 1]! + unit / adjusted[bar]! + 16 * SINGLE_PRECISION;
  return rounding * close[bar - 1]! + Math.min(UNIT_MAX, computePriceUnit(close));
}
