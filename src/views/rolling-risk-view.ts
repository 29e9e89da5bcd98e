import type { RiskMemory, RollingRisk } from '#domain/analytics/rolling-risk.js';
import { LIMITS } from '#domain/limits.js';
import type { JsonWriter } from './json-writer.js';
import { writeDatedTable } from './table-json.js';

export interface RollingRiskInput {
  readonly runId: string;
  readonly memory: RiskMemory;
  /** Of the run, [T]. */
  readonly days: Int32Array;
  readonly risk: RollingRisk;
}

/** A RollingRiskView as JSON. @throws Refusal NUMERIC_FAILURE when a value is not finite @cost 20 ns a number */
export function writeRollingRisk(json: JsonWriter, { runId, memory, days, risk }: RollingRiskInput): void {
  const hidden = Math.max(0, firstShown(memory) - risk.from);
  json.raw(
    `{"index_id":${JSON.stringify(runId)},"window":${'window' in memory ? memory.window : 'null'},"half_life":${'halfLife' in memory ? memory.halfLife : 'null'},"risk":`,
  );
  writeDatedTable(json, {
    days: days.subarray(risk.from + hidden),
    columns: COLUMNS.map(({ name, of }) => ({ name, values: risk[of].subarray(hidden) })),
    holes: 'refused',
  });
  json.raw('}');
}

const COLUMNS = [
  { name: 'volatility', of: 'volatility' },
  { name: 'index_volatility', of: 'indexVolatility' },
  { name: 'tracking_error', of: 'trackingError' },
  { name: 'beta', of: 'beta' },
  { name: 'correlation', of: 'correlation' },
] as const;

/** Position in the levels. With decaying weights the first few returns say nothing yet. */
function firstShown(memory: RiskMemory): number {
  return 'window' in memory ? 0 : LIMITS.MIN_NAME_OBSERVATIONS;
}
