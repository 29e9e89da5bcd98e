import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import { isUnavailable, Refusal } from '#domain/base/refusals.js';
import type { JobKindName } from '#domain/outputs/jobs.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { createNodeAttempts, type NodeAttemptsDependencies } from './attempts.js';
import { createJobSlots, type JobSlot } from './node-limits.js';
import type { Clock } from './port/clock.js';
import type { ComputePool, Lane } from './port/compute-pool.js';
import type { JobKind, JobSystem, NodeLimits, Submission } from './port/job-kind.js';
import type { JobStatus } from './port/life-cycle.js';
import type { JobLog, JobQueue, Node, RetainedPartsStore } from './port/queue.js';
import type { TaskInput, TaskName, TaskOutput } from './tasks/catalogue.js';

interface QueryOrder<N extends TaskName> {
  readonly lane: Lane;
  readonly task: N;
  readonly input: TaskInput<N>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs work with a time limit but without a job, so that nothing is stored.
 * @throws Refusal of the task; QUERY_LIMIT if it takes too long, OVERLOADED if it takes too much memory
 */
async function runQuery<N extends TaskName>(
  { lane, task, input, signal }: QueryOrder<N>,
  { pool, clock, msMax }: { readonly pool: ComputePool; readonly clock: Clock; readonly msMax: number },
): Promise<TaskOutput<N>> {
  const timeout = new AbortController();
  const cancelTimer = clock.after(msMax, () => timeout.abort());
  const endSignal = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  try {
    return await pool.run({ lane, task, input, signal: endSignal }).output;
  } catch (thrown) {
    if (timeout.signal.aborted) {
      const seconds = msMax / 1000;
      throw new Refusal(
        'QUERY_LIMIT',
        `The computation took longer than ${seconds} seconds, the limit of an immediate answer (MAX_QUERY_SECONDS). Request less, such as fewer securities or a shorter range, or run it as a job (a backtest, an optimisation), which has more time.`,
        { limit: 'MAX_QUERY_SECONDS', seconds },
        { cause: thrown },
      );
    }
    if (thrown instanceof Refusal && thrown.code === 'WORKER_OUT_OF_MEMORY') {
      throw new Refusal('OVERLOADED', 'The computation ran out of memory.', null, { cause: thrown });
    }
    throw thrown;
  } finally {
    cancelTimer();
  }
}

/** Scheduler of one node. It takes jobs while the node has capacity, runs their attempts and monitors them. */
export interface Scheduler extends Node {
  /** Starts to claim jobs. */
  start(): void;
  /** Stops claiming jobs. */
  drain(): void;
  /** Returns every attempt to the queue. */
  stop(): Promise<void>;
}

export interface SchedulerDependencies extends Omit<NodeAttemptsDependencies, 'queue' | 'isOpen'> {
  readonly queue: NodeAttemptsDependencies['queue'] & Pick<JobQueue, 'claim'>;
  /** Returns true if this node may take jobs. Default: always. */
  readonly isFit?: (() => boolean) | undefined;
}

const LANES: readonly Lane[] = ['light', 'heavy'];

function createScheduler(dependencies: SchedulerDependencies): Scheduler {
  const { queue, artifacts, limits, isFit = () => true } = dependencies;
  const attempts = createNodeAttempts({ ...dependencies, isOpen: () => isOpen });
  const slots = createJobSlots(limits, fillAll);
  const isAsking = { heavy: false, light: false };
  const news = { heavy: false, light: false };
  let isOpen = false;

  function fillAll(): void {
    LANES.forEach(fill);
  }

  /**
   * Takes light or heavy jobs while a slot is free. Jobs are requested one at a time; jobs that were taken earlier may
   * still be starting.
   */
  function fill(lane: Lane): void {
    news[lane] = isAsking[lane];
    let isMore = true;
    while (isMore) isMore = mayAsk(lane) && claimNext(lane);
  }

  function mayAsk(lane: Lane): boolean {
    return isOpen && isFit() && !isAsking[lane] && artifacts.health?.fault() === undefined && slots.isFree(lane);
  }

  /** @returns true if a job was taken at once, so that the next job may be requested */
  function claimNext(lane: Lane): boolean {
    let slot: JobSlot | undefined;
    let isAnswered = false;
    let isReturned = false;
    isAsking[lane] = true;
    const pendingClaim = queue.claim({
      lane,
      exceptOwners: slots.fullOwners(lane),
      freeBytes: slots.freeBytes(),
      take(job) {
        isAnswered = true;
        isAsking[lane] = false;
        slot = slots.take(job, lane);
        if (isReturned && slot !== undefined) fill(lane);
        return slot !== undefined;
      },
    });
    attempts.perform(pendingClaim, {
      leave: () => slot?.leave(),
      onEnd() {
        if (slot !== undefined) slot.giveBack();
        else if (!isAnswered) {
          isAsking[lane] = false;
          if (news[lane]) fill(lane);
        }
      },
    });
    isReturned = true;
    return slot !== undefined;
  }

  return {
    onWork: fillAll,
    findProgress: attempts.findProgress,
    getFreeCapacity: () => ({ lanes: LANES.filter(mayAsk), freeBytes: slots.freeBytes() }),
    start() {
      isOpen = true;
      fillAll();
    },
    drain() {
      isOpen = false;
    },
    async stop() {
      isOpen = false;
      await attempts.stop();
    },
  };
}

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

export interface PatientDocumentsOptions {
  readonly documents: DocumentStore;
  readonly clock: Pick<Clock, 'after'>;
  /** Returns true once no caller waits. A read that fails then throws a refusal. */
  readonly isOver: () => boolean;
}

/** Delay before another attempt to read the database. */
const RETRY_DELAY_MS = 500;

/**
 * Wraps documents for long work. A read waits while the database is unavailable, so that computed results are not lost.
 * The end of the work checks whether its result is still needed.
 */
export function createPatientDocuments({ documents, clock, isOver }: PatientDocumentsOptions): DocumentStore {
  async function readPatiently<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (thrown) {
        if (!isUnavailable(thrown) || isOver()) throw thrown;
      }
      await new Promise<void>((resolve) => void clock.after(RETRY_DELAY_MS, resolve));
    }
  }

  return {
    ...documents,
    get: (kind, id) => readPatiently(() => documents.get(kind, id)),
    ids: (kind) => readPatiently(() => documents.ids(kind)),
    lastNumber: (kind, owner) => readPatiently(() => documents.lastNumber(kind, owner)),
    numbers: (kind, owner, query) => readPatiently(() => documents.numbers(kind, owner, query)),
    revision: (kind) => readPatiently(() => documents.revision(kind)),
    list: (kind, readBody) => readPatiently(() => documents.list(kind, readBody)),
  };
}
