import type { RiskValidationPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { requireUndamagedRun } from '../stored/damaged-runs.js';
import { getColumns } from '../stored/run-documents.js';

export interface RiskValidationJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'servedAt'>;
}

/**
 * Creates the kind of job that compares the past forecasts of a risk model with the actual risk. The job stores only
 * its result.
 */
export function createRiskValidationJob({
  documents,
  artifacts,
  markets,
  dataVersions,
}: RiskValidationJobDependencies): JobKind<RiskValidationPayload> {
  return createJobKind(
    'validate',
    async ({ model_id: modelId, model, request, terms, index_id, data_version }, attempt) => {
      await markets.settled();
      const { identity } = await dataVersions.servedAt(data_version);
      const { view, message } = await attempt.compute('validate-risk-model', {
        market: identity,
        modelId,
        identifiers: model.asset_ids,
        terms,
        settings: model.request,
        request,
        run:
          index_id === null
            ? null
            : { indexId: index_id, columns: getColumns(await requireUndamagedRun({ documents, artifacts }, index_id)) },
        outputs: attempt.outputs(['view']),
      });
      return { result: { artifact: view }, message };
    },
  );
}
