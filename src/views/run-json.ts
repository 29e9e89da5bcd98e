import type { OverviewView, ParentPayload, TrackingForecastPayload } from '#contract/analytics/overview.js';
import type { BacktestRunResult } from '#contract/analytics/run.js';
import type { RelativeMetricsPayload } from '#contract/analytics/metrics.js';
import type { TrackingForecast } from '#domain/analytics/tracking-forecast.js';
import { measureConcentration } from '#domain/analytics/concentration.js';
import { measureExposure, type ExposurePayload } from '#domain/analytics/exposure.js';
import type { StoredRebalances } from '#domain/backtest/run-file/record.js';
import type { RunSummary } from '#domain/backtest/run-summary.js';
import { formatDay, formatDayTimestamp, type Day } from '#domain/time/days.js';
import { findDateInForce } from '#domain/schedule/date-in-force.js';
import {
  createJsonObject,
  createNumberMember,
  createObjectMember,
  createSeriesMember,
  createTextMember,
  createItemsUpgrade,
  createValueMember,
  createWrittenMember,
} from './json-object.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { createGapsAndPricing, createProvenance, type RunStamp } from './provenance-json.js';
import { formatDayText, encodeDays } from './series-json.js';
import { SNAPSHOT, writeSnapshots } from './snapshots-json.js';

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

/** Source of the result of a stored run. */
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
    write: (json, { rebalances: { identifiers, rebalances } }) => writeSnapshots(json, identifiers, rebalances),
    upgrade: createItemsUpgrade(SNAPSHOT),
  },
  rebalances_total: createNumberMember(({ run }) => run.rebalancesTotal),
  returns: createSeriesMember('returns', ({ run, later: laterDates }) => ({ dates: laterDates, values: run.returns })),
  total_costs: createNumberMember(({ run }) => run.totalCosts),
  ...createProvenance<DatedSource>(),
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

/** Returns the result of a run as JSON bytes. */
export function encodeResult(source: ResultSource): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimateResultBytes(source));
  writeResult(json, source);
  return json.bytes();
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

/** Returns the date of the last rebalance, or the last date of the run if that is earlier. */
function findLastDate({ lastRebalance: { date }, days }: RunSummary): Day {
  const last = days.at(-1)!;
  return findDateInForce({ date, session: last }, last);
}

/** Returns the exposure of the last rebalance. */
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

/** Approximate size of a weight with its key in bytes. */
const WEIGHT_BYTES = 32;
/** Approximate size of a date with its value in a series, in bytes. */
const SERIES_BYTES = 36;

/**
 * Estimates the size of an overview in bytes. If the estimate is too high, that costs nothing: memory that is not
 * written is not allocated.
 */
export function estimateOverviewBytes({ days }: RunSummary): number {
  return 10_000 + SERIES_BYTES * days.length;
}

function estimateResultBytes({ run, rebalances: { rebalances } }: ResultSource): number {
  const cells = rebalances.reduce((sum, { columns }) => sum + columns.length, 0);
  return 100_000 + 6 * SERIES_BYTES * run.days.length + 5 * WEIGHT_BYTES * cells;
}
