import { JOB_KIND_CATALOGUE, type JobKindName } from '#domain/jobs/job-kinds.js';
import type { Lane } from './compute-pool.js';

/**
 * Classes of jobs in queue reports: light jobs, heavy jobs, and huge jobs. A huge job is a heavy job for which few
 * machines have enough memory.
 */
export type JobClass = Lane | 'huge';

export const JOB_CLASSES: readonly JobClass[] = ['heavy', 'huge', 'light'];

/**
 * Expected memory in bytes above which a heavy job is huge. It is nearly all the memory that a machine of 4 GiB has for
 * its jobs.
 */
export const HUGE_BYTES = 2 * 2 ** 30;

export function getJobClass(job: { readonly kind: JobKindName; readonly estimated_bytes: number }): JobClass {
  const { lane } = JOB_KIND_CATALOGUE[job.kind];
  return lane === 'heavy' && job.estimated_bytes > HUGE_BYTES ? 'huge' : lane;
}

/**
 * Returns the job slots of a node by class. Slots for heavy jobs also count for huge jobs if the node has enough
 * memory.
 */
export function countSlotsByClass({ heavy, light }: Readonly<Record<Lane, number>>, memoryBytes: number) {
  return { heavy, huge: memoryBytes > HUGE_BYTES ? heavy : 0, light } satisfies Record<JobClass, number>;
}
