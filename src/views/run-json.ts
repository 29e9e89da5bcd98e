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
  jsonObject,
  numberMember,
  objectMember,
  seriesMember,
  textMember,
  upgradeItems,
  valueMember,
  createWrittenMember,
} from './json-object.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { gapsAndPricing, provenance, type RunStamp } from './provenance-json.js';
import { dayText, daysToken } from './series-json.js';
import { SNAPSHOT, writeSnapshots } from './snapshots-json.js';

/** Source of the figures of a run relative to its benchmark. */
type RelativeSource = NonNullable<RunSummary['benchmark']> & { readonly dates: Uint8Array };

const RELATIVE = jsonObject<RelativeMetricsPayload, RelativeSource>({
  reference: valueMember(({ reference }) => reference),
  start: textMember(({ relative: { days } }) => formatDayTimestamp(days[0]!)),
  end: textMember(({ relative: { days } }) => formatDayTimestamp(days.at(-1)!)),
  observations: numberMember(({ relative }) => relative.observations),
  level: seriesMember('level', ({ relative, dates }) => ({ dates, values: relative.level })),
  benchmark_return: numberMember(({ relative }) => relative.benchmarkReturn),
  total_return: numberMember(({ relative }) => relative.totalReturn),
  excess_return: numberMember(({ relative }) => relative.excessReturn),
  beta: numberMember(({ relative }) => relative.beta),
  correlation: numberMember(({ relative }) => relative.correlation),
  tracking_error: numberMember(({ relative }) => relative.trackingError),
  return_variant: textMember(({ variant }) => variant),
});

/** Source of the result of a stored run. */
export interface ResultSource {
  readonly run: RunSummary;
  readonly stamp: RunStamp;
  readonly rebalances: StoredRebalances;
}

interface DatedSource extends ResultSource {
  /** Dates of the run encoded by `daysToken`; the next field contains the dates after the first. */
  readonly dates: Uint8Array;
  readonly later: Uint8Array;
}

const RESULT = jsonObject<BacktestRunResult, DatedSource>({
  annual_returns: createWrittenMember((json, { run }) => {
    json.raw('{');
    run.annualReturns.forEach(([year, value], i) => {
      json.raw(`${i === 0 ? '' : ','}"${year}":`);
      json.number(value);
    });
    json.raw('}');
  }),
  benchmark: objectMember(
    RELATIVE,
    ({ run }) => run.benchmark && { ...run.benchmark, dates: daysToken(run.benchmark.relative.days) },
  ),
  drawdown: seriesMember('drawdown', ({ run, dates }) => ({ dates, values: run.drawdown })),
  index_level: seriesMember('index_level', ({ run, dates }) => ({ dates, values: run.indexLevel })),
  initial_capital: numberMember(({ run }) => run.plan.request.initial_capital),
  level: seriesMember('level', ({ run, dates }) => ({ dates, values: run.level })),
  index_version: {
    ...valueMember(({ stamp }: DatedSource) => stamp.indexVersion ?? null),
    has: ({ stamp }) => stamp.indexVersion !== undefined,
    older: () => null,
  },
  metrics: valueMember(({ run }) => run.metrics),
  ...gapsAndPricing<DatedSource>(),
  rebalances: {
    write: (json, { rebalances: { identifiers, rebalances } }) => writeSnapshots(json, identifiers, rebalances),
    upgrade: upgradeItems(SNAPSHOT),
  },
  rebalances_total: numberMember(({ run }) => run.rebalancesTotal),
  returns: seriesMember('returns', ({ run, later }) => ({ dates: later, values: run.returns })),
  total_costs: numberMember(({ run }) => run.totalCosts),
  ...provenance<DatedSource>(),
});

/** Adds to a stored result the members that were introduced after its version. */
export function upgradeResult(stored: unknown): unknown {
  return RESULT.upgrade(stored);
}

/** Writes a BacktestRunResult, the result of a run. */
export function writeResult(json: JsonWriter, source: ResultSource): void {
  const { days } = source.run;
  const dates = daysToken(days);
  const later = dates.subarray(dayText(days[0]!).length + 1); // without the first date and its comma
  RESULT.write(json, { ...source, dates, later });
}

/** Returns the result of a run as JSON bytes. */
export function resultJson(source: ResultSource): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(resultBytes(source));
  writeResult(json, source);
  return json.bytes();
}

const FORECAST = jsonObject<TrackingForecastPayload, TrackingForecast>({
  tracking_error: numberMember(({ forecast }) => forecast),
  realised_tracking_error: numberMember(({ realised }) => realised),
  bias: valueMember(({ bias }) => bias),
  bias_low: numberMember(({ biasBand: [low] }) => low),
  bias_high: numberMember(({ biasBand: [, high] }) => high),
  observations: numberMember(({ observations }) => observations),
  rebalances: valueMember(({ periods }) =>
    periods.map(({ day, forecast, realised, observations }) => ({
      date: formatDay(day),
      tracking_error: forecast,
      realised_tracking_error: realised,
      observations,
    })),
  ),
});

const PARENT = jsonObject<ParentPayload, NonNullable<RunSummary['parent']>>({
  index_id: textMember(({ indexId }) => indexId),
  observations: numberMember(({ relative }) => relative.observations),
  total_return: numberMember(({ relative }) => relative.benchmarkReturn),
  tracking_difference: numberMember(({ relative }) => relative.excessReturn),
  tracking_error: numberMember(({ relative }) => relative.trackingError),
  forecast: { ...objectMember(FORECAST, ({ forecast }) => forecast), has: ({ forecast }) => forecast !== null },
});

const OVERVIEW = jsonObject<OverviewView, { readonly run: RunSummary }>({
  index_id: textMember(({ run }) => run.plan.runId),
  name: textMember(({ run }) => run.plan.name),
  concentration: valueMember(({ run }) => measureConcentration(run.lastRebalance.weights)),
  exposure: { ...valueMember(({ run }) => findLastExposure(run)), has: ({ run }) => findLastExposure(run).short < 0 },
  level: seriesMember('level', ({ run: { days, level } }) => ({ dates: daysToken(days), values: level })),
  metrics: valueMember(({ run }) => run.metrics),
  parent: { ...objectMember(PARENT, ({ run }) => run.parent), has: ({ run }) => run.parent !== null },
  return_variant: textMember(({ run }) => run.variant),
  observations: numberMember(({ run }) => run.days.length),
  rebalances: numberMember(({ run }) => run.rebalancesWithin),
  last_rebalance: textMember(({ run }) => formatDay(findLastDate(run))),
  start: textMember(({ run }) => formatDay(run.days[0]!)),
  end: textMember(({ run }) => formatDay(run.days.at(-1)!)),
});

/** Returns the date of the last rebalance, at most the last date of the run. */
function findLastDate({ lastRebalance: { date }, days }: RunSummary): Day {
  const last = days.at(-1)!;
  return findDateInForce({ date, session: last }, last);
}

/** Returns the exposure of the last rebalance. */
function findLastExposure({ plan, lastRebalance }: RunSummary): ExposurePayload {
  return measureExposure(lastRebalance.weights, plan.strategy?.exposure);
}

/** Writes an OverviewView under the id and name with which the run is stored. */
export function writeOverview(json: JsonWriter, run: RunSummary): void {
  OVERVIEW.write(json, { run });
}

/** Returns the overview as JSON bytes. */
export function overviewJson(run: RunSummary): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(overviewBytes(run));
  writeOverview(json, run);
  return json.bytes();
}

/** Approximate size of a weight with its key in bytes. */
const WEIGHT_BYTES = 32;
/** Approximate size of a date with its value in a series, in bytes. */
const SERIES_BYTES = 36;

/**
 * Estimates the size of an overview in bytes. An estimate that is too high costs nothing, because unwritten memory is
 * not allocated.
 */
export function overviewBytes({ days }: RunSummary): number {
  return 10_000 + SERIES_BYTES * days.length;
}

function resultBytes({ run, rebalances: { rebalances } }: ResultSource): number {
  const cells = rebalances.reduce((sum, { columns }) => sum + columns.length, 0);
  return 100_000 + 6 * SERIES_BYTES * run.days.length + 5 * WEIGHT_BYTES * cells;
}
