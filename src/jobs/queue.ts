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
 * Jobs and their states, durable and in order; the only link between submitters and runners of jobs. An implementation
 * is an adapter of this port; `test/jobs/queue-port-contract.ts` runs against each.
 */
export interface JobQueue extends JobReader {
  /**
   * Queues a job durably. Returns an existing live job with the same id and input instead of a second one.
   * @returns the status once it is on disk
   * @throws Refusal JOB_RUNNING, OVERLOADED, RATE_LIMITED, DRAINING, STORAGE_FULL; VALIDATION_FAILED if no node has
   * the memory
   */
  submit(job: NewJob): Promise<JobStatus>;
  /** Cancels a job; a finished one is unchanged. @throws Refusal JOB_NOT_FOUND */
  cancel(jobId: string): Promise<JobStatus>;
  /**
   * Retries a failed job with the input and the owner of its submission; any other job is unchanged.
   * @throws Refusal JOB_NOT_FOUND; DOCUMENT_UNREADABLE for a job whose input is no longer stored; OVERLOADED,
   * RATE_LIMITED, DRAINING, STORAGE_FULL
   */
  retry(jobId: string): Promise<JobStatus>;
  /**
   * Listens to changes of a job's status, including progress (at most four times a second); returns a function that
   * stops listening.
   */
  watch(jobId: string, listener: () => void): () => void;
  /** Listens to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;

  /**
   * Makes this process a node that runs jobs. Unfinished attempts of a previous process count as lost.
   * @returns the number of those attempts
   */
  join(node: Node): Promise<number>;
  /**
   * Takes the next job of a lane: `running` is on disk before it is returned.
   * @returns undefined if no job waits, or if the taken one ended before it started
   * @throws Refusal STORAGE_FULL, STORE_UNAVAILABLE; the job keeps waiting
   */
  claim(order: ClaimOrder): Promise<Claim | undefined>;
  /** Reports that an attempt is alive. @returns false if it is no longer current; its lease is then lost */
  heartbeat(lease: Lease): Promise<boolean>;
  /**
   * Ends an attempt, together with its effect.
   * @returns true if it counted; false if the attempt had been abandoned, and nothing has changed
   * @throws the error of the store or of the effect; then nothing has changed, and the attempt keeps running
   */
  complete(lease: Lease, ending: Ending): Promise<boolean>;

  /** Offers parts of running jobs to other nodes; undefined if there are none. */
  readonly parts?: OfferedParts | undefined;

  /** Takes no more jobs and hands none out. */
  drain(): void;
  /** Resolves when every pending submission is on disk or refused. */
  close(): Promise<void>;
}

/** Statuses of jobs. */
export interface JobReader {
  /** @throws Refusal DOCUMENT_UNREADABLE */
  find(jobId: string): Promise<FoundJob | undefined>;
  /** Lists jobs, newest first, without results; counts unreadable ones. */
  list(query: JobQuery): Promise<JobListing>;
  /** Lists the stored jobs of a kind, oldest first. @cost one pass over all jobs */
  ids(kind: JobKindName): Promise<readonly string[]>;
  /** Returns true if a job with this id is pending or running. */
  isLive(jobId: string): Promise<boolean>;
  /** Lists pending and running jobs, oldest first. */
  liveIds(): Promise<readonly string[]>;
  counts(): Promise<JobCounts>;
  /** Returns the load of each lane, with huge jobs separate, for an autoscaler. */
  lanes(): Promise<LaneLoads>;
}

export interface JobListing extends Pick<Listing<JobStatus>, 'skipped' | 'skipped_causes'> {
  readonly jobs: readonly JobStatus[];
}

/** Jobs of a class, and the places of all nodes for them; heavy and huge jobs share places. */
export interface LaneLoad {
  readonly waiting: number;
  readonly running: number;
  readonly places: number;
  /** Places that compute parts of jobs of other nodes; absent if there are none. */
  readonly helping?: number;
  /** Waiting time of the oldest job; null if none waits. */
  readonly oldestSeconds: number | null;
}

export type LaneLoads = Readonly<Record<JobClass, LaneLoad>>;

export interface NewJob {
  readonly jobId: string;
  readonly kind: JobKindName;
  /** SHA-256 over kind, key and payload, hex: jobs with equal hashes are the same job. */
  readonly inputHash: string;
  /** Payload as JSON, encoded by the kind. */
  readonly payload: unknown;
  /** Request body, shown in the status. */
  readonly request: unknown;
  readonly estimatedBytes: number;
  /** First message of the status. */
  readonly message: string | undefined;
  /** Client that submitted it; null for the service itself. */
  readonly origin: Origin | null;
}

/** A process that runs jobs. */
export interface Node {
  /** Called when there may be a job to claim. */
  onWork(): void;
  /** Returns the progress of an attempt of this node; undefined without such an attempt. */
  progressOf(lease: Lease): TaskProgress | undefined;
  room(): Room;
}

/** Free capacity of a node. */
export interface Room {
  /** Lanes with a free place. */
  readonly lanes: readonly Lane[];
  /** Memory that is not reserved by its jobs. */
  readonly freeBytes: number;
}

export interface ClaimOrder {
  readonly lane: Lane;
  /** Owners with the maximum number of places; their jobs have to wait. */
  readonly exceptOwners: ReadonlySet<string>;
  /** Free memory of the node. If another node may have more, a job that needs more is passed over for a while. */
  readonly freeBytes: number;
  /**
   * Called once with the next job, if there is one: true takes it; false leaves it first in line, with the others
   * after it, so that a large job is not passed over permanently. Decides without I/O.
   */
  take(job: WaitingJob): boolean;
}

export type WaitingJob = Pick<JobIdentity, 'job_id' | 'kind' | 'owner' | 'estimated_bytes'>;

/** The right to run and end one attempt of one job. */
export interface Lease extends AttemptKey {
  /** True once this process knows that the attempt has been abandoned: cancelled, or silent for too long. */
  readonly isLost: boolean;
  /** Registers a callback for its loss. */
  onLost(call: () => void): void;
}

export interface Claim {
  readonly lease: Lease;
  readonly job: JobIdentity;
  /** Undefined if the stored payload is unreadable. */
  readonly input: StoredInput | undefined;
  /** Parts to compute of a job that runs on another node. Default: the whole job. */
  readonly parts?: readonly number[];
}

/** End of an attempt. */
export type Ending =
  | {
      readonly type: 'succeed';
      readonly result: JobResult;
      readonly message: string;
      /** Writes in the same transaction. */
      readonly effect?: (tx: DocumentTransaction) => Promise<void>;
    }
  | { readonly type: 'fail'; readonly error: ErrorDetail }
  /** The thread ended: the job fails after the maximum number of crashes of its kind, and is queued again before. */
  | { readonly type: 'crash'; readonly cause: string }
  /** The process ended, fell silent or was disconnected. */
  | { readonly type: 'lose'; readonly cause: string }
  /** The attempt is released undamaged and queued again. */
  | { readonly type: 'release'; readonly cause: string };

export interface JobQuery {
  readonly kinds?: readonly JobKindName[] | undefined;
  readonly statuses?: readonly JobState[] | undefined;
  readonly limit: number;
  /** Only jobs submitted before this one; none if it is unknown. */
  readonly before?: string | undefined;
}

/** A job with the location of its result. */
export interface FoundJob {
  /** `result` is null if the result is an artifact or a reference. */
  readonly status: JobStatus;
  /** Result of a succeeded job that its status does not contain; null for other jobs. */
  readonly stored: StoredResult | null;
  /** Grows with every change of any job, across restarts too. */
  readonly revision: number;
}

export interface JobCounts {
  readonly pending: number;
  readonly running: number;
}

/** End of a job. */
export interface EndedJob {
  readonly jobId: string;
  /** Id of the key that submitted it; empty if no key was used. */
  readonly owner: string;
  readonly kind: JobKindName;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled';
  /** Duration of its last attempt; null if none started. */
  readonly seconds: number | null;
  /** Time from its submission to the start of that attempt. */
  readonly waitSeconds: number | null;
}

export interface QueueLimits {
  /** Retry policies by kind. */
  readonly retryOf: RetryPolicies;
  /** Maximum number of waiting jobs. */
  readonly queueMax: number;
  /** Maximum number of waiting jobs of one owner. */
  readonly ownerQueueMax: number;
  /** Maximum number of ended jobs to keep. */
  readonly endedMax: number;
  /** Maximum expected memory of one job in bytes: the memory of a node for all of its jobs. */
  readonly jobBytesMax: number;
  /** Time without a heartbeat after which an attempt is abandoned. */
  readonly leaseMs: number;
}

/** Structured log in the form of pino. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
