import { setMaxListeners } from 'node:events';
import type { JobCollection, JobRetries } from '#contract/jobs.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { JobSystem } from '#jobs/job-system.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { LocatedJob, JobQuery } from '#jobs/queue.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobStatus } from '#jobs/status.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';
import { retryJobs, type RetryOrder } from './retry-jobs.js';
import { limitJobs } from './reachable-jobs.js';
import { followJobs, followJob, type AnyJobEvent, type JobEvent } from './job-events.js';

/** Job in the form of a response. */
export interface JobView {
  /** Status of the job. Its `result` is null if the result is stored as bytes. */
  readonly status: JobStatus;
  /** Result as JSON bytes if the job succeeded and the result is too large to parse; otherwise null. */
  readonly resultBytes: ResultBytes | null;
}

export interface ResultBytes {
  /** Number of bytes; null if the bytes have not been written yet. */
  readonly length: number | null;
  /** Opens the bytes as a stream. @throws Refusal DOCUMENT_UNREADABLE */
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Source of the results of a job kind. */
export interface ResultSource {
  /**
   * Returns the result from the value or reference that is stored with the job. Returns null if the data was deleted.
   */
  written(reference: unknown): Promise<ResultBytes | null>;
  /** Converts bytes that an earlier release stored. If absent, the bytes are returned unchanged. */
  stored?(artifact: ArtifactRef): Promise<ResultBytes>;
}

export interface JobsService {
  list(query: JobQuery): Promise<JobCollection>;
  /**
   * Returns a job. If `waitSeconds` is set, waits for a change first. @throws Refusal JOB_NOT_FOUND,
   * DOCUMENT_UNREADABLE
   */
  read(jobId: string, options: { readonly waitSeconds: number; readonly signal: AbortSignal }): Promise<JobView>;
  /** Queues failed jobs again. @throws Refusal DRAINING, STORAGE_FULL */
  retry(order: RetryOrder): Promise<JobRetries>;
  /** Cancels a job. @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, STORAGE_FULL */
  cancel(jobId: string, by: Authorship): Promise<JobView>;
  /**
   * Yields every change of a job up to its final status. The first event is the current status, unless the client has
   * seen it. Ends when the caller returns the iterator.
   * @param lastSeen number of the last status that the client received; undefined if it received none
   * @param client client whose streams are counted; null if clients are not distinguished
   * @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED if too many clients listen, RATE_LIMITED when the
   * client has too many streams
   */
  follow(jobId: string, lastSeen: number | undefined, client: string | null): Promise<AsyncIterableIterator<JobEvent>>;
  /**
   * Yields the unfinished jobs, then null, and then for some seconds every change of any job.
   * @throws Refusal OVERLOADED if too many clients listen, RATE_LIMITED when the client has too many streams
   */
  followAll(seconds: number, client: string | null): Promise<AsyncIterableIterator<AnyJobEvent>>;
}

export interface JobsServiceDependencies {
  readonly system: JobSystem;
  readonly artifacts: ArtifactStore;
  /** Sources of results by job kind. They write a result when it is read. */
  readonly results?: Partial<Record<JobKindName, ResultSource>> | undefined;
  /** Called for each job that a client cancels. If absent, nothing is called. */
  readonly onCancelled?: (jobId: string, by: Authorship) => Promise<void>;
  /** Aborted when the service stops. Long polls are then answered and event streams end. */
  readonly stopping: AbortSignal;
}

export function createJobsService({
  system,
  artifacts,
  stopping,
  onCancelled = async () => {},
  results = {},
}: JobsServiceDependencies): JobsService {
  const admitFollower = createFollowers();
  setMaxListeners(0, stopping); // one listener per waiting client

  async function requireJob(jobId: string, jobs = limitJobs(system)): Promise<LocatedJob> {
    const match = await jobs.find(jobId);
    if (match === undefined)
      throw new Refusal('JOB_NOT_FOUND', `No job is stored under the id ${jobId}.`, { job_id: jobId });
    return match;
  }

  async function readView({ status, stored }: LocatedJob): Promise<JobView> {
    const { [status.kind]: source } = results;
    if (stored !== null && 'artifact' in stored) {
      const { artifact } = stored;
      const storedBytes = { length: artifact.bytes, open: () => artifacts.stream(artifact) };
      return { status, resultBytes: source?.stored === undefined ? storedBytes : await source.stored(artifact) };
    }
    const resultReference = stored === null ? status.result : stored.reference;
    const isWritten = status.status === 'succeeded' && source !== undefined;
    return { status, resultBytes: isWritten ? await source.written(resultReference) : null };
  }

  return {
    async list(query) {
      const { jobs, skipped, skipped_causes } = await limitJobs(system).list(query);
      return { jobs: [...jobs], skipped, skipped_causes: { ...skipped_causes } };
    },
    async read(jobId, { waitSeconds, signal }) {
      const jobs = limitJobs(system);
      const result = await requireJob(jobId, jobs);
      const { status } = result.status;
      if (waitSeconds === 0 || isTerminal(status)) return readView(result);
      await awaitChange({
        watch: (listener) => system.watch(jobId, listener),
        isChanged: async () => (await system.find(jobId))?.status.status !== status,
        milliseconds: waitSeconds * 1000,
        signals: [signal, stopping],
      });
      return readView(await requireJob(jobId, jobs));
    },
    retry: (order) => retryJobs(limitJobs(system), order),
    async cancel(jobId, authorship) {
      const jobs = limitJobs(system);
      const { status } = await requireJob(jobId, jobs);
      await jobs.cancel(jobId);
      if (!isTerminal(status.status)) await onCancelled(jobId, authorship);
      return readView(await requireJob(jobId, jobs));
    },
    async follow(jobId, lastSeen, client) {
      const jobs = limitJobs(system);
      await requireJob(jobId, jobs);
      return followJob(jobs, { jobId, seen: lastSeen, stopping, onEnd: admitFollower(client) });
    },
    followAll: async (seconds, client) =>
      followJobs(limitJobs(system), { seconds, stopping, onEnd: admitFollower(client) }),
  };
}

/**
 * Counts open streams.
 * @returns a function that admits one more stream; it returns the function that ends the stream
 */
function createFollowers(): (client: string | null) => () => void {
  let unfinishedCount = 0;
  const openBy = new Map<string, number>();
  const count = (client: string | null, change: 1 | -1): void => {
    unfinishedCount += change;
    if (client === null) return;
    const openCount = (openBy.get(client) ?? 0) + change;
    if (openCount === 0) openBy.delete(client);
    else openBy.set(client, openCount);
  };
  return (client) => {
    const ownCount = client === null ? 0 : (openBy.get(client) ?? 0);
    const [limit, ownLimit] = [LIMITS.MAX_EVENT_STREAMS, LIMITS.MAX_KEY_EVENT_STREAMS];
    if (ownCount >= ownLimit) {
      const detail = { streams: ownCount, limit: ownLimit };
      throw new Refusal('RATE_LIMITED', `The key has ${ownCount} event streams open (limit ${ownLimit}).`, detail);
    }
    if (unfinishedCount >= limit)
      throw new Refusal('OVERLOADED', `${unfinishedCount} event streams are open (limit ${limit}).`);
    count(client, 1);
    return () => count(client, -1);
  };
}

interface Wait {
  readonly watch: (listener: () => void) => () => void;
  readonly isChanged: () => Promise<boolean>;
  readonly milliseconds: number;
  readonly signals: readonly AbortSignal[];
}

/** Resolves when a change occurs, after `milliseconds`, or when a signal is aborted. */
function awaitChange({ watch, isChanged, milliseconds, signals }: Wait): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      unwatch();
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const checkChange = (): void => void isChanged().then((hasChanged) => hasChanged && end(), end);
    const timer = setTimeout(end, milliseconds);
    const unwatch = watch(checkChange);
    checkChange(); // the status may have changed between the last check and the watch
    for (const signal of signals) signal.addEventListener('abort', end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}
