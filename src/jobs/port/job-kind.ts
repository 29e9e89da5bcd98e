import type { Authorship } from '#domain/definition/versions.js';
import { JOB_KIND_CATALOGUE, JOB_KINDS, type JobKindName, type JobPayload } from '#domain/outputs/jobs.js';
import type { ArtifactLink, ArtifactRef, DocumentStore, DocumentTransaction } from '#store/port.js';
import type { PortableTaskName, TaskInput, TaskName, TaskOutput } from '../tasks/catalogue.js';
import type { Clock } from './clock.js';
import type { Lane } from './compute-pool.js';
import type { JobResult, JobStatus } from './life-cycle.js';
import type { Parts } from './parts.js';
import type { JobOrigin, JobQueue, JobReader, WrittenParts } from './queue.js';

/**
 * Definition of one kind of job: everything that the engine needs to run it, before and after a restart. Services
 * declare their kinds, and the engine runs them. `P` is the payload. It is stored with the job as JSON and contains all
 * inputs of an attempt except the market.
 */
export interface JobKind<P> {
  readonly kind: JobKindName;
  /** Returns the second half of the job's id. */
  key(payload: P): string;
  /** Parses a stored payload; undefined if it is invalid. */
  decode(stored: unknown): P | undefined;
  /**
   * Runs one attempt. The work is deterministic, so that an attempt after a crash gives the same completion. If the
   * work throws a Refusal, the job fails with its code. Any other error is a defect, and the job fails as INTERNAL.
   */
  run(payload: P, attempt: Attempt): Promise<Completion>;
  /**
   * Computes some parts of an attempt that another node runs and divides with `inParts`. Returns their outputs as one
   * artifact in the same form, and the files that belong to them. Without this function, all work of a job runs on one
   * node.
   */
  runParts?(payload: P, parts: readonly number[], attempt: Attempt): Promise<Completion>;
}

export type JobHandlers = { readonly [K in JobKindName]: JobKind<JobPayload<K>> };

/** Tasks that an attempt of a kind of job may run. */
type TasksOf<K extends JobKindName> = (typeof JOB_KIND_CATALOGUE)[K]['sharedMemory'] extends null
  ? PortableTaskName
  : TaskName;

export function createJobKind<K extends JobKindName>(
  kind: K,
  run: (payload: JobPayload<K>, attempt: Attempt<TasksOf<K>>) => Promise<Completion>,
  runParts?: (payload: JobPayload<K>, parts: readonly number[], attempt: Attempt<TasksOf<K>>) => Promise<Completion>,
): JobKind<JobPayload<K>> {
  // The catalogue entry of a kind has the type of its payload; the compiler does not infer this for a generic name.
  const { key, payload } = JOB_KIND_CATALOGUE[kind] as unknown as {
    key(payload: JobPayload<K>): string;
    readonly payload: { safeParse(stored: unknown): { readonly data?: JobPayload<K> } };
  };
  return { kind, key, decode: (stored) => payload.safeParse(stored).data, run, ...(runParts && { runParts }) };
}

/**
 * Functions that the work of one attempt uses.
 * @template T tasks that the attempt may run: portable ones, unless the kind depends on the memory of one process
 */
export interface Attempt<T extends TaskName = TaskName> {
  readonly jobId: string;
  /**
   * Runs a task in the pool with this job's cancel flag.
   * @param share part of the job's progress that the task fills: 1 for a job of one task, 1/n for one of n
   */
  compute<N extends T>(task: N, input: TaskInput<N>, share?: number): Promise<TaskOutput<N>>;
  /**
   * Runs work in parts. Other nodes with a free slot compute some of the parts with `runParts` of the kind. Outputs are
   * stored, so that the next attempt continues from them.
   * @returns artifacts with the outputs, and the files that belong to them; each part is in at least one artifact, and
   * in more than one if two nodes computed it
   */
  inParts(parts: Parts): Promise<readonly WrittenParts[]>;
  /**
   * Reports the progress of work outside the pool, such as a child process that reads a store. It is added to the
   * progress of tasks.
   */
  report(fraction: number, message?: string): void;
  /**
   * Reports that the computation is complete. Another job may then use the slot while files and documents are written.
   * A later task waits for a thread like any other.
   */
  computed(): void;
  /** Aborts when the job is cancelled, times out or the service stops. */
  readonly signal: AbortSignal;
  /**
   * Creates names for artifacts that a task of this attempt writes. The artifacts are removed if the attempt does not
   * complete. The completion must keep or drop every written artifact.
   */
  outputs<K extends string>(files: readonly K[]): Readonly<Record<K, string>>;
  /** Writes bytes as an artifact of this attempt, like the outputs of its tasks. */
  write(bytes: Uint8Array): Promise<ArtifactRef>;
  /** Removes artifacts that tasks wrote and that the completion will not own. */
  drop(names: readonly string[]): Promise<void>;
  /**
   * Links existing artifacts under new names that belong to the completion. Like the names of the outputs, the names
   * are on disk before the effect is written.
   * @throws Refusal DOCUMENT_UNREADABLE if some artifacts no longer exist
   */
  share(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
}

export interface Completion {
  readonly result: JobResult;
  /** Last message of the status: warnings about a successful result. Default: `Done.` */
  readonly message?: string;
  /**
   * Writes in the transaction that ends the job, all or nothing. If it throws a Refusal, the job fails and nothing is
   * written. Artifacts that no document refers to any more are removed after the commit. To start work after the
   * commit, publish an event; it is delivered before the job appears as succeeded.
   */
  readonly effect?: (tx: DocumentTransaction) => Promise<void>;
}

export interface Submission<P> {
  readonly kind: JobKind<P>;
  readonly payload: P;
  /** Input that is compared with that of a live job of the same id. Default: the payload. */
  readonly compared?: unknown;
  /** Request body, shown in the status. */
  readonly request: unknown;
  /** Maximum expected memory of the attempt beyond the shared panels. */
  readonly estimatedBytes: number;
  /** First message of the status. */
  readonly message?: string;
  /** Client that submitted the job. Default: the service itself. */
  readonly origin?: JobOrigin | null;
}

/** Life cycle of jobs, as services use it. */
export interface Jobs {
  /**
   * Adds a job to the queue durably. If a live job has the same id and input, returns that job and adds no second one.
   * @returns the status once it is on disk.
   * @throws Refusal JOB_RUNNING, OVERLOADED, RATE_LIMITED, DRAINING, STORAGE_FULL; VALIDATION_FAILED if the job needs
   * more memory than all jobs may use
   */
  submit<P>(submission: Submission<P>): Promise<JobStatus>;
  /** Returns the current status; `result` is null if the result is an artifact. */
  get(jobId: string): Promise<JobStatus | undefined>;
  /** Cancels a job; a finished job stays unchanged. @throws Refusal JOB_NOT_FOUND */
  cancel(jobId: string): Promise<JobStatus>;
  /** Lists the stored jobs of a kind, oldest first. @cost one pass over all jobs */
  ids(kind: JobKindName): Promise<readonly string[]>;
  /** Returns true if a job with this id is pending or running. */
  isLive(jobId: string): Promise<boolean>;
  /**
   * Runs interactive work as a light task without storing anything. Rejects when the client disconnects.
   * @throws Refusal OVERLOADED
   */
  query<N extends TaskName>(task: N, input: TaskInput<N>, signal?: AbortSignal): Promise<TaskOutput<N>>;
  /**
   * Runs work that no client waits for, like `query`. It is a heavy task that starts after the pending heavy tasks.
   * @param patienceMs maximum wait for all other work to end, before it starts anyway
   * @throws Refusal OVERLOADED
   */
  aside<N extends TaskName>(
    task: N,
    input: TaskInput<N>,
    signal?: AbortSignal,
    patienceMs?: number,
  ): Promise<TaskOutput<N>>;
  /**
   * Offers a part of a query's work to an idle thread for heavy tasks. Does nothing if no thread is idle. There is no
   * result: the caller computes every part that no thread has taken.
   */
  help<N extends TaskName>(task: N, input: TaskInput<N>): void;
}

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

export interface NodeLimits {
  readonly runningMax: Readonly<Record<Lane, number>>;
  readonly ownerRunningMax: number;
  /** Maximum expected memory of all running jobs, in bytes. */
  readonly memoryBytes: number;
  readonly jobMsMax: number;
  /** Time after which a stopped attempt loses its slot. */
  readonly cancelGraceMs: number;
  /** Time limit of interactive work. */
  readonly queryMsMax: number;
}

/** Stored pause of a job kind. The name of the kind is its id. */
interface KindPause {
  readonly paused_at: string;
  readonly author: string;
  readonly reason: string | null;
}

/** Job kinds that no node starts now. Running jobs continue; new jobs are accepted and wait. */
export interface PausedKinds {
  has(kind: JobKindName): boolean;
  /** Registers a callback for kinds that start again. */
  onResumed(call: () => void): void;
  /** Returns the stored pause of a kind; undefined if the kind is not paused. */
  get(kind: JobKindName): Promise<KindPause | undefined>;
  /** Pauses a kind; leaves an existing pause unchanged. */
  pause(kind: JobKindName, pause: KindPause, by: Authorship): Promise<void>;
  resume(kind: JobKindName, by: Authorship): Promise<void>;
}

/**
 * Interval between two reads of the stored pauses. Reads are necessary, because events are lost during a long outage of
 * the database.
 */
const READ_MS = 30_000;

/** Reads the stored pauses and follows their changes. @param isShared true if other processes also change the pauses */
export async function createPausedKinds(
  documents: DocumentStore,
  clock: Pick<Clock, 'after'>,
  isShared: boolean,
): Promise<PausedKinds> {
  const listeners: (() => void)[] = [];
  let pausedKinds: ReadonlySet<string> = new Set(await documents.ids('paused-kind'));

  function replacePaused(now: ReadonlySet<string>): void {
    const isResumed = [...pausedKinds].some((kind) => !now.has(kind));
    pausedKinds = now;
    if (isResumed) for (const call of listeners) call();
  }

  function readLater(): void {
    clock.after(READ_MS, () => {
      documents
        .ids('paused-kind')
        .then((ids) => replacePaused(new Set(ids)))
        .catch(() => {}) // the next read tries again
        .finally(readLater);
    });
  }
  if (isShared) readLater();

  documents.subscribe('kind-paused', ({ kind, is_paused: isPaused }) => {
    const otherKinds = [...pausedKinds].filter((pausedKind) => pausedKind !== kind);
    replacePaused(new Set(isPaused ? [...otherKinds, kind] : otherKinds));
  });

  return {
    has: (kind) => pausedKinds.has(kind),
    onResumed: (call) => void listeners.push(call),
    async get(kind) {
      const storedPause = await documents.get('paused-kind', kind);
      // `pause` wrote the document and the store checked its seal
      return storedPause === undefined || 'unreadable' in storedPause ? undefined : (storedPause.body as KindPause);
    },
    async pause(kind, pause, authorship) {
      await documents.transaction(
        async (tx) => {
          if ((await tx.get('paused-kind', kind)) !== undefined) return;
          await tx.put('paused-kind', kind, pause);
          tx.publish({ type: 'kind-paused', kind, is_paused: true });
        },
        { by: authorship },
      );
    },
    async resume(kind, authorship) {
      await documents.transaction(
        async (tx) => {
          if (await tx.delete('paused-kind', kind)) tx.publish({ type: 'kind-paused', kind, is_paused: false });
        },
        { by: authorship },
      );
    },
  };
}

export const getJobKind = (jobId: string): JobKindName => JOB_KINDS.find((kind) => jobId.startsWith(`${kind}:`))!; // the id of each job begins with its kind
