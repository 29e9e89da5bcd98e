import type { WeightsView } from '#contract/analytics/analytics.js';
import {
  computeCashWeight,
  computeShortExposure,
  measureConcentration,
  measureDrift,
} from '#domain/analytics/concentration.js';
import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import { readCashCurrency, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { findDateInForce } from '#domain/definition/schedule.js';
import { type MarketData, readReference } from '#domain/market/market-data.js';
import { formatCashName } from '#domain/outputs/exports.js';
import { type Batch, BATCH_ROWS, type Producer, toTextValues, yieldBatches } from './formats/batch.js';
import { createSpan, openPanelRows, readStoredLabels, roundOnDay } from './run-columns.js';

/** Holdings on a date of a stored run. */
export interface WeightsOnDate {
  readonly names: readonly string[];
  /** Position of the date in the run. */
  readonly at: number;
  readonly day: Day;
  /** Held weights, negative for short positions, [H]. */
  readonly held: Float64Array;
  /** Applied weights of the rebalance in force, [H]. */
  readonly target: Float64Array;
  readonly raw: Float64Array;
  readonly capped: Uint8Array;
  readonly rebalance: StoredRebalance;
  /** Date of the rebalance. It is on or before the date of the weights. */
  readonly rebalanceDay: Day;
  /** Currency of the cash of an overlay; null for any other run. */
  readonly cashCurrency: string | null;
  readonly round: (weight: number) => number;
}

/**
 * Reads the holdings on a date of a stored run.
 * @throws Refusal NO_DATA_AT_DATE before the first date of the run
 */
export function readPositiveWeights(columns: RunColumns, asOf: string | null): WeightsOnDate {
  const { header } = columns;
  const days = columns.i32('days');
  const position = asOf === null ? days.length - 1 : findLastAtMost(days, parseValidDay(asOf));
  if (position < 0)
    throw new Refusal('NO_DATA_AT_DATE', `as_of ${asOf} is before the first date of the run, ${formatDay(days[0]!)}.`);
  const H = header.names.length;
  const r = header.rebalances.findLastIndex((rebalance) => rebalance.at <= position);
  return {
    names: header.names,
    at: position,
    day: days[position]!,
    held: columns.f64(header.has_index_weights ? 'indexWeights' : 'weights', position * H, (position + 1) * H),
    target: columns.f64('targets', r * H, (r + 1) * H),
    raw: columns.f64('raw', r * H, (r + 1) * H),
    capped: columns.u8('capped', r * H, (r + 1) * H),
    rebalance: header.rebalances[r]!,
    rebalanceDay: findStoredDate(header.rebalances[r]!, days, days[position]!),
    cashCurrency: readCashCurrency(columns),
    round: roundOnDay(columns, 'weights', days[position]!),
  };
}

/**
 * Returns the date of a stored rebalance. It is never after a day on which the rebalance is valid.
 * @param days days of the run
 */
export function findStoredDate({ date, at }: StoredRebalance, days: Int32Array, asOf: Day): Day {
  const rebalanceDay = parseValidDay(date);
  return findDateInForce({ date: rebalanceDay, session: at < 0 ? rebalanceDay : days[at]! }, asOf);
}

export interface HeldRisk {
  readonly payload: NonNullable<WeightsView['risk']>;
  findContribution(name: string): number | null;
}

export interface ActiveRisk {
  readonly payload: NonNullable<WeightsView['active_risk']>;
  findContribution(name: string): number | null;
}

interface WeightsInput {
  readonly runId: string;
  readonly requestedAsOf: string | null;
  readonly weights: WeightsOnDate;
  /** Weights of a benchmark on the date; null if there is none. */
  readonly benchmark: ReadonlyMap<string, number> | null;
  /**
   * Returns the shares outstanding of a company on the date. Returns null if the market is unavailable or lacks this
   * figure.
   */
  findShares(name: string): number | null;
  readonly risk: HeldRisk | null;
  readonly activeRisk: ActiveRisk | null;
}

export function createWeightsView({
  runId,
  requestedAsOf,
  weights,
  benchmark,
  findShares,
  risk,
  activeRisk,
}: WeightsInput): WeightsView {
  const { names, at, day, held, target, raw, capped, rebalance, rebalanceDay, round } = weights;
  const isRebalance = rebalance.at === at;
  const rows = names.flatMap((identifier, i) =>
    held[i] !== 0
      ? [
          {
            identifier,
            weight: round(held[i]!),
            decided_weight: round(target[i]!),
            raw_weight: round(raw[i]!),
            capped: capped[i] === 1,
            active_weight: benchmark === null ? null : held[i]! - (benchmark.get(identifier) ?? 0),
            active_risk_contribution: activeRisk?.findContribution(identifier) ?? null,
            risk_contribution: risk?.findContribution(identifier) ?? null,
            delta_since_rebalance: isRebalance ? null : held[i]! - target[i]!,
            shares_outstanding: findShares(identifier),
          },
        ]
      : [],
  );
  const exposure = computeShortExposure(held);
  return {
    index_id: runId,
    requested_as_of: requestedAsOf,
    as_of: formatDay(day),
    rebalance_date: formatDay(rebalanceDay),
    cap: rebalance.cap,
    weights: [
      ...rows.toSorted((a, b) => b.weight - a.weight || compareText(a.identifier, b.identifier)),
      ...listCash(weights, { benchmark, hasRisk: risk !== null, hasActiveRisk: activeRisk !== null }),
    ],
    concentration: measureConcentration(held),
    ...(exposure ? { exposure } : {}),
    drift: isRebalance ? null : { ...measureDrift(held, target), since: formatDay(rebalanceDay) },
    risk: risk?.payload ?? null,
    active_risk: activeRisk?.payload ?? null,
  };
}

interface CashTerms extends Pick<WeightsInput, 'benchmark'> {
  readonly hasRisk: boolean;
  readonly hasActiveRisk: boolean;
}

/** Returns the row of the cash of an overlay, which has no risk; empty without cash. */
function listCash(
  { at, held, target, raw, rebalance, cashCurrency, round }: WeightsOnDate,
  { benchmark, hasRisk, hasActiveRisk }: CashTerms,
): WeightsView['weights'] {
  const cash = computeCashWeight(held);
  if (cash === 0 || cashCurrency === null) return [];
  const decidedCash = computeCashWeight(target);
  return [
    {
      identifier: formatCashName(cashCurrency),
      weight: round(cash),
      decided_weight: round(decidedCash),
      raw_weight: round(computeCashWeight(raw)),
      capped: false,
      active_weight: benchmark === null ? null : cash - computeCashWeight(benchmark.values()),
      active_risk_contribution: hasActiveRisk ? 0 : null,
      risk_contribution: hasRisk ? 0 : null,
      delta_since_rebalance: rebalance.at === at ? null : cash - decidedCash,
      shares_outstanding: null,
    },
  ];
}

/**
 * Yields the constituents on the last date of the window.
 * @throws Refusal NO_DATA_AT_DATE before the first date of the run
 */
export const produceConstituents: Producer<'constituents'> = ({ columns, window, market }, from) => {
  const { names, at, day, held, target, raw } = readPositiveWeights(columns, window.end);
  const weights = columns.f64('weights', at * names.length, (at + 1) * names.length);
  const [value] = columns.f64('value', at, at + 1);
  const rows = [...names.keys()].filter((name) => held[name] !== 0 || weights[name] !== 0);
  const price = readPricesAt(columns, rows, at);
  const readNumbers = (readCell: (name: number, row: number) => number): Float64Array =>
    Float64Array.from(rows, readCell);
  const texts = createReference(columns, { market, day });
  const roundWeight = roundOnDay(columns, 'weights', day);
  const getHolding = (name: number): number => weights[name]! * value!;
  return yieldBatches<'constituents'>(
    {
      count: rows.length,
      columns: {
        identifier: { codes: Int32Array.from(rows), texts: names },
        name: toTextValues(rows.map(texts.name)),
        sector: toTextValues(rows.map(texts.sector)),
        country: toTextValues(rows.map(texts.country)),
        currency: toTextValues(rows.map(texts.currency)),
        weight: readNumbers((name) => roundWeight(held[name]!)),
        decided_weight: readNumbers((name) => roundWeight(target[name]!)),
        uncapped_weight: readNumbers((name) => roundWeight(raw[name]!)),
        shares: readNumbers((name, row) => getHolding(name) / price[row]!),
        price,
        value: readNumbers(getHolding),
      },
    },
    from,
  );
};

/**
 * Returns the last closes on or before a date, in the currency of the index. A close is NaN if the run contains none.
 */
function readPricesAt(columns: RunColumns, rows: readonly number[], offset: number): Float64Array {
  const { names, foreign, dates } = columns.header;
  const prices = new Float64Array(rows.length).fill(Number.NaN);
  for (let t = offset; t >= 0 && prices.includes(Number.NaN); t--) {
    const closes = columns.f64('price', t * names.length, (t + 1) * names.length);
    rows.forEach((name, row) => {
      if (Number.isNaN(prices[row]!)) prices[row] = closes[name]!;
    });
  }
  rows.forEach((name, row) => {
    const rates = foreign[String(name)];
    if (rates !== undefined)
      prices[row]! *= columns.f64('rates', rates * dates + offset, rates * dates + offset + 1)[0]!;
  });
  return prices;
}

type TextOf = (name: number) => string | null;

/**
 * Returns functions that read the reference data of a security. The data comes from the market, or from the run if the
 * market is not available.
 */
function createReference(
  columns: RunColumns,
  { market, day }: { readonly market: MarketData | null; readonly day: Day },
): Readonly<Record<'name' | 'sector' | 'country' | 'currency', TextOf>> {
  const { names, currency } = columns.header;
  if (market === null) {
    const labels = readStoredLabels(columns);
    return {
      name: (name) => labels.names[name] ?? null,
      sector: (name) => labels.sectors[name] ?? null,
      country: () => null,
      currency: () => null,
    };
  }
  const readField =
    (column: string): TextOf =>
    (name) => {
      const value = readReference(market.reference, names[name]!, column, day);
      return value === null ? null : String(value);
    };
  const quoteCurrency = readField('CURRENCY');
  return {
    name: readField('NAME'),
    sector: readField('SECTOR'),
    country: readField('COUNTRY'),
    currency: (name) => quoteCurrency(name) ?? market.currency ?? currency,
  };
}

/** Yields the held weights. Positions are dates in the window. */
export const produceWeights: Producer<'weights'> = function* ({ columns, window }, offset) {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from + offset >= to) return;
  const span = { from: from + offset, to: to - 1 };
  const panelRows = openPanelRows(columns, 'weights', span);
  const indexWeights = selectIndexRows(columns, span);
  const cashCurrency = readCashCurrency(columns);
  const cashNames = cashCurrency === null ? [] : [formatCashName(cashCurrency)];
  const rows = createRows([...columns.header.names, ...cashNames]);
  for (let t = span.from; t < to; t++) {
    const weights = panelRows.at(t);
    const roundWeight = roundOnDay(columns, 'weights', days[t]!);
    addHoldings(rows, {
      day: days[t]!,
      round: roundWeight,
      ownWeights: weights,
      index: indexWeights === 'own' ? weights : (indexWeights?.at(t) ?? null),
    });
    if (rows.count >= BATCH_ROWS || t === to - 1) {
      yield createBatch(rows, t + 1 - from);
      rows.count = 0;
    }
  }
};

/**
 * Returns the index weights. If the weights of the portfolio are those of the index, returns `ownWeights`; for a
 * strategy, returns null.
 */
function selectIndexRows(columns: RunColumns, span: Parameters<typeof openPanelRows>[2]) {
  const { run_id: runId, index_id: indexId, has_index_weights: hasOwn } = columns.header;
  if (hasOwn) return openPanelRows(columns, 'indexWeights', span);
  return runId === indexId ? 'own' : null;
}

interface Rows {
  count: number;
  /** Identifiers; the last is that of the cash of an overlay. */
  readonly names: readonly string[];
  readonly days: Int32Array;
  readonly codes: Int32Array;
  /** Weights that are published: those of the index, or those of the strategy itself. */
  readonly shownWeights: Float64Array;
  readonly ownWeights: Float64Array;
  readonly index: Float64Array;
}

function createRows(names: readonly string[]): Rows {
  const size = BATCH_ROWS + names.length;
  return {
    count: 0,
    names,
    days: new Int32Array(size),
    codes: new Int32Array(size),
    shownWeights: new Float64Array(size),
    ownWeights: new Float64Array(size),
    index: new Float64Array(size),
  };
}

interface Close {
  readonly day: number;
  /** Weights of the run and of the index, [H] each. */
  readonly ownWeights: Float64Array;
  readonly index: Float64Array | null;
  readonly round: (weight: number) => number;
}

function addHoldings(rows: Rows, { day, ownWeights, index, round }: Close): void {
  const addRow = (code: number, weight: number, other: number): void => {
    if (weight === 0 && !(other !== 0 && other === other)) return;
    const row = rows.count++;
    rows.days[row] = day;
    rows.codes[row] = code;
    rows.shownWeights[row] = round(index === null ? weight : other);
    rows.ownWeights[row] = round(weight);
    rows.index[row] = round(other);
  };
  for (let i = 0; i < ownWeights.length; i++) addRow(i, ownWeights[i]!, index === null ? Number.NaN : index[i]!);
  if (rows.names.length === ownWeights.length) return;
  const indexCash = index === null ? Number.NaN : computeCashWeight(index);
  addRow(ownWeights.length, computeCashWeight(ownWeights), indexCash);
}

function createBatch(
  { count, names, days, codes, shownWeights, ownWeights, index }: Rows,
  end: number,
): Batch<'weights'> {
  return {
    count,
    end,
    columns: {
      date: days.subarray(0, count),
      identifier: { codes: codes.subarray(0, count), texts: names },
      weight: shownWeights.subarray(0, count),
      index_weight: index.subarray(0, count),
      portfolio_weight: ownWeights.subarray(0, count),
    },
  };
}
