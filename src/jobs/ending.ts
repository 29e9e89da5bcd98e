import type { JobIdentity } from './job-record.js';
import type { JobLife, LifeEvent } from './life-cycle.js';
import type { EndedJob, Ending } from './queue.js';

/** Returns the event that ends an attempt. @param timestamp time in the wire format */
export function createEvent(ending: Ending, attempt: number, timestamp: string): LifeEvent {
  switch (ending.type) {
    case 'succeed': {
      const { result, message } = ending;
      return { type: 'succeed', attempt, result, message, at: timestamp };
    }
    case 'fail':
      return { type: 'fail', attempt, error: ending.error, at: timestamp };
    case 'crash':
    case 'lose':
    case 'release':
      return { type: ending.type, attempt, cause: ending.cause, at: timestamp };
  }
}

/** Returns the end of a job from its stored times. Returns undefined if the job is not finished. */
export function endJob({
  identity,
  life: { status, started_at, finished_at },
}: {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}): EndedJob | undefined {
  if (status === 'pending' || status === 'running' || finished_at === null) return undefined;
  const { job_id: jobId, owner, kind, created_at } = identity;
  const computeSeconds = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;
  return {
    jobId,
    owner,
    kind,
    outcome: status,
    seconds: started_at === null ? null : computeSeconds(started_at, finished_at),
    waitSeconds: started_at === null ? null : computeSeconds(created_at, started_at),
  };
}
