import type { JobKindName } from '#domain/jobs/job-kinds.js';
import { Refusal, isUnavailable } from '#domain/refusals/refusal.js';
import type { ArtifactStore } from '#store/port.js';
import { startAttempt, type RunningAttempt } from './attempt.js';
import type { Clock } from './clock.js';
import { TaskStopped, WorkerLost, type ComputePool, type Lane } from './compute-pool.js';
import type { NodeLimits } from './job-system.js';
import type { Completion, JobKind } from './job-kind.js';
import type { PartsKeeper } from './kept-parts.js';
import { traced, type JobIdentity } from './job-record.js';
import { createOutageLog } from './outage-log.js';
import { createPlaces, type Place } from './places.js';
import type { Claim, Ending, JobLog, JobQueue, Lease, Node } from './queue.js';

/** One node: claims jobs while it has room for them, runs their attempts and watches over them. */
export interface Scheduler extends Node {
  /** Begins to claim jobs. */
  start(): void;
  /** Claims none any more. */
  drain(): void;
  /** Gives every attempt back to the queue. */
  stop(): Promise<void>;
}

export interface SchedulerDependencies {
  readonly queue: Pick<JobQueue, 'claim' | 'heartbeat' | 'complete' | 'parts'>;
  readonly kinds: ReadonlyMap<JobKindName, JobKind<unknown>>;
  readonly artifacts: ArtifactStore;
  readonly pool: ComputePool;
  readonly clock: Clock;
  readonly limits: NodeLimits;
  readonly log: JobLog;
  /** Whether this node may take jobs; it may unless given. */
  readonly isFit?: (() => boolean) | undefined;
  /** Keeps outputs of parts over attempts; nothing does by default. */
  readonly keeper?: PartsKeeper | undefined;
}

/** How often attempts are looked at: heartbeats and the time limit. */
const TICK_MS = 1000;

const LANES: readonly Lane[] = ['light', 'heavy'];

const STOPPED: Ending = { type: 'release', cause: 'the service was stopped' };
const AWAY: Ending = { type: 'release', cause: 'the database or the place of the results was away' };

interface Running {
  readonly lease: Lease;
  readonly job: JobIdentity;
  readonly attempt: RunningAttempt;
  /** On the clock that is never set. */
  readonly startedMs: number;
  /** Whether its end is on its way to disk. */
  isEnding: boolean;
}

export function createScheduler(dependencies: SchedulerDependencies): Scheduler {
  const { queue, kinds, artifacts, pool, clock, limits, log, isFit = () => true, keeper } = dependencies;
  const outage = createOutageLog(log, () => clock.monotonicMs());
  const places = createPlaces(limits, fillAll);
  const running = new Map<Lease, Running>();
  /** Claims from their start to the end of what they began. */
  const performing = new Set<Promise<void>>();
  const asking = { heavy: false, light: false };
  const news = { heavy: false, light: false };
  let isOpen = false;
  let isTicking = false;

  function fillAll(): void {
    LANES.forEach(fill);
  }

  /**
   * Claims jobs of a lane while there is a place. One claim at a time asks; those that took a job may still be on their
   * way.
   */
  function fill(lane: Lane): void {
    news[lane] = asking[lane];
    let isMore = true;
    while (isMore) isMore = mayAsk(lane) && claimNext(lane);
  }

  function mayAsk(lane: Lane): boolean {
    return isOpen && isFit() && !asking[lane] && artifacts.health?.fault() === undefined && places.isFree(lane);
  }

  /** @returns whether a job was taken at once, so that the next may be asked for */
  function claimNext(lane: Lane): boolean {
    let place: Place | undefined;
    let isAnswered = false;
    let isReturned = false;
    asking[lane] = true;
    const claimed = queue.claim({
      lane,
      exceptOwners: places.fullOwners(lane),
      freeBytes: places.freeBytes(),
      take(job) {
        isAnswered = true;
        asking[lane] = false;
        place = places.take(job, lane);
        if (isReturned && place !== undefined) fill(lane);
        return place !== undefined;
      },
    });
    const performed = perform(claimed, () => place?.leave()).finally(() => {
      performing.delete(performed);
      if (place !== undefined) place.giveBack();
      else if (!isAnswered) {
        asking[lane] = false;
        if (news[lane]) fill(lane);
      }
    });
    performing.add(performed);
    isReturned = true;
    return place !== undefined;
  }

  /** One claim from its start to the end of the attempt. Never rejects. @param leave its place: it computes no more */
  async function perform(claimed: Promise<Claim | undefined>, leave: () => void): Promise<void> {
    let entry: Running | undefined;
    try {
      entry = await begin(claimed, leave);
      if (entry !== undefined) await Promise.race([settle(entry), graceAfterEnd(entry.attempt)]);
    } catch (thrown) {
      outage.failed(thrown, entry && traced(entry.job));
    } finally {
      if (entry !== undefined) running.delete(entry.lease);
    }
  }

  /** Begins the attempt of a claim; undefined where there is none to begin. */
  async function begin(claimed: Promise<Claim | undefined>, leave: () => void): Promise<Running | undefined> {
    const claim = await claimed;
    if (claim === undefined || claim.lease.isLost) return undefined;
    const { lease, job } = claim;
    const attempt = isOpen ? attemptOf(claim, leave) : undefined;
    if (attempt === undefined || attempt instanceof Refusal) {
      await queue.complete(lease, attempt ? { type: 'fail', error: attempt.toDetail() } : STOPPED);
      return undefined;
    }
    const entry: Running = { lease, job, attempt, startedMs: clock.monotonicMs(), isEnding: false };
    running.set(lease, entry);
    lease.onLost(() => running.has(lease) && attempt.end());
    keepTicking();
    return entry;
  }

  /** The started work of a claimed job, or why it cannot start. */
  function attemptOf(
    { lease, job: { kind: name }, input, parts }: Claim,
    onComputed: () => void,
  ): RunningAttempt | Refusal {
    const kind = kinds.get(name);
    if (kind === undefined) return new Refusal('NOT_SUPPORTED', `This build does not run jobs of the kind ${name}.`);
    const payload = input && kind.decode(input.payload);
    if (payload === undefined)
      return new Refusal('DOCUMENT_UNREADABLE', `The stored input of ${lease.jobId} cannot be read.`);
    const kept = parts === undefined ? keeper?.of(lease, input!) : undefined; // Its payload is readable.
    const order = { kind, lease, payload, parts, kept, onComputed };
    return startAttempt(order, { pool, artifacts, clock, offered: queue.parts });
  }

  async function settle(entry: Running): Promise<void> {
    const { attempt } = entry;
    try {
      const completion = await completionOf(attempt, artifacts);
      if (completion === undefined) return void (await end(entry, AWAY));
      const { result, message = 'Done.', effect } = completion;
      const isEnded = await end(entry, { type: 'succeed', result, message, ...(effect && { effect }) });
      if (isEnded) await artifacts.remove(attempt.spent).catch(() => {}); // They go with the garbage.
      else await discard(attempt, artifacts);
    } catch (thrown) {
      // Whether a failed commit is on disk is not known before the next start, which removes what nothing refers to.
      if (isUnavailable(thrown)) throw thrown;
      await discard(attempt, artifacts);
      // The caller that stopped it has already decided the state of the job.
      if (attempt.isEnded || thrown instanceof TaskStopped) return;
      await end(entry, endingOf(thrown, entry));
    }
  }

  /** Ends an attempt on disk. @returns whether it counted */
  async function end(entry: Running, ending: Ending): Promise<boolean> {
    entry.isEnding = true;
    try {
      return await queue.complete(entry.lease, ending);
    } finally {
      entry.isEnding = false;
    }
  }

  function endingOf(thrown: unknown, { job, lease: { attempt } }: Running): Ending {
    if (thrown instanceof Refusal) return { type: 'fail', error: thrown.toDetail() };
    if (thrown instanceof WorkerLost) return { type: 'crash', cause: thrown.message };
    log.error({ ...traced(job), attempt, err: thrown }, 'a job failed by a defect');
    const message = `A defect of the service ended the job; it is logged under ${job.job_id}, attempt ${attempt}.`;
    return { type: 'fail', error: { code: 'INTERNAL', message, detail: null } };
  }

  /** Work that does not stop when it is asked to loses its place, so that it cannot hold up the queue. */
  function graceAfterEnd(attempt: RunningAttempt): Promise<void> {
    return new Promise((resolve) => attempt.onEnd(() => void clock.after(limits.cancelGraceMs, resolve)));
  }

  function keepTicking(): void {
    if (isTicking) return;
    isTicking = true;
    clock.after(TICK_MS, () => {
      isTicking = false;
      for (const entry of running.values()) {
        const watched = entry.attempt.isEnded ? undefined : watchOver(entry);
        watched?.then(outage.end, (thrown: unknown) => outage.failed(thrown, traced(entry.job)));
      }
      if (running.size > 0) keepTicking();
    });
  }

  /** Ends an attempt that has run for too long; otherwise says that it is alive, if it is: also while its end hangs. */
  async function watchOver(entry: Running): Promise<void> {
    const { attempt, lease, startedMs, isEnding } = entry;
    if (!isEnding && clock.monotonicMs() - startedMs > limits.jobMsMax) {
      const message = `The job ran longer than ${limits.jobMsMax / 1000} seconds.`;
      await end(entry, { type: 'fail', error: { code: 'JOB_TIMEOUT', message, detail: null } });
      attempt.end();
    } else if ((isEnding || attempt.isAlive()) && !(await queue.heartbeat(lease))) attempt.end();
  }

  async function giveBack({ lease, attempt }: Running): Promise<void> {
    await queue.complete(lease, STOPPED);
    attempt.end();
  }

  return {
    onWork: fillAll,
    progressOf: (lease) => running.get(lease)?.attempt.progress(),
    room: () => ({ lanes: LANES.filter(mayAsk), freeBytes: places.freeBytes() }),
    start() {
      isOpen = true;
      fillAll();
    },
    drain() {
      isOpen = false;
    },
    async stop() {
      isOpen = false;
      // What is given back may read documents until its end; they are closed next.
      await Promise.allSettled([...performing, ...[...running.values()].map(giveBack)]);
    },
  };
}

async function discard({ written }: RunningAttempt, artifacts: ArtifactStore): Promise<void> {
  if (written.length > 0) await artifacts.remove(written);
}

/**
 * What an attempt comes to, once the names of its files are on disk: its effect refers to them. An attempt whose store
 * went away is no failure of the job, which is made again. @returns undefined then
 */
async function completionOf(
  attempt: RunningAttempt,
  { health, settle }: Pick<ArtifactStore, 'health' | 'settle'>,
): Promise<Completion | undefined> {
  try {
    const completion = await attempt.completion;
    if (attempt.written.length > 0) await settle();
    return completion;
  } catch (thrown) {
    if (attempt.isEnded || thrown instanceof TaskStopped || thrown instanceof WorkerLost) throw thrown;
    const cause = isUnavailable(thrown) || health === undefined ? thrown : await health.explain(thrown);
    if (!isUnavailable(cause)) throw cause;
    return undefined; // What it has written is nobody's, and is removed with the other garbage.
  }
}
