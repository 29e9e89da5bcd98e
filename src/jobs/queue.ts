import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { RetryPolicies } from '#domain/jobs/retry-policy.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { DocumentTransaction, Listing } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';
import type { Lane, TaskProgress } from './compute-pool.js';
import type { JobClass } from './job-class.js';
import type { JobIdentity } from './job-record.js';
import type { StoredInput } from './kept-parts.js';
import type { JobResult, StoredResult } from './life-cycle.js';
import type { Origin } from './origin.js';
import type { OfferedParts } from './offered-parts.js';
import type { JobState, JobStatus } from './status.js';

/**
 * Jobs and their states, durable and in order. Submitters and runners of jobs meet here alone.
 * An implementation is an adapter of this port; `test/jobs/queue-port-contract.ts` runs against each.
 */
export interface JobQueue extends JobReader {
  /**
   * Queues a job durably. A live job with the same id and input is answered instead of a second one.
   * @returns the status once it is on disk
   * @throws Refusal JOB_RUNNING, OVERLOADED, RATE_LIMITED, DRAINING, STORAGE_FULL, VALIDATION_FAILED when no node has
   *   the memory
   */
  submit(job: NewJob): Promise<JobStatus>;
  /** Cancels: terminal statuses come back unchanged. @throws Refusal JOB_NOT_FOUND */
  cancel(jobId: string): Promise<JobStatus>;
  /**
   * Queues a failed job anew, with the input and the owner of its submission; statuses of others come back unchanged.
   * @throws Refusal JOB_NOT_FOUND; DOCUMENT_UNREADABLE for a job whose input is not stored any more; OVERLOADED,
   *   RATE_LIMITED, DRAINING, STORAGE_FULL
   */
  retry(jobId: string): Promise<JobStatus>;
  /**
   * Calls after every change of a job's status, progress included (at most four times a second); returns how to stop.
   */
  watch(jobId: string, listener: () => void): () => void;
  /** As `watch`, of every job. */
  watchAll(listener: (jobId: string) => void): () => void;

  /**
   * Makes this process a node that runs jobs. Attempts of a process before it, which ended under them, count as lost.
   * @returns how many those were
   */
  join(node: Node): Promise<number>;
  /**
   * Takes the next job of a lane: `running` is on disk before it is returned.
   * @returns undefined where no job waits, or the one that was taken ended before it began
   * @throws Refusal STORAGE_FULL, STORE_UNAVAILABLE; the job waits on
   */
  claim(order: ClaimOrder): Promise<Claim | undefined>;
  /** Says that an attempt is alive. @returns whether it still is the one; its lease is lost otherwise */
  heartbeat(lease: Lease): Promise<boolean>;
  /**
   * Ends an attempt, together with its effect.
   * @returns whether it counted. False: the attempt had been given up, and nothing has changed
   * @throws whatever the store or the effect refused with; then nothing has changed, and the attempt keeps running
   */
  complete(lease: Lease, ending: Ending): Promise<boolean>;

  /** Where parts of running jobs are offered to other nodes; undefined where there are none. */
  readonly parts?: OfferedParts | undefined;

  /** Takes no more jobs and gives none out. */
  drain(): void;
  /** Resolves when every submission on its way is on disk or refused. */
  close(): Promise<void>;
}

/** Statuses of jobs. */
export interface JobReader {
  /** @throws Refusal DOCUMENT_UNREADABLE */
  find(jobId: string): Promise<FoundJob | undefined>;
  /** Newest first, results null; jobs whose document cannot be read are counted. */
  list(query: JobQuery): Promise<JobListing>;
  /** Every job of a kind that is remembered, oldest first. @cost one pass over all jobs */
  ids(kind: JobKindName): Promise<readonly string[]>;
  /** Whether a job with this id is pending or running. */
  isLive(jobId: string): Promise<boolean>;
  /** Jobs that are pending or running, oldest first. */
  liveIds(): Promise<readonly string[]>;
  counts(): Promise<JobCounts>;
  /** How busy each lane is, huge jobs apart: what an autoscaler goes by. */
  lanes(): Promise<LaneLoads>;
}

export interface JobListing extends Pick<Listing<JobStatus>, 'skipped' | 'skipped_causes'> {
  readonly jobs: readonly JobStatus[];
}

/** Jobs of a class, and the places of all nodes for them: heavy and huge jobs have the same ones. */
export interface LaneLoad {
  readonly waiting: number;
  readonly running: number;
  readonly places: number;
  /** Places at which parts of jobs are computed that run on other nodes; absent where there are none. */
  readonly helping?: number;
  /** Time that the oldest job has waited; null where none waits. */
  readonly oldestSeconds: number | null;
}

export type LaneLoads = Readonly<Record<JobClass, LaneLoad>>;

export interface NewJob {
  readonly jobId: string;
  readonly kind: JobKindName;
  /** SHA-256 over kind, key and payload, hex: equal ones are the same job. */
  readonly inputHash: string;
  /** JSON as the kind's codec wrote it. */
  readonly payload: unknown;
  /** The body as accepted, shown in the status. */
  readonly request: unknown;
  readonly estimatedBytes: number;
  /** First message of the status. */
  readonly message: string | undefined;
  /** Who asked for it; null for the service itself. */
  readonly origin: Origin | null;
}

/** A process that runs jobs, as the queue sees it. */
export interface Node {
  /** Called when there may be a job to claim. */
  onWork(): void;
  /** Progress of an attempt of this node; undefined without such an attempt. */
  progressOf(lease: Lease): TaskProgress | undefined;
  room(): Room;
}

/** What a node could take now. */
export interface Room {
  /** Lanes with a free place. */
  readonly lanes: readonly Lane[];
  /** Memory that its jobs leave. */
  readonly freeBytes: number;
}

export interface ClaimOrder {
  readonly lane: Lane;
  /** Owners whose jobs have to wait: they hold all the places that one owner may. */
  readonly exceptOwners: ReadonlySet<string>;
  /**
   * Memory that the node has left. Where another node may have more, a job that needs more is passed over for a while.
   */
  readonly freeBytes: number;
  /**
   * Called once with the job whose turn it is, if there is one: true takes it; false leaves it first in line, and the
   * others behind it, so that a large job is not passed over for ever. Answers from memory.
   */
  take(job: WaitingJob): boolean;
}

export type WaitingJob = Pick<JobIdentity, 'job_id' | 'kind' | 'owner' | 'estimated_bytes'>;

/** The right to run and end one attempt of one job. */
export interface Lease extends AttemptKey {
  /** True once this process knows that the attempt has been given up: cancelled, or silent for too long. */
  readonly isLost: boolean;
  /** Calls when it is lost. */
  onLost(call: () => void): void;
}

export interface Claim {
  readonly lease: Lease;
  readonly job: JobIdentity;
  /** Undefined where the stored payload cannot be read. */
  readonly input: StoredInput | undefined;
  /** Parts to compute of a job that runs on another node; the whole job without. */
  readonly parts?: readonly number[];
}

/** How an attempt ends. */
export type Ending =
  | {
      readonly type: 'succeed';
      readonly result: JobResult;
      readonly message: string;
      /** Written in the same transaction. */
      readonly effect?: (tx: DocumentTransaction) => Promise<void>;
    }
  | { readonly type: 'fail'; readonly error: ErrorDetail }
  /** Its thread ended under it: as many as the kind may have fail the job, fewer queue it again. */
  | { readonly type: 'crash'; readonly cause: string }
  /** Its process ended, fell silent or was cut off. */
  | { readonly type: 'lose'; readonly cause: string }
  /** It is given back unharmed and queued again. */
  | { readonly type: 'release'; readonly cause: string };

export interface JobQuery {
  readonly kinds?: readonly JobKindName[] | undefined;
  readonly statuses?: readonly JobState[] | undefined;
  readonly limit: number;
  /** Only jobs submitted before this one; none when it is unknown. */
  readonly before?: string | undefined;
}

/** A job with its result where it lies. */
export interface FoundJob {
  /** `result` is null when the result is an artifact or a reference. */
  readonly status: JobStatus;
  /** Result of a succeeded job that is no value of its status; null of other jobs. */
  readonly stored: StoredResult | null;
  /** Grows with every change of any job, over restarts too. */
  readonly revision: number;
}

export interface JobCounts {
  readonly pending: number;
  readonly running: number;
}

/** How a job came to its end. */
export interface EndedJob {
  readonly jobId: string;
  /** Id of the key that submitted it; empty without one. */
  readonly owner: string;
  readonly kind: JobKindName;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled';
  /** Time of its last attempt; null when none began. */
  readonly seconds: number | null;
  /** Time from its submission to the start of that attempt. */
  readonly waitSeconds: number | null;
}

export interface QueueLimits {
  /** How often and when a kind of job is tried again. */
  readonly retryOf: RetryPolicies;
  /** Jobs that may wait. */
  readonly queueMax: number;
  /** Jobs of one owner that may wait. */
  readonly ownerQueueMax: number;
  /** Ended jobs that are remembered. */
  readonly endedMax: number;
  /** Bytes that one job may be expected to need: those that a node has for all of its own. */
  readonly jobBytesMax: number;
  /** Time without a heartbeat after which an attempt is given up. */
  readonly leaseMs: number;
}

/** Structured log; pino has this shape. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
