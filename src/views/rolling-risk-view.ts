import type { RiskMemory, RiskReference, RollingRisk } from '#domain/analytics/rolling-risk.js';
import type { RollingRiskView } from '#contract/rolling-risk.js';
import type { WithoutRunState } from '#contract/run-state.js';
import type { Finding } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { createJsonObject, createTextMember, createValueMember, createWrittenMember } from './json-object.js';
import type { JsonWriter } from './json-writer.js';
import { writeDatedTable } from './table-json.js';

export interface RollingRiskInput {
  readonly runId: string;
  readonly memory: RiskMemory;
  readonly against: RiskReference;
  /** Id of the benchmark; null if the run is compared with its index. */
  readonly benchmarkId: string | null;
  /** Days of the run, [T]. */
  readonly days: Int32Array;
  readonly risk: RollingRisk;
  readonly findings: readonly Finding[];
}

const listColumnsAgainst = (against: RiskReference) =>
  [
    { name: 'volatility', of: 'volatility' },
    { name: `${against}_volatility`, of: 'indexVolatility' },
    { name: 'tracking_error', of: 'trackingError' },
    { name: 'beta', of: 'beta' },
    { name: 'correlation', of: 'correlation' },
  ] as const;

/**
 * Returns the position of the first value that is shown. With exponential weights, earlier values are based on too few
 * returns.
 */
function findFirstDate(memory: RiskMemory): number {
  return 'window' in memory ? 0 : LIMITS.MIN_NAME_OBSERVATIONS;
}

const ROLLING_RISK = createJsonObject<WithoutRunState<RollingRiskView>, RollingRiskInput>({
  index_id: createTextMember(({ runId }) => runId),
  window: createValueMember(({ memory }) => ('window' in memory ? memory.window : null)),
  half_life: createValueMember(({ memory }) => ('halfLife' in memory ? memory.halfLife : null)),
  against: createTextMember(({ against }) => against),
  benchmark_id: createValueMember(({ benchmarkId }) => benchmarkId),
  findings: createWrittenMember((json, { findings }) => json.value(findings)),
  risk: createWrittenMember((json, { memory, against, days, risk }) => {
    const hiddenCount = Math.max(0, findFirstDate(memory) - risk.from);
    writeDatedTable(json, {
      days: days.subarray(risk.from + hiddenCount),
      columns: listColumnsAgainst(against).map(({ name, of }) => ({ name, values: risk[of].subarray(hiddenCount) })),
      holes: 'refused',
    });
  }),
});

/**
 * Writes a RollingRiskView as JSON.
 * @throws Refusal NUMERIC_FAILURE if a value is not finite
 * @cost 20 ns per number
 */
export function writeRollingRisk(json: JsonWriter, input: RollingRiskInput): void {
  ROLLING_RISK.write(json, input);
}
