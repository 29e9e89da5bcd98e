import type { Lease } from '../queue.js';
import type { Beat, SeenJob } from './seen-job.js';

/**
 * Jobs of the attempts that this node runs, as read at their start, so that their ends need not read them. Another
 * process changes such a job only to end it, to add a callback or after a silence; then the end reads it too.
 */
export interface OwnAttempts {
  start(lease: Lease, seen: SeenJob): void;
  /** Records the report of an attempt; undefined if its arrival is unknown, so that its end reads the job. */
  say(lease: Lease, beat: Beat | undefined): void;
  of(lease: Lease): SeenJob | undefined;
}

export function createOwnAttempts(): OwnAttempts {
  const jobs = new WeakMap<Lease, SeenJob>();
  return {
    start: (lease, seen) => void jobs.set(lease, seen),
    say(lease, beat) {
      const job = jobs.get(lease);
      if (beat === undefined) jobs.delete(lease);
      else if (job !== undefined) jobs.set(lease, { ...job, beat });
    },
    of: (lease) => jobs.get(lease),
  };
}
