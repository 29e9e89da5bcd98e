import { setMaxListeners } from 'node:events';
import type { JobCollection } from '#contract/jobs.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { JobSystem } from '#jobs/job-system.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { FoundJob, JobQuery } from '#jobs/queue.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobStatus } from '#jobs/status.js';
import { lengthOf, type ArtifactRef, type ArtifactStore } from '#store/port.js';
import { followAll, followJob, type AnyJobEvent, type JobEvent } from './job-events.js';

/** A job as it is answered. */
export interface JobView {
  /** `result` is null when the result is kept as bytes. */
  readonly status: JobStatus;
  /** The result as JSON bytes, for a succeeded job whose result is too large to be parsed on its way out. */
  readonly resultBytes: ResultBytes | null;
}

export interface ResultBytes {
  /** Bytes, null while they are not written yet. */
  readonly length: number | null;
  /** @throws Refusal DOCUMENT_UNREADABLE */
  open(): Promise<ReadableStream<Uint8Array>>;
}

export interface JobsService {
  list(query: JobQuery): Promise<JobCollection>;
  /** @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE */
  read(jobId: string, options: { readonly waitSeconds: number; readonly signal: AbortSignal }): Promise<JobView>;
  /** @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, STORAGE_FULL */
  cancel(jobId: string): Promise<JobView>;
  /**
   * The status now, unless the client has seen it, and every change up to the terminal one.
   * Given up when the iterator is returned.
   * @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED when too many clients listen
   */
  follow(jobId: string, seen: number | undefined): Promise<AsyncIterableIterator<JobEvent>>;
  /**
   * The unfinished jobs, null, and for some seconds every change of any job.
   * @throws Refusal OVERLOADED when too many clients listen
   */
  followAll(seconds: number): Promise<AsyncIterableIterator<AnyJobEvent>>;
}

export interface JobsServiceDependencies {
  readonly system: JobSystem;
  readonly artifacts: ArtifactStore;
  /** Results that are kept in a compact form, written out when they are read; by kind. */
  readonly results?: Partial<Record<JobKindName, (value: unknown) => ReadableStream<Uint8Array>>>;
  /** Results that an earlier version stored as bytes, upgraded when they are read; null for one of today. By kind. */
  readonly upgrades?: Partial<Record<JobKindName, (artifact: ArtifactRef) => Promise<ResultBytes> | null>>;
  /** Aborted when the service stops: long polls are answered then, and streams of events end. */
  readonly stopping: AbortSignal;
}

export function createJobsService({
  system,
  artifacts,
  stopping,
  results = {},
  upgrades = {},
}: JobsServiceDependencies): JobsService {
  let followers = 0;
  setMaxListeners(0, stopping); // One for each client that waits.

  function admitFollower(): void {
    if (followers >= LIMITS.MAX_EVENT_STREAMS) {
      throw new Refusal('OVERLOADED', `${followers} event streams are open (limit ${LIMITS.MAX_EVENT_STREAMS}).`);
    }
    followers++;
  }

  async function require(jobId: string): Promise<FoundJob> {
    const found = await system.find(jobId);
    if (found === undefined) throw new Refusal('JOB_NOT_FOUND', `No job is stored under ${jobId}.`, { job_id: jobId });
    return found;
  }

  async function view({ status, artifact }: FoundJob): Promise<JobView> {
    if (artifact !== null) {
      const resultBytes = await upgrades[status.kind]?.(artifact);
      return {
        status,
        resultBytes: resultBytes ?? { length: lengthOf(artifact), open: () => artifacts.stream(artifact) },
      };
    }
    const write = status.status === 'succeeded' ? results[status.kind] : undefined;
    return {
      status,
      resultBytes: write === undefined ? null : { length: null, open: async () => write(status.result) },
    };
  }

  return {
    list: async (query) => ({ jobs: await system.list(query) }),
    async read(jobId, { waitSeconds, signal }) {
      const found = await require(jobId);
      const { status } = found.status;
      if (waitSeconds === 0 || isTerminal(status)) return view(found);
      await untilChange({
        watch: (listener) => system.watch(jobId, listener),
        isChanged: async () => (await system.find(jobId))?.status.status !== status,
        milliseconds: waitSeconds * 1000,
        signals: [signal, stopping],
      });
      return view(await require(jobId));
    },
    async cancel(jobId) {
      await require(jobId);
      await system.cancel(jobId);
      return view(await require(jobId));
    },
    async follow(jobId, seen) {
      await require(jobId);
      admitFollower();
      return followJob(system, { jobId, seen, stopping, onEnd: () => followers-- });
    },
    async followAll(seconds) {
      admitFollower();
      return followAll(system, { seconds, stopping, onEnd: () => followers-- });
    },
  };
}

interface Wait {
  readonly watch: (listener: () => void) => () => void;
  readonly isChanged: () => Promise<boolean>;
  readonly milliseconds: number;
  readonly signals: readonly AbortSignal[];
}

/** Resolves at the change, after the time, or when the client goes or the service stops. */
function untilChange({ watch, isChanged, milliseconds, signals }: Wait): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      unwatch();
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const look = (): void => void isChanged().then((isNow) => isNow && end(), end);
    const timer = setTimeout(end, milliseconds);
    const unwatch = watch(look);
    look(); // It may have changed between the last look and the watch.
    for (const signal of signals) signal.addEventListener('abort', end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}
