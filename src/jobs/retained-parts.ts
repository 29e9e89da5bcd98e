import type { DocumentStore } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';
import { isTerminal } from './life-cycle.js';
import { readJobRecord } from './job-record.js';
import type { WrittenParts } from './offered-parts.js';

/**
 * Stored input of a job, with the outputs of completed parts. It is deleted when the job ends, unless the job fails.
 */
export interface StoredInput {
  readonly payload: unknown;
  readonly kept?: {
    /** Program version. The same version computes all parts of one result. */
    readonly version: string;
    readonly parts: readonly WrittenParts[];
  };
}

/** Outputs of parts that remain after an attempt. The next attempt continues from them on any node. */
export interface RetainedParts {
  /** Outputs of earlier attempts by a program of this version. */
  readonly earlier: readonly WrittenParts[];
  /** Replaces the stored outputs. @returns false, without storing, if another attempt has replaced this one */
  keep(parts: readonly WrittenParts[]): Promise<boolean>;
}

export interface RetainedPartsStore {
  of(attempt: AttemptKey, input: StoredInput): RetainedParts;
}

export interface RetainedPartsDependencies {
  readonly documents: Pick<DocumentStore, 'transaction'>;
  readonly version: string;
}

export function createRetainedPartsStore({ documents, version }: RetainedPartsDependencies): RetainedPartsStore {
  return {
    of: ({ jobId, sequence, attempt }, { kept }) => ({
      earlier: kept?.version === version ? kept.parts : [],
      keep: (parts) =>
        documents.transaction(async (tx) => {
          const [job, input] = [await tx.get('job', jobId), await tx.get('job-input', jobId)];
          if (job === undefined || 'unreadable' in job || input === undefined || 'unreadable' in input) return false;
          const record = readJobRecord(job.body, jobId);
          if (record?.sequence !== sequence || record.attempt !== attempt || isTerminal(record.status)) return false;
          const { payload } = input.body as StoredInput; // a submission wrote the input and the store checked its seal
          await tx.put('job-input', jobId, { payload, kept: { version, parts: [...parts] } } satisfies StoredInput);
          return true;
        }),
    }),
  };
}
