import type { ResolvedRequest } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { IndexQuestion } from '#jobs/tasks/indices.js';
import type { ArtifactStore } from '#store/port.js';
import { addDefaultsToPlan } from '#domain/checks/plan-defaults.js';
import { readStoredPlan } from './stored-plans.js';
import { resolveRunModelFiles } from './used-models.js';

/** Definition from which a run was made, and all documents and risk models that it refers to. */
export interface RunDefinition {
  readonly definition: Omit<IndexQuestion, 'market'>;
  readonly request: ResolvedRequest;
}

/**
 * Reads the definition of a run. @throws Refusal RUN_NOT_FOUND if the run was stored without its plan,
 * DOCUMENT_UNREADABLE if the plan is unreadable
 */
export async function readRunDefinition(
  artifacts: Pick<ArtifactStore, 'read' | 'file'>,
  run: RunDocument,
): Promise<RunDefinition> {
  const { indexId, documents, models, request } = addDefaultsToPlan(await readStoredPlan(artifacts, run));
  const files = await resolveRunModelFiles(artifacts, models, run.artifacts.models);
  return { definition: { indexId, documents, ...files }, request };
}
