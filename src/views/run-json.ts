import type { OverviewView, ParentPayload, TrackingForecastPayload } from '#contract/analytics/overview.js';
import type { BacktestRunResult } from '#contract/analytics/run.js';
import type { RelativeMetricsPayload } from '#contract/analytics/metrics.js';
import type { TrackingForecast } from '#domain/analytics/tracking-forecast.js';
import { concentration } from '#domain/analytics/concentration.js';
import { exposureOf, type ExposurePayload } from '#domain/analytics/exposure.js';
import type { Composition } from '#domain/books/compositions.js';
import { indexSharesIn, withoutShares } from '#domain/books/index-shares.js';
import { snapshotsOf, type Snapshot } from '#domain/backtest/record/schema.js';
import { assertReturns, summaryOf, type RunSummary } from '#domain/backtest/run-summary.js';
import type { Run } from '#domain/backtest/run.js';
import { formatDay, formatDayTimestamp, type Day } from '#domain/time/days.js';
import { dateInForce } from '#domain/schedule/date-in-force.js';
import {
  jsonObject,
  numberMember,
  objectMember,
  seriesMember,
  textMember,
  upgradeItems,
  valueMember,
  writtenMember,
} from './json-object.js';
import { createJsonWriter, type TextRoom } from './json-writer.js';
import { gapsAndPricing, provenance, type RunStamp } from './provenance-json.js';
import { dayText, daysToken, writeSeriesBody } from './series-json.js';
import { SNAPSHOT, writeSnapshotList } from './snapshots-json.js';

/** Weights written in the snapshots of one result, most recent first: some 60 MB of text. */
export const SNAPSHOT_CELLS_MAX = 2_000_000;

/** BacktestRunResult: the result of the job. */
export function runResultJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const { text, cells } = snapshotsText(run);
  const {
    bytes,
    snapshots: { from },
  } = writeResult(summaryOf(run), stamp, { before: text.length, cells, behind: NO_TEXT, added: [], identifiers: [] });
  return withInset(bytes, { at: from, text });
}

/** The whole of a text that another one belongs into. */
export function withInset(
  bytes: Uint8Array,
  { at, text }: { readonly at: number; readonly text: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes.length + text.length);
  whole.set(bytes.subarray(0, at));
  whole.set(text, at);
  whole.set(bytes.subarray(at), at + text.length);
  return whole;
}

/**
 * The snapshots of a result: those that are stored by themselves, text that is there already, and what comes behind it.
 */
export interface ResultSnapshots {
  /** Bytes of those stored by themselves. */
  readonly before: number;
  /** Text of those behind them, with its commas. */
  readonly behind: Uint8Array;
  /** Weights in all of these. */
  readonly cells: number;
  readonly added: readonly Snapshot[];
  /** Whose positions the columns of the added ones are. */
  readonly identifiers: readonly string[];
}

/** Position of snapshots in the written result, without brackets: separately stored ones belong before them. */
export interface SnapshotsPlace {
  readonly from: number;
  readonly to: number;
  /** Weights in all snapshots of the result. */
  readonly cells: number;
}

export interface WrittenResult {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The series of levels in it, which an overview has as well. */
  readonly level: Uint8Array;
  readonly snapshots: SnapshotsPlace;
}

/** The snapshots of a run, the most recent that fit, as text without brackets. */
export function snapshotsText(
  { rebalances, staleFills: fills, portfolio, plan, index, document }: Run,
  room?: TextRoom,
): {
  readonly text: Uint8Array<ArrayBuffer>;
  readonly cells: number;
} {
  const served = servedSnapshots(rebalances);
  const cells = cellsOf(served);
  const { identifiers } = portfolio.sm;
  const json = createJsonWriter(snapshotBytes(served, identifiers), room);
  const sharesOf = plan.strategy ? withoutShares(portfolio.sm) : indexSharesIn(index.book, document.currency);
  writeSnapshotList(json, identifiers, snapshotsOf(served, { fills, sharesOf }));
  return { text: json.bytes(), cells };
}

/** Figures of a run relative to its benchmark. */
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

/** A result that is being written. */
interface ResultSource {
  readonly run: RunSummary;
  readonly stamp: RunStamp;
  readonly snapshots: ResultSnapshots;
  /** Dates of the run as `daysToken` gives them, and those after the first. */
  readonly dates: Uint8Array;
  readonly later: Uint8Array;
  /** Offsets of its parts in the text. */
  readonly places: { level: TextRange; snapshots: TextRange };
}

interface TextRange {
  readonly from: number;
  readonly to: number;
}

const LEVEL = seriesMember<ResultSource>('level', ({ run, dates }) => ({ dates, values: run.level }));

const RESULT = jsonObject<BacktestRunResult, ResultSource>({
  annual_returns: writtenMember((json, { run }) => {
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
  level: writtenMember((json, source) => {
    const from = json.mark();
    LEVEL.write(json, source);
    source.places.level = { from, to: json.mark() };
  }),
  index_version: {
    ...valueMember(({ stamp }: ResultSource) => stamp.indexVersion ?? null),
    has: ({ stamp }) => stamp.indexVersion !== undefined,
    older: () => null,
  },
  metrics: valueMember(({ run }) => run.metrics),
  ...gapsAndPricing<ResultSource>(),
  rebalances: {
    write(json, { snapshots: { before, behind, added, identifiers }, places }) {
      json.raw('[');
      const from = json.mark();
      json.token(behind);
      writeSnapshotList(json, identifiers, added, before + behind.length);
      places.snapshots = { from, to: json.mark() };
      json.raw(']');
    },
    upgrade: upgradeItems(SNAPSHOT),
  },
  rebalances_total: numberMember(({ run }) => run.rebalancesTotal),
  returns: seriesMember('returns', ({ run, later }) => ({ dates: later, values: run.returns })),
  total_costs: numberMember(({ run }) => run.totalCosts),
  ...provenance<ResultSource>(),
});

/** A result as it was stored by an earlier version, with the members of today. */
export function upgradedResult(stored: unknown): unknown {
  return RESULT.upgrade(stored);
}

/** A result without the snapshots that are stored by themselves. @throws Refusal NUMERIC_FAILURE after a total loss */
export function writeResult(
  run: RunSummary,
  stamp: RunStamp,
  snapshots: ResultSnapshots,
  room?: TextRoom,
): WrittenResult {
  assertReturns(run);
  const cells = cellsOf(snapshots.added);
  const bytes = snapshots.behind.length + resultBytes(run) + snapshotBytes(snapshots.added, snapshots.identifiers);
  const json = createJsonWriter(bytes, room);
  const dates = daysToken(run.days);
  const later = dates.subarray(dayText(run.days[0]!).length + 1); // without the first and its comma
  const places = { level: NOWHERE, snapshots: NOWHERE };
  RESULT.write(json, { run, stamp, snapshots, dates, later, places });
  const text = json.bytes();
  return {
    bytes: text,
    level: text.subarray(places.level.from, places.level.to),
    snapshots: { ...places.snapshots, cells: snapshots.cells + cells },
  };
}

const NOWHERE: TextRange = { from: 0, to: 0 };

/** OverviewView, under the id and the name the run is stored by. */
export function runOverviewJson(run: Run): Uint8Array<ArrayBuffer> {
  return writeOverview(summaryOf(run), levelText(run));
}

/** The series of levels of a run as JSON. */
function levelText({ days, level }: Run): Uint8Array {
  const json = createJsonWriter(SERIES_BYTES * days.length);
  writeSeriesBody(json, { name: 'level', dates: daysToken(days), values: level });
  return json.bytes();
}

interface OverviewSource {
  readonly run: RunSummary;
  /** The series of levels as the result has it. */
  readonly level: Uint8Array;
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

const OVERVIEW = jsonObject<OverviewView, OverviewSource>({
  index_id: textMember(({ run }) => run.plan.runId),
  name: textMember(({ run }) => run.plan.name),
  concentration: valueMember(({ run }) => concentration(run.lastRebalance.weights)),
  exposure: { ...valueMember(({ run }) => lastExposure(run)), has: ({ run }) => lastExposure(run).short < 0 },
  level: writtenMember((json, { level }) => json.token(level)),
  metrics: valueMember(({ run }) => run.metrics),
  parent: { ...objectMember(PARENT, ({ run }) => run.parent), has: ({ run }) => run.parent !== null },
  return_variant: textMember(({ run }) => run.variant),
  observations: numberMember(({ run }) => run.days.length),
  rebalances: numberMember(({ run }) => run.rebalancesWithin),
  last_rebalance: textMember(({ run }) => formatDay(lastDate(run))),
  start: textMember(({ run }) => formatDay(run.days[0]!)),
  end: textMember(({ run }) => formatDay(run.days.at(-1)!)),
});

/** Date of the last rebalance, on or before the last one of the run, on which one that is still to come took effect. */
function lastDate({ lastRebalance: { date }, days }: RunSummary): Day {
  const last = days.at(-1)!;
  return dateInForce({ date, session: last }, last);
}

/** Exposure of the last rebalance. */
function lastExposure({ plan, lastRebalance }: RunSummary): ExposurePayload {
  return exposureOf(lastRebalance.weights, plan.strategy?.exposure);
}

/** @param level the series of levels as the result has it */
export function writeOverview(run: RunSummary, level: Uint8Array, room?: TextRoom): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(level.length + 10_000, room);
  OVERVIEW.write(json, { run, level });
  return json.bytes();
}

const NO_TEXT = new Uint8Array(0);

/** The most recent snapshots that fit. */
function servedSnapshots(rebalances: readonly Composition[]): readonly Composition[] {
  let cells = 0;
  let from = rebalances.length;
  while (from > 0 && cells + rebalances[from - 1]!.columns.length <= SNAPSHOT_CELLS_MAX)
    cells += rebalances[--from]!.columns.length;
  return rebalances.slice(from);
}

/** Bytes of a weight, and of what stands around its key: quotes, comma and colon. */
const WEIGHT_BYTES = 23;
const AROUND_KEY_BYTES = 4;
/** Bytes of a snapshot without its weights. */
const SNAPSHOT_BYTES = 1_000;
/** Bytes of a date and of a value of a series. */
const SERIES_BYTES = 36;

/** Room for the larger texts of a run: too much costs nothing before it is written to. */
function resultBytes({ days }: RunSummary): number {
  return 100_000 + 6 * SERIES_BYTES * days.length;
}

/** The securities of the last snapshot give the length of keys. */
function snapshotBytes(snapshots: readonly Pick<Snapshot, 'columns'>[], identifiers: readonly string[]): number {
  const last = snapshots.at(-1)?.columns ?? NO_COLUMNS;
  const letters = last.reduce((sum, column) => sum + identifiers[column]!.length, 0);
  const keyBytes = AROUND_KEY_BYTES + letters / Math.max(1, last.length);
  return SNAPSHOT_BYTES * (1 + snapshots.length) + 5 * (WEIGHT_BYTES + keyBytes) * cellsOf(snapshots);
}

const NO_COLUMNS = new Int32Array(0);

/** Weights in snapshots. */
export function cellsOf(snapshots: readonly Pick<Snapshot, 'columns'>[]): number {
  return snapshots.reduce((sum, { columns }) => sum + columns.length, 0);
}
