import type { JobKindState } from '#contract/jobs.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { JOB_KIND_CATALOGUE, JOB_KINDS, type JobKindName } from '#domain/jobs/job-kinds.js';
import type { PausedKinds } from '#jobs/paused-kinds.js';
import { formatTimestamp } from '#store/timestamp.js';

/** Pausing and resuming of job kinds by operators. */
export interface JobKindsService {
  list(): Promise<JobKindState[]>;
  /** Pauses a kind of job. @throws Refusal STORAGE_FULL */
  pause(kind: JobKindName, reason: string | null, by: Authorship): Promise<JobKindState>;
  /** Resumes a paused kind of job. @throws Refusal STORAGE_FULL */
  resume(kind: JobKindName, by: Authorship): Promise<JobKindState>;
}

export interface JobKindsDependencies {
  readonly paused: PausedKinds;
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number;
}

export function createJobKinds({ paused, now }: JobKindsDependencies): JobKindsService {
  const readState = async (kind: JobKindName): Promise<JobKindState> => ({
    kind,
    lane: JOB_KIND_CATALOGUE[kind].lane,
    pause: (await paused.get(kind)) ?? null,
  });
  return {
    list: () => Promise.all(JOB_KINDS.map(readState)),
    async pause(kind, reason, authorship) {
      await paused.pause(kind, { paused_at: formatTimestamp(now()), author: authorship.author, reason }, authorship);
      return readState(kind);
    },
    async resume(kind, authorship) {
      await paused.resume(kind, authorship);
      return readState(kind);
    },
  };
}
