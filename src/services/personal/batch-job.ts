import { createHash } from 'node:crypto';
import type { BatchPayload } from '#domain/jobs/payloads.js';
import {
  PART_ACCOUNTS,
  measureAccounts,
  VOLUME_ACCOUNTS,
  type AccountsFile,
  type PartLines,
} from '#domain/personal/batch-parts.js';
import { describeOptimality } from '#domain/personal/batch-view.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import type { TaskInput } from '#jobs/tasks.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { listOptimisedModels, requireModel } from '../stored/used-models.js';

export interface BatchJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged' | 'read'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  /** Number of threads of the pool. */
  readonly workers: number;
}

/** Share of the progress that remains after all accounts are solved. */
const SUMMING_SHARE = 0.05;

/**
 * Creates the kind of job that optimises accounts in parts. Other nodes can compute parts, and their results are
 * bit-identical.
 */
export function createBatchJob(dependencies: BatchJobDependencies): JobKind<BatchPayload> {
  const { documents, artifacts, markets, dataVersions, workers } = dependencies;

  async function createCommonOrder({ terms, documents: reachedDocuments, models, data_version }: BatchPayload) {
    await markets.settled();
    const { served } = await dataVersions.at(data_version);
    return {
      market: served.identity,
      documents: reachedDocuments,
      terms,
      ...(await listOptimisedModels(documents, artifacts, models)),
    };
  }

  /** Adds the estimation window to a refusal of securities for which the model has no estimate. */
  async function addWindow(failure: unknown, { terms }: BatchPayload): Promise<unknown> {
    if (!(failure instanceof Refusal) || failure.code !== 'MODEL_LACKS_NAMES') return failure;
    const { document } = await requireModel(documents, terms.risk_model);
    const { observed_start: start, observed_end: end } = document;
    const windowText = `The returns of the model are from ${start} to ${end}: estimate it with a start on which all securities of ${terms.parent} have prices, or exclude the security from ${terms.parent}.`;
    const detail = { ...failure.detail, observed_start: start, observed_end: end };
    return new Refusal(failure.code, `${failure.message} ${windowText}`, detail, { cause: failure });
  }

  async function createPartOrder({ accounts }: BatchPayload, positions: readonly number[]) {
    return Promise.all(
      positions.map((part) =>
        'parts' in accounts ? readPart(accounts.file, accounts.parts, part) : sendPart(accounts, part),
      ),
    );
  }

  function sendPart(accounts: readonly unknown[], part: number): PartLines {
    const position = part * PART_ACCOUNTS;
    const partAccounts = accounts.slice(position, position + PART_ACCOUNTS);
    return { text: partAccounts.map((account) => JSON.stringify(account)).join('\n'), line: null, position };
  }

  async function readPart(file: AccountsFile['file'], parts: AccountsFile['parts'], part: number): Promise<PartLines> {
    const earlierParts = parts.slice(0, part);
    const start = earlierParts.reduce((sum, { bytes }) => sum + bytes, 0);
    const { bytes: length, sha256, line } = parts[part]!;
    const bytes = length === 0 ? new Uint8Array(0) : await artifacts.read(file, { start, end: start + length });
    if (createHash('sha256').update(bytes).digest('hex') !== sha256)
      throw new Refusal('DOCUMENT_UNREADABLE', 'Accounts of the batch are damaged: submit it again.');
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    return { text, line, position: earlierParts.reduce((sum, { accounts }) => sum + accounts, 0) };
  }

  return createJobKind(
    'batch',
    async (payload, attempt) => {
      const { batch_id: batchId, engine_version: engineVersion } = payload;
      const sizes = measureAccounts(payload.accounts);
      const commonOrder = await createCommonOrder(payload);
      const solution = attempt.inParts({
        count: sizes.length,
        atOnce: 2 * workers,
        share: 1 - SUMMING_SHARE,
        async here(part, share) {
          const lines = await createPartOrder(payload, [part]);
          const order: TaskInput<'batch-part'> = { ...commonOrder, lines, outputs: attempt.outputs(['outcomes']) };
          return (await attempt.compute('batch-part', order, share)).outcomes;
        },
      });
      const writtenParts = await solution.catch(async (failure: unknown) => {
        throw await addWindow(failure, payload);
      });
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts: artifactParts }) => ({
        artifact: name,
        sha256,
        parts: artifactParts,
      }));
      const accounts = sizes.reduce((sum, size) => sum + size, 0);
      const names = Array.from({ length: Math.ceil(accounts / VOLUME_ACCOUNTS) }, (_, volume) => `accounts${volume}`);
      const outputs = attempt.outputs(['view', 'common', ...names]);
      const sum = { ...commonOrder, batchId, sizes, files, engineVersion, outputs };
      const { view, volumes, summary } = await attempt.compute('sum-batch', sum, SUMMING_SHARE);
      return {
        result: { artifact: view, volumes },
        message: `Done. ${describeOptimality(summary)}`,
      };
    },
    async (payload, parts, attempt) => {
      const commonOrder = await createCommonOrder(payload);
      const order = {
        ...commonOrder,
        lines: await createPartOrder(payload, parts),
        outputs: attempt.outputs(['outcomes']),
      };
      const { outcomes } = await attempt.compute('batch-part', order);
      return { result: { artifact: outcomes } };
    },
  );
}
