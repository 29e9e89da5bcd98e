import type { BatchPayload } from '#domain/jobs/payloads.js';
import { partCuts } from '#domain/personal/batch-parts.js';
import { jobKind, type JobKind } from '#jobs/job-kind.js';
import type { BatchPartOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { optimisedModels } from '../stored/used-models.js';

export interface BatchJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  /** Threads of the pool. */
  readonly workers: number;
}

/** Share of the work after the accounts are solved. */
const SUMMING = 0.05;

/** Creates the kind of job that solves accounts in parts; other nodes compute some of them, with the same bits. */
export function createBatchJob(dependencies: BatchJobDependencies): JobKind<BatchPayload> {
  const { documents: stored, artifacts, markets, dataVersions, workers } = dependencies;

  async function commonOrder({ terms, documents, models, data_version }: BatchPayload) {
    await markets.settled();
    const { served } = await dataVersions.at(data_version);
    return { market: served.identity, documents, terms, ...(await optimisedModels(stored, artifacts, models)) };
  }

  return jobKind(
    'batch',
    async (payload, attempt) => {
      const { accounts, batch_id: batchId, engine_version: engineVersion } = payload;
      const common = await commonOrder(payload);
      const cuts = partCuts(accounts.length);
      const written = await attempt.inParts({
        count: cuts.length - 1,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        async here(part, share) {
          const order: BatchPartOrder = {
            ...common,
            ...accountsOf(accounts, cuts, [part]),
            outputs: attempt.outputs(['outcomes']),
          };
          return (await attempt.compute('batch-part', order, share)).outcomes;
        },
      });
      const files = written.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const sizes = cuts.slice(1).map((end, part) => end - cuts[part]!);
      const outputs = attempt.outputs(['view', 'rows']);
      const sum = { ...common, batchId, sizes, files, engineVersion, outputs };
      const { view, rows, summary } = await attempt.compute('sum-batch', sum, SUMMING);
      const left = summary.accounts - (summary.by_status['optimal'] ?? 0);
      return {
        result: { artifact: view, rows },
        message: left === 0 ? 'Done.' : `Done. ${left} of ${summary.accounts} accounts are not optimal.`,
      };
    },
    async (payload, parts, attempt) => {
      const cuts = partCuts(payload.accounts.length);
      const common = await commonOrder(payload);
      const order = { ...common, ...accountsOf(payload.accounts, cuts, parts), outputs: attempt.outputs(['outcomes']) };
      const { outcomes } = await attempt.compute('batch-part', order);
      return { result: { artifact: outcomes } };
    },
  );
}

/** Accounts of some parts, with their positions in the batch. */
function accountsOf(accounts: readonly unknown[], cuts: readonly number[], parts: readonly number[]) {
  const positions = parts.flatMap((part) =>
    Array.from({ length: cuts[part + 1]! - cuts[part]! }, (_, at) => cuts[part]! + at),
  );
  return { accounts: positions.map((at) => accounts[at]), positions };
}
