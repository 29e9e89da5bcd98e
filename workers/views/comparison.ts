import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { CompareViewInput } from '#jobs/tasks/views.js';
import { compareRuns, type ComparedLevels, type RunComparison } from '#views/compare-view.js';
import { openCompared } from './compared.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';

/**
 * Compares stored runs. A benchmark with the settings of the first run comes last.
 * @throws Refusal NO_COMMON_DATES, and the refusals of the benchmark run
 */
export async function showComparison(input: CompareViewInput): Promise<RunComparison> {
  const benchmark = await readBenchmarkLevels(input);
  return addRuns(input.columns, (runs) => compareRuns(runs, input, benchmark));
}

async function readBenchmarkLevels({
  columns: [first],
  benchmark,
  market,
}: CompareViewInput): Promise<ComparedLevels | null> {
  if (benchmark === null) return null;
  const { header, days } = useRunFile(first!, (run) => ({ header: run.header, days: run.i32('days').slice() }));
  const otherComparedBenchmark = openCompared(benchmark, openCachedMarket(market!), header);
  const { days: dated, values } = await runOnEngine((engine) => otherComparedBenchmark.levelsOver(engine, days));
  return {
    id: otherComparedBenchmark.id,
    days: dated,
    level: values,
    variant: otherComparedBenchmark.variant,
    currency: otherComparedBenchmark.currency,
  };
}

/** Opens several runs and passes them to a function. Closes them after the function has ended. */
function addRuns<T>(
  paths: readonly string[],
  use: (runs: readonly RunColumns[]) => T,
  opened: readonly RunColumns[] = [],
): T {
  const [first, ...rest] = paths;
  return first === undefined ? use(opened) : useRunFile(first, (run) => addRuns(rest, use, [...opened, run]));
}
