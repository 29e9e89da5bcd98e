import { JOB_KIND_CATALOGUE, type JobKindName } from '#domain/jobs/job-kinds.js';
import type { Lane } from './compute-pool.js';

/** Queues as an operator sees them: the two lanes, and apart from the heavy one the jobs that few machines have room for. */
export type JobClass = Lane | 'huge';

export const JOB_CLASSES: readonly JobClass[] = ['heavy', 'huge', 'light'];

/** Heavy jobs that are expected to need more are huge: what a machine of 4 GiB has for all of its jobs, nearly. */
export const HUGE_BYTES = 2 * 2 ** 30;

export function jobClassOf(job: { readonly kind: JobKindName; readonly estimated_bytes: number }): JobClass {
  const { lane } = JOB_KIND_CATALOGUE[job.kind];
  return lane === 'heavy' && job.estimated_bytes > HUGE_BYTES ? 'huge' : lane;
}

/** Places of a node for the jobs of each class: those of the heavy lane are also for huge jobs where the memory is. */
export function placesByClass({ heavy, light }: Readonly<Record<Lane, number>>, memoryBytes: number) {
  return { heavy, huge: memoryBytes > HUGE_BYTES ? heavy : 0, light } satisfies Record<JobClass, number>;
}
