import { rollingRisk, type RiskMemory } from '#domain/analytics/rolling-risk.js';
import { canonicalJson } from '#domain/canonical-json.js';
import { formatDay } from '#domain/days.js';
import { LIMITS } from '#domain/limits.js';
import { lastAtMost } from '#domain/search.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import type { Task } from '#jobs/tasks.js';
import { outputBytes } from './hand-over.js';
import { onEngine } from './numerics.js';
import { withRunFile } from './run-file.js';

/** A RollingRiskView of a stored run as JSON. */
export const rollingRiskOfRun: Task<'rolling-risk'> = async ({ columns, runId, memory }) => {
  const { days, level, index } = withRunFile(columns, readLevels);
  const risk = await onEngine((engine) => rollingRisk(engine, level, index, memory));
  const from = firstShown(risk.at, memory);
  const rows = risk.at.map((_, k) => [risk.volatility[k]!, risk.indexVolatility[k]!, risk.trackingError[k]!, risk.beta[k]!, risk.correlation[k]!]);
  const view = {
    index_id: runId,
    window: 'window' in memory ? memory.window : null,
    half_life: 'halfLife' in memory ? memory.halfLife : null,
    risk: { index: risk.at.slice(from).map((at) => formatDay(days[at]!)), columns: ['volatility', 'index_volatility', 'tracking_error', 'beta', 'correlation'], data: rows.slice(from) },
  };
  return outputBytes(canonicalJson(view));
};

/** With decaying weights the first few returns say nothing yet. */
function firstShown(at: readonly number[], memory: RiskMemory): number {
  if ('window' in memory) return 0;
  const first = at.findIndex((position) => position >= LIMITS.MIN_NAME_OBSERVATIONS);
  return first < 0 ? at.length : first;
}

/** Levels of the run and of its index on the run's dates. */
function readLevels(run: RunColumns): { readonly days: Int32Array; readonly level: Float64Array; readonly index: Float64Array } {
  const days = run.i32('days').slice();
  const indexDays = run.i32('indexDays');
  const indexLevel = run.f64('indexLevel');
  const index = Float64Array.from(days, (day) => indexLevel[Math.max(0, lastAtMost(indexDays, day))]!);
  return { days, level: run.f64('level').slice(), index };
}
