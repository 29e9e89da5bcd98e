import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { ArtifactStore } from '#store/port.js';
import type { Clock } from './clock.js';
import type { ComputePool } from './compute-pool.js';
import type { NodeLimits, JobSystem } from './job-system.js';
import type { JobKind, Submission } from './job-kind.js';
import type { RetainedPartsStore } from './retained-parts.js';
import { runQuery, type QueryOrder } from './query.js';
import type { JobLog, JobQueue } from './queue.js';
import { createScheduler } from './scheduler.js';
import type { JobStatus } from './status.js';
import type { TaskName, TaskOutput } from './tasks.js';

export interface JobSystemDependencies {
  readonly queue: JobQueue;
  readonly artifacts: ArtifactStore;
  readonly pool: ComputePool;
  readonly clock: Clock;
  readonly limits: NodeLimits;
  readonly log: JobLog;
  /** Returns true if this node may take jobs. Default: always. */
  readonly isFit?: () => boolean;
  /** Keeps outputs of parts across attempts. Default: none. */
  readonly keeper?: RetainedPartsStore;
}

/** Maximum time that a stop waits for running jobs to return to the queue. */
const STOP_MS = 5000;

/** Interval in ms between checks whether all other work has ended. Work that may wait starts after that. */
const CALM_LOOK_MS = 100;

/** Creates the job system. It sends submissions to the queue and runs the jobs of the queue on this node. */
export function createJobSystem({
  queue,
  artifacts,
  pool,
  clock,
  limits,
  log,
  isFit,
  keeper,
}: JobSystemDependencies): JobSystem {
  const kinds = new Map<JobKindName, JobKind<unknown>>();
  const scheduler = createScheduler({ queue, kinds, artifacts, pool, clock, limits, log, isFit, keeper });

  async function submit<P>(submission: Submission<P>): Promise<JobStatus> {
    const { kind, payload, request, estimatedBytes, message, origin = null } = submission;
    if (!kinds.has(kind.kind)) throw new Error(`the kind ${kind.kind} is not registered`);
    const jobKey = kind.key(payload);
    const inputJson = toCanonicalJson({ kind: kind.kind, ident: jobKey, payload });
    return queue.submit({
      jobId: `${kind.kind}:${jobKey}`,
      kind: kind.kind,
      inputHash: createHash('sha256').update(inputJson).digest('hex'),
      payload,
      request,
      estimatedBytes,
      message,
      origin,
    });
  }

  const runWithoutJob = <N extends TaskName>(order: QueryOrder<N>): Promise<TaskOutput<N>> =>
    runQuery(order, { pool, clock, msMax: limits.queryMsMax });

  /** Resolves once no thread works, or after the maximum time. */
  async function awaitCalm(msMax: number, signal: AbortSignal | undefined): Promise<void> {
    const isBusy = (): boolean => pool.load('heavy') > 0 || pool.load('light') > 0;
    for (let waitedMs = 0; waitedMs < msMax && isBusy(); waitedMs += CALM_LOOK_MS) {
      await new Promise<void>((resolve) => void clock.after(CALM_LOOK_MS, resolve));
      signal?.throwIfAborted();
    }
  }

  function drain(): void {
    queue.drain();
    scheduler.drain();
  }

  return {
    register(handlers) {
      // a handler receives only payloads of its kind
      for (const kind of Object.values(handlers as Record<string, JobKind<unknown>>)) kinds.set(kind.kind, kind);
    },
    async start() {
      const recoveredJobs = await queue.join(scheduler);
      scheduler.start();
      log.info({ ...(await queue.counts()), recovered: recoveredJobs }, 'jobs read');
    },
    submit,
    get: async (jobId) => (await queue.find(jobId))?.status,
    find: queue.find,
    list: queue.list,
    cancel: queue.cancel,
    retry: queue.retry,
    ids: queue.ids,
    isLive: queue.isLive,
    counts: queue.counts,
    lanes: queue.lanes,
    watch: queue.watch,
    query: (task, input, signal) => runWithoutJob({ lane: 'light', task, input, signal }),
    async aside(task, input, signal, patienceMs = 0) {
      await awaitCalm(patienceMs, signal);
      return runWithoutJob({ lane: 'heavy', task, input, signal });
    },
    help(task, input) {
      if (pool.load('heavy') < limits.runningMax.heavy) pool.run({ lane: 'heavy', task, input }).output.catch(() => {}); // The caller computes whatever was not picked up.
    },
    watchAll: queue.watchAll,
    liveIds: queue.liveIds,
    drain,
    async stop() {
      drain();
      await queue.close();
      const stopDeadline = new Promise<void>((resolve) => void clock.after(STOP_MS, resolve));
      await Promise.race([scheduler.stop(), stopDeadline]);
      await pool.close();
    },
  };
}
