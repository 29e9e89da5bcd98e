import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import { JOB_KIND_CATALOGUE } from '#domain/outputs/jobs.js';
import type { Lane } from '../port/compute-pool.js';
import type { JobIdentity } from '../port/record.js';

/**
 * Queue of the waiting light or heavy jobs. Owners take turns, and each owner's jobs keep the order of submission. A
 * hundred sweeps of one client therefore do not delay the first backtest of another.
 */
interface LaneQueue {
  readonly length: number;
  /** Returns the number of waiting jobs of one owner. */
  countWaiting(owner: string): number;
  push(owner: string, jobId: string): void;
  /** Puts a job before all other jobs of its owner. */
  unshift(owner: string, jobId: string): void;
  /** Returns the next job that may run. */
  peek(mayRun?: MayRun): string | undefined;
  /** Removes the job that `peek` returns. Its owner moves to the end of the queue. */
  shift(mayRun?: MayRun): string | undefined;
  remove(owner: string, jobId: string): boolean;
}

/** Function that returns true if a job of an owner may run now. */
export type MayRun = (owner: string, jobId: string) => boolean;

const acceptAny = (): boolean => true;

export function createLaneQueue(): LaneQueue {
  const waitingByOwner = new Map<string, string[]>(); // owners in the order of their turns
  let length = 0;

  const add = (owner: string, insert: (list: string[]) => void): void => {
    const jobIds = waitingByOwner.get(owner) ?? [];
    insert(jobIds);
    waitingByOwner.set(owner, jobIds);
    length++;
  };
  const findFirst = (mayRun: MayRun) => {
    for (const [owner, list] of waitingByOwner) {
      const jobId = list.find((candidateId) => mayRun(owner, candidateId));
      if (jobId !== undefined) return { owner, list, jobId };
    }
    return undefined;
  };

  return {
    get length() {
      return length;
    },
    countWaiting: (owner) => waitingByOwner.get(owner)?.length ?? 0,
    push: (owner, jobId) => add(owner, (list) => list.push(jobId)),
    unshift: (owner, jobId) => add(owner, (list) => list.unshift(jobId)),
    peek: (mayRun = acceptAny) => findFirst(mayRun)?.jobId,
    shift(mayRun = acceptAny) {
      const nextJob = findFirst(mayRun);
      if (nextJob === undefined) return undefined;
      const { owner, list, jobId } = nextJob;
      list.splice(list.indexOf(jobId), 1);
      waitingByOwner.delete(owner);
      if (list.length > 0) waitingByOwner.set(owner, list);
      length--;
      return jobId;
    },
    remove(owner, jobId) {
      const jobIds = waitingByOwner.get(owner);
      const position = jobIds?.indexOf(jobId) ?? -1;
      if (jobIds === undefined || position < 0) return false;
      jobIds.splice(position, 1);
      if (jobIds.length === 0) waitingByOwner.delete(owner);
      length--;
      return true;
    },
  };
}

/** Queues of the waiting jobs of every lane. */
export interface Lines extends Readonly<Record<Lane, LaneLine>> {
  /** Puts a job after the other jobs of its owner. */
  add(job: JobIdentity): void;
  /** Puts a job before the other jobs of its owner. */
  addFirst(job: JobIdentity): void;
  remove(job: JobIdentity): void;
  readonly length: number;
  countWaiting(owner: string): number;
}

/** Waiting jobs of one lane, in order of priority. */
export type LaneLine = Pick<LaneQueue, 'peek' | 'shift'>;

export function createLines(): Lines {
  const queues = { heavy: createPriorityQueues(), light: createPriorityQueues() };
  const laneQueues = Object.values(queues).flatMap((lane) => Object.values(lane));
  const getLine = ({ kind, priority = 'normal' }: JobIdentity): LaneQueue =>
    queues[JOB_KIND_CATALOGUE[kind].lane][priority];

  return {
    heavy: combineByPriority(queues.heavy),
    light: combineByPriority(queues.light),
    add: (job) => getLine(job).push(job.owner, job.job_id),
    addFirst: (job) => getLine(job).unshift(job.owner, job.job_id),
    remove: (job) => void getLine(job).remove(job.owner, job.job_id),
    get length() {
      return laneQueues.reduce((sum, { length }) => sum + length, 0);
    },
    countWaiting: (owner) => laneQueues.reduce((sum, queue) => sum + queue.countWaiting(owner), 0),
  };
}

type ByPriority = Readonly<Record<JobPriority, LaneQueue>>;

const createPriorityQueues = (): ByPriority => ({
  high: createLaneQueue(),
  normal: createLaneQueue(),
  low: createLaneQueue(),
});

function combineByPriority(queues: ByPriority): LaneLine {
  const takeNext = (take: (queue: LaneQueue) => string | undefined): string | undefined => {
    for (const priority of JOB_PRIORITIES) {
      const jobId = take(queues[priority]);
      if (jobId !== undefined) return jobId;
    }
    return undefined;
  };
  return {
    peek: (mayRun) => takeNext((queue) => queue.peek(mayRun)),
    shift: (mayRun) => takeNext((queue) => queue.shift(mayRun)),
  };
}
