import type { Clock } from '../clock.js';
import type { JobIdentity } from '../job-record.js';
import { computeDelayMs, type JobLife, type LifeEvent } from '../life-cycle.js';
import type { LiveJob } from './live-jobs.js';
import type { Lines } from './lines.js';

/** Jobs that wait for their earliest start. */
export interface DelayedJobs {
  /** Puts a job at the front of the queue as soon as it may start. */
  queueAgain(job: LiveJob, event: LifeEvent): void;
  /**
   * Puts a job at the front of the queue after a short delay. Used if its start could not be written, for example
   * because the disk is full.
   */
  startAgain(job: LiveJob): void;
  /** Puts a job of the previous process in the queue as soon as it may start. */
  restore(job: LiveJob): void;
}

/** Delay before a failed start is retried. */
const START_AGAIN_MS = 1000;

export interface DelayedJobsDependencies {
  readonly clock: Clock;
  readonly lines: Lines;
  readonly live: (jobId: string) => LiveJob | undefined;
  readonly onWork: () => void;
}

export function createDelayedJobs({ clock, lines, live, onWork }: DelayedJobsDependencies): DelayedJobs {
  function waitFor(identity: JobIdentity, { attempt }: JobLife, delayMs: number): void {
    clock.after(delayMs, () => {
      const liveJob = live(identity.job_id);
      if (liveJob?.identity !== identity || liveJob.life.status !== 'pending' || liveJob.life.attempt !== attempt)
        return;
      lines.addFirst(identity);
      onWork();
    });
  }

  return {
    queueAgain({ identity, life }, event) {
      const delayMs = computeDelayMs(life, event);
      if (delayMs === 0) lines.addFirst(identity);
      else waitFor(identity, life, delayMs);
    },
    startAgain: ({ identity, life }) => waitFor(identity, life, START_AGAIN_MS),
    restore({ identity, life }) {
      const delayMs = life.not_before === null ? 0 : Date.parse(life.not_before) - clock.now();
      if (delayMs <= 0) lines.add(identity);
      else waitFor(identity, life, delayMs);
    },
  };
}
