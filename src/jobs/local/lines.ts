import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import type { Lane } from '../compute-pool.js';
import type { JobIdentity } from '../job-record.js';
import { createLaneQueue, type LaneQueue } from './lane-queue.js';

/** Waiting jobs of every lane. */
export interface Lines extends Readonly<Record<Lane, LaneQueue>> {
  /** Puts a job after the others of its owner. */
  add(job: JobIdentity): void;
  /** Puts a job before the others of its owner. */
  addFirst(job: JobIdentity): void;
  remove(job: JobIdentity): void;
  readonly length: number;
  lengthOf(owner: string): number;
}

export function createLines(): Lines {
  const heavy = createLaneQueue();
  const light = createLaneQueue();
  const lineOf = ({ kind }: JobIdentity): LaneQueue => (JOB_KIND_CATALOGUE[kind].lane === 'heavy' ? heavy : light);

  return {
    heavy,
    light,
    add: (job) => lineOf(job).push(job.owner, job.job_id),
    addFirst: (job) => lineOf(job).unshift(job.owner, job.job_id),
    remove: (job) => void lineOf(job).remove(job.owner, job.job_id),
    get length() {
      return heavy.length + light.length;
    },
    lengthOf: (owner) => heavy.lengthOf(owner) + light.lengthOf(owner),
  };
}
