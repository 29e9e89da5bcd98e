import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { PortableTaskName, TaskInput, TaskOutput } from '#jobs/tasks.js';
import { RUN_FILES } from '#jobs/tasks/runs.js';
import type { StoredRunReferences } from '#jobs/tasks/references.js';
import type { ArtifactRef, ArtifactStore, DocumentStore } from '#store/port.js';
import { findRun } from '../stored/run-documents.js';
import { createStoredPrices, createStoredFiles, storeRunFiles, ignoreRemoved } from './stored-once.js';

/** Stored run that can be extended. */
export interface ContinuableRun {
  /**
   * Files with parts of the stored run's columns. A run that extends the stored run shares them, each under a new name.
   */
  readonly columns: readonly ArtifactRef[];
  readonly run: StoredRunReferences;
}

export interface RunOrder {
  readonly plan: BacktestPlan;
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs' | 'storedPrices' | 'storedFiles'>;
  /** Stored run to extend, or the reason why no run can be extended. */
  readonly stored: ContinuableRun | FullRunReason | null;
}

/** Stored files of a run, with the output of the task that computed it. */
export interface StoredFiles {
  readonly output: TaskOutput<'backtest'>;
  readonly files: Pick<RunDocument['artifacts'], 'columns' | 'plan' | 'checkpoint' | 'begun'>;
  /** Newest run before the present one. */
  readonly newest: RunDocument | undefined;
}

/**
 * Service that computes and stores runs. If another run has a file with the same bytes, the file is stored only once.
 */
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
      let offeredFiles = { prices: prices.with(last), files: last ? createStoredFiles(last) : {} };
      for (let share = 1; ; share = 0) {
        const order = { ...task, storedPrices: [...offeredFiles.prices.values()], storedFiles: offeredFiles.files };
        const { output, earlier } = await computeValue(attempt, { task: order, stored, share });
        const { columns, checkpoint } = output;
        const newestRun = await findRun(documents, plan.runId);
        const currentFiles = { columns, plan: output.plan, ...(checkpoint ? { checkpoint } : {}) };
        const { unwritten } = output;
        const storedFiles = await storeRunFiles(attempt, artifacts, {
          own: currentFiles,
          unwritten,
          prices: output.prices,
          newest: newestRun,
          stored: offeredFiles.prices,
        });
        if (storedFiles === undefined) {
          // The stored run with the same files was deleted meanwhile, so the files are written now.
          await attempt.drop(Object.values(currentFiles).map(({ name }) => name));
          offeredFiles = { prices: new Map(), files: {} };
          continue;
        }
        if (storedFiles.prices) prices.remember(storedFiles.prices);
        const earlierFiles = storedFiles.prices ? [storedFiles.prices] : earlier;
        return {
          output,
          newest: newestRun,
          files: { ...storedFiles.files, ...(earlierFiles.length > 0 ? { begun: [...earlierFiles] } : {}) },
        };
      }
    },
  };
}

interface ComputedRun {
  readonly output: TaskOutput<'backtest'>;
  /** Files that a run shares with the run that it extends; empty for a full run. */
  readonly earlier: readonly ArtifactRef[];
}

interface ComputeInput extends Pick<RunOrder, 'stored'> {
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs'>;
  /** Share of the job's progress that the task accounts for. */
  readonly share: number;
}

/** Computes a full run, or extends the stored run. */
async function computeValue(
  attempt: Attempt<PortableTaskName>,
  { stored, task, share }: ComputeInput,
): Promise<ComputedRun> {
  if (stored !== null && typeof stored !== 'string') return resume(attempt, { stored, task });
  const output = await attempt.compute('backtest', { ...task, outputs: attempt.outputs(RUN_FILES), stored }, share);
  attempt.computed();
  return { output, earlier: [] };
}

/** Extends a stored run if that gives the same result as a full run. Otherwise computes a full run. */
async function resume(
  attempt: Attempt<PortableTaskName>,
  { stored, task }: Pick<ComputeInput, 'task'> & { readonly stored: ContinuableRun },
): Promise<ComputedRun> {
  const outputs = attempt.outputs(RUN_FILES);
  const output = await ignoreRemoved(attempt.compute('backtest', { ...task, outputs, stored: stored.run }));
  attempt.computed();
  if (output?.extendedFrom === null) return { output, earlier: [] };
  const earlierCheckpoint =
    output &&
    (await ignoreRemoved(
      attempt.share(
        stored.columns.slice(0, output.earlierFiles).map((ref, i) => ({ ref, name: stored.run.fileNames[i]! })),
      ),
    ));
  if (output && earlierCheckpoint) return { output, earlier: earlierCheckpoint };
  // the stored run was deleted, and with it the files that an extended run would share
  await attempt.drop(Object.values(outputs));
  const retriedTask = { ...task, outputs: attempt.outputs(RUN_FILES), stored: 'no_checkpoint' as const };
  return { output: await attempt.compute('backtest', retriedTask, 0), earlier: [] };
}
