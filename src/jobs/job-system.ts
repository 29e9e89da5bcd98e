import type { Lane } from './compute-pool.js';
import type { JobHandlers, Jobs } from './job-kind.js';
import type { JobQueue, JobReader } from './queue.js';

/** The job system as the service's root and the job routes see it. */
export interface JobSystem extends Jobs, JobReader, Pick<JobQueue, 'watch' | 'watchAll' | 'retry'> {
  /** Makes kinds known. All are registered before `start`, so that jobs of the last process can run. */
  register(kinds: Partial<JobHandlers>): void;
  /** Joins the queue and begins to work. Nothing is submitted before. */
  start(): Promise<void>;
  /** Refuses new jobs and starts none from now on. */
  drain(): void;
  /** Gives running jobs back to the queue, durably, and ends the threads. */
  stop(): Promise<void>;
}

/** Limits of one node. */
export interface NodeLimits {
  /** Jobs that run at once in each lane. */
  readonly runningMax: Readonly<Record<Lane, number>>;
  /** Heavy jobs of one owner that run at once. */
  readonly ownerRunningMax: number;
  /** Bytes that running jobs may be expected to need together. */
  readonly memoryBytes: number;
  readonly jobMsMax: number;
  /** Time an ended attempt has before its place is given away. */
  readonly cancelGraceMs: number;
  /** Wall time of interactive work. */
  readonly queryMsMax: number;
}
