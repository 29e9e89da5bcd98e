import type { ArtifactRef } from '#store/port.js';
import type { Lane } from './compute-pool.js';
import type { JobHandlers, Jobs } from './job-kind.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobState, JobStatus } from './status.js';

/** The job engine as the service's root and the job routes see it. */
export interface JobEngine extends Jobs {
  /** Makes kinds known. All are registered before `start`, so that jobs of the last process can run. */
  register(kinds: Partial<JobHandlers>): void;
  /** Reads the stored jobs, queues what the last process left and begins to work. Nothing is submitted before. */
  start(): Promise<void>;
  /** @throws Refusal DOCUMENT_UNREADABLE */
  find(jobId: string): Promise<FoundJob | undefined>;
  /** Newest first, results null. */
  list(query: JobQuery): Promise<JobStatus[]>;
  /** Calls after every change of a job's status, progress included (at most four times a second); returns how to stop. */
  watch(jobId: string, listener: () => void): () => void;
  /** As `watch`, of every job: told which one. */
  watchAll(listener: (jobId: string) => void): () => void;
  /** Jobs that are pending or running, oldest first. */
  liveIds(): string[];
  counts(): JobCounts;
  /** Refuses new jobs and starts none from now on. */
  drain(): void;
  /** Gives running jobs back to the queue, durably, and ends the threads. */
  stop(): Promise<void>;
}

export interface JobQuery {
  readonly kind?: JobKindName | undefined;
  readonly statuses?: readonly JobState[] | undefined;
  readonly limit: number;
  /** Only jobs submitted before this one; none when it is unknown. */
  readonly before?: string | undefined;
}

/** A job with its result where it lies. */
export interface FoundJob {
  /** `result` is null when the result is an artifact. */
  readonly status: JobStatus;
  /** Result of a succeeded job that is kept as JSON bytes. */
  readonly artifact: ArtifactRef | null;
  /** Grows with every change of any job, over restarts too. */
  readonly revision: number;
}

/** How a job came to its end. */
export interface EndedJob {
  readonly jobId: string;
  readonly kind: JobKindName;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled';
  /** Time of its last attempt; null when none began. */
  readonly seconds: number | null;
  /** Time from its submission to the start of that attempt. */
  readonly waitSeconds: number | null;
}

export interface JobCounts {
  readonly pending: number;
  readonly running: number;
}

export interface EngineLimits {
  /** Starts that may end in a crash. */
  readonly attemptsMax: number;
  /** Jobs that may wait. */
  readonly queueMax: number;
  /** Jobs that run at once in each lane. */
  readonly runningMax: Readonly<Record<Lane, number>>;
  /** Of the jobs of one owner: how many may wait, and how many heavy ones run at once. */
  readonly perOwner: { readonly queueMax: number; readonly runningMax: number };
  /** Ended jobs that are remembered. */
  readonly endedMax: number;
  /** Bytes that running jobs may be expected to need together. */
  readonly memoryBytes: number;
  readonly heartbeatTimeoutMs: number;
  readonly jobMsMax: number;
  /** Time an ended attempt has before its place is given away. */
  readonly cancelGraceMs: number;
  /** Wall time of interactive work. */
  readonly queryMsMax: number;
}

/** Structured log; pino has this shape. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
