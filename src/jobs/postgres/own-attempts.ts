import type { Lease } from '../queue.js';
import type { Beat, JobReading } from './seen-job.js';

/**
 * Jobs of the attempts that this node runs, as the node read them at the start. The ends of the attempts then need no
 * read. Another process changes such a job only to end it, to add a callback, or after heartbeats have stopped. In
 * these cases, the end of the attempt reads the job too.
 */
export interface NodeAttemptRecords {
  start(lease: Lease, seen: JobReading): void;
  /**
   * Records the last report of an attempt. It is undefined if the report may not have arrived; the end of the attempt
   * then reads the job.
   */
  say(lease: Lease, beat: Beat | undefined): void;
  of(lease: Lease): JobReading | undefined;
}

export function createNodeAttemptRecords(): NodeAttemptRecords {
  const jobs = new WeakMap<Lease, JobReading>();
  return {
    start: (lease, jobReading) => void jobs.set(lease, jobReading),
    say(lease, beat) {
      const job = jobs.get(lease);
      if (beat === undefined) jobs.delete(lease);
      else if (job !== undefined) jobs.set(lease, { ...job, beat });
    },
    of: (lease) => jobs.get(lease),
  };
}
