import type { OptimisationDocument } from '#domain/documents/optimisation-document.js';
import type { OptimisationRequest } from '#domain/documents/optimisation-request.js';
import { readStoredModelId } from '#domain/documents/used-models.js';
import { readModelSource } from '#domain/risk/risk-model-document.js';
import { listSettingsRead, type RiskMeasureModel } from '#domain/risk/measuring-model.js';
import type { OptimisationPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type Attempt, type JobKind } from '#jobs/job-kind.js';
import type { PortableTaskName } from '#jobs/tasks.js';
import type { OptimiseOutput } from '#jobs/tasks/indices.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { listOptimisedModels, requireModel } from '../stored/used-models.js';

export interface OptimisationJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
}

/** Creates the kind of job that runs an optimisation. The transaction that ends the job stores the result. */
export function createOptimisationJob(dependencies: OptimisationJobDependencies): JobKind<OptimisationPayload> {
  return createJobKind('optimise', async (payload, attempt) => {
    await dependencies.markets.settled(); // An optimisation that the previous process left waits until the data is loaded.
    const { document, message } = await optimiseOnce(dependencies, attempt, payload);
    return {
      result: { artifact: document.artifact },
      message,
      async effect(tx) {
        await tx.put('optimisation-run', payload.run_id, document);
      },
    };
  });
}

/** Runs an optimisation on the served market. @returns the document to store, and the main figures of the result */
export async function optimiseOnce(
  { documents: stored, artifacts, markets }: OptimisationJobDependencies,
  attempt: Pick<Attempt<PortableTaskName>, 'compute' | 'outputs'>,
  { run_id, documents, models, constraints, request }: OptimisationPayload,
): Promise<Omit<OptimiseOutput, 'result'> & { readonly document: OptimisationDocument }> {
  const { identity } = markets.require();
  const { result: artifact, ...about } = await attempt.compute('optimise', {
    market: identity,
    runId: run_id,
    documents,
    ...(await listOptimisedModels(stored, artifacts, models)),
    constraints,
    request,
    measuredBy: await readMeasuringModel(stored, request),
    outputs: attempt.outputs(['result']),
  });
  const { index_id, constraint_set_id } = request;
  const document = { run_id, index_id, constraint_set_id, store_content_hash: identity.contentHash, artifact };
  return { ...about, document };
}

/** Returns the stored model that a request names. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE */
async function readMeasuringModel(
  documents: OptimisationJobDependencies['documents'],
  optimisation: OptimisationRequest,
): Promise<RiskMeasureModel | null> {
  const modelId = readStoredModelId(optimisation);
  if (modelId === undefined) return null;
  const { document } = await requireModel(documents, modelId);
  const { request, diagnostics, observed_start: start, observed_end: end } = document;
  const settings = request === undefined ? {} : listSettingsRead(request);
  return { modelId, estimator: readModelSource(document), settings, start, end, sessions: diagnostics.observations };
}
