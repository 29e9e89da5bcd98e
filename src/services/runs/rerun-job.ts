import type { RunDocument } from '#domain/documents/run-document.js';
import type { RerunPayload } from '#domain/jobs/payloads.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import type { RerunEntry } from '#jobs/tasks/runs.js';
import { computeRunId } from '#store/run-id.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { withinReach } from '../operations/access.js';
import { putRunAfter } from '../stored/run-list.js';
import { listArtifacts, findRun } from '../stored/run-documents.js';
import { isOfService } from './backtest-batches.js';
import type { RunMaker } from './run-maker.js';
import { createRowsInParts, type RowAttempt, type RowsInPartsDependencies, type RowsOrder } from './rows-in-parts.js';
import { createBacktestPayload, type RunnableRuns } from './runnable-runs.js';

export interface RerunJobDependencies extends RowsInPartsDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly runnables: RunnableRuns;
  readonly runMaker: RunMaker;
  /** Number of runs that are kept for each index. Published runs are kept in addition. */
  readonly runsKept: number;
}

const OUTCOMES = ['stored', 'current', 'refused'] as const satisfies readonly RerunEntry['row']['outcome'][];

/**
 * Creates the kind of job that runs stale indices again, in parts. Any node can compute a part: it writes the files of
 * its runs and lists their documents. The end of the job stores all documents.
 */
export function createRerunJob(dependencies: RerunJobDependencies): JobKind<RerunPayload> {
  const { documents, runnables, runMaker, runsKept } = dependencies;
  const parts = createRowsInParts(dependencies);

  async function computeEntry(indexId: string, payload: RerunPayload, attempt: RowAttempt): Promise<RerunEntry> {
    const newestRun = await findRun(documents, indexId);
    const previousRunId = newestRun === undefined ? null : computeRunId(newestRun);
    try {
      const reach = createReach(payload);
      const order = await (reach === undefined
        ? createOrder(indexId, payload)
        : withinReach(reach, () => createOrder(indexId, payload)));
      if ('current' in order)
        return { row: createRow(order.current, { indexId, outcome: 'current' }), run: null, previous: previousRunId };
      const run = await runMaker.make(order.payload, attempt);
      return {
        row: { ...createRow(run, { indexId, outcome: 'stored' }), previous_run_id: previousRunId },
        run,
        previous: previousRunId,
      };
    } catch (failure) {
      if (!(failure instanceof Refusal) || isOfService(failure)) throw failure;
      const error = failure.toDetail() as RerunEntry['row']['error'];
      return {
        row: { ...createRow(undefined, { indexId, outcome: 'refused' }), error },
        run: null,
        previous: previousRunId,
      };
    }
  }

  /**
   * Returns the stored run if it is not stale; otherwise the input of a new run. @throws Refusal with the reason why
   * the index cannot be run
   */
  async function createOrder(indexId: string, { engine_version: engineVersion }: RerunPayload) {
    const backtest = { request: await runnables.onStoredTerms(indexId, {}) };
    const current = await runnables.currentRun(indexId, backtest);
    if (current !== undefined) return { current };
    return { payload: createBacktestPayload(backtest, await runnables.planRun(indexId, backtest), engineVersion) };
  }

  const createRowsOrder = (payload: RerunPayload): RowsOrder<RerunEntry> => ({
    count: payload.ids.length,
    computeEntry: (position, attempt) => computeEntry(payload.ids[position]!, payload, attempt),
    listFiles: ({ run }) => (run === null ? [] : listArtifacts(run)),
  });

  async function store(tx: DocumentTransaction, completedReruns: readonly CompletedRerun[]): Promise<void> {
    for (const { run, previous } of completedReruns) {
      if (await putRunAfter(tx, run, { after: previous, runsKept }))
        tx.publish({ type: 'run-stored', run_id: run.run_id });
    }
  }

  return createJobKind(
    'rerun',
    async (payload, attempt) => {
      const { rerun_id: id, engine_version: engineVersion } = payload;
      const summary = { kind: 'rerun', id, total: 'indices', outcomes: OUTCOMES, engineVersion } as const;
      const { result, entries } = await parts.run(createRowsOrder(payload), summary, attempt);
      const completedReruns = entries.filter((entry): entry is CompletedRerun => entry.run !== null);
      return { result, effect: (tx) => store(tx, completedReruns) };
    },
    async (payload, partPositions, attempt) => ({
      result: await parts.readOutput(createRowsOrder(payload), partPositions, { attempt, share: 1 }),
    }),
  );
}

type CompletedRerun = RerunEntry & { readonly run: RunDocument };

const createReach = ({ reach }: RerunPayload) =>
  reach === null ? undefined : { prefixes: reach.prefixes, shared: new Set(reach.shared), isHidden: false };

function createRow(
  run: RunDocument | undefined,
  { indexId, outcome }: { readonly indexId: string; readonly outcome: RerunEntry['row']['outcome'] },
): RerunEntry['row'] {
  const isNew = outcome === 'stored';
  return {
    index_id: indexId,
    outcome,
    run_id: run === undefined ? null : computeRunId(run),
    previous_run_id: null,
    end: run?.end ?? null,
    extended_from: (isNew ? run?.extended_from : null) ?? null,
    full_run_reason: (isNew ? run?.full_run_reason : null) ?? null,
    error: null,
  };
}
