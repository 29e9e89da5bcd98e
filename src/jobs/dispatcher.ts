import { JOB_KIND_CATALOGUE, type JobKindName } from '#domain/jobs/job-kinds.js';
import { Refusal } from '#domain/refusal.js';
import type { ArtifactStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import { startAttempt, type RunningAttempt } from './attempt.js';
import type { Clock } from './clock.js';
import { TaskStopped, WorkerLost, type ComputePool, type Lane } from './compute-pool.js';
import type { JobBook, LiveJob } from './job-book.js';
import type { EngineLimits, JobLog } from './job-engine.js';
import type { JobKind } from './job-kind.js';
import { traced, type JobIdentity } from './job-record.js';
import { createLaneQueue, type LaneQueue } from './lane-queue.js';
import type { LifeEvent } from './life-cycle.js';
import type { JobState } from './status.js';

/** Decides which job runs when, runs its attempts and watches over them. */
export interface Dispatcher {
  /** Puts a waiting job at the end of the line. */
  enqueue(job: LiveJob): void;
  /** Jobs in line. */
  readonly waiting: number;
  /** Jobs of one owner in line. */
  waitingOf(owner: string): number;
  /** Keeps the line and the places in step with a change of state. */
  follow(job: LiveJob, before: JobState): void;
  /** Begins to start jobs. */
  start(): void;
  /** Starts none any more. */
  drain(): void;
}

export interface DispatcherDependencies {
  readonly book: JobBook;
  readonly kinds: ReadonlyMap<JobKindName, JobKind<unknown>>;
  readonly artifacts: ArtifactStore;
  readonly pool: ComputePool;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly log: JobLog;
}

/** How often running jobs are looked at: heartbeat, time limit, starts that could not be written. */
const TICK_MS = 1000;

/** When an attempt began and was last seen alive, on the clock that is never set. */
interface Pulse {
  readonly startedMs: number;
  beatMs: number;
}

export function createDispatcher({
  book,
  kinds,
  artifacts,
  pool,
  clock,
  limits,
  log,
}: DispatcherDependencies): Dispatcher {
  const queues: Record<Lane, LaneQueue> = { heavy: createLaneQueue(), light: createLaneQueue() };
  const places: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Places of the heavy lane that each owner holds. */
  const heavyPlaces = new Map<string, number>();
  const pulses = new WeakMap<LiveJob, Pulse>();
  let reservedBytes = 0;
  let isOpen = false;
  let isTicking = false;

  const timestamp = (): string => formatTimestamp(clock.now());
  const laneOf = ({ identity }: LiveJob): Lane => JOB_KIND_CATALOGUE[identity.kind].lane;
  const queueOf = (job: LiveJob): LaneQueue => queues[laneOf(job)];

  function schedule(): void {
    if (!isOpen) return;
    for (const lane of ['light', 'heavy'] as const) {
      while (places[lane] < limits.runningMax[lane]) {
        const mayRun = lane === 'heavy' ? mayRunHeavy : undefined;
        const job = book.live(queues[lane].peek(mayRun) ?? '');
        if (job === undefined || !fits(job)) break;
        queues[lane].shift(mayRun);
        hold(job, lane, 1);
        void perform(job).finally(() => {
          hold(job, lane, -1);
          schedule();
        });
      }
    }
    if (places.heavy + places.light > 0) keepTicking();
  }

  /** Takes a place for a job, or gives it back. */
  function hold({ identity: { owner, estimated_bytes: bytes } }: LiveJob, lane: Lane, by: 1 | -1): void {
    places[lane] += by;
    reservedBytes += by * bytes;
    if (lane !== 'heavy') return;
    const held = (heavyPlaces.get(owner) ?? 0) + by;
    if (held > 0) heavyPlaces.set(owner, held);
    else heavyPlaces.delete(owner);
  }

  /** One key does not hold every thread for an hour; jobs that nobody was named for are the service's own. */
  function mayRunHeavy(owner: string): boolean {
    return owner === '' || (heavyPlaces.get(owner) ?? 0) < limits.perOwner.runningMax;
  }

  /** The first in line waits until there is room for it, and the others behind it: a large job is not passed over for ever. */
  function fits(job: LiveJob): boolean {
    return reservedBytes === 0 || reservedBytes + job.identity.estimated_bytes <= limits.memoryBytes;
  }

  /** One attempt from its start on disk to its end on disk. Never rejects. */
  async function perform(job: LiveJob): Promise<void> {
    let attempt: RunningAttempt | undefined;
    try {
      const started = await book.transition(job, { type: 'start', at: timestamp() });
      if (typeof started === 'string' || !isOpen) return;
      const now = clock.monotonicMs();
      pulses.set(job, { startedMs: now, beatMs: now });
      attempt = await prepare(job);
      if (attempt === undefined) return;
      job.attempt = attempt;
      await Promise.race([settle(job, attempt), graceAfterEnd(attempt)]);
    } catch (thrown) {
      log.error({ ...traced(job.identity), err: thrown }, 'a change of the job could not be written');
      if (job.life.status === 'pending') retryLater(job);
      else keepTicking(); // A running job without an attempt has no heartbeat: it is queued again when that is noticed.
    } finally {
      if (job.attempt === attempt) job.attempt = undefined; // The next attempt may have begun within the grace of this one.
    }
  }

  /** The start could not be written (a full disk): the job stands first in line again from the next tick on. */
  function retryLater(job: LiveJob): void {
    clock.after(TICK_MS, () => {
      if (job.life.status !== 'pending') return;
      queueOf(job).unshift(job.identity.owner, job.identity.job_id);
      schedule();
    });
  }

  async function prepare(job: LiveJob): Promise<RunningAttempt | undefined> {
    const { job_id: jobId, kind: name } = job.identity;
    const number = job.life.attempt;
    const kind = kinds.get(name);
    const input = await book.payload(jobId);
    if (job.life.status !== 'running' || job.life.attempt !== number) return undefined; // Cancelled or released meanwhile.
    if (kind !== undefined && input !== undefined)
      return startAttempt({ kind, jobId, number, payload: input.payload }, { pool, artifacts });
    const refusal =
      kind === undefined
        ? new Refusal('NOT_SUPPORTED', `This build does not run jobs of the kind ${name}.`)
        : new Refusal('DOCUMENT_UNREADABLE', `The stored input of ${jobId} cannot be read.`);
    await book.transition(job, { type: 'fail', attempt: number, error: refusal.toDetail(), at: timestamp() });
    return undefined;
  }

  async function settle(job: LiveJob, attempt: RunningAttempt): Promise<void> {
    try {
      const completion = await attempt.completion;
      const event: LifeEvent = {
        type: 'succeed',
        attempt: attempt.number,
        result: completion.result,
        message: completion.message ?? 'Done.',
        at: timestamp(),
      };
      if (typeof (await book.transition(job, event, completion)) === 'string') await discard(attempt);
    } catch (thrown) {
      // Whether a failed commit is on disk is not known before the next start, which removes what nothing refers to.
      if (thrown instanceof Refusal && thrown.code === 'STORE_UNAVAILABLE') throw thrown;
      await discard(attempt);
      // Whoever stopped it has decided what becomes of the job.
      if (attempt.isEnded || thrown instanceof TaskStopped) return;
      await book.transition(job, eventOf(thrown, attempt.number, job.identity));
    }
  }

  function eventOf(thrown: unknown, attempt: number, identity: JobIdentity): LifeEvent {
    const at = timestamp();
    if (thrown instanceof Refusal) return { type: 'fail', attempt, error: thrown.toDetail(), at };
    if (thrown instanceof WorkerLost) return { type: 'crash', attempt, cause: thrown.message, at };
    log.error({ ...traced(identity), attempt, err: thrown }, 'a job failed by a defect');
    const message = `A defect of the service ended the job; it is logged under ${identity.job_id}, attempt ${attempt}.`;
    return { type: 'fail', attempt, error: { code: 'INTERNAL', message, detail: null }, at };
  }

  async function discard(attempt: RunningAttempt): Promise<void> {
    if (attempt.kept.length > 0) await artifacts.remove(attempt.kept.map(({ name }) => name));
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
      const running = book.liveJobs().filter(({ life }) => life.status === 'running');
      for (const job of running) if (!book.isSettling(job)) watchOver(job);
      if (running.length > 0) keepTicking();
    });
  }

  function watchOver(job: LiveJob): void {
    const pulse = pulses.get(job);
    if (pulse === undefined) return; // Its start has just been written; the attempt begins in this turn.
    const now = clock.monotonicMs();
    const { attempt } = job.life;
    if (now - pulse.startedMs > limits.jobMsMax) {
      const message = `The job ran longer than ${limits.jobMsMax / 1000} seconds.`;
      finishFromOutside(job, {
        type: 'fail',
        attempt,
        error: { code: 'JOB_TIMEOUT', message, detail: null },
        at: timestamp(),
      });
    } else if (job.attempt?.number === attempt && job.attempt.isAlive()) {
      pulse.beatMs = now;
      book.beat(job);
    } else if (now - pulse.beatMs > limits.heartbeatTimeoutMs) {
      const cause = `no sign of life for ${limits.heartbeatTimeoutMs / 1000} seconds`;
      finishFromOutside(job, { type: 'crash', attempt, cause, at: timestamp() });
    }
  }

  function finishFromOutside(job: LiveJob, event: LifeEvent): void {
    const { attempt } = job;
    book.transition(job, event).then(
      (next) => void (typeof next === 'string' || attempt?.end()),
      (thrown: unknown) =>
        log.error({ ...traced(job.identity), err: thrown }, 'a change of the job could not be written'),
    );
  }

  return {
    enqueue(job) {
      queueOf(job).push(job.identity.owner, job.identity.job_id);
      schedule();
    },
    get waiting() {
      return queues.heavy.length + queues.light.length;
    },
    waitingOf: (owner) => queues.heavy.lengthOf(owner) + queues.light.lengthOf(owner),
    follow(job, before) {
      const { owner, job_id: jobId } = job.identity;
      if (before === 'pending' && job.life.status !== 'running') queueOf(job).remove(owner, jobId);
      if (before === 'running' && job.life.status === 'pending') queueOf(job).unshift(owner, jobId);
      schedule();
    },
    start() {
      isOpen = true;
      schedule();
    },
    drain() {
      isOpen = false;
    },
  };
}
