import type { Lane } from './compute-pool.js';
import type { JobHandlers, Jobs } from './job-kind.js';
import type { JobQueue, JobReader } from './queue.js';

/** Job system, as the program and the job routes use it. */
export interface JobSystem extends Jobs, JobReader, Pick<JobQueue, 'watch' | 'watchAll' | 'retry'> {
  /** Registers kinds of jobs. Call it for all kinds before `start`, so that jobs of the previous process can run. */
  register(kinds: Partial<JobHandlers>): void;
  /** Connects to the queue and starts work. Submissions are not accepted before this call. */
  start(): Promise<void>;
  /** Refuses new jobs and starts no more jobs. */
  drain(): void;
  /** Returns running jobs to the queue and ends the threads. The return of the jobs is on disk when it resolves. */
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
