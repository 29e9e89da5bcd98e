import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ArtifactStore } from '#store/port.js';

/**
 * Returns the plan of a run, byte for byte.
 * @throws Refusal RUN_NOT_FOUND for a run stored without a plan, DOCUMENT_UNREADABLE
 */
export async function readStoredPlan(
  artifacts: Pick<ArtifactStore, 'read'>,
  { run_id: runId, artifacts: { plan } }: RunDocument,
): Promise<BacktestPlan> {
  if (plan === undefined)
    throw new Refusal(
      'RUN_NOT_FOUND',
      `The run of ${runId} was stored without its definition and request and cannot be replayed; run the backtest again.`,
      { index_id: runId },
    );
  // the job of the run stored these bytes, and `read` verified their hash
  return JSON.parse(new TextDecoder().decode(await artifacts.read(plan))) as BacktestPlan;
}
