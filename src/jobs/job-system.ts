import type { Lane } from './compute-pool.js';
import type { JobHandlers, Jobs } from './job-kind.js';
import type { JobQueue, JobReader } from './queue.js';

/** Job system, for the composition root and the job routes. */
export interface JobSystem extends Jobs, JobReader, Pick<JobQueue, 'watch' | 'watchAll' | 'retry'> {
  /** Registers kinds. Register all kinds before `start`, so that jobs of the previous process can run. */
  register(kinds: Partial<JobHandlers>): void;
  /** Joins the queue and starts work. No submissions are accepted before. */
  start(): Promise<void>;
  /** Refuses new jobs and starts no more jobs. */
  drain(): void;
  /** Returns running jobs to the queue, durably, and ends the threads. */
  stop(): Promise<void>;
}

/** Limits of one node. */
export interface NodeLimits {
  /** Maximum number of running jobs in each lane. */
  readonly runningMax: Readonly<Record<Lane, number>>;
  /** Maximum number of running heavy jobs of one owner. */
  readonly ownerRunningMax: number;
  /** Maximum expected memory of all running jobs, in bytes. */
  readonly memoryBytes: number;
  readonly jobMsMax: number;
  /** Time after which a stopped attempt loses its slot. */
  readonly cancelGraceMs: number;
  /** Time limit of interactive work. */
  readonly queryMsMax: number;
}
