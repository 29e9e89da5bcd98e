import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import { type JobPriority } from '#domain/outputs/job-priority.js';
import { JOB_KIND_CATALOGUE, JOB_KINDS, type JobKindName, type RetryPolicies } from '#domain/outputs/jobs.js';
import {
  type ArtifactRef,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  findCause,
  type Listing,
  type UnreadableCause,
} from '#store/port.js';
import type { Lane, TaskProgress } from './compute-pool.js';
import {
  isTerminal,
  type JobIdentity,
  type JobLife,
  type JobRecord,
  type JobResult,
  type JobState,
  type JobStatus,
  readJobRecord,
  type StoredResult,
} from './life-cycle.js';

export interface AttemptKey {
  readonly jobId: string;
  /**
   * Sequence number of the submission. It distinguishes submissions with the same job id, because an ended job may be
   * submitted again.
   */
  readonly sequence: number;
  readonly attempt: number;
}

/**
 * Classes of jobs in queue reports: light jobs, heavy jobs, and huge jobs. A huge job is a heavy job for which few
 * machines have enough memory.
 */
export type JobClass = Lane | 'huge';

/**
 * Expected memory in bytes above which a heavy job is huge. It is nearly all the memory that a machine of 4 GiB has for
 * its jobs.
 */
export const HUGE_BYTES = 2 * 2 ** 30;

export function getJobClass(job: { readonly kind: JobKindName; readonly estimated_bytes: number }): JobClass {
  const { lane } = JOB_KIND_CATALOGUE[job.kind];
  return lane === 'heavy' && job.estimated_bytes > HUGE_BYTES ? 'huge' : lane;
}

/**
 * Returns the job slots of a node by class. Slots for heavy jobs also count for huge jobs if the node has enough
 * memory.
 */
export function countSlotsByClass({ heavy, light }: Readonly<Record<Lane, number>>, memoryBytes: number) {
  return { heavy, huge: memoryBytes > HUGE_BYTES ? heavy : 0, light } satisfies Record<JobClass, number>;
}

export interface PartOutput {
  /** Outputs in the order of the parts. The job drops the artifact when it ends. */
  readonly artifact: ArtifactRef;
  /** Other artifacts that the parts wrote. They are kept with the output until the effect of the job refers to them. */
  readonly files?: readonly ArtifactRef[];
}

export interface WrittenParts extends PartOutput {
  readonly parts: readonly number[];
}

export const listOutputNames = ({ artifact, files = [] }: PartOutput): string[] =>
  [artifact, ...files].map(({ name }) => name);

/**
 * Parts of running jobs that are offered to other nodes. The node of the job decides: it computes every part itself
 * that is not offered.
 */
export interface OfferedParts {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  /**
   * Takes a part back to compute it on this node, even if a node that stopped sending heartbeats has the part. Returns
   * undefined if no part is left.
   */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Takes the outputs that other nodes wrote. Their parts are no longer offered. */
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  /** Lists parts that are still offered, whether a node has taken them or not. */
  remaining(key: AttemptKey): Promise<readonly number[]>;
  withdraw(key: AttemptKey): Promise<void>;
}

/** Client and request of submitted work. They connect a job with the log lines of its request. */
export interface JobOrigin {
  /** Id of the client's key. Owners of jobs take turns in the queue. It is null if the service uses no keys. */
  readonly owner: string | null;
  /** Name of the client's key; null if the service uses no keys. */
  readonly author: string | null;
  /** Note of the client. */
  readonly note: string | null;
  readonly requestId: string;
  /** Trace id from the client; null if it sent none. */
  readonly traceId: string | null;
  /**
   * Trace span of the request, as a `traceparent` header. It is the parent of the job's span on whichever machine the
   * job runs.
   */
  readonly traceParent?: string;
  /** Validated URL to call when the job ends; null without a callback. */
  readonly callback: string | null;
  /** Priority of the job. Default: normal. */
  readonly priority?: JobPriority;
}

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

export function createRetainedPartsStore(
  documents: Pick<DocumentStore, 'transaction'>,
  version: string,
): RetainedPartsStore {
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

/**
 * Queue of jobs and their states, durable and ordered. It is the only connection between code that submits jobs and
 * code that runs them. An implementation is an adapter of this interface; `test/jobs/queue-port-contract.ts` tests each
 * of them.
 */
export interface JobQueue extends JobReader {
  /**
   * Adds a job to the queue durably. If a live job has the same id and input, returns that job and adds no second one.
   * @returns the status once it is on disk
   * @throws Refusal JOB_RUNNING, OVERLOADED, RATE_LIMITED, DRAINING, STORAGE_FULL; VALIDATION_FAILED if no node has the
   * memory
   */
  submit(job: NewJob): Promise<JobStatus>;
  /** Cancels a job; a finished job stays unchanged. @throws Refusal JOB_NOT_FOUND */
  cancel(jobId: string): Promise<JobStatus>;
  /**
   * Retries a failed job with the input and the owner of its submission. Any other job stays unchanged.
   * @throws Refusal JOB_NOT_FOUND; DOCUMENT_UNREADABLE for a job whose input is no longer stored; OVERLOADED,
   * RATE_LIMITED, DRAINING, STORAGE_FULL
   */
  retry(jobId: string): Promise<JobStatus>;
  /**
   * Listens to changes of a job's status and progress, at most four times a second. Returns a function that stops
   * listening.
   */
  watch(jobId: string, listener: () => void): () => void;
  /** Listens to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;

  /**
   * Makes this process a node that runs jobs. Unfinished attempts of a previous process count as lost.
   * @returns the number of those attempts
   */
  join(node: QueueNode): Promise<number>;
  /**
   * Takes the next light or heavy job. The state `running` is on disk before the job is returned.
   * @returns undefined if no job waits, or if the taken job ended before it started
   * @throws Refusal STORAGE_FULL, STORE_UNAVAILABLE; the job keeps waiting
   */
  claim(order: ClaimOrder): Promise<Claim | undefined>;
  /** Reports that an attempt is alive. @returns false if another attempt has replaced this one and its lease is lost */
  heartbeat(lease: Lease): Promise<boolean>;
  /**
   * Ends an attempt, together with its effect.
   * @returns true if the end took effect; false if the attempt had been abandoned, and nothing has changed
   * @throws the error of the store or of the effect; then nothing has changed, and the attempt keeps running
   */
  complete(lease: Lease, ending: Ending): Promise<boolean>;

  /** Offers of parts of running jobs to other nodes; undefined if there are no other nodes. */
  readonly parts?: OfferedParts | undefined;

  /** Stops accepting and handing out jobs. */
  drain(): void;
  /** Resolves when every pending submission is on disk or refused. */
  close(): Promise<void>;
}

export interface JobReader {
  /** Returns a job; undefined if it does not exist. @throws Refusal DOCUMENT_UNREADABLE */
  find(jobId: string): Promise<LocatedJob | undefined>;
  /** Lists jobs without results, newest first. Counts unreadable jobs. */
  list(query: JobQuery): Promise<JobListing>;
  /** Lists the stored jobs of a kind, oldest first. @cost one pass over all jobs */
  ids(kind: JobKindName): Promise<readonly string[]>;
  /** Returns true if a job with this id is pending or running. */
  isLive(jobId: string): Promise<boolean>;
  /** Lists pending and running jobs, oldest first. */
  liveIds(): Promise<readonly string[]>;
  counts(): Promise<JobCounts>;
  /** Returns the load of each lane, with huge jobs counted separately, for an autoscaler. */
  lanes(): Promise<LaneLoads>;
}

export interface JobListing extends Pick<Listing<JobStatus>, 'skipped' | 'skipped_causes'> {
  readonly jobs: readonly JobStatus[];
}

/** Number of jobs of a class, and number of slots for them on all nodes. Heavy and huge jobs share slots. */
export interface LaneLoad {
  readonly waiting: number;
  readonly running: number;
  readonly places: number;
  /** Number of slots that compute parts of other nodes' jobs; absent if there are none. */
  readonly helping?: number;
  /** Waiting time of the oldest job; null if none waits. */
  readonly oldestSeconds: number | null;
}

export type LaneLoads = Readonly<Record<JobClass, LaneLoad>>;

export interface NewJob {
  readonly jobId: string;
  readonly kind: JobKindName;
  /** SHA-256 over kind, key and payload, in hexadecimal digits. Jobs with equal hashes are the same job. */
  readonly inputHash: string;
  /** Payload as JSON, in the encoding of the kind. */
  readonly payload: unknown;
  /** Request body, shown in the status. */
  readonly request: unknown;
  readonly estimatedBytes: number;
  /** First message of the status. */
  readonly message: string | undefined;
  /** Client that submitted the job; null for the service itself. */
  readonly origin: JobOrigin | null;
}

/** Receives the claim of a reserved job, which is undefined if the job could not be stored. */
export type BeginClaim = (claimed: Promise<Claim | undefined>) => void;

/** Process that runs jobs. */
export interface QueueNode {
  /** Called when there may be a job to claim. */
  onWork(): void;
  /**
   * Reserves capacity for a job that is being submitted while no other job of its lane waits, so that one write stores it
   * as running. Decides without I/O. Default: jobs start by `claim` only.
   * @returns undefined without capacity
   */
  reserve?(job: WaitingJob): BeginClaim | undefined;
  /** Returns the progress of an attempt of this node; undefined without such an attempt. */
  findProgress(lease: Lease): TaskProgress | undefined;
  getFreeCapacity(): FreeCapacity;
}

export interface FreeCapacity {
  /** Lanes with a free slot. */
  readonly lanes: readonly Lane[];
  /** Memory that the jobs of the node have not reserved. */
  readonly freeBytes: number;
}

export interface ClaimOrder {
  readonly lane: Lane;
  /** Owners that occupy the maximum number of slots. Their jobs have to wait. */
  readonly exceptOwners: ReadonlySet<string>;
  /** Free memory of the node. A job that needs more memory is skipped for some time if another node may have enough. */
  readonly freeBytes: number;
  /**
   * Called once with the next job, if there is one. Returns true to take the job. Returns false to leave it at the
   * front of the queue, so that a large job is not skipped permanently. Decides without I/O.
   */
  take(job: WaitingJob): boolean;
}

export type WaitingJob = Pick<JobIdentity, 'job_id' | 'kind' | 'owner' | 'estimated_bytes'>;

/** The right to run and end one attempt of one job. */
export interface Lease extends AttemptKey {
  /**
   * True once this process knows that the attempt was abandoned: the job was cancelled, or heartbeats stopped for too
   * long.
   */
  readonly isLost: boolean;
  /** Registers a callback for the loss of the lease. */
  onLost(call: () => void): void;
}

export interface Claim {
  readonly lease: Lease;
  readonly job: JobIdentity;
  /** Undefined if the stored payload is unreadable. */
  readonly input: StoredInput | undefined;
  /** Parts to compute, if another node runs the job. Default: the whole job. */
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
  /** The thread ended. The job waits again; after the maximum number of crashes for its kind, it fails. */
  | { readonly type: 'crash'; readonly cause: string }
  /** The process ended, fell silent or was disconnected. */
  | { readonly type: 'lose'; readonly cause: string }
  /** The attempt is released undamaged and queued again. */
  | { readonly type: 'release'; readonly cause: string };

export interface JobQuery {
  readonly kinds?: readonly JobKindName[] | undefined;
  readonly statuses?: readonly JobState[] | undefined;
  readonly limit: number;
  /** Id of a job. Only jobs that were submitted before it are listed. An unknown id gives no jobs. */
  readonly before?: string | undefined;
}

/** Job with the location of its result. */
export interface LocatedJob {
  /** `result` is null if the result is an artifact or a reference. */
  readonly status: JobStatus;
  /** Result of a succeeded job, if its status does not contain the result. It is null for all other jobs. */
  readonly stored: StoredResult | null;
  /** Number of the last change of this job. Every change of any job gets a higher number, also after a restart. */
  readonly revision: number;
}

export interface JobCounts {
  readonly pending: number;
  readonly running: number;
}

export interface EndedJob {
  readonly jobId: string;
  /** Id of the key that submitted the job; empty if no key was used. */
  readonly owner: string;
  readonly kind: JobKindName;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled';
  /** Duration of the job's last attempt; null if no attempt started. */
  readonly seconds: number | null;
  /** Time from the job's submission to the start of its last attempt. */
  readonly waitSeconds: number | null;
}

export interface QueueLimits {
  readonly getRetryPolicy: RetryPolicies;
  /** Maximum number of waiting jobs. */
  readonly queueMax: number;
  /** Maximum number of waiting jobs of one owner. */
  readonly ownerQueueMax: number;
  /** Maximum number of ended jobs to keep. */
  readonly endedMax: number;
  /** Maximum expected memory of one job in bytes. It is the memory that a node has for all of its jobs. */
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

/** Counts of waiting jobs at a submission. */
export interface Waiting {
  readonly queued: number;
  /** Waiting jobs of the same owner. */
  readonly queuedOfOwner: number;
}

/** Properties of a submission that the limits concern. */
export interface Admission {
  readonly estimatedBytes: number;
  /** Key of the client; empty for the service itself. */
  readonly owner: string;
}

/**
 * Checks the limits of a submission, for every implementation of the queue.
 * @throws Refusal VALIDATION_FAILED, OVERLOADED, RATE_LIMITED
 */
export function admit(
  { estimatedBytes, owner }: Admission,
  { queued, queuedOfOwner }: Waiting,
  { queueMax, ownerQueueMax, jobBytesMax }: QueueLimits,
): void {
  if (estimatedBytes > jobBytesMax) {
    const message = `The job is expected to need ${estimatedBytes} bytes of memory (limit ${jobBytesMax} for all jobs together).`;
    throw new Refusal('VALIDATION_FAILED', message, {
      findings: [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: '' }],
      estimated_bytes: estimatedBytes,
      budget_bytes: jobBytesMax,
    });
  }
  if (queued >= queueMax) {
    throw new Refusal('OVERLOADED', `Queue full: ${queued} jobs waiting (limit ${queueMax}).`, {
      queued,
      limit: queueMax,
    });
  }
  if (owner !== '' && queuedOfOwner >= ownerQueueMax) {
    const message = `Queue of this key full: ${queuedOfOwner} of its jobs waiting (limit ${ownerQueueMax}).`;
    throw new Refusal('RATE_LIMITED', message, { queued: queuedOfOwner, limit: ownerQueueMax });
  }
}

/** Creates the constant part of a new job. */
export function createJobIdentity(
  { jobId, kind, inputHash, estimatedBytes, origin }: Omit<NewJob, 'request' | 'payload' | 'message'>,
  submitted: Pick<JobIdentity, 'created_at' | 'sequence'>,
): JobIdentity {
  return {
    job_id: jobId,
    kind,
    input_hash: inputHash,
    estimated_bytes: estimatedBytes,
    owner: origin?.owner ?? '',
    author: origin?.author ?? null,
    note: origin?.note ?? null,
    request_id: origin?.requestId ?? null,
    trace_id: origin?.traceId ?? null,
    ...(origin?.traceParent !== undefined && { trace_parent: origin.traceParent }),
    ...(origin?.priority !== undefined && origin.priority !== 'normal' && { priority: origin.priority }),
    ...submitted,
  };
}

export interface JobListeners {
  readonly jobIds: () => readonly string[];
  readonly hasListenersOfAll: () => boolean;
  readonly isEmpty: () => boolean;
  /** Adds a listener to one job. Returns a function that removes the listener. */
  watch(jobId: string, listener: () => void): () => void;
  /** Adds a listener to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;
  call(jobId: string): void;
}

/** Creates the listeners of this process. Calls `onWatched` for each new listener. */
export function createJobListeners(onWatched: () => void): JobListeners {
  const listenersByJob = new Map<string, Set<() => void>>();
  const generalListeners = new Set<(jobId: string) => void>();
  return {
    jobIds: () => [...listenersByJob.keys()],
    hasListenersOfAll: () => generalListeners.size > 0,
    isEmpty: () => listenersByJob.size + generalListeners.size === 0,
    watch(jobId, listener) {
      const listeners = listenersByJob.get(jobId) ?? new Set();
      listeners.add(listener);
      listenersByJob.set(jobId, listeners);
      onWatched();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && listenersByJob.get(jobId) === listeners) listenersByJob.delete(jobId);
      };
    },
    watchAll(listener) {
      generalListeners.add(listener);
      onWatched();
      return () => void generalListeners.delete(listener);
    },
    call(jobId) {
      for (const listener of listenersByJob.get(jobId) ?? []) listener();
      for (const listener of generalListeners) listener(jobId);
    },
  };
}

interface ListedJobs {
  add(job: JobStatus): void;
  skip(cause: UnreadableCause): void;
  readonly count: number;
  end(): JobListing;
}

export function createListing(): ListedJobs {
  const jobs: JobStatus[] = [];
  const causes = { unreadable: 0, invalid: 0, unsupported: 0 };
  return {
    add: (job) => void jobs.push({ ...job, result: null }),
    skip: (cause) => void causes[cause]++,
    get count() {
      return jobs.length;
    },
    end: () => ({
      jobs,
      skipped: causes.unreadable + causes.invalid + causes.unsupported,
      skipped_causes: causes,
    }),
  };
}

/** Stored jobs that were unreadable when the process started. Only their ids are known. */
export interface LostJobs {
  /**
   * Returns the reasons why stored jobs of the kinds are unreadable. Does not count jobs that have been replaced since.
   */
  causes(kinds: readonly JobKindName[] | undefined): Promise<readonly UnreadableCause[]>;
}

/**
 * Finds the stored jobs that are not among the readable records. @param records readable jobs @cost a listing of ids
 */
export async function readLostJobs(
  store: Pick<DocumentReader, 'get' | 'ids'>,
  records: readonly JobRecord[],
): Promise<LostJobs> {
  const recordedIds = new Set(records.map(({ job_id: jobId }) => jobId));
  const lostIds = new Set((await store.ids('job')).filter((jobId) => !recordedIds.has(jobId)));
  return {
    async causes(kinds = JOB_KINDS) {
      const causes: UnreadableCause[] = [];
      for (const jobId of lostIds) {
        const cause = findCause(await store.get('job', jobId), readJobRecord);
        if (cause === undefined) lostIds.delete(jobId);
        else if (kinds.some((kind) => jobId.startsWith(`${kind}:`))) causes.push(cause);
      }
      return causes;
    },
  };
}

/** A pending or running job. */
export interface LiveJob {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}

/** Leases of running jobs with their last heartbeats. */
export interface Leases {
  /** Grants a lease for an attempt that starts now. */
  grant(job: LiveJob, nowMs: number): Lease;
  of(job: LiveJob): Lease | undefined;
  /** Returns the lease that this process holds for a job. */
  ofJob(jobId: string): Lease | undefined;
  /** Returns true if a lease belongs to the current attempt of its job. */
  isHeld(lease: Lease): boolean;
  /** Records a heartbeat. */
  beat(lease: Lease, nowMs: number): void;
  /** Lists the leases without a heartbeat since a time. */
  silentSince(ms: number): readonly Lease[];
  /** Ends the lease of a job. With `isLost`, the node that holds the lease did not end it. */
  end(job: LiveJob, isLost: boolean): void;
  /** Ends the lease of an attempt after another process has given the job to another node. */
  lose(lease: Lease): void;
  readonly count: number;
}

/** Lease with the function that revokes it. */
export interface NewLease {
  readonly lease: Lease;
  giveUp(): void;
}

interface ActiveLease extends NewLease {
  beatMs: number;
}

export function createLeases(): Leases {
  /** Leases by job. */
  const leases = new Map<string, ActiveLease>();
  const findCurrent = ({ jobId, sequence, attempt }: Lease): ActiveLease | undefined => {
    const activeLease = leases.get(jobId);
    return activeLease?.lease.sequence === sequence && activeLease.lease.attempt === attempt ? activeLease : undefined;
  };

  return {
    grant({ identity: { job_id: jobId, sequence }, life: { attempt } }, nowMs) {
      const newLease = createLease({ jobId, sequence, attempt });
      leases.set(jobId, { ...newLease, beatMs: nowMs });
      return newLease.lease;
    },
    of: ({ identity }) => leases.get(identity.job_id)?.lease,
    ofJob: (jobId) => leases.get(jobId)?.lease,
    isHeld: (lease) => findCurrent(lease) !== undefined,
    beat(lease, nowMs) {
      const activeLease = findCurrent(lease);
      if (activeLease !== undefined) activeLease.beatMs = nowMs;
    },
    silentSince: (ms) => [...leases.values()].flatMap(({ lease, beatMs }) => (beatMs < ms ? [lease] : [])),
    end({ identity }, isLost) {
      const activeLease = leases.get(identity.job_id);
      leases.delete(identity.job_id);
      if (isLost) activeLease?.giveUp();
    },
    lose(lease) {
      const activeLease = findCurrent(lease);
      if (activeLease === undefined) return;
      leases.delete(lease.jobId);
      activeLease.giveUp();
    },
    get count() {
      return leases.size;
    },
  };
}

/** Creates a lease. Every attempt has one, so it uses fewer allocations than an AbortSignal. */
export function createLease({ jobId, sequence, attempt }: AttemptKey): NewLease {
  const calls: (() => void)[] = [];
  let isLost = false;
  return {
    lease: {
      jobId,
      sequence,
      attempt,
      get isLost() {
        return isLost;
      },
      onLost: (call) => void calls.push(call),
    },
    giveUp() {
      isLost = true;
      for (const call of calls) call();
    },
  };
}
