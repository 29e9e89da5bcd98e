import { DEFAULT_RISK_WINDOW, type RiskReference } from '#domain/analytics/rolling-risk.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { refuseWithFindings, type Refusal } from '#domain/refusals/refusal.js';
import type { NeededMemory } from '#jobs/tasks/views.js';
import { readCompared, type RunRequest, type NeedSources } from './need.js';

interface RollingQuery {
  readonly window?: number | undefined;
  readonly half_life?: number | undefined;
  readonly against?: RiskReference | undefined;
  /** Name of a benchmark. It replaces the benchmark of the run. */
  readonly benchmark?: string | undefined;
}

/**
 * Returns what rolling figures need: memory, reference and market. @throws Refusal VALIDATION_FAILED,
 * BENCHMARK_NOT_FOUND, STORE_MISMATCH
 */
export async function resolveRollingMemory(sources: NeedSources, { run, query }: RunRequest): Promise<NeededMemory> {
  const { window, half_life: halfLife, against: requestedReference, benchmark: benchmarkName } = query as RollingQuery;
  if (window !== undefined && halfLife !== undefined) throw refuseTwoReferences('half_life', halfLife, { window });
  if (requestedReference !== undefined && benchmarkName !== undefined)
    throw refuseTwoReferences('benchmark', benchmarkName, { against: requestedReference });
  const against = benchmarkName === undefined ? (requestedReference ?? 'index') : 'benchmark';
  if (benchmarkName === undefined && against === 'benchmark') assertBenchmark(run);
  return {
    runId: run.run_id,
    memory: halfLife === undefined ? { window: window ?? DEFAULT_RISK_WINDOW } : { halfLife },
    against,
    benchmark: benchmarkName === undefined ? null : await readCompared(sources, run, benchmarkName),
    market: (await sources.states.servedMarket(run))?.handle ?? null,
  };
}

function refuseTwoReferences(path: string, value: string | number, other: Readonly<Record<string, unknown>>): Refusal {
  const [[name, given]] = Object.entries(other) as [[string, unknown]]; // the record has one member
  const message = `${name} ${String(given)} and ${path} ${value} were both given; give one of them.`;
  return refuseWithFindings('query', [{ severity: 'error', code: 'NOT_IN_CHOICES', message, path, value }]);
}

/** Ensures that a run has a benchmark. @throws Refusal VALIDATION_FAILED */
function assertBenchmark({ run_id: runId, request }: RunDocument): void {
  if (BacktestFields.parse(request).benchmark !== null) return;
  throw refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'NOT_IN_CHOICES',
      message: `The run of ${runId} has no benchmark; backtest it with one, or measure it against its index.`,
      path: 'against',
      accepted: ['index'],
      value: 'benchmark',
    },
  ]);
}
