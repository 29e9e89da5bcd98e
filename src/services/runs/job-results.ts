import { runIdOf } from '#store/run-id.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { ResultSource } from '../operations/jobs.js';
import { requireRun } from '../stored/run-documents.js';
import type { RunTexts, StoredResultFile } from './run-texts.js';

/** The run that the result of a backtest is written from, as its job refers to it. */
export interface ResultReference {
  readonly run_id: string;
  readonly which_run: string;
}

export const resultReference = (run: RunDocument): ResultReference => ({
  run_id: run.run_id,
  which_run: runIdOf(run),
});

/** Results of backtests: null if the run was deleted, and as an earlier version stored them. */
export function backtestResults(
  documents: Pick<DocumentStore, 'get'>,
  texts: Pick<RunTexts, 'read' | 'stored'>,
): ResultSource {
  return {
    async written(reference) {
      const { run_id: subject, which_run: id } = reference as ResultReference; // The job of the backtest wrote it.
      try {
        return await texts.read(await requireRun(documents, { subject, id }), 'result');
      } catch (thrown) {
        const isGone = thrown instanceof Refusal && GONE.has(thrown.code);
        if (isGone) return null;
        throw thrown;
      }
    },
    stored: (artifact) => texts.stored(artifact as StoredResultFile), // With its inset, if it has one.
  };
}

const GONE: ReadonlySet<string> = new Set(['INDEX_NOT_FOUND', 'RUN_NOT_FOUND']);
