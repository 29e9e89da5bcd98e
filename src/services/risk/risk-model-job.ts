import { createHash } from 'node:crypto';
import { reportUnreadFields } from '#domain/documents/idle-settings.js';
import { locateParts } from '#domain/numbers/even-parts.js';
import { hasPanelForm } from '#domain/risk/estimate-risk-model.js';
import type { MatrixFiles } from '#domain/risk/matrix-files.js';
import {
  assertFewSecurities,
  EIGENVALUES_PART,
  PART_COUNT,
  SINGLE_THREAD_SECURITIES_MAX,
} from '#domain/risk/model-parts.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';
import { describeExclusion } from '#domain/risk/excluded-securities.js';
import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type Attempt, type Completion, type JobKind } from '#jobs/job-kind.js';
import type { PartOutput, WrittenParts } from '#jobs/offered-parts.js';
import type { PortableTaskName, TaskInput } from '#jobs/tasks.js';
import type { RiskModelOutput } from '#jobs/tasks/indices.js';
import type { RiskUniverseOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactRef, ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { requireUndamagedRun } from '../stored/damaged-runs.js';
import { getColumns } from '../stored/run-documents.js';

/** Input of the tasks of a model, without the members that differ between tasks. */
type RiskModelOrder = TaskInput<'risk-model-size'>;

export interface RiskModelJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  /** Number of threads of the pool. */
  readonly workers: number;
  /**
   * Maximum number of securities for which one thread estimates the whole model. Default:
   * `SINGLE_THREAD_SECURITIES_MAX`.
   */
  readonly wholeMax?: number;
}

type RiskAttempt = Attempt<PortableTaskName>;

/** Share of the progress that remains after all parts of a model are computed. */
const SUMMING = 0.02;

/**
 * Creates the kind of job that estimates risk models. The transaction that ends the job replaces the model. The matrix
 * of a large model is computed in parts, and other nodes can compute parts; the result is bit-identical to the result
 * of one thread. Each part is one file of the matrix. No other node reads it.
 */
export function createRiskModelJob({
  documents,
  artifacts,
  markets,
  dataVersions,
  workers,
  wholeMax = SINGLE_THREAD_SECURITIES_MAX,
}: RiskModelJobDependencies): JobKind<RiskModelPayload> {
  async function resolveUniverse({ identifiers, run }: RiskModelPayload): Promise<RiskUniverseOrder> {
    if (identifiers !== null) return { kind: 'names', identifiers };
    const { run_id, ...terms } = run!; // the request has either securities or a run
    return { kind: 'run', columns: getColumns(await requireUndamagedRun({ documents, artifacts }, run_id)), ...terms };
  }

  async function createOrder(payload: RiskModelPayload): Promise<RiskModelOrder> {
    await markets.settled(); // An estimate that the previous process left waits until the data is loaded.
    const { identity: market } = (await dataVersions.at(payload.data_version)).served;
    return { market, universe: await resolveUniverse(payload), request: payload.request };
  }

  /**
   * Returns true if a model is estimated in parts. This applies to large models whose rows can be computed separately.
   */
  async function isInParts(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt): Promise<boolean> {
    if (!hasPanelForm(order.request.estimator)) return false;
    const namesMax = payload.identifiers?.length ?? markets.require().market.identifiers.length;
    if (namesMax <= wholeMax) return false;
    const { securities } = await attempt.compute('risk-model-size', order, 0);
    assertFewSecurities(securities, 'index_id');
    return securities > wholeMax;
  }

  async function estimateInParts(order: RiskModelOrder, attempt: RiskAttempt): Promise<RiskModelOutput> {
    const writtenParts = await attempt.inParts({
      count: PART_COUNT,
      atOnce: 2 * workers,
      share: 1 - SUMMING,
      here: (part, share) => readOutput(order, [part], { attempt, share }),
    });
    const { covariance, unused } = joinRows(writtenParts);
    if (unused.length > 0) await attempt.drop(unused.map(({ name }) => name));
    const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
    const outputs = attempt.outputs(['factors']);
    return attempt.compute('sum-risk-model', { ...order, covariance, files, outputs }, SUMMING);
  }

  async function estimate(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt) {
    if (await isInParts(payload, order, attempt)) return estimateInParts(order, attempt);
    return attempt.compute('estimate-risk-model', { ...order, outputs: attempt.outputs(['covariance', 'factors']) });
  }

  async function run(payload: RiskModelPayload, attempt: RiskAttempt): Promise<Completion> {
    const order = await createOrder(payload);
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
      store_id: order.market.datasetId,
      covariance: output.covariance,
      ...(output.factors === null ? {} : { factors: output.factors }),
    };
    return {
      result: { value: document },
      message: formatMessage(payload, document),
      async effect(tx) {
        await tx.put('risk-model', payload.model_id, document);
      },
    };
  }

  return createJobKind('risk', run, async (payload, parts, attempt) => ({
    result: await readOutput(await createOrder(payload), parts, { attempt, share: 1 }),
  }));
}

/** Computes some parts of a model. @param share share of the job's progress that these parts account for */
async function readOutput(
  order: RiskModelOrder,
  parts: readonly number[],
  { attempt, share }: { readonly attempt: RiskAttempt; readonly share: number },
): Promise<PartOutput> {
  const outputs = attempt.outputs(['figures', ...parts.filter(hasRows).map((part) => `rows ${part}` as const)]);
  const { figures, rows } = await attempt.compute('risk-model-parts', { ...order, parts, outputs }, share);
  return { artifact: figures, files: rows };
}

const hasRows = (part: number): boolean => part !== EIGENVALUES_PART;

/**
 * Returns the files of the rows in order. Also returns files that are not needed, because other outputs contain the
 * same rows.
 */
function joinRows(writtenParts: readonly WrittenParts[]): {
  readonly covariance: MatrixFiles;
  readonly unused: readonly ArtifactRef[];
} {
  const rows = writtenParts.map(({ parts, files = [] }) => ({ parts: parts.filter(hasRows), files }));
  const { first, others } = locateParts(rows);
  const getFileAt = ({ output, at }: (typeof first)[number]): ArtifactRef => rows[output]!.files[at]!;
  const files = first.map(getFileAt);
  const hash = createHash('sha256').update(files.map(({ sha256 }) => sha256).join(''));
  return { covariance: { sha256: hash.digest('hex'), files }, unused: others.map(getFileAt) };
}

/** Returns the summary of a finished estimate. */
function formatMessage(
  { request }: RiskModelPayload,
  { asset_ids: assetIds, excluded, diagnostics }: RiskModelDocument,
): string {
  return [
    `${assetIds.length} ${assetIds.length === 1 ? 'security' : 'securities'}, ${diagnostics.observations} observations.`,
    ...reportUnreadFields(request).map(({ message }) => message),
    describeExclusion(new Map(Object.entries(excluded))),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}
