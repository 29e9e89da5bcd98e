import { reportUnreadFields } from '#domain/documents/idle-settings.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';
import { describeLeftOut } from '#domain/risk/left-out.js';
import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import { jobKind, type JobKind } from '#jobs/job-kind.js';
import type { RiskUniverseOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { undamagedRun } from '../stored/damaged-runs.js';
import { columnsOf } from '../stored/run-documents.js';

export interface RiskModelJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at'>;
}

/** Creates the kind of job that estimates risk models: the model is replaced in the transaction that ends the job. */
export function createRiskModelJob({
  documents,
  artifacts,
  markets,
  dataVersions,
}: RiskModelJobDependencies): JobKind<RiskModelPayload> {
  async function universeOf({ identifiers, run }: RiskModelPayload): Promise<RiskUniverseOrder> {
    if (identifiers !== null) return { kind: 'names', identifiers };
    const { run_id, ...terms } = run!; // one of the two was given
    return { kind: 'run', columns: columnsOf(await undamagedRun({ documents, artifacts }, run_id)), ...terms };
  }

  return jobKind('risk', async (payload, attempt) => {
    await markets.settled(); // An estimate of the previous process waits until the data is loaded.
    const { identity } = (await dataVersions.at(payload.data_version)).served;
    const output = await attempt.compute('estimate-risk-model', {
      market: identity,
      universe: await universeOf(payload),
      request: payload.request,
      outputs: attempt.outputs(['covariance', 'factors']),
    });
    const document: RiskModelDocument = {
      model_id: payload.model_id,
      asset_ids: [...output.assetIds],
      diagnostics: output.diagnostics,
      ...(output.factorModel === null ? {} : { factor_model: output.factorModel }),
      request: payload.request,
      excluded: { ...output.excluded },
      observed_start: output.observedStart,
      observed_end: output.observedEnd,
      content_hash: output.contentHash,
      precision: output.precision,
      store_content_hash: identity.contentHash,
      covariance: output.covariance,
      ...(output.factors === null ? {} : { factors: output.factors }),
    };
    return {
      result: { value: document },
      message: messageOf(payload, document),
      async effect(tx) {
        await tx.put('risk-model', payload.model_id, document);
      },
    };
  });
}

/** Returns the summary of a finished estimate. */
function messageOf(
  { request }: RiskModelPayload,
  { asset_ids: assetIds, excluded, diagnostics }: RiskModelDocument,
): string {
  return [
    `${assetIds.length} ${assetIds.length === 1 ? 'security' : 'securities'}, ${diagnostics.observations} observations.`,
    ...reportUnreadFields(request).map(({ message }) => message),
    describeLeftOut(new Map(Object.entries(excluded))),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}
