import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { CompareViewInput } from '#jobs/tasks/views.js';
import { compareRuns, type ComparedLevels, type Comparison } from '#views/compare-view.js';
import { comparedWith } from './compared.js';
import { onEngine } from '../input/numerics.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';

/**
 * Compares stored runs, followed by a benchmark with the settings of the first.
 * @throws Refusal NO_COMMON_DATES, and those of the benchmark run
 */
export async function showComparison(input: CompareViewInput): Promise<Comparison> {
  const benchmark = await benchmarkLevels(input);
  return withRuns(input.columns, (runs) => compareRuns(runs, input, benchmark));
}

async function benchmarkLevels({
  columns: [first],
  benchmark,
  market,
}: CompareViewInput): Promise<ComparedLevels | null> {
  if (benchmark === null) return null;
  const { header, days } = withRunFile(first!, (run) => ({ header: run.header, days: run.i32('days').slice() }));
  const other = comparedWith(benchmark, openedMarket(market!), header);
  const { days: dated, values } = await onEngine((engine) => other.levelsOver(engine, days));
  return { id: other.id, days: dated, level: values, variant: other.variant, currency: other.currency };
}

/** Opens several runs at once. */
function withRuns<T>(
  paths: readonly string[],
  use: (runs: readonly RunColumns[]) => T,
  opened: readonly RunColumns[] = [],
): T {
  const [first, ...rest] = paths;
  return first === undefined ? use(opened) : withRunFile(first, (run) => withRuns(rest, use, [...opened, run]));
}
