import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/jobs/priority.js';
import type { Lane } from '../compute-pool.js';
import type { JobIdentity } from '../job-record.js';
import { createLaneQueue, type LaneQueue } from './lane-queue.js';

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
