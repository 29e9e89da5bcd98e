import type { AnyJob, BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { notifyChange } from './resource.js';
import { forgetJob, noteJob } from './live.js';
import { service, troubleOf, type Trouble } from './service.js';
import { approvalAddress } from '../words/addresses.js';
import { plainMessage } from '../words/findings.js';
import { say } from './toasts.js';

/** Callback for the error of a refused request. */
export type OnRefusal = (trouble: Trouble) => void;

/** Shows the message of a refused request as a toast. */
function sayRefused({ message, findings: [first], code, detail }: Trouble): void {
  if (code === 'APPROVAL_REQUIRED') {
    const { approval_id: id } = detail as { readonly approval_id: number };
    say('info', message, { address: approvalAddress(id), text: `Approval ${id}` });
  } else say('bad', plainMessage({ path: first?.path ?? '', message }));
}

/**
 * Runs an action, and reports the error if the service refuses it.
 * @returns undefined after an error
 */
export async function attempt<T>(act: () => Promise<T>, onRefusal: OnRefusal = sayRefused): Promise<T | undefined> {
  try {
    return await act();
  } catch (thrown) {
    const trouble = troubleOf(thrown);
    onRefusal(trouble);
    return undefined;
  }
}

/** Submits a job. The job stream reports its outcome. */
export async function start<J extends AnyJob>(submit: () => Promise<J>, onRefusal?: OnRefusal): Promise<J | undefined> {
  const job = await attempt(submit, onRefusal);
  if (job !== undefined && 'created_at' in job) noteJob(job as unknown as JobStatus); // every job response is a JobStatus
  return job;
}

export const runIndex = (indexId: string, body: BacktestRequest, onRefusal?: OnRefusal) =>
  start(() => service.value.call('startBacktest', { params: { index_id: indexId }, body }), onRefusal);

export const activateStore = (id: string, onRefusal?: OnRefusal) =>
  start(() => service.value.call('activateStore', { params: { store_id: id } }), onRefusal);

export const cancelJob = (jobId: string) =>
  attempt(async () => {
    noteJob(await service.value.call('cancelJob', { params: { job_id: jobId } }));
    notifyChange();
  });

/** Queues a failed job again with its original request. */
export const retryJob = (jobId: string, onRefusal?: OnRefusal) =>
  attempt(async () => {
    const { refused } = await service.value.call('retryJobs', { body: { job_ids: [jobId] } });
    const [first] = refused;
    if (first !== undefined) throw new Error(first.message);
    forgetJob(jobId);
    notifyChange();
  }, onRefusal);
