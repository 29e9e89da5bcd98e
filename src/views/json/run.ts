import type { OverviewView, ParentPayload, TrackingForecastPayload } from '#contract/analytics/analytics.js';
import type {
  BacktestRunResult,
  PriceGapPayload,
  RebalancePricingPayload,
  RebalanceSnapshot,
  RelativeMetricsPayload,
  StaleFillPayload,
} from '#contract/analytics/record.js';
import {
  computeCashWeight,
  type ExposurePayload,
  measureConcentration,
  measureExposure,
} from '#domain/analytics/concentration.js';
import type { TrackingForecast } from '#domain/analytics/relative-returns.js';
import type { RunRecord, Snapshot } from '#domain/backtest/record.js';
import type { StoredRebalances } from '#domain/backtest/run-file/read.js';
import type { RunSummary } from '#domain/backtest/summary.js';
import type { Finding } from '#domain/base/findings.js';
import { type Day, formatDay, formatDayTimestamp } from '#domain/base/time.js';
import { sumMovedWeight } from '#domain/books/compositions.js';
import type { StoredFullRunReason } from '#domain/definition/runs.js';
import { findDateInForce } from '#domain/definition/schedule.js';
import { formatCashName } from '#domain/outputs/exports.js';
import {
  createItemsUpgrade,
  createJsonObject,
  createNumberMember,
  createObjectMember,
  createSeriesMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  formatDayText,
  type Members,
} from './objects.js';
import { createJsonWriter, type JsonWriter } from './writer.js';

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
  readonly fullRunReason?: StoredFullRunReason | null;
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
export function createGapsAndPricing<S extends GapsAndPricing>(): Members<
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

export function createProvenanceMembers<S extends RunWithProvenance>(): Members<Provenance, S> {
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

export const SNAPSHOT_JSON = createJsonObject<RebalanceSnapshot, SnapshotSource>({
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

export function writeSnapshots(
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

export interface ResultSource {
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

/** Writes a BacktestRunResult, the result of a run. */
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

/** Returns the overview as JSON bytes. */
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
