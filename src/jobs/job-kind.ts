import type { ArtifactLink, ArtifactRef, DocumentTransaction } from '#store/port.js';
import type { Origin } from './origin.js';
import { JOB_KIND_CATALOGUE, type JobKindName, type JobPayload } from '#domain/jobs/job-kinds.js';
import type { WrittenParts } from './offered-parts.js';
import type { Parts } from './parts.js';
import type { JobResult } from './life-cycle.js';
import type { JobStatus } from './status.js';
import type { PortableTaskName, TaskInput, TaskName, TaskOutput } from './tasks.js';

/**
 * What the engine must know to run one kind of job, before and after a restart. Services declare their kinds;
 * the engine carries them. `P` is the payload: JSON, stored with the job, all that an attempt needs besides the market.
 */
export interface JobKind<P> {
  readonly kind: JobKindName;
  /** Second half of the job's id. */
  key(payload: P): string;
  /** A payload from the JSON that is stored; undefined when it is none of this kind. */
  decode(stored: unknown): P | undefined;
  /**
   * One attempt. Deterministic work: an attempt after a crash gives the same completion.
   * Throws a Refusal to fail the job with its code; anything else that is thrown is a defect and fails it as INTERNAL.
   */
  run(payload: P, attempt: Attempt): Promise<Completion>;
  /**
   * Some parts of an attempt that runs on another node and has them by `inParts`: their outputs as one artifact, in the
   * form of those that it writes itself. A kind without computes all of its work on one node.
   */
  runParts?(payload: P, parts: readonly number[], attempt: Attempt): Promise<Completion>;
}

/** The handler of each kind. */
export type JobHandlers = { readonly [K in JobKindName]: JobKind<JobPayload<K>> };

/** Tasks that an attempt of a kind may run. */
type TasksOf<K extends JobKindName> = (typeof JOB_KIND_CATALOGUE)[K]['sharedMemory'] extends null
  ? PortableTaskName
  : TaskName;

/** A kind of the catalogue with what runs its attempts. */
export function jobKind<K extends JobKindName>(
  kind: K,
  run: (payload: JobPayload<K>, attempt: Attempt<TasksOf<K>>) => Promise<Completion>,
  runParts?: (payload: JobPayload<K>, parts: readonly number[], attempt: Attempt<TasksOf<K>>) => Promise<Completion>,
): JobKind<JobPayload<K>> {
  // The entry of a kind is that of its payload; the compiler does not follow this through a name it does not know.
  const { key, payload } = JOB_KIND_CATALOGUE[kind] as unknown as {
    key(payload: JobPayload<K>): string;
    readonly payload: { safeParse(stored: unknown): { readonly data?: JobPayload<K> } };
  };
  return { kind, key, decode: (stored) => payload.safeParse(stored).data, run, ...(runParts && { runParts }) };
}

/** @template T tasks that it may run: portable ones, unless the kind is tied to the memory of one process */
export interface Attempt<T extends TaskName = TaskName> {
  readonly jobId: string;
  /**
   * Runs a task in the pool under this job's cancel flag.
   * @param share of the job's progress that the task's own progress fills; 1 for a job of one task, 1/n for one of n.
   */
  compute<N extends T>(task: N, input: TaskInput<N>, share?: number): Promise<TaskOutput<N>>;
  /**
   * Runs work in parts; other nodes with a free place compute some of them, by the kind's `runParts`. Outputs are kept, so
   * that the next attempt resumes from them.
   * @returns artifacts with the outputs; each part is in one of them at least
   */
  inParts(parts: Parts): Promise<readonly WrittenParts[]>;
  /** Progress of work that runs outside the pool (a child process that reads a store), besides the shares of tasks. */
  report(fraction: number, message?: string): void;
  /**
   * Says that it computes no more: another job may have its place while its files and documents are written. A task that
   * it runs all the same waits for a thread as any other.
   */
  computed(): void;
  /** Aborted when the job is cancelled, times out or the service stops. */
  readonly signal: AbortSignal;
  /**
   * Names for artifacts that a task of this attempt writes; whatever is under them is removed should the attempt not
   * complete. The completion owns all that are written, or drops them.
   */
  outputs<K extends string>(files: readonly K[]): Readonly<Record<K, string>>;
  /** Removes what tasks have written and the completion will not own. */
  drop(names: readonly string[]): Promise<void>;
  /**
   * Keeps the bytes of artifacts of others under names of the completion's own. The names are on disk before its effect is
   * written, as those of its outputs are.
   * @throws Refusal DOCUMENT_UNREADABLE when some are gone
   */
  share(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
}

export interface Completion {
  readonly result: JobResult;
  /** Last message of the status: warnings about a result that is there all the same. `Done.` unless given. */
  readonly message?: string;
  /**
   * Written in the transaction that ends the job: all or nothing. A Refusal thrown here fails the job and writes
   * nothing. Artifacts that no document names any more are removed after the commit without being listed. What has to
   * happen after the commit is published as an event: it comes before anybody sees the job succeeded.
   */
  readonly effect?: (tx: DocumentTransaction) => Promise<void>;
}

export interface Submission<P> {
  readonly kind: JobKind<P>;
  readonly payload: P;
  /** The body as accepted, shown in the status. */
  readonly request: unknown;
  /** Largest memory the attempt is expected to need beyond the shared panels. */
  readonly estimatedBytes: number;
  /** First message of the status. */
  readonly message?: string;
  /** Who asked for it; the service itself unless given. */
  readonly origin?: Origin | null;
}

/** The job life cycle as services see it. */
export interface Jobs {
  /**
   * Queues work durably. A live job with the same id and input is answered instead of a second one.
   * @returns the status once it is on disk.
   * @throws Refusal JOB_RUNNING, OVERLOADED, RATE_LIMITED, DRAINING, STORAGE_FULL, VALIDATION_FAILED when it alone
   *   needs more memory than all jobs may
   */
  submit<P>(submission: Submission<P>): Promise<JobStatus>;
  /** The status as it is now; `result` is null when the result is an artifact. */
  get(jobId: string): Promise<JobStatus | undefined>;
  /** Cancels: terminal statuses come back unchanged. @throws Refusal JOB_NOT_FOUND */
  cancel(jobId: string): Promise<JobStatus>;
  /** Every job of a kind that is remembered, oldest first. @cost one pass over all jobs */
  ids(kind: JobKindName): Promise<readonly string[]>;
  /** Whether a job with this id is pending or running. */
  isLive(jobId: string): Promise<boolean>;
  /**
   * Interactive work in the light lane: nothing is stored; rejected when the client goes away.
   * @throws Refusal OVERLOADED
   */
  query<N extends TaskName>(task: N, input: TaskInput<N>, signal?: AbortSignal): Promise<TaskOutput<N>>;
  /**
   * As `query` in the heavy lane, behind what waits there: work that no client waits for.
   * @param patienceMs how long it waits for all other work to end before it begins beside that
   * @throws Refusal OVERLOADED
   */
  aside<N extends TaskName>(
    task: N,
    input: TaskInput<N>,
    signal?: AbortSignal,
    patienceMs?: number,
  ): Promise<TaskOutput<N>>;
  /**
   * Lets an idle thread of the heavy lane take a share of a query's work. Does nothing if no thread is idle, and
   * returns no result: the caller does whatever was not picked up.
   */
  help<N extends TaskName>(task: N, input: TaskInput<N>): void;
}
