import type { AnyJob, BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { notifyChange } from './resource.js';
import { forgetJob, storeJob } from './live.js';
import { service, createTrouble, type Trouble } from './service.js';
import { formatApprovalAddress } from '../words/addresses.js';
import { formatMessage } from '../words/findings.js';
import { showToast } from './toasts.js';

/** Callback for the error of a refused request. */
export type OnRefusal = (trouble: Trouble) => void;

/** Shows the message of a refused request as a toast. */
function notifyRefusal({ message, findings: [first], code, detail }: Trouble): void {
  if (code === 'APPROVAL_REQUIRED') {
    const { approval_id: id } = detail as { readonly approval_id: number };
    showToast('info', message, { address: formatApprovalAddress(id), text: `Approval ${id}` });
  } else showToast('bad', formatMessage({ path: first?.path ?? '', message }));
}

/**
 * Runs an action. If the service refuses it, reports the error.
 * @returns undefined after an error
 */
export async function attempt<T>(act: () => Promise<T>, onRefusal: OnRefusal = notifyRefusal): Promise<T | undefined> {
  try {
    return await act();
  } catch (thrown) {
    const trouble = createTrouble(thrown);
    onRefusal(trouble);
    return undefined;
  }
}

/** Submits a job. The stream of jobs reports how it ends. */
export async function start<J extends AnyJob>(submit: () => Promise<J>, onRefusal?: OnRefusal): Promise<J | undefined> {
  const job = await attempt(submit, onRefusal);
  if (job !== undefined && 'created_at' in job) storeJob(job as unknown as JobStatus); // every job response is a JobStatus
  return job;
}

export const runIndex = (indexId: string, body: BacktestRequest, onRefusal?: OnRefusal) =>
  start(() => service.value.call('startBacktest', { params: { index_id: indexId }, body }), onRefusal);

export const activateStore = (id: string, onRefusal?: OnRefusal) =>
  start(() => service.value.call('activateStore', { params: { store_id: id } }), onRefusal);

export const cancelJob = (jobId: string) =>
  attempt(async () => {
    storeJob(await service.value.call('cancelJob', { params: { job_id: jobId } }));
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
