import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { PortableTaskName, TaskInput, TaskOutput } from '#jobs/tasks.js';
import { RUN_FILES } from '#jobs/tasks/runs.js';
import type { StoredRunReferences } from '#jobs/tasks/references.js';
import type { ArtifactRef, ArtifactStore, DocumentStore } from '#store/port.js';
import { findRun } from '../stored/run-documents.js';
import { createStoredPrices, storedFilesOf, storedOnce, unlessGone } from './stored-once.js';

/** A stored run that can be extended. */
export interface Continuable {
  /** Files with segments of its columns, which an extended run shares, each under a new name. */
  readonly columns: readonly ArtifactRef[];
  readonly run: StoredRunReferences;
}

export interface RunOrder {
  readonly plan: BacktestPlan;
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs' | 'storedPrices' | 'storedFiles'>;
  /** The stored run to extend where that gives the same, or why there is none. */
  readonly stored: Continuable | FullRunReason | null;
}

/** A run whose files are stored. */
export interface StoredFiles {
  readonly output: TaskOutput<'backtest'>;
  readonly files: Pick<RunDocument['artifacts'], 'columns' | 'plan' | 'checkpoint' | 'begun'>;
  /** The newest run before it. */
  readonly newest: RunDocument | undefined;
}

/** Makes runs and stores their files. Those that another run has with the same bytes are stored once. */
export interface RunFiles {
  make(attempt: Attempt<PortableTaskName>, order: RunOrder): Promise<StoredFiles>;
}

export function createRunFiles({
  documents,
  artifacts,
}: {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: ArtifactStore;
}): RunFiles {
  const prices = createStoredPrices();

  return {
    async make(attempt, { plan, task, stored }) {
      const last = await findRun(documents, plan.runId);
      let offered = { prices: prices.with(last), files: last ? storedFilesOf(last) : {} };
      for (let share = 1; ; share = 0) {
        const order = { ...task, storedPrices: [...offered.prices.values()], storedFiles: offered.files };
        const { output, earlier } = await computeValue(attempt, { task: order, stored, share });
        const { columns, checkpoint } = output;
        const newest = await findRun(documents, plan.runId);
        const own = { columns, plan: output.plan, ...(checkpoint ? { checkpoint } : {}) };
        const { unwritten } = output;
        const once = await storedOnce(attempt, artifacts, {
          own,
          unwritten,
          prices: output.prices,
          newest,
          stored: offered.prices,
        });
        if (once === undefined) {
          // Whoever deleted the other run took its files away: they are written now.
          await attempt.drop(Object.values(own).map(({ name }) => name));
          offered = { prices: new Map(), files: {} };
          continue;
        }
        if (once.prices) prices.remember(once.prices);
        const begun = once.prices ? [once.prices] : earlier;
        return { output, newest, files: { ...once.files, ...(begun.length > 0 ? { begun: [...begun] } : {}) } };
      }
    },
  };
}

interface Computed {
  readonly output: TaskOutput<'backtest'>;
  /** The files that it shares with the run that it extends; none of a whole one. */
  readonly earlier: readonly ArtifactRef[];
}

interface ComputeInput extends Pick<RunOrder, 'stored'> {
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs'>;
  /** Of the job's progress. */
  readonly share: number;
}

/** A run made whole, or from the stored one where there is one to extend. */
async function computeValue(
  attempt: Attempt<PortableTaskName>,
  { stored, task, share }: ComputeInput,
): Promise<Computed> {
  if (stored !== null && typeof stored !== 'string') return resume(attempt, { stored, task });
  const output = await attempt.compute('backtest', { ...task, outputs: attempt.outputs(RUN_FILES), stored }, share);
  attempt.computed();
  return { output, earlier: [] };
}

/** A stored run extended where that gives the same, else a whole one. */
async function resume(
  attempt: Attempt<PortableTaskName>,
  { stored, task }: Pick<ComputeInput, 'task'> & { readonly stored: Continuable },
): Promise<Computed> {
  const outputs = attempt.outputs(RUN_FILES);
  const output = await unlessGone(attempt.compute('backtest', { ...task, outputs, stored: stored.run }));
  attempt.computed();
  if (output?.extendedFrom === null) return { output, earlier: [] };
  const earlier =
    output &&
    (await unlessGone(
      attempt.share(
        stored.columns.slice(0, output.earlierFiles).map((ref, i) => ({ ref, name: stored.run.fileNames[i]! })),
      ),
    ));
  if (output && earlier) return { output, earlier };
  // Whoever deleted the stored run took away the files that an extended one shares with it.
  await attempt.drop(Object.values(outputs));
  const again = { ...task, outputs: attempt.outputs(RUN_FILES), stored: 'no_checkpoint' as const };
  return { output: await attempt.compute('backtest', again, 0), earlier: [] };
}
