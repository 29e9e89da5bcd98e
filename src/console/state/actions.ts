import type { AnyJob, JobStatus } from '#clients/typescript/divisor.js';
import { changed } from './resource.js';
import { noteJob } from './live.js';
import { service, troubleOf } from './service.js';
import { say } from './toasts.js';

/** Does something, and says what the service said when it refuses. @returns undefined when it was refused */
export async function attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (thrown) {
    const { message, findings } = troubleOf(thrown);
    const [first] = findings;
    say('bad', first === undefined || first.path === '' ? message : `${message} (${first.path})`);
    return undefined;
  }
}

/** Starts a job; the stream of jobs tells what becomes of it. */
export async function start<J extends AnyJob>(submit: () => Promise<J>): Promise<J | undefined> {
  const job = await attempt(submit);
  if (job !== undefined && 'created_at' in job) noteJob(job as unknown as JobStatus); // Every job's answer is a JobStatus.
  return job;
}

export const runIndex = (indexId: string) =>
  start(() => service.value.call('startBacktest', { params: { index_id: indexId }, body: {} }));

export const activateStore = (id: string) =>
  start(() => service.value.call('activateStore', { params: { store_id: id } }));

export const cancelJob = (jobId: string) =>
  attempt(async () => {
    noteJob(await service.value.call('cancelJob', { params: { job_id: jobId } }));
    changed();
  });
