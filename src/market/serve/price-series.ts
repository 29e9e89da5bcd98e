import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { addMonths, type Day, toMonthNumber, toWeekday } from '#domain/base/time.js';
import {
  computeGrowthStep,
  countSharesOfPayments,
  NO_EFFECT,
  type SessionEffect,
  type ShareTerms,
  spreadPayments,
} from '#domain/market/action-effects.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction, type MarketData } from '#domain/market/market-data.js';

/** Returns the product of the ratios of all split actions that are not cancelled. */
export function computeCumulativeRatio(actions: readonly CorporateAction[]): number {
  return actions.reduce(
    (product, { type, value, status }) =>
      ACTION_KINDS[type] === 'ratio' && status !== 'cancelled' ? product * value : product,
    1,
  );
}

/**
 * Returns the ordinary dividends per share over the twelve calendar months that end on a day. Each dividend is divided
 * by the splits between it and that day. If prices are adjusted for splits, the amounts are already on one basis.
 */
export function computeTrailingDividend(
  actions: readonly CorporateAction[],
  asOf: Day,
  adjustment: MarketData['adjustment'],
): number {
  const from = addMonths(asOf, -12);
  const corporateActions = actions.filter(({ exDay, status }) => exDay <= asOf && status !== 'cancelled');
  let sum = 0;
  for (const dividend of corporateActions) {
    if (dividend.type !== 'DIVIDEND' || dividend.exDay <= from) continue;
    const laterActions = adjustment === 'none' ? corporateActions.filter(({ exDay }) => exDay > dividend.exDay) : [];
    sum += dividend.value / computeCumulativeRatio(laterActions);
  }
  return sum;
}

/** Bars and actions of one security, as views of the store. */
export interface SecurityBars {
  /** Dates of the store, [T]. */
  readonly dates: Int32Array;
  /** Panels [T x N] by field. */
  readonly fields: readonly { readonly name: string; readonly values: Float64Array }[];
  /** Number of securities of the store, N, and position of this security. */
  readonly names: number;
  readonly position: number;
  readonly actions: readonly CorporateAction[];
  /** Price basis of the store. */
  readonly adjustment: Adjustment;
}

const INTERVALS = ['native', 'weekly', 'monthly'] as const;
export type Interval = (typeof INTERVALS)[number];

export interface SeriesRequest {
  readonly start: Day | null;
  readonly end: Day | null;
  readonly interval: Interval;
  /** Requested fields, in the order of the response. */
  readonly columns: readonly string[];
  readonly adjust: Adjustment;
}

/** Dated table of numbers, NaN for missing values. */
export interface PriceTable {
  readonly days: Int32Array;
  readonly columns: readonly { readonly name: string; readonly values: Float64Array }[];
}

const PRICE_FIELDS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE']);
const COUNT_FIELDS: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING']);

/**
 * Returns the bars of one security in the requested form. They are adjusted, then aggregated by week or month, then cut
 * to the window.
 */
export function computePriceSeries(bars: SecurityBars, request: SeriesRequest): PriceTable {
  const { dates, fields, names, position } = bars;
  const from = request.start === null ? 0 : findFirstAtLeast(dates, request.start);
  const to = request.end === null ? dates.length : findLastAtMost(dates, request.end) + 1;
  const rows = listRowsWithValue(bars, from, to);
  const getPanel = (name: string) => fields.find((field) => field.name === name)!.values;
  if (request.interval === 'native' && request.adjust === 'none') {
    return {
      days: pick(dates, 1, 0, rows, new Int32Array(rows.length)),
      columns: request.columns.map((name) => ({
        name,
        values: pick(getPanel(name), names, position, rows, new Float64Array(rows.length)),
      })),
    };
  }
  const close = copyColumn(getPanel('CLOSE'), names, position);
  const factors = request.adjust === 'none' ? undefined : computeAdjustmentFactors(bars, close, request.adjust);
  const requestedColumns = request.columns.map((name) => {
    const values = name === 'CLOSE' ? close.slice() : copyColumn(getPanel(name), names, position);
    if (factors !== undefined && PRICE_FIELDS.has(name))
      for (let t = 0; t < values.length; t++) values[t]! *= factors.price[t]!;
    if (factors !== undefined && COUNT_FIELDS.has(name))
      for (let t = 0; t < values.length; t++) values[t]! *= factors.shares[t]!;
    return { name, values };
  });
  if (request.interval !== 'native') return aggregatePeriods(dates, requestedColumns, rows, request.interval);
  return {
    days: pick(dates, 1, 0, rows, new Int32Array(rows.length)),
    columns: requestedColumns.map(({ name, values }) => ({
      name,
      values: pick(values, 1, 0, rows, new Float64Array(rows.length)),
    })),
  };
}

function copyColumn(panel: Float64Array, names: number, position: number): Float64Array {
  const values = new Float64Array(panel.length / names);
  for (let t = 0, cell = position; t < values.length; t++, cell += names) values[t] = panel[cell]!;
  return values;
}

function listRowsWithValue({ fields, names, position }: SecurityBars, from: number, to: number): Int32Array {
  const rows = new Int32Array(Math.max(to - from, 0));
  const panels = fields.map(({ values }) => values);
  let count = 0;
  for (let t = from; t < to; t++) {
    const cell = t * names + position;
    for (let f = 0; f < panels.length; f++) {
      const value = panels[f]![cell]!;
      if (value !== value) continue;
      rows[count++] = t;
      break;
    }
  }
  return rows.subarray(0, count);
}

/** Copies selected rows of one column of a row-major table to `out`, and returns it. */
function pick<T extends Float64Array | Int32Array>(
  values: T,
  step: number,
  column: number,
  rows: Int32Array,
  out: T,
): T {
  for (let i = 0; i < rows.length; i++) out[i] = values[rows[i]! * step + column]!;
  return out;
}

interface AdjustmentFactors {
  /** Factors on the prices of each row, [T]. */
  readonly price: Float64Array;
  /** Factors on the share counts of each row, [T]. */
  readonly shares: Float64Array;
}

/**
 * Returns factors that convert every row to the share basis of the last row. For `total`, prices also grow like a
 * holding with all cash reinvested: adjusted CLOSE divided by the previous one is the growth of the session in the
 * total variant. The last bar keeps its price. If the prices of a store are already adjusted to that degree, the
 * factors are 1.
 */
export function computeAdjustmentFactors(
  bars: Pick<SecurityBars, 'dates' | 'actions' | 'adjustment'>,
  close: Float64Array,
  adjust: 'splits' | 'total',
): AdjustmentFactors {
  const sessions = bars.dates.length;
  const price = new Float64Array(sessions).fill(1);
  const shares = new Float64Array(sessions).fill(1);
  const effects = listEffectsBySession(bars, adjust);
  let ratio = 1;
  for (let t = sessions - 1; t >= 0; t--) {
    shares[t] = ratio;
    price[t] = 1 / ratio;
    ratio *= effects.get(t)?.ratio ?? 1;
  }
  if (adjust === 'splits') return { price, shares };

  // The factor changes between sessions only if an action affects the share. The loop keeps the last price, so that an
  // action on a session without a bar is included.
  const steps = new Float64Array(sessions).fill(1);
  let carriedClose = Number.NaN;
  for (let t = 0; t < sessions; t++) {
    const bar = close[t]!;
    const effect = effects.get(t);
    if (effect !== undefined && !Number.isNaN(carriedClose)) {
      const paid = spreadPayments(effect, countSharesOfPayments(effect, carriedClose, HOLDING));
      const growthStep = computeGrowthStep(paid, carriedClose, bar);
      steps[t] = growthStep.carried / (growthStep.factor * carriedClose);
      carriedClose = growthStep.carried;
    } else if (!Number.isNaN(bar)) carriedClose = bar;
  }
  const last = close.findLastIndex((bar) => !Number.isNaN(bar));
  price.fill(1);
  for (let t = last - 1; t >= 0; t--) price[t] = price[t + 1]! * steps[t + 1]!;
  const basis = last < 0 ? 1 : shares[last]!; // no reported price depends on actions after the last bar
  for (let t = 0; t < sessions; t++) shares[t]! /= basis;
  return { price, shares };
}

/** A holding sells its rights and reinvests the proceeds. */
const HOLDING: ShareTerms = { rights: 'constituent', splitShares: 'multiply' };

/** Returns the effects of actions by row. An ex-date without a row takes effect on the next row. */
function listEffectsBySession(
  { dates, actions, adjustment }: Pick<SecurityBars, 'dates' | 'actions' | 'adjustment'>,
  adjust: 'splits' | 'total',
): Map<number, SessionEffect> {
  const effects = new Map<number, SessionEffect>();
  if (adjustment === 'total') return effects;
  for (const { type, value, exDay, status, subscriptionPrice, worth = Number.NaN } of actions) {
    if (status === 'cancelled') continue;
    const t = findFirstAtLeast(dates, exDay);
    if (t === dates.length) continue;
    const earlierEffect = effects.get(t) ?? NO_EFFECT;
    const kind = ACTION_KINDS[type];
    if (kind === 'ratio' && adjustment === 'none')
      effects.set(t, { ...earlierEffect, ratio: earlierEffect.ratio * value });
    else if (kind === 'cash' && adjust === 'total')
      effects.set(t, { ...earlierEffect, cash: earlierEffect.cash + value });
    else if (type === 'SPIN_OFF' && adjust === 'total' && value > 0)
      effects.set(t, { ...earlierEffect, spunOff: earlierEffect.spunOff + worth });
    else if (type === 'RIGHTS_ISSUE' && adjust === 'total' && subscriptionPrice !== null && value > 0) {
      effects.set(t, { ...earlierEffect, rights: earlierEffect.rights + value, subscription: subscriptionPrice });
    }
  }
  return effects;
}

type Columns = PriceTable['columns'];

function aggregatePeriods(
  dates: Int32Array,
  columns: Columns,
  rows: Int32Array,
  interval: 'weekly' | 'monthly',
): PriceTable {
  const groups: number[][] = [];
  let last: number | undefined;
  for (const t of rows) {
    const key = interval === 'weekly' ? computeWeek(dates[t]!) : toMonthNumber(dates[t]!);
    if (key === last) groups.at(-1)!.push(t);
    else groups.push([t]);
    last = key;
  }
  return {
    days: Int32Array.from(groups, (group) => dates[group.at(-1)!]!),
    columns: columns.map(({ name, values }) => ({
      name,
      values: Float64Array.from(groups, (group) =>
        aggregateColumn(
          name,
          group.map((t) => values[t]!),
        ),
      ),
    })),
  };
}

/**
 * Aggregates the values of a period. Uses the first OPEN, the highest HIGH, the lowest LOW, the sum of VOLUME, and the
 * last value of any other field.
 */
function aggregateColumn(name: string, all: readonly number[]): number {
  const values = all.filter((value) => value === value);
  if (values.length === 0) return Number.NaN;
  switch (name) {
    case 'OPEN':
      return values[0]!;
    case 'HIGH':
      return Math.max(...values);
    case 'LOW':
      return Math.min(...values);
    case 'VOLUME':
      return values.reduce((sum, value) => sum + value, 0);
    default:
      return values.at(-1)!;
  }
}

const computeWeek = (day: Day) => day - toWeekday(day);
