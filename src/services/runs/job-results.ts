import { computeRunId } from '#store/run-id.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { ResultSource } from '../operations/jobs.js';
import { requireRun } from '../stored/run-documents.js';
import type { RunTexts, StoredResultFile } from './run-texts.js';

/** Reference that a job stores instead of its result: the run from which the result of a backtest is written. */
export interface ResultReference {
  readonly run_id: string;
  readonly which_run: string;
}

export const createResultReference = (run: RunDocument): ResultReference => ({
  run_id: run.run_id,
  which_run: computeRunId(run),
});

/**
 * Creates the source of backtest results. Returns null for a deleted run. A result of an earlier release is returned as
 * it is stored.
 */
export function createBacktestResults(
  documents: Pick<DocumentStore, 'get'>,
  texts: Pick<RunTexts, 'read' | 'stored'>,
): ResultSource {
  return {
    async written(reference) {
      const { run_id: subject, which_run: id } = reference as ResultReference; // the job of the backtest wrote the reference
      try {
        return await texts.read(await requireRun(documents, { subject, id }), 'result');
      } catch (failure) {
        const isDeleted = failure instanceof Refusal && DELETED_CODES.has(failure.code);
        if (isDeleted) return null;
        throw failure;
      }
    },
    stored: (artifact) => texts.stored(artifact as StoredResultFile), // the result with its inset, if it has one
  };
}

const DELETED_CODES: ReadonlySet<string> = new Set(['INDEX_NOT_FOUND', 'RUN_NOT_FOUND']);
