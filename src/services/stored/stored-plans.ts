import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { statedRows } from '#domain/documents/row-settings.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ArtifactStore } from '#store/port.js';

/**
 * The plan that a run was made from, to the byte.
 * @throws Refusal RUN_NOT_FOUND for a run stored without it, DOCUMENT_UNREADABLE
 */
export async function storedPlan(
  artifacts: Pick<ArtifactStore, 'read'>,
  { run_id: runId, artifacts: { plan } }: RunDocument,
): Promise<BacktestPlan> {
  if (plan === undefined)
    throw new Refusal(
      'RUN_NOT_FOUND',
      `The run of ${runId} was stored without its definition and request and cannot be replayed; run the backtest again.`,
      { index_id: runId },
    );
  // Stored by the job that made the run, and checked against its hash.
  return JSON.parse(new TextDecoder().decode(await artifacts.read(plan))) as BacktestPlan;
}

/** A plan as it would be stored today: documents and request with the defaults of fields that came after it. */
export function withDefaults(plan: BacktestPlan): BacktestPlan {
  const documents = Object.fromEntries(
    Object.entries(plan.documents).map(([id, document]) => [id, readIndex(document) ?? document]),
  );
  const { strategy } = plan;
  const constraints = strategy?.constraints && { constraints: statedRows(strategy.constraints, 'earlier') };
  return {
    ...plan,
    documents,
    ...(strategy ? { strategy: { ...strategy, ...constraints } } : {}),
    request: BacktestFields.safeParse(plan.request).data ?? plan.request,
  };
}
