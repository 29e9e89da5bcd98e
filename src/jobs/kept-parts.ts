import type { DocumentStore } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';
import { isTerminal } from './life-cycle.js';
import { readJobRecord } from './job-record.js';
import type { WrittenParts } from './offered-parts.js';

/** Input of a job, with the outputs of the parts that are done. It is deleted when the job ends, unless that fails. */
export interface StoredInput {
  readonly payload: unknown;
  readonly kept?: {
    /** Of the program: the parts of one result are computed by one version. */
    readonly version: string;
    readonly parts: readonly WrittenParts[];
  };
}

/** Outputs of parts that outlast an attempt: the next one resumes there, on whichever node it runs. */
export interface KeptParts {
  /** Outputs of earlier attempts by a program of this version. */
  readonly earlier: readonly WrittenParts[];
  /** Replaces what is kept. @returns whether the attempt is still the one: nothing is kept for another */
  keep(parts: readonly WrittenParts[]): Promise<boolean>;
}

export interface PartsKeeper {
  of(attempt: AttemptKey, input: StoredInput): KeptParts;
}

export interface PartsKeeperDependencies {
  readonly documents: Pick<DocumentStore, 'transaction'>;
  readonly version: string;
}

export function createPartsKeeper({ documents, version }: PartsKeeperDependencies): PartsKeeper {
  return {
    of: ({ jobId, sequence, attempt }, { kept }) => ({
      earlier: kept?.version === version ? kept.parts : [],
      keep: (parts) =>
        documents.transaction(async (tx) => {
          const [job, input] = [await tx.get('job', jobId), await tx.get('job-input', jobId)];
          if (job === undefined || 'unreadable' in job || input === undefined || 'unreadable' in input) return false;
          const record = readJobRecord(job.body, jobId);
          if (record?.sequence !== sequence || record.attempt !== attempt || isTerminal(record.status)) return false;
          const { payload } = input.body as StoredInput; // Written by a submission and checked by the store.
          await tx.put('job-input', jobId, { payload, kept: { version, parts: [...parts] } } satisfies StoredInput);
          return true;
        }),
    }),
  };
}
