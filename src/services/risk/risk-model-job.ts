import { reportUnreadFields } from '#domain/documents/idle-settings.js';
import { isSumOfPanel } from '#domain/risk/estimate-risk-model.js';
import { assertFewSecurities, MODEL_PARTS, WHOLE_MODEL_MAX } from '#domain/risk/model-parts.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';
import { describeLeftOut } from '#domain/risk/excluded-securities.js';
import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import { jobKind, type Attempt, type Completion, type JobKind } from '#jobs/job-kind.js';
import type { PortableTaskName, TaskInput } from '#jobs/tasks.js';
import type { RiskModelOutput } from '#jobs/tasks/indices.js';
import type { RiskUniverseOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { undamagedRun } from '../stored/damaged-runs.js';
import { columnsOf } from '../stored/run-documents.js';

/** An order of the tasks of a model, without the parts of each. */
type RiskModelOrder = TaskInput<'risk-model-size'>;

export interface RiskModelJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  /** Threads of the pool. */
  readonly workers: number;
  /** Number of securities up to which one thread estimates a model whole. Default: `WHOLE_MODEL_MAX`. */
  readonly wholeMax?: number;
}

type RiskAttempt = Attempt<PortableTaskName>;

/** Share of the work after the rows of a model in parts. */
const SUMMING = 0.2;

/**
 * Creates the kind of job that estimates risk models: the model is replaced in the transaction that ends the job. The
 * matrix of a large one is computed in parts, also by other nodes, with the bits of one thread.
 */
export function createRiskModelJob({
  documents,
  artifacts,
  markets,
  dataVersions,
  workers,
  wholeMax = WHOLE_MODEL_MAX,
}: RiskModelJobDependencies): JobKind<RiskModelPayload> {
  async function universeOf({ identifiers, run }: RiskModelPayload): Promise<RiskUniverseOrder> {
    if (identifiers !== null) return { kind: 'names', identifiers };
    const { run_id, ...terms } = run!; // one of the two was given
    return { kind: 'run', columns: columnsOf(await undamagedRun({ documents, artifacts }, run_id)), ...terms };
  }

  async function orderOf(payload: RiskModelPayload): Promise<RiskModelOrder> {
    await markets.settled(); // An estimate of the previous process waits until the data is loaded.
    const { identity: market } = (await dataVersions.at(payload.data_version)).served;
    return { market, universe: await universeOf(payload), request: payload.request };
  }

  /** Returns true if a model is estimated in parts: one that is large, and whose rows can be computed separately. */
  async function isInParts(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt): Promise<boolean> {
    if (!isSumOfPanel(order.request.estimator)) return false;
    const most = payload.identifiers?.length ?? markets.require().market.identifiers.length;
    if (most <= wholeMax) return false;
    const { securities } = await attempt.compute('risk-model-size', order, 0);
    assertFewSecurities(securities, 'index_id');
    return securities > wholeMax;
  }

  async function estimateInParts(order: RiskModelOrder, attempt: RiskAttempt): Promise<RiskModelOutput> {
    const written = await attempt.inParts({
      count: MODEL_PARTS,
      atOnce: 2 * workers,
      share: 1 - SUMMING,
      async here(part, share) {
        const outputs = attempt.outputs(['rows']);
        return (await attempt.compute('risk-model-rows', { ...order, parts: [part], outputs }, share)).rows;
      },
    });
    const files = written.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
    const outputs = attempt.outputs(['covariance', 'factors']);
    return attempt.compute('sum-risk-model', { ...order, files, outputs }, SUMMING);
  }

  async function estimate(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt) {
    if (await isInParts(payload, order, attempt)) return estimateInParts(order, attempt);
    return attempt.compute('estimate-risk-model', { ...order, outputs: attempt.outputs(['covariance', 'factors']) });
  }

  async function run(payload: RiskModelPayload, attempt: RiskAttempt): Promise<Completion> {
    const order = await orderOf(payload);
    const output = await estimate(payload, order, attempt);
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
      store_content_hash: order.market.contentHash,
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
  }

  return jobKind('risk', run, async (payload, parts, attempt) => {
    const outputs = attempt.outputs(['rows']);
    const { rows } = await attempt.compute('risk-model-rows', { ...(await orderOf(payload)), parts, outputs });
    return { result: { artifact: rows } };
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
