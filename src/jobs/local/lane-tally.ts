import { getJobClass, type JobClass } from '../job-class.js';
import type { LaneLoad } from '../queue.js';
import type { JobIdentity } from '../job-record.js';
import type { JobLife } from '../life-cycle.js';

interface TalliedJob {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}

/** Counts the waiting and running jobs of each class. @cost one pass over the live jobs */
export function countLanes(
  live: Iterable<TalliedJob>,
  nowMs: number,
): Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>> {
  const createTally = () => ({ waiting: 0, running: 0, oldest: '' });
  const tallies = { heavy: createTally(), huge: createTally(), light: createTally() };
  for (const { identity, life } of live) {
    const lane = tallies[getJobClass(identity)];
    if (life.status !== 'pending') lane.running++;
    // Compares times as texts. All times of the service have one format, so that their texts sort like the times.
    else if (lane.waiting++ === 0 || identity.created_at < lane.oldest) lane.oldest = identity.created_at;
  }
  const createLoad = ({ waiting, running, oldest }: ReturnType<typeof createTally>): Omit<LaneLoad, 'places'> => ({
    waiting,
    running,
    oldestSeconds: waiting === 0 ? null : Math.max(0, nowMs - Date.parse(oldest)) / 1000,
  });
  return { heavy: createLoad(tallies.heavy), huge: createLoad(tallies.huge), light: createLoad(tallies.light) };
}
