import type { Lease } from '../queue.js';
import type { Beat, SeenJob } from './seen-job.js';

/**
 * The jobs of attempts that this node runs, as it has found them: their ends need not read them. Another process changes
 * such a job only to end it, to add a callback or after a silence; then the end reads it, too.
 */
export interface OwnAttempts {
  start(lease: Lease, seen: SeenJob): void;
  /** Notes what an attempt has said; where nobody knows what arrived, its end reads it. */
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
