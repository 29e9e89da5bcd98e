import { estimateCommonPeriods } from '#domain/calendars/periods-per-year.js';
import { computeRollingRisk } from '#domain/analytics/rolling-risk.js';
import { warnOfCutBenchmark } from '#domain/backtest/cut-window.js';
import type { RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import type { ComparedWith, InputOfView } from '#jobs/tasks/views.js';
import { readRunLevels } from '#views/run-levels.js';
import { writeRollingRisk } from '#views/rolling-risk-view.js';
import { openCompared } from './compared.js';
import { assertPriced } from './holding-risk.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';
import type { ComputedView } from './run-view.js';

/** Number of bytes per row: a date and five numbers. */
const ROW_BYTES = 120;

/**
 * Computes the rolling risk of a stored run.
 * @throws Refusal RISK_INSUFFICIENT_DATA if the market has no price of the run's holdings
 */
export async function showRollingRisk(query: InputOfView<'rolling-risk'>): Promise<ComputedView> {
  const { columns, runId, memory, against, benchmark, market } = query;
  const levelHistory = useRunFile(columns, (run) => ({
    header: run.header,
    benchmarkId: against === 'benchmark' ? (run.header.benchmark?.id ?? null) : null,
    ...(benchmark === null && against === 'benchmark' ? createBenchmarkLevels(run) : createIndexLevels(run)),
  }));
  const { names } = levelHistory.header;
  const { benchmarkId, runDays, days, level, reference } =
    benchmark === null
      ? levelHistory
      : { benchmarkId: benchmark.indexId, ...(await readNamedLevels(levelHistory, benchmark, market!)) };
  if (market && days.length > 0) assertPriced(openCachedMarket(market), { names, first: days[0]!, last: days.at(-1)! });
  const risk = computeRollingRisk(level, reference, memory, estimateCommonPeriods(days, runDays));
  const findings = benchmarkId === null || days.length === 0 ? [] : warnOfCutBenchmark(benchmarkId, days, runDays);
  return {
    bytes: ROW_BYTES * days.length,
    write: (json) => writeRollingRisk(json, { runId, memory, against, benchmarkId, days, risk, findings }),
  };
}

/** Levels of a run and of its reference, on their common dates, [T] each. */
interface Levels {
  /** Dates of the run. */
  readonly runDays: Int32Array;
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly reference: Float64Array;
}

function createIndexLevels(run: RunColumns): Levels {
  const { days, level, index } = readRunLevels(run);
  return { runDays: days, days, level, reference: index };
}

/** Returns the levels on the dates that the benchmark shares with the run. */
function createBenchmarkLevels(run: RunColumns): Levels {
  if (!run.has('benchmarkDays')) return { runDays: NO_DAYS, days: NO_DAYS, level: NO_VALUES, reference: NO_VALUES };
  const { days: all, level } = readRunLevels(run);
  const days = run.i32('benchmarkDays').slice();
  const benchmarkLevel = Float64Array.from(days, (day) => level[findLastAtMost(all, day)]!);
  return { runDays: all, days, level: benchmarkLevel, reference: run.f64('benchmarkLevel').slice() };
}

/** Returns the levels on the dates that a named benchmark shares with the run. */
async function readNamedLevels(
  { header, days, level }: Levels & { readonly header: RunHeader },
  benchmark: ComparedWith,
  market: MarketHandle,
): Promise<Levels> {
  const otherComparedBenchmark = openCompared(benchmark, openCachedMarket(market), header);
  const datedLevels = await runOnEngine((engine) => otherComparedBenchmark.levelsOver(engine, days));
  const valueByDay = new Map(Array.from(datedLevels.days, (day, t) => [day, datedLevels.values[t]!]));
  const commonDays = days.filter((day) => valueByDay.has(day));
  return {
    runDays: days,
    days: commonDays,
    level: Float64Array.from(commonDays, (day) => level[findLastAtMost(days, day)]!),
    reference: Float64Array.from(commonDays, (day) => valueByDay.get(day)!),
  };
}

const NO_VALUES = new Float64Array(0);
const NO_DAYS = new Int32Array(0);
