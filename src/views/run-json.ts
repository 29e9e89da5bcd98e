import { concentration } from '#domain/analytics/concentration.js';
import type { Composition } from '#domain/backtest/simulate/compositions.js';
import type { Snapshot } from '#domain/backtest/record/schema.js';
import { assertReturns, summaryOf, type RunSummary } from '#domain/backtest/run-summary.js';
import type { Run } from '#domain/backtest/run.js';
import { formatDay, formatDayTimestamp } from '#domain/days.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { writeGapsAndPricing, writeProvenance, type RunStamp } from './provenance-json.js';
import { dayText, daysToken, writeSeries, writeSeriesBody } from './series-json.js';
import { writeSnapshotList } from './snapshots-json.js';

/** Weights written in the snapshots of one result, most recent first: some 60 MB of text. */
export const SNAPSHOT_CELLS_MAX = 2_000_000;

/** BacktestRunResult: the result of the job. */
export function runResultJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const { text, cells } = snapshotsOf(run);
  const { bytes, snapshots: { from } } = writeResult(summaryOf(run), stamp, { before: text.length, cells, behind: NO_TEXT, added: [], identifiers: [] });
  return withInset(bytes, { at: from, text });
}

/** The whole of a text that another one belongs into. */
export function withInset(bytes: Uint8Array, { at, text }: { readonly at: number; readonly text: Uint8Array }): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes.length + text.length);
  whole.set(bytes.subarray(0, at));
  whole.set(text, at);
  whole.set(bytes.subarray(at), at + text.length);
  return whole;
}

/** The snapshots of a result: those that are kept by themselves, text that is there already, and what comes behind it. */
export interface ResultSnapshots {
  /** Bytes of those kept by themselves. */
  readonly before: number;
  /** Text of those behind them, with its commas. */
  readonly behind: Uint8Array;
  /** Weights in all of these. */
  readonly cells: number;
  readonly added: readonly Snapshot[];
  /** Whose positions the columns of the added ones are. */
  readonly identifiers: readonly string[];
}

/** Where snapshots lie in what is written of a result, without brackets: those kept by themselves belong before them. */
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
export function snapshotsOf({ rebalances, portfolio }: Run): { readonly text: Uint8Array<ArrayBuffer>; readonly cells: number } {
  const served = servedSnapshots(rebalances);
  const cells = cellsOf(served);
  const json = createJsonWriter(snapshotBytes(cells));
  writeSnapshotList(json, portfolio.sm.identifiers, served);
  return { text: json.bytes(), cells };
}

/** A result without the snapshots that are kept by themselves. @throws Refusal NUMERIC_FAILURE after a total loss */
export function writeResult(summary: RunSummary, stamp: RunStamp, { before, behind, cells: known, added, identifiers }: ResultSnapshots): WrittenResult {
  assertReturns(summary);
  const cells = cellsOf(added);
  const json = createJsonWriter(behind.length + resultBytes(summary) + snapshotBytes(cells));
  const { days } = summary;
  json.raw('{"annual_returns":{');
  summary.annualReturns.forEach(([year, value], i) => {
    json.raw(`${i === 0 ? '' : ','}"${year}":`);
    json.number(value);
  });
  json.raw('},"benchmark":');
  writeRelative(json, summary);
  const dates = daysToken(days);
  const later = dates.subarray(dayText(days[0]!).length + 1); // without the first and its comma
  writeSeries(json, { key: 'drawdown', name: 'drawdown', dates, values: summary.drawdown });
  writeSeries(json, { key: 'index_level', name: 'index_level', dates, values: summary.indexLevel });
  json.raw(',"initial_capital":');
  json.number(summary.plan.request.initial_capital);
  json.raw(',"level":');
  const levelFrom = json.mark();
  writeSeriesBody(json, { name: 'level', dates, values: summary.level });
  const levelTo = json.mark();
  json.raw(',"metrics":');
  json.value(summary.metrics);
  writeGapsAndPricing(json, summary);
  json.raw(',"rebalances":[');
  const from = json.mark();
  json.token(behind);
  writeSnapshotList(json, identifiers, added, before + behind.length);
  const to = json.mark();
  json.raw(`],"rebalances_total":${summary.rebalancesTotal}`);
  writeSeries(json, { key: 'returns', name: 'returns', dates: later, values: summary.returns });
  json.raw(',"total_costs":');
  json.number(summary.totalCosts);
  writeProvenance(json, summary.findings, stamp);
  json.raw('}');
  const bytes = json.bytes();
  return { bytes, level: bytes.subarray(levelFrom, levelTo), snapshots: { from, to, cells: known + cells } };
}

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

/** @param level the series of levels as the result has it */
export function writeOverview(run: RunSummary, level: Uint8Array): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(level.length + 10_000);
  const { days, plan, lastRebalance: last } = run;
  json.raw('{"index_id":');
  json.string(plan.runId);
  json.raw(',"name":');
  json.string(plan.name);
  json.raw(',"concentration":');
  json.value(concentration(last.weights));
  json.raw(',"level":');
  json.token(level);
  json.raw(',"metrics":');
  json.value(run.metrics);
  json.raw(`,"return_variant":"${run.variant}"`);
  json.raw(`,"observations":${days.length},"rebalances":${run.rebalancesWithin},"last_rebalance":"${formatDay(last.date)}"`);
  json.raw(`,"start":"${formatDay(days[0]!)}","end":"${formatDay(days.at(-1)!)}"}`);
  return json.bytes();
}

function writeRelative(json: JsonWriter, { benchmark }: RunSummary): void {
  if (!benchmark) {
    json.raw('null');
    return;
  }
  const { relative, reference, variant } = benchmark;
  const { days } = relative;
  json.raw('{"reference":');
  json.value(reference);
  json.raw(`,"start":"${formatDayTimestamp(days[0]!)}","end":"${formatDayTimestamp(days.at(-1)!)}","observations":${relative.observations}`);
  writeSeries(json, { key: 'level', name: 'level', dates: daysToken(days), values: relative.level });
  const figures = {
    benchmark_return: relative.benchmarkReturn,
    total_return: relative.totalReturn,
    excess_return: relative.excessReturn,
    beta: relative.beta,
    correlation: relative.correlation,
    tracking_error: relative.trackingError,
  };
  for (const [key, value] of Object.entries(figures)) {
    json.raw(`,"${key}":`);
    json.number(value);
  }
  json.raw(`,"return_variant":"${variant}"}`);
}

const NO_TEXT = new Uint8Array(0);

/** The most recent snapshots that fit. */
function servedSnapshots(rebalances: readonly Composition[]): readonly Composition[] {
  let cells = 0;
  let from = rebalances.length;
  while (from > 0 && cells + rebalances[from - 1]!.columns.length <= SNAPSHOT_CELLS_MAX) cells += rebalances[--from]!.columns.length;
  return rebalances.slice(from);
}

/** Bytes of a weight with its comma. */
const WEIGHT_BYTES = 23;
/** Bytes of a date and of a value of a series. */
const SERIES_BYTES = 36;

/** Room for the larger texts of a run: too much costs nothing before it is written to. */
function resultBytes({ days }: RunSummary): number {
  return 100_000 + 6 * SERIES_BYTES * days.length;
}

function snapshotBytes(cells: number): number {
  return 1_000 + 2.6 * WEIGHT_BYTES * cells;
}

/** Weights in snapshots. */
export function cellsOf(snapshots: readonly Pick<Snapshot, 'columns'>[]): number {
  return snapshots.reduce((sum, { columns }) => sum + columns.length, 0);
}
