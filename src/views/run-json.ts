import { concentration } from '#domain/analytics/concentration.js';
import type { Composition } from '#domain/backtest/compositions.js';
import { gapsOf, pricingOf } from '#domain/backtest/run-record.js';
import type { Run } from '#domain/backtest/run.js';
import { formatDay, formatDayTimestamp } from '#domain/days.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { writeGapsAndPricing, writeProvenance, type RunStamp } from './provenance-json.js';
import { daysText, writeSeries } from './series-json.js';
import { writeSnapshots } from './snapshots-json.js';

/** Weights written in the snapshots of one result, most recent first: some 60 MB of text. */
const SNAPSHOT_CELLS_MAX = 2_000_000;

/** BacktestRunResult: the result of the job. */
export function runResultJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(resultBytes(run));
  const { days, portfolio } = run;
  const within = servedSnapshots(run.rebalances);
  json.raw('{"annual_returns":{');
  run.annualReturns.forEach(([year, value], i) => {
    json.raw(`${i === 0 ? '' : ','}"${year}":`);
    json.number(value);
  });
  json.raw('},"benchmark":');
  writeRelative(json, run);
  const dates = daysText(days);
  writeSeries(json, { key: 'drawdown', name: 'drawdown', dates, values: run.drawdown });
  writeSeries(json, { key: 'index_level', name: 'index_level', dates, values: run.indexLevel });
  json.raw(',"initial_capital":');
  json.number(run.plan.request.initial_capital);
  writeSeries(json, { key: 'level', name: 'level', dates, values: run.level });
  json.raw(',"metrics":');
  json.value(run.metrics);
  writeGapsAndPricing(json, { identifiers: portfolio.sm.identifiers, gaps: gapsOf(run), pricing: pricingOf(run) });
  json.raw(',"rebalances":');
  writeSnapshots(json, portfolio.sm.identifiers, within);
  json.raw(`,"rebalances_total":${run.rebalances.length}`);
  writeSeries(json, { key: 'returns', name: 'returns', dates: daysText(days.subarray(1)), values: run.returns });
  json.raw(',"total_costs":');
  json.number(run.totalCosts);
  writeProvenance(json, run.findings, stamp);
  json.raw('}');
  return json.bytes();
}

/** OverviewView, under the id and the name the run is stored by. */
export function runOverviewJson(run: Run): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  const { days, rebalances, plan } = run;
  const last = rebalances.at(-1)!;
  json.raw('{"index_id":');
  json.string(plan.runId);
  json.raw(',"name":');
  json.string(plan.name);
  json.raw(',"concentration":');
  json.value(concentration(last.weights));
  writeSeries(json, { key: 'level', name: 'level', dates: daysText(days), values: run.level });
  json.raw(',"metrics":');
  json.value(run.metrics);
  json.raw(`,"observations":${days.length},"rebalances":${run.rebalancesWithin},"last_rebalance":"${formatDay(last.date)}"`);
  json.raw(`,"start":"${formatDay(days[0]!)}","end":"${formatDay(days.at(-1)!)}"}`);
  return json.bytes();
}

function writeRelative(json: JsonWriter, { benchmark }: Run): void {
  if (!benchmark) {
    json.raw('null');
    return;
  }
  const { relative, reference, variant } = benchmark;
  const { days } = relative;
  json.raw('{"reference":');
  json.value(reference);
  json.raw(`,"start":"${formatDayTimestamp(days[0]!)}","end":"${formatDayTimestamp(days.at(-1)!)}","observations":${relative.observations}`);
  writeSeries(json, { key: 'level', name: 'level', dates: daysText(days), values: relative.level });
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
function resultBytes({ days, rebalances }: Run): number {
  return 100_000 + 2.6 * WEIGHT_BYTES * rebalances.reduce((sum, { columns }) => sum + columns.length, 0) + 6 * SERIES_BYTES * days.length;
}
