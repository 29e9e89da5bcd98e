import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { openSpan, parseTraceParent, runWithinSpan } from '#base/tracing/tracing.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { JOB_KIND_CATALOGUE, type JobKindName } from '#domain/outputs/jobs.js';
import type { ArtifactDestination, ArtifactStore, DocumentStore } from '#store/port.js';
import type { Clock } from './port/clock.js';
import {
  type ComputePool,
  type Lane,
  type TaskProgress,
  type TaskRun,
  TaskStopped,
  type ThreadPool,
  WorkerLost,
} from './port/compute-pool.js';
import type { Attempt, Completion, JobKind, JobSystem, NodeLimits, Submission } from './port/job-kind.js';
import { type JobIdentity, type JobStatus, selectLogFields } from './port/life-cycle.js';
import { runParts } from './port/parts.js';
import type {
  Claim,
  Ending,
  JobLog,
  JobQueue,
  Lease,
  QueueNode,
  RetainedParts,
  RetainedPartsStore,
  WaitingJob,
} from './port/queue.js';
import { resolveTask, type TaskInput, type TaskName, type TaskOutput, type TaskResources } from './tasks/catalogue.js';
import type { CheckedFiles } from './tasks/messages.js';

interface RunningAttempt {
  readonly completion: Promise<Completion>;
  /**
   * Names of the artifacts that the attempt has written or may have written. Artifacts that are kept for the next
   * attempt are not included.
   */
  readonly written: readonly string[];
  /**
   * Names of artifacts with the outputs of the job's parts. They are no longer needed after the attempt has completed.
   */
  readonly spent: readonly string[];
  progress(): TaskProgress;
  /** Returns true if each task of the attempt waits or has a live thread. */
  isAlive(): boolean;
  /** Asks all tasks of the attempt to stop, and ignores later results. */
  end(): void;
  readonly isEnded: boolean;
  /** Registers a callback for the end of the attempt. */
  onEnd(call: () => void): void;
}

interface AttemptOrder {
  readonly kind: JobKind<unknown>;
  readonly lease: Lease;
  readonly payload: unknown;
  /** Parts to compute, if another node runs the job. Default: the whole job. */
  readonly parts?: readonly number[] | undefined;
  /** Storage that keeps the outputs of the job's parts for later attempts. Default: none. */
  readonly kept?: RetainedParts | undefined;
  /** Called when the work reports that its computation is complete. */
  readonly onComputed: () => void;
}

/** Parts of this node that run jobs. */
interface JobNode {
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

type RegisteredKinds = ReadonlyMap<JobKindName, JobKind<unknown>>;

/** Starts the work of a kind with all resources of an attempt, and records the artifacts that it writes. */
function startAttempt(
  { kind, lease, payload, parts, kept, onComputed }: AttemptOrder,
  { pool, artifacts, clock, queue: { parts: offered } }: JobNode,
): RunningAttempt {
  const endController = new AbortController();
  const { signal } = endController;
  setMaxListeners(0, signal); // a sweep has one listener per task
  const tasks: { readonly run: TaskRun<unknown>; readonly share: number }[] = [];
  const writtenNames = new Set<string>();
  const spentNames = new Set<string>();
  let reportedFraction = 0;
  let otherProgress = 0;
  let lastMessage: string | undefined;

  const attempt: Attempt = {
    jobId: lease.jobId,
    signal,
    compute(task, input, share = 1) {
      const run = pool.run({ lane: JOB_KIND_CATALOGUE[kind.kind].lane, task, input, signal, owner: lease.jobId });
      tasks.push({ run, share });
      return addHandledRejection(run.output);
    },
    inParts: (order) =>
      runParts(order, {
        offered: kind.runParts && offered,
        lease,
        artifacts,
        clock,
        signal,
        kept,
        onElsewhere: (share) => void (otherProgress = share),
        onTaken: (names) => names.forEach((name) => writtenNames.add(name)),
        onKept: (names) => names.forEach((name) => writtenNames.delete(name)),
      }).then((outputs) => {
        for (const { artifact } of outputs) spentNames.add(artifact.name);
        return outputs;
      }),
    report(fraction, message) {
      reportedFraction = Math.max(reportedFraction, fraction);
      lastMessage = message ?? lastMessage;
    },
    computed: onComputed,
    outputs(files) {
      const names = files.map((file) => [file, artifacts.newName()] as const);
      for (const [, name] of names) writtenNames.add(name);
      return Object.fromEntries(names) as never; // one name per file
    },
    async write(bytes) {
      const ref = await artifacts.write(bytes, createHash('sha256').update(bytes).digest('hex'));
      writtenNames.add(ref.name);
      return ref;
    },
    drop: (names) => addHandledRejection(artifacts.remove(names)),
    share: (files) =>
      addHandledRejection(
        artifacts.link(files).then((refs) => {
          for (const { name } of refs) writtenNames.add(name);
          return refs;
        }),
      ),
  };
  const completion = (async () =>
    parts === undefined ? kind.run(payload, attempt) : kind.runParts!(payload, parts, attempt))(); // a job offers parts only if its kind has `runParts`

  return {
    completion,
    get written() {
      return [...writtenNames];
    },
    get spent() {
      return [...spentNames].filter((name) => writtenNames.has(name)); // the store removes other outputs together with the input of the job
    },
    progress() {
      let fraction = reportedFraction + otherProgress;
      let message = lastMessage;
      for (const { run, share } of tasks) {
        const task = run.progress();
        fraction += share * task.fraction;
        message = task.message ?? message;
      }
      return { fraction, message };
    },
    isAlive: () => tasks.every(({ run }) => run.isAlive()),
    end: () => endController.abort(),
    get isEnded() {
      return signal.aborted;
    },
    onEnd: (call) => signal.addEventListener('abort', call, { once: true }),
  };
}

/**
 * Marks a rejection as handled. Work stops at the first of several failures, and the other failures must not end the
 * process.
 */
function addHandledRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Starts an attempt in a trace span. Its parent is the request of the job, possibly on another machine. */
function traceAttempt(
  { job_id: jobId, kind, trace_parent: traceParent }: Pick<JobIdentity, 'job_id' | 'kind' | 'trace_parent'>,
  parts: readonly number[] | undefined,
  start: () => RunningAttempt,
): RunningAttempt {
  const parent = parseTraceParent(traceParent);
  const span =
    parent &&
    openSpan(`${parts === undefined ? 'job' : 'parts of'} ${kind}`, {
      kind: 'consumer',
      parent,
      attributes: { 'divisor.job_id': jobId, 'divisor.parts': parts?.length },
    });
  if (span === undefined) return start();
  const attempt = runWithinSpan(span.context, start);
  attempt.completion.then(
    () => span.end(),
    (failure: unknown) => span.end(failure instanceof Error ? failure.message : String(failure)),
  );
  return attempt;
}

/**
 * Log of outages of the store. It logs the beginning and the end of an outage, but not every failed change in between.
 */
export function createOutageLog(log: JobLog, monotonicMs: () => number) {
  let begunMs: number | undefined;
  return {
    /** Logs a failed change of a job. @param job log fields */
    failed(thrown: unknown, job: object | undefined): void {
      if (!isStoreUnavailable(thrown))
        return log.error({ ...job, err: thrown }, 'a change of a job could not be written');
      if (begunMs === undefined) log.warn({ cause: thrown.message }, 'running jobs cannot be written; they continue');
      begunMs ??= monotonicMs();
    },
    /** Records a successful change. */
    end(): void {
      if (begunMs === undefined) return;
      log.info({ seconds: Math.round((monotonicMs() - begunMs) / 1000) }, 'running jobs are written again');
      begunMs = undefined;
    },
  };
}

/** Attempts of one node, from the moment when it takes a job to the end of the attempt. */
interface NodeAttempts extends Pick<QueueNode, 'findProgress'> {
  /**
   * Runs the attempt of one taken job to its end. @param leave frees the slot of the attempt @param onEnd called at the
   * end of the attempt
   */
  perform(claimed: Promise<Claim | undefined>, hooks: { readonly leave: () => void; readonly onEnd: () => void }): void;
  /** Returns every attempt to the queue. */
  stop(): Promise<void>;
}

/** Interval between checks of attempts: heartbeats and the time limit. */
const TICK_MS = 1000;

const STOPPED_ENDING: Ending = { type: 'release', cause: 'the service was stopped' };
const UNAVAILABLE_ENDING: Ending = { type: 'release', cause: 'the database or the results storage was unavailable' };

interface TrackedAttempt {
  readonly lease: Lease;
  readonly job: JobIdentity;
  readonly attempt: RunningAttempt;
  /** Start of the attempt on the monotonic clock. */
  readonly startedMs: number;
  /** True while the end of the attempt is being written. */
  isEnding: boolean;
}

/** @param isOpen returns true while claimed jobs may start */
function createNodeAttempts(node: JobNode, kinds: RegisteredKinds, isOpen: () => boolean): NodeAttempts {
  const { queue, artifacts, clock, limits, log } = node;
  const outage = createOutageLog(log, () => clock.monotonicMs());
  const runningAttempts = new Map<Lease, TrackedAttempt>();
  /** Claims from their start to the end of their attempts. */
  const pendingAttempts = new Set<Promise<void>>();
  let isTicking = false;

  /** Runs the attempt of one taken job to its end. Never rejects. @param leave frees the slot of the attempt */
  async function perform(claimed: Promise<Claim | undefined>, leave: () => void): Promise<void> {
    let entry: TrackedAttempt | undefined;
    try {
      entry = await beginAttempt(claimed, leave);
      if (entry !== undefined) await Promise.race([settle(entry), awaitGrace(entry.attempt, clock, limits)]);
    } catch (thrown) {
      outage.failed(thrown, entry && selectLogFields(entry.job));
    } finally {
      if (entry !== undefined) runningAttempts.delete(entry.lease);
    }
  }

  /** Starts the attempt of a job. Returns undefined if there is no job to take. */
  async function beginAttempt(
    claimed: Promise<Claim | undefined>,
    leave: () => void,
  ): Promise<TrackedAttempt | undefined> {
    const claim = await claimed;
    if (claim === undefined || claim.lease.isLost) return undefined;
    const { lease, job } = claim;
    const attempt = isOpen() ? startClaim(claim, leave, node, kinds) : undefined;
    if (attempt === undefined || attempt instanceof Refusal) {
      await queue.complete(lease, attempt ? { type: 'fail', error: attempt.toDetail() } : STOPPED_ENDING);
      return undefined;
    }
    const entry: TrackedAttempt = { lease, job, attempt, startedMs: clock.monotonicMs(), isEnding: false };
    runningAttempts.set(lease, entry);
    lease.onLost(() => runningAttempts.has(lease) && attempt.end());
    keepTicking();
    return entry;
  }

  async function settle(entry: TrackedAttempt): Promise<void> {
    const { attempt } = entry;
    try {
      const completion = await settleCompletion(attempt, artifacts);
      if (completion === undefined) return void (await end(entry, UNAVAILABLE_ENDING));
      const { result, message = 'Done.', effect } = completion;
      const isEnded = await end(entry, { type: 'succeed', result, message, ...(effect && { effect }) });
      if (isEnded) await artifacts.remove(attempt.spent).catch(() => {}); // garbage collection removes remaining artifacts
      else await discard(attempt, artifacts);
    } catch (thrown) {
      // The next start determines whether a failed commit is on disk, and removes orphaned files.
      if (isStoreUnavailable(thrown)) throw thrown;
      await discard(attempt, artifacts);
      // The caller that stopped the attempt has already decided the state of the job.
      if (attempt.isEnded || thrown instanceof TaskStopped) return;
      await end(entry, createEnding(thrown, entry, log));
    }
  }

  /** Writes the end of an attempt. @returns false if the attempt had been abandoned */
  async function end(entry: TrackedAttempt, ending: Ending): Promise<boolean> {
    entry.isEnding = true;
    try {
      return await queue.complete(entry.lease, ending);
    } finally {
      entry.isEnding = false;
    }
  }

  function keepTicking(): void {
    if (isTicking) return;
    isTicking = true;
    clock.after(TICK_MS, () => {
      isTicking = false;
      for (const entry of runningAttempts.values()) {
        const attemptWatch = entry.attempt.isEnded ? undefined : watchOver(entry);
        attemptWatch?.then(outage.end, (thrown: unknown) => outage.failed(thrown, selectLogFields(entry.job)));
      }
      if (runningAttempts.size > 0) keepTicking();
    });
  }

  /** Ends an attempt that exceeds its time limit. Otherwise sends a heartbeat if the attempt is alive. */
  async function watchOver(entry: TrackedAttempt): Promise<void> {
    const { attempt, lease, startedMs, isEnding } = entry;
    if (!isEnding && clock.monotonicMs() - startedMs > limits.jobMsMax) {
      const message = `The job ran longer than ${limits.jobMsMax / 1000} seconds.`;
      await end(entry, { type: 'fail', error: { code: 'JOB_TIMEOUT', message, detail: null } });
      attempt.end();
    } else if ((isEnding || attempt.isAlive()) && !(await queue.heartbeat(lease))) attempt.end();
  }

  async function giveBack({ lease, attempt }: TrackedAttempt): Promise<void> {
    await queue.complete(lease, STOPPED_ENDING);
    attempt.end();
  }

  return {
    findProgress: (lease) => runningAttempts.get(lease)?.attempt.progress(),
    perform(claimed, { leave, onEnd }) {
      const pendingAttempt = perform(claimed, leave).finally(() => {
        pendingAttempts.delete(pendingAttempt);
        onEnd();
      });
      pendingAttempts.add(pendingAttempt);
    },
    async stop() {
      // Waits for the ends of all attempts before the documents are closed: an attempt may read documents until it
      // ends.
      await Promise.allSettled([...pendingAttempts, ...[...runningAttempts.values()].map(giveBack)]);
    },
  };
}

/** Returns the started work of a claimed job, or the reason why it cannot start. */
function startClaim(
  { lease, job, input, parts }: Claim,
  onComputed: () => void,
  node: JobNode,
  kinds: RegisteredKinds,
): RunningAttempt | Refusal {
  const { kind: name } = job;
  const kind = kinds.get(name);
  if (kind === undefined) return new Refusal('NOT_SUPPORTED', `This build does not run jobs of the kind ${name}.`);
  const payload = input && kind.decode(input.payload);
  if (payload === undefined)
    return new Refusal('DOCUMENT_UNREADABLE', `The stored input of ${lease.jobId} cannot be read.`);
  const retainedParts = parts === undefined ? node.keeper?.of(lease, input!) : undefined; // the payload of a runnable claim is readable
  const order = { kind, lease, payload, parts, kept: retainedParts, onComputed };
  return traceAttempt(job, parts, () => startAttempt(order, node));
}

function createEnding(thrown: unknown, { job, lease: { attempt } }: TrackedAttempt, log: JobLog): Ending {
  if (thrown instanceof Refusal) return { type: 'fail', error: thrown.toDetail() };
  if (thrown instanceof WorkerLost) return { type: 'crash', cause: thrown.message };
  log.error({ ...selectLogFields(job), attempt, err: thrown }, 'a job failed by a defect');
  const message = `A defect of the service ended the job; see the log for ${job.job_id}, attempt ${attempt}.`;
  return { type: 'fail', error: { code: 'INTERNAL', message, detail: null } };
}

/** Resolves some time after the end was requested. Work that does not stop then no longer blocks the queue. */
function awaitGrace(
  attempt: RunningAttempt,
  clock: Clock,
  { cancelGraceMs }: Pick<NodeLimits, 'cancelGraceMs'>,
): Promise<void> {
  return new Promise((resolve) => attempt.onEnd(() => void clock.after(cancelGraceMs, resolve)));
}

async function discard({ written }: RunningAttempt, artifacts: ArtifactStore): Promise<void> {
  if (written.length > 0) await artifacts.remove(written);
}

/**
 * Returns the completion of an attempt once the names of its files are on disk, because its effect refers to them. If
 * the store became unavailable, the job runs again and does not fail. @returns undefined in that case
 */
async function settleCompletion(
  attempt: RunningAttempt,
  { health, settle }: Pick<ArtifactStore, 'health' | 'settle'>,
): Promise<Completion | undefined> {
  try {
    const completion = await attempt.completion;
    if (attempt.written.length > 0) await settle();
    return completion;
  } catch (thrown) {
    if (attempt.isEnded || thrown instanceof TaskStopped || thrown instanceof WorkerLost) throw thrown;
    const cause = isStoreUnavailable(thrown) || health === undefined ? thrown : await health.explain(thrown);
    if (!isStoreUnavailable(cause)) throw cause;
    return undefined; // garbage collection removes the files that the attempt wrote
  }
}

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

interface JobSlot {
  /**
   * Frees the slot for another job before this job ends, because this job has finished computing. The number of jobs
   * that may do this is limited to the number of slots; a further job keeps its slot.
   */
  leave(): void;
  /** Ends the job's use of the slot and its memory. */
  giveBack(): void;
}

const NO_OWNERS: ReadonlySet<string> = new Set();

/** @param onFree called when a slot may have become free */
function createJobSlots({ runningMax, ownerRunningMax, memoryBytes }: NodeLimits, onFree: () => void) {
  const slotsInUse: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Number of jobs that left their slots and have not ended. */
  const endingCounts: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Number of occupied slots for heavy jobs, by owner of the jobs. */
  const slotsByOwner = new Map<string, number>();
  let reservedBytes = 0;

  function changeSlots({ owner, estimated_bytes: bytes }: WaitingJob, lane: Lane, by: 1 | -1): void {
    slotsInUse[lane] += by;
    reservedBytes += by * bytes;
    if (lane === 'light' || owner === '') return; // Jobs without an owner belong to the service.
    const count = (slotsByOwner.get(owner) ?? 0) + by;
    if (count > 0) slotsByOwner.set(owner, count);
    else slotsByOwner.delete(owner);
  }

  function takeSlot(job: WaitingJob, lane: Lane): JobSlot {
    let state: 'held' | 'left' | 'over' = 'held';
    changeSlots(job, lane, 1);
    return {
      leave() {
        if (state !== 'held' || endingCounts[lane] >= runningMax[lane]) return;
        state = 'left';
        endingCounts[lane]++;
        changeSlots(job, lane, -1);
        onFree();
      },
      giveBack() {
        if (state === 'held') changeSlots(job, lane, -1);
        if (state === 'left') endingCounts[lane]--;
        state = 'over';
        onFree();
      },
    };
  }

  return {
    isFree: (lane: Lane): boolean => slotsInUse[lane] < runningMax[lane],
    /** Returns the owners that hold the maximum number of slots of a lane. */
    fullOwners(lane: Lane): ReadonlySet<string> {
      if (lane === 'light' || slotsByOwner.size === 0) return NO_OWNERS;
      return new Set([...slotsByOwner].flatMap(([owner, count]) => (count >= ownerRunningMax ? [owner] : [])));
    },
    /** Takes a slot for a job. Returns undefined if no slot is free or memory is insufficient. */
    take(job: WaitingJob, lane: Lane): JobSlot | undefined {
      const isFitting = reservedBytes === 0 || reservedBytes + job.estimated_bytes <= memoryBytes;
      return isFitting ? takeSlot(job, lane) : undefined;
    },
    /** Returns the memory that is not reserved by jobs with slots. */
    freeBytes: (): number => Math.max(0, memoryBytes - reservedBytes),
  };
}

/** Scheduler of one node. It takes jobs while the node has capacity, runs their attempts and monitors them. */
interface Scheduler extends QueueNode {
  start(): void;
  /** Stops claiming jobs. */
  drain(): void;
  /** Returns every attempt to the queue. */
  stop(): Promise<void>;
}

const LANES: readonly Lane[] = ['light', 'heavy'];

function createScheduler(node: JobNode, kinds: RegisteredKinds): Scheduler {
  const { queue, artifacts, limits, isFit = () => true } = node;
  const attempts = createNodeAttempts(node, kinds, () => isOpen);
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
    reserve(job) {
      const { lane } = JOB_KIND_CATALOGUE[job.kind];
      if (!mayAsk(lane) || slots.fullOwners(lane).has(job.owner)) return undefined;
      const slot = slots.take(job, lane);
      return slot && ((claimed) => attempts.perform(claimed, { leave: slot.leave, onEnd: slot.giveBack }));
    },
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

/** Maximum time that a stop waits for running jobs to return to the queue. */
const STOP_MS = 5000;

/** Interval in ms between checks whether all other work has ended. Work that may wait starts after that. */
const CALM_LOOK_MS = 100;

/** Creates the job system. It sends submissions to the queue and runs the jobs of the queue on this node. */
export function createJobSystem(node: JobNode): JobSystem {
  const { queue, pool, clock, limits, log } = node;
  const kinds = new Map<JobKindName, JobKind<unknown>>();
  const scheduler = createScheduler(node, kinds);

  async function submit<P>(submission: Submission<P>): Promise<JobStatus> {
    const { kind, payload, compared = payload, request, estimatedBytes, message, origin = null } = submission;
    if (!kinds.has(kind.kind)) throw new Error(`the kind ${kind.kind} is not registered`);
    const jobKey = kind.key(payload);
    const inputJson = toCanonicalJson({ kind: kind.kind, ident: jobKey, payload: compared });
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
    ...queue, // reads, cancels, retries and watches jobs
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
    query: (task, input, signal) => runWithoutJob({ lane: 'light', task, input, signal }),
    async aside(task, input, signal, patienceMs = 0) {
      await awaitCalm(patienceMs, signal);
      return runWithoutJob({ lane: 'heavy', task, input, signal });
    },
    help(task, input) {
      if (pool.load('heavy') < limits.runningMax.heavy) pool.run({ lane: 'heavy', task, input }).output.catch(() => {}); // The caller computes whatever was not picked up.
    },
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

interface PatientDocumentsOptions {
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
        if (!isStoreUnavailable(thrown) || isOver()) throw thrown;
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

/**
 * Size in bytes of a process's record of files. It has 32,768 entries of 16 bytes: three entries for each of 10,000
 * runs.
 */
export const CHECKED_FILES_BYTES = 512 * 1024;

/**
 * Creates an empty record of the files that a process writes or hashes. Returns undefined if other machines write to
 * the same location: their changes to a file may become visible late.
 */
export function createCheckedFiles(destination: ArtifactDestination): CheckedFiles | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return new BigUint64Array(new SharedArrayBuffer(CHECKED_FILES_BYTES));
}

/** Creates the threads of a node. An order is resolved with the node's resources before a thread receives it. */
export function createNodePool(pool: ThreadPool, taskResources: TaskResources): ComputePool {
  const resources = { checkedFiles: createCheckedFiles(taskResources.destination), ...taskResources };
  return {
    run({ input, ...order }) {
      let run: TaskRun<TaskOutput<typeof order.task>> | undefined;
      const output = resolveTask(order.task, input, resources)
        .then((resolved) => {
          run = pool.run({ ...order, input: resolved });
          return run.output;
        })
        .catch(async (thrown: unknown) => {
          throw await explainFailure(thrown, resources);
        });
      return {
        output,
        progress: () => run?.progress() ?? { fraction: 0, message: undefined },
        isAlive: () => run?.isAlive() ?? true,
      };
    },
    load: pool.load,
    close: pool.close,
  };
}

/**
 * Adds the state of the artifact store to an error. Does not do this for a stopped task or a lost thread, whose cause
 * is not a file.
 */
async function explainFailure(thrown: unknown, { health }: TaskResources): Promise<unknown> {
  if (health === undefined || thrown instanceof TaskStopped || thrown instanceof WorkerLost) return thrown;
  return health.explain(thrown);
}
