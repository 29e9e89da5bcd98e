import type {
  BacktestResultSummary,
  BacktestRunResult,
  BookPayload,
  CalendarCoveragePayload,
  PortfolioBookPayload,
  PriceGapPayload,
  RebalancePricingPayload,
  RebalanceSnapshot,
  RelativeMetricsPayload,
  StaleFillPayload,
  UnfilledOrderPayload,
} from '#contract/analytics/record.js';
import type { RecordedBook, RecordedOrder, RecordedPortfolio, RunRecord, Snapshot } from '#domain/backtest/record.js';
import type { WeightsFrame } from '#domain/backtest/record-fields.js';
import {
  computeCashWeight,
  type ExposurePayload,
  measureConcentration,
  measureExposure,
} from '#domain/analytics/concentration.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { type Day, formatDay, formatDayTimestamp } from '#domain/base/time.js';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { formatCashName } from '#domain/outputs/exports.js';
import {
  createItemsUpgrade,
  createJsonObject,
  createJsonWriter,
  createNumberMember,
  createObjectMember,
  createSeriesMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  encodeToken,
  formatDayText,
  type JsonWriter,
  type Member,
  type Members,
} from './writer.js';
import type { OverviewView, ParentPayload, TrackingForecastPayload } from '#contract/analytics/analytics.js';
import type { TrackingForecast } from '#domain/analytics/relative-returns.js';
import type { StoredRebalances } from '#domain/backtest/run-file/columns.js';
import type { RunSummary } from '#domain/backtest/summary.js';
import { sumMovedWeight } from '#domain/books/compositions.js';
import type { FullRunReason } from '#domain/definition/runs.js';
import { findDateInForce } from '#domain/definition/schedule.js';

/** Provenance of a run: time, hashes and versions. */
export interface RunStamp {
  /** Time of the run, ISO 8601 in UTC with offset. */
  readonly runAt: string;
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
  /**
   * Version of the index or strategy; null if it has none. Absent in results that were stored before versions existed.
   */
  readonly indexVersion?: number | null;
  /** Last date YYYY-MM-DD of the stored run that was extended; null or absent for a full run. */
  readonly extendedFrom?: string | null;
  /** Reason why a stored run was not extended. Null or absent if it was extended or if there was no stored run. */
  readonly fullRunReason?: FullRunReason | null;
}

interface GapsAndPricing {
  readonly run: Pick<RunRecord, 'identifiers' | 'gaps' | 'pricing'>;
}

/** Row of a table of parallel arrays: the arrays and a position. */
interface Row<A> {
  readonly of: A;
  readonly i: number;
}

const GAP = createJsonObject<PriceGapPayload, Row<GapsAndPricing['run']>>({
  asset_id: createTextMember(({ of: { identifiers, gaps }, i }) => identifiers[gaps.columns[i]!]!),
  date: createTextMember(({ of: { gaps }, i }) => formatDay(gaps.days[i]!)),
  priced_from: createTextMember(({ of: { gaps }, i }) => formatDay(gaps.pricedFrom[i]!)),
});

const PRICING = createJsonObject<RebalancePricingPayload, Row<RunRecord['pricing']>>({
  date: createTextMember(({ of: { dates }, i }) => formatDay(dates[i]!)),
  priced_from: createTextMember(({ of: { pricedFrom }, i }) => formatDay(pricedFrom[i]!)),
});

/** Returns the members that results and records share: missing prices, and the pricing sessions of rebalances. */
function createGapsAndPricing<S extends GapsAndPricing>(): Members<
  Pick<BacktestRunResult, 'price_gaps' | 'rebalance_pricing'>,
  S
> {
  return {
    price_gaps: createWrittenMember((json, { run }) => {
      json.raw('[');
      for (let i = 0; i < run.gaps.days.length; i++) {
        if (i > 0) json.raw(',');
        GAP.write(json, { of: run, i });
      }
      json.raw(']');
    }),
    rebalance_pricing: createWrittenMember((json, { run: { pricing } }) => {
      json.raw('[');
      for (let i = 0; i < pricing.dates.length; i++) {
        if (i > 0) json.raw(',');
        PRICING.write(json, { of: pricing, i });
      }
      json.raw(']');
    }),
  };
}

interface RunWithProvenance {
  readonly run: { readonly findings: readonly Finding[] };
  readonly stamp: RunStamp;
}

type Provenance = Pick<
  BacktestRunResult,
  'findings' | 'run_hash' | 'store_content_hash' | 'engine_version' | 'extended_from' | 'full_run_reason'
>;

function createProvenanceMembers<S extends RunWithProvenance>(): Members<Provenance, S> {
  return {
    findings: createWrittenMember((json, { run }) => json.value(run.findings)),
    run_hash: createTextMember(({ stamp }) => stamp.runHash),
    store_content_hash: createTextMember(({ stamp }) => stamp.storeContentHash),
    engine_version: createTextMember(({ stamp }) => stamp.engineVersion),
    // All runs of version 0.1.0 are full runs.
    extended_from: { ...createValueMember(({ stamp }: S) => stamp.extendedFrom ?? null), older: () => null },
    full_run_reason: { ...createValueMember(({ stamp }: S) => stamp.fullRunReason ?? null), older: () => null },
  };
}

/** A snapshot with the identifiers of its securities. */
interface SnapshotSource {
  readonly snapshot: Snapshot;
  readonly identifiers: readonly string[];
  /** Identifiers as JSON keys, each with a leading comma and a trailing colon. */
  readonly keys: readonly string[];
  /** Identifier of the cash of an overlay; null for any other run. */
  readonly cashName: string | null;
  /** Range of the applied weights in the written text. */
  written: { readonly from: number; readonly to: number };
}

const SNAPSHOT_JSON = createJsonObject<RebalanceSnapshot, SnapshotSource>({
  date: createTextMember(({ snapshot }) => formatDay(snapshot.date)),
  schedule_dates: {
    ...createValueMember(({ snapshot: { date, also } }: SnapshotSource) => [date, ...also].map(formatDay)),
    // Version 0.1.0 did not store further dates.
    older: ({ date }) => [String(date)],
  },
  weights: createWrittenMember((json, source) => {
    const from = json.mark();
    writeWeights(json, source, source.snapshot.weights);
    source.written = { from, to: json.mark() };
  }),
  uncapped_weights: createWrittenMember((json, source) => {
    const {
      snapshot: { weights, uncapped },
      written,
    } = source;
    if (areEqual(weights, uncapped)) json.repeat(written.from, written.to);
    else writeWeights(json, source, uncapped);
  }),
  cap: createValueMember(({ snapshot }) => snapshot.cap),
  capped: createValueMember(({ snapshot, identifiers }) =>
    Array.from(snapshot.capped, (column) => identifiers[column]!),
  ),
  redistributed: createNumberMember(({ snapshot }) => computeRedistributed(snapshot)),
  stale_fills: {
    write: (json, { snapshot: { staleFills }, identifiers }) => writeStaleFills(json, identifiers, staleFills),
    // Version 0.1.0 did not detect stale fills.
    older: () => [],
  },
  announced: createValueMember(({ snapshot: { announced } }) => (announced === null ? null : formatDay(announced))),
  target_weights: {
    ...createWrittenMember<RebalanceSnapshot['target_weights'], SnapshotSource>((json, source) => {
      const { columns, targets, targetColumns } = source.snapshot;
      if (targets === null || !hasDrifted(source.snapshot)) json.raw('null');
      else writeWeights(json, source, targets, targetColumns ?? columns);
    }),
    older: () => null,
  },
  reference_date: {
    ...createValueMember(({ snapshot: { reference } }: SnapshotSource) =>
      reference === null ? null : formatDay(reference),
    ),
    older: () => null,
  },
  pricing_date: {
    ...createValueMember(({ snapshot: { priced } }: SnapshotSource) => (priced === null ? null : formatDay(priced))),
    older: () => null,
  },
  review: {
    ...createValueMember(({ snapshot: { reviews } }: SnapshotSource) => reviews?.[0] ?? null),
    older: () => null,
  },
  reviews: { ...createValueMember(({ snapshot: { reviews } }: SnapshotSource) => reviews), older: () => null },
  phase: { ...createValueMember(({ snapshot: { phase } }: SnapshotSource) => phase), older: () => null },
  index_shares: {
    ...createWrittenMember<RebalanceSnapshot['index_shares'], SnapshotSource>((json, source) =>
      writeMap(json, source, source.snapshot.columns, source.snapshot.shares),
    ),
    older: () => null,
  },
  weighting_factor: {
    ...createWrittenMember<RebalanceSnapshot['weighting_factor'], SnapshotSource>(writeFactors),
    older: () => null,
  },
  cause: { ...createValueMember(({ snapshot: { cause } }: SnapshotSource) => cause), older: () => null },
});

/** Returns true if the applied weights are the decided ones at the prices of the effective close. */
const hasDrifted = ({ weights, columns, targets, targetColumns }: Snapshot): boolean =>
  targets !== null && !(columns.length === targetColumns?.length && areEqual(weights, targets));

/** Returns the weight that the cap moved, from the weights of the snapshot. The stored one is of the decided weights. */
const computeRedistributed = (snapshot: Snapshot): number =>
  hasDrifted(snapshot) ? sumMovedWeight(snapshot.uncapped, snapshot.weights) : snapshot.redistributed;

interface FillSource {
  readonly identifier: string;
  readonly lastBar: number;
  readonly age: number;
}

const FILL = createJsonObject<StaleFillPayload, FillSource>({
  identifier: createTextMember(({ identifier }) => identifier),
  last_bar: createTextMember(({ lastBar }) => formatDay(lastBar)),
  sessions_old: createNumberMember(({ age }) => age),
});

function writeStaleFills(json: JsonWriter, identifiers: readonly string[], fills: Snapshot['staleFills']): void {
  json.raw('[');
  fills?.columns.forEach((column, i) => {
    if (i > 0) json.raw(',');
    FILL.write(json, { identifier: identifiers[column]!, lastBar: fills.lastBars[i]!, age: fills.ages[i]! });
  });
  json.raw(']');
}

function writeSnapshots(
  json: JsonWriter,
  { identifiers, cashCurrency }: Pick<RunRecord, 'identifiers' | 'cashCurrency'>,
  rebalances: readonly Snapshot[],
): void {
  const cashName = cashCurrency === null ? null : formatCashName(cashCurrency);
  const keys = listKeys(identifiers);
  json.raw('[');
  rebalances.forEach((snapshot, i) => {
    if (i > 0) json.raw(',');
    SNAPSHOT_JSON.write(json, { snapshot, identifiers, keys, cashName, written: { from: 0, to: 0 } });
  });
  json.raw(']');
}

const keysCache = new WeakMap<readonly string[], readonly string[]>();

/** Encodes identifiers as JSON keys, each with a leading comma and a trailing colon. */
function listKeys(identifiers: readonly string[]): readonly string[] {
  let keys = keysCache.get(identifiers);
  if (!keys) keysCache.set(identifiers, (keys = identifiers.map((identifier) => `,${JSON.stringify(identifier)}:`)));
  return keys;
}

/** Writes weights by identifier. The weight of cash, if there is any, is the last member. */
function writeWeights(
  json: JsonWriter,
  { keys, cashName, snapshot }: SnapshotSource,
  weights: Float64Array,
  columns = snapshot.columns,
): void {
  json.raw('{');
  json.members(keys, columns, weights);
  const cash = cashName === null ? 0 : computeCashWeight(weights);
  if (cash !== 0) {
    json.raw(`${columns.length === 0 ? '' : ','}${JSON.stringify(cashName)}:`);
    json.number(cash);
  }
  json.raw('}');
}

/** Writes numbers by identifier; null if there are none. */
function writeMap(json: JsonWriter, { keys }: SnapshotSource, columns: Int32Array, values: Float64Array | null): void {
  if (values === null) json.raw('null');
  else {
    json.raw('{');
    json.members(keys, columns, values);
    json.raw('}');
  }
}

/**
 * Writes factors by identifier. A security without a share count has null. If no security has a factor, writes null.
 */
function writeFactors(json: JsonWriter, source: SnapshotSource): void {
  const { columns, factors } = source.snapshot;
  const isKnownPrice = (factor: number): boolean => factor !== 0;
  if (factors === null || factors.every(isKnownPrice)) writeMap(json, source, columns, factors);
  else if (!factors.some(isKnownPrice)) json.raw('null');
  else {
    const entries = Array.from(factors, (factor, k) => [
      source.identifiers[columns[k]!]!,
      isKnownPrice(factor) ? factor : null,
    ]);
    json.value(Object.fromEntries(entries));
  }
}

function areEqual(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Source of the figures of a run relative to its benchmark. */
type RelativeSource = NonNullable<RunSummary['benchmark']> & { readonly dates: Uint8Array };

const RELATIVE = createJsonObject<RelativeMetricsPayload, RelativeSource>({
  reference: createValueMember(({ reference }) => reference),
  start: createTextMember(({ relative: { days } }) => formatDayTimestamp(days[0]!)),
  end: createTextMember(({ relative: { days } }) => formatDayTimestamp(days.at(-1)!)),
  observations: createNumberMember(({ relative }) => relative.observations),
  level: createSeriesMember('level', ({ relative, dates }) => ({ dates, values: relative.level })),
  benchmark_return: createNumberMember(({ relative }) => relative.benchmarkReturn),
  total_return: createNumberMember(({ relative }) => relative.totalReturn),
  excess_return: createNumberMember(({ relative }) => relative.excessReturn),
  beta: createNumberMember(({ relative }) => relative.beta),
  correlation: createNumberMember(({ relative }) => relative.correlation),
  tracking_error: createNumberMember(({ relative }) => relative.trackingError),
  return_variant: createTextMember(({ variant }) => variant),
});

interface ResultSource {
  readonly run: RunSummary;
  readonly stamp: RunStamp;
  readonly rebalances: StoredRebalances;
}

interface DatedSource extends ResultSource {
  /** Dates of the run, encoded by `encodeDays`. The next field contains all dates except the first. */
  readonly dates: Uint8Array;
  readonly later: Uint8Array;
}

const RESULT = createJsonObject<BacktestRunResult, DatedSource>({
  annual_returns: createWrittenMember((json, { run }) => {
    json.raw('{');
    run.annualReturns.forEach(([year, value], i) => {
      json.raw(`${i === 0 ? '' : ','}"${year}":`);
      json.number(value);
    });
    json.raw('}');
  }),
  benchmark: createObjectMember(
    RELATIVE,
    ({ run }) => run.benchmark && { ...run.benchmark, dates: encodeDays(run.benchmark.relative.days) },
  ),
  drawdown: createSeriesMember('drawdown', ({ run, dates }) => ({ dates, values: run.drawdown })),
  index_level: createSeriesMember('index_level', ({ run, dates }) => ({ dates, values: run.indexLevel })),
  initial_capital: createNumberMember(({ run }) => run.plan.request.initial_capital),
  level: createSeriesMember('level', ({ run, dates }) => ({ dates, values: run.level })),
  index_version: {
    ...createValueMember(({ stamp }: DatedSource) => stamp.indexVersion ?? null),
    has: ({ stamp }) => stamp.indexVersion !== undefined,
    older: () => null,
  },
  metrics: createValueMember(({ run }) => run.metrics),
  ...createGapsAndPricing<DatedSource>(),
  rebalances: {
    write: (json, { rebalances: { rebalances, ...names } }) => writeSnapshots(json, names, rebalances),
    upgrade: createItemsUpgrade(SNAPSHOT_JSON),
  },
  rebalances_total: createNumberMember(({ run }) => run.rebalancesTotal),
  returns: createSeriesMember('returns', ({ run, later: laterDates }) => ({ dates: laterDates, values: run.returns })),
  total_costs: createNumberMember(({ run }) => run.totalCosts),
  ...createProvenanceMembers<DatedSource>(),
});

/** Adds members to a stored result that were introduced after it was stored. */
export function upgradeResult(storedResult: unknown): unknown {
  return RESULT.upgrade(storedResult);
}

export function writeResult(json: JsonWriter, source: ResultSource): void {
  const { days } = source.run;
  const dates = encodeDays(days);
  const laterDates = dates.subarray(formatDayText(days[0]!).length + 1); // without the first date and its comma
  RESULT.write(json, { ...source, dates, later: laterDates });
}

const FORECAST = createJsonObject<TrackingForecastPayload, TrackingForecast>({
  tracking_error: createNumberMember(({ forecast }) => forecast),
  realised_tracking_error: createNumberMember(({ realised }) => realised),
  bias: createValueMember(({ bias }) => bias),
  bias_low: createNumberMember(({ biasBand: [low] }) => low),
  bias_high: createNumberMember(({ biasBand: [, high] }) => high),
  observations: createNumberMember(({ observations }) => observations),
  rebalances: createValueMember(({ periods }) =>
    periods.map(({ day, forecast, realised, observations }) => ({
      date: formatDay(day),
      tracking_error: forecast,
      realised_tracking_error: realised,
      observations,
    })),
  ),
});

const PARENT = createJsonObject<ParentPayload, NonNullable<RunSummary['parent']>>({
  index_id: createTextMember(({ indexId }) => indexId),
  observations: createNumberMember(({ relative }) => relative.observations),
  total_return: createNumberMember(({ relative }) => relative.benchmarkReturn),
  tracking_difference: createNumberMember(({ relative }) => relative.excessReturn),
  tracking_error: createNumberMember(({ relative }) => relative.trackingError),
  forecast: { ...createObjectMember(FORECAST, ({ forecast }) => forecast), has: ({ forecast }) => forecast !== null },
});

const OVERVIEW = createJsonObject<OverviewView, { readonly run: RunSummary }>({
  index_id: createTextMember(({ run }) => run.plan.runId),
  name: createTextMember(({ run }) => run.plan.name),
  concentration: createValueMember(({ run }) => measureConcentration(run.lastRebalance.weights)),
  exposure: {
    ...createValueMember(({ run }) => findLastExposure(run)),
    has: ({ run }) => findLastExposure(run).short < 0,
  },
  level: createSeriesMember('level', ({ run: { days, level } }) => ({ dates: encodeDays(days), values: level })),
  metrics: createValueMember(({ run }) => run.metrics),
  parent: { ...createObjectMember(PARENT, ({ run }) => run.parent), has: ({ run }) => run.parent !== null },
  return_variant: createTextMember(({ run }) => run.variant),
  observations: createNumberMember(({ run }) => run.days.length),
  rebalances: createNumberMember(({ run }) => run.rebalancesWithin),
  last_rebalance: createTextMember(({ run }) => formatDay(findLastDate(run))),
  start: createTextMember(({ run }) => formatDay(run.days[0]!)),
  end: createTextMember(({ run }) => formatDay(run.days.at(-1)!)),
});

function findLastDate({ lastRebalance: { date }, days }: RunSummary): Day {
  const last = days.at(-1)!;
  return findDateInForce({ date, session: last }, last);
}

function findLastExposure({ plan, lastRebalance }: RunSummary): ExposurePayload {
  return measureExposure(lastRebalance.weights, plan.strategy?.exposure);
}

/** Writes an OverviewView. Id and name are those with which the run is stored. */
export function writeOverview(json: JsonWriter, run: RunSummary): void {
  OVERVIEW.write(json, { run });
}

export function encodeOverview(run: RunSummary): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimateOverviewBytes(run));
  writeOverview(json, run);
  return json.bytes();
}

/** Approximate size of a date with its value in a series, in bytes. */
const SERIES_BYTES = 36;

/**
 * Estimates the size of an overview in bytes. If the estimate is too high, that costs nothing: memory that is not
 * written is not allocated.
 */
export function estimateOverviewBytes({ days }: RunSummary): number {
  return 10_000 + SERIES_BYTES * days.length;
}

/** Function that writes a weights frame of one record. If the same frame was already written, its text is copied. */
type FrameWriter = (frame: WeightsFrame) => void;

type WeightNames = Pick<RunRecord, 'identifiers' | 'cashCurrency'>;

function createFrameWriter(json: JsonWriter, names: WeightNames): FrameWriter {
  const writtenFrames = new Map<WeightsFrame, { readonly from: number; readonly to: number }>();
  return (frame) => {
    const offset = writtenFrames.get(frame);
    if (offset) {
      json.repeat(offset.from, offset.to);
      return;
    }
    const from = json.mark();
    writeWeightsFrame(json, names, frame);
    writtenFrames.set(frame, { from, to: json.mark() });
  };
}

interface BookSource extends WeightNames {
  readonly book: RecordedBook;
  /** Days of the book, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly writeFrame: FrameWriter;
}

function createBookSource(book: RecordedBook, names: Omit<BookSource, 'book' | 'dates'>): BookSource {
  return { ...names, book, dates: encodeDays(book.days) };
}

const COVERAGE = createJsonObject<CalendarCoveragePayload, NonNullable<RecordedBook['coverage']>>({
  calendar: createTextMember(({ calendar }) => calendar),
  requested_start: createTextMember(({ requestedStart }) => formatDay(requestedStart)),
  requested_end: createTextMember(({ requestedEnd }) => formatDay(requestedEnd)),
  covered_start: createTextMember(({ coveredStart }) => formatDay(coveredStart)),
  covered_end: createTextMember(({ coveredEnd }) => formatDay(coveredEnd)),
  trimmed_start: createValueMember(({ trimmedStart }) => trimmedStart),
  trimmed_end: createValueMember(({ trimmedEnd }) => trimmedEnd),
});

const BOOK = createJsonObject<BookPayload, BookSource>({
  levels: createSeriesMember('level', ({ book, dates }) => ({ dates, values: book.levels })),
  weights: createWrittenMember((json, { book: { frame }, writeFrame }) => {
    if (frame) writeFrame(frame);
    else json.raw('{"index":[],"columns":[],"data":[]}');
  }),
  weights_dates_total: createNumberMember(({ book: { frame, days } }) => (frame ? days.length : 0)),
  rebalances: {
    write: (json, { book, ...names }) => writeSnapshots(json, names, book.snapshots),
    upgrade: createItemsUpgrade(SNAPSHOT_JSON),
  },
  rebalances_total: createNumberMember(({ book }) => book.rebalancesTotal),
  calendar_coverage: createObjectMember(COVERAGE, ({ book }) => book.coverage),
  divisor: {
    ...createSeriesMember('divisor', ({ book: { divisor, levels }, dates }: BookSource) => ({
      dates,
      values: divisor ?? levels,
    })),
    has: ({ book }) => book.divisor !== null,
  },
  dividend_points: {
    ...createSeriesMember('dividend_points', ({ book: { dividendPoints, levels }, dates }: BookSource) => ({
      dates,
      values: dividendPoints ?? levels,
    })),
    has: ({ book }) => book.dividendPoints !== null,
  },
});

/**
 * Writes a frame. Securities that are not held on any of its dates are left out. The last column is the cash of an
 * overlay, if there is any on one of the dates.
 */
function writeWeightsFrame(
  json: JsonWriter,
  { identifiers, cashCurrency }: WeightNames,
  { days, columns, weights }: WeightsFrame,
): void {
  const width = columns.length;
  const cash = new Float64Array(cashCurrency === null ? 0 : days.length);
  cash.forEach((_, t) => (cash[t] = computeCashWeight(weights.subarray(t * width, (t + 1) * width))));
  const hasCash = cash.some((weight) => weight !== 0);
  const heldFlags = new Uint8Array(width);
  for (let position = 0; position < weights.length; position += width) {
    for (let slot = 0; slot < width; slot++) if (weights[position + slot] !== 0) heldFlags[slot] = 1;
  }
  const heldSlots = Int32Array.from([...heldFlags.keys()].filter((slot) => heldFlags[slot] === 1));
  json.raw('{"index":[');
  json.token(encodeDays(days));
  json.raw('],"columns":[');
  const names = Array.from(heldSlots, (slot) => identifiers[columns[slot]!]!);
  json.raw(
    [...names, ...(hasCash ? [formatCashName(cashCurrency!)] : [])].map((name) => JSON.stringify(name)).join(','),
  );
  json.raw('],"data":[');
  const isWhole = heldSlots.length === width;
  const row = new Float64Array(isWhole ? 0 : heldSlots.length);
  for (let t = 0; t < days.length; t++) {
    json.raw(t === 0 ? '[' : ',[');
    if (isWhole) {
      json.numbers(weights, t * width, (t + 1) * width);
    } else {
      for (let i = 0; i < heldSlots.length; i++) row[i] = weights[t * width + heldSlots[i]!]!;
      json.numbers(row);
    }
    if (hasCash) {
      if (heldSlots.length > 0) json.raw(',');
      json.number(cash[t]!);
    }
    json.raw(']');
  }
  json.raw(']}');
}

const PORTFOLIO_ID_LENGTH = 64;

interface PortfolioSource {
  readonly record: RunRecord;
  /** Days of the portfolio and the day before them, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly text: RowTexts;
  readonly writeFrame: FrameWriter;
}

function createPortfolioSource(record: RunRecord, writeFrame: FrameWriter): PortfolioSource {
  const {
    portfolio: { days, dayBefore },
    identifiers,
  } = record;
  const allDays = new Int32Array(days.length + 1);
  allDays[0] = dayBefore;
  allDays.set(days, 1);
  return { record, writeFrame, dates: encodeDays(allDays), text: createRowTexts(days, identifiers) };
}

const PORTFOLIO = createJsonObject<PortfolioBookPayload, PortfolioSource>({
  cash: createSeriesMember(
    'cash',
    ({
      record: {
        portfolio: { cash, value, initialCapital },
      },
      dates,
    }) => {
      const cashValues = cash.map((fraction, t) => fraction * value[t]!);
      return { dates, values: prependCapital(initialCapital, cashValues) };
    },
  ),
  initial_capital: createNumberMember(({ record }) => record.portfolio.initialCapital),
  nav: createSeriesMember(
    'nav',
    ({
      record: {
        portfolio: { value, initialCapital },
      },
      dates,
    }) => ({ dates, values: prependCapital(initialCapital, value) }),
  ),
  portfolio_id: createTextMember(({ record }) => `portfolio-${record.runId}`.slice(0, PORTFOLIO_ID_LENGTH)),
  positions: createWrittenMember((json, { record, text }) => writePositions(json, record.portfolio, text)),
  positions_total: createNumberMember(({ record }) => record.portfolio.positions.total),
  transactions_total: {
    ...createNumberMember(({ record }: PortfolioSource) => record.portfolio.transactions.total),
    // Version 0.1.0 returned all rows.
    older: ({ transactions }) => countRows(transactions),
  },
  transactions: createWrittenMember((json, { record, text }) => writeTransactions(json, record.portfolio, text)),
  weights: createWrittenMember((_json, { record, writeFrame }) => writeFrame(record.portfolio.frame)),
  weights_dates_total: createNumberMember(({ record }) => record.portfolio.days.length),
});

function countRows(table: unknown): number {
  return typeof table === 'object' && table !== null && 'data' in table && Array.isArray(table.data)
    ? table.data.length
    : 0;
}

/** Returns a series that starts one day earlier with the initial capital. */
function prependCapital(capital: number, values: Float64Array): Float64Array {
  const series = new Float64Array(values.length + 1);
  series[0] = capital;
  series.set(values, 1);
  return series;
}

function writePositions(json: JsonWriter, { positions }: RecordedPortfolio, text: RowTexts): void {
  const { at, columns, units, price, value, weight } = positions;
  const numbers = new Float64Array(4);
  writeTable(json, {
    columns: ['date', 'asset_id', 'units', 'price', 'value', 'weight'],
    count: at.length,
    writeRow(i) {
      numbers[0] = units[i]!;
      numbers[1] = price[i]!;
      numbers[2] = value[i]!;
      numbers[3] = weight[i]!;
      json.token(text.date(at[i]!));
      json.token(text.names[columns[i]!]!);
      json.numbers(numbers);
      json.token(ROW_END);
    },
  });
}

function writeTransactions(json: JsonWriter, { transactions, costRate }: RecordedPortfolio, text: RowTexts): void {
  const { at, columns, notional, price, reason, isFree } = transactions;
  const numbers = new Float64Array(4);
  writeTable(json, {
    columns: ['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason'],
    count: at.length,
    writeRow(i) {
      const amount = Math.abs(notional[i]!);
      numbers[0] = amount / price[i]!;
      numbers[1] = price[i]!;
      numbers[2] = amount;
      numbers[3] = isFree[i] === 1 ? 0 : costRate * amount;
      json.token(text.date(at[i]!));
      json.token(text.names[columns[i]!]!);
      json.token(notional[i]! > 0 ? BUY : SELL);
      json.numbers(numbers);
      json.token(REASONS[reason[i]!]!);
    },
  });
}

const COMMA = encodeToken(',');
const BUY = encodeToken('"buy",');
const SELL = encodeToken('"sell",');
const ROW_END = encodeToken(']');
const REASONS = TRADE_REASONS.map((reason) => encodeToken(`,"${reason}"]`));

/** Encoded starts of long-form rows. */
interface RowTexts {
  /** Returns the start of a row by position of the date, for example `["2024-01-02",`. */
  date(position: number): Uint8Array;
  /** Identifiers by position of the security, for example `"AAPL",`. */
  readonly names: readonly Uint8Array[];
}

/** Returns the starts of rows. The last date is cached, because the rows of a session follow each other. */
function createRowTexts(days: Int32Array, identifiers: readonly string[]): RowTexts {
  let last = -1;
  let jsonBytes = encodeToken('');
  return {
    date(position) {
      if (position !== last) jsonBytes = encodeToken(`[${formatDayText(days[position]!)},`);
      last = position;
      return jsonBytes;
    },
    names: identifiers.map((identifier) => encodeToken(`${JSON.stringify(identifier)},`)),
  };
}

interface TableInput {
  readonly columns: readonly string[];
  readonly count: number;
  readonly writeRow: (i: number) => void;
}

/** Writes a long-form table. Its row labels are 0 to n - 1. */
function writeTable(json: JsonWriter, { columns, count, writeRow }: TableInput): void {
  json.raw('{"index":[');
  writeLabels(json, count);
  json.raw(`],"columns":${JSON.stringify(columns)},"data":[`);
  for (let i = 0; i < count; i++) {
    if (i > 0) json.token(COMMA);
    writeRow(i);
  }
  json.raw(']}');
}

/** Number of labels written at a time. */
const LABELS = 512;

/** Writes the labels from 0 to count - 1. */
function writeLabels(json: JsonWriter, count: number): void {
  const labels = Float64Array.from({ length: LABELS }, (_, i) => i);
  for (let from = 0; from < count; from += LABELS) {
    if (from > 0) {
      json.token(COMMA);
      for (let i = 0; i < LABELS; i++) labels[i]! += LABELS;
    }
    json.numbers(labels, 0, Math.min(LABELS, count - from));
  }
}

/** Converts the orders that could not be filled on their session. They are sorted by date and then by security. */
function toUnfilledPayload(unfilled: readonly RecordedOrder[]): UnfilledOrderPayload[] {
  const rows = unfilled.map(({ day, identifier, side, target, held, notional, reason, filledDay }) => ({
    date: formatDay(day),
    asset_id: identifier,
    side,
    target_weight: target,
    held_weight: held,
    notional,
    reason,
    filled_on: filledDay === null ? null : formatDay(filledDay),
  }));
  return rows.toSorted((a, b) => compareText(a.date, b.date) || compareText(a.asset_id, b.asset_id));
}

/** Formats a BacktestResultSummary, the record of a run. Equal records and stamps give equal bytes. */
export function encodeRecord(record: RunRecord, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimateBytes(record));
  writeRecord(json, record, stamp);
  return json.bytes();
}

interface RecordSource {
  readonly run: RunRecord;
  readonly stamp: RunStamp;
  readonly writeFrame: FrameWriter;
}

const INDEX = createJsonObject<BacktestResultSummary['index'], RecordSource>({
  target: createBookMember(({ target }) => target),
  optimised: createBookMember(({ optimised }) => optimised),
});

const RECORD = createJsonObject<BacktestResultSummary, RecordSource>({
  benchmark: createBookMember(({ benchmark }) => benchmark),
  index: createObjectMember(INDEX, (source) => source),
  metrics: createValueMember(({ run }) => run.metrics),
  portfolio: createObjectMember(PORTFOLIO, ({ run, writeFrame }) => createPortfolioSource(run, writeFrame)),
  ...createGapsAndPricing<RecordSource>(),
  run_at: createTextMember(({ stamp }) => stamp.runAt),
  unfilled: createValueMember(({ run }) => toUnfilledPayload(run.unfilled)),
  ...createProvenanceMembers<RecordSource>(),
});

function createBookMember(readBook: (run: RunRecord) => RecordedBook | null): Member<BookPayload | null, RecordSource> {
  return createObjectMember(BOOK, ({ run, writeFrame }) => {
    const book = readBook(run);
    const { identifiers, cashCurrency } = run;
    return book && createBookSource(book, { identifiers, cashCurrency, writeFrame });
  });
}

/**
 * Writes a record with any writer. The text equals that of `encodeRecord`.
 * @cost about 60 ns per number
 */
export function writeRecord(json: JsonWriter, run: RunRecord, stamp: RunStamp): void {
  RECORD.write(json, { run, stamp, writeFrame: createFrameWriter(json, run) });
}

/** Adds members to a stored record that were introduced after it was stored. */
export function upgradeRecord(storedRecord: unknown): unknown {
  return RECORD.upgrade(storedRecord);
}

/** Approximate sizes in bytes: of a weight with its comma, of a row of transactions, of a row of positions. */
const WEIGHT_BYTES = 23;
const TRANSACTION_BYTES = 150;
const POSITION_BYTES = 120;

/**
 * Estimates the size of the large texts of a record in bytes. If the estimate is too high, that costs nothing: memory
 * that is not written is not allocated.
 */
function estimateBytes({ benchmark, target, optimised, portfolio }: RunRecord): number {
  const books = [benchmark, target, optimised].filter((book) => book !== null);
  const frames = [portfolio, ...books].reduce((sum, { frame }) => sum + (frame?.weights.length ?? 0), 0);
  const snapshots = books.reduce(
    (sum, { snapshots: list }) => sum + list.reduce((cells, { columns }) => cells + columns.length, 0),
    0,
  );
  const series = [portfolio, ...books].reduce((sum, { days }) => sum + 4 * days.length, 0);
  const tables = TRANSACTION_BYTES * portfolio.transactions.at.length + POSITION_BYTES * portfolio.positions.at.length;
  return 100_000 + WEIGHT_BYTES * frames + 2.6 * WEIGHT_BYTES * snapshots + tables + SERIES_BYTES * series;
}
