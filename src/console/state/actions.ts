import { effect, signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { AnyJob, BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { formatApprovalAddress } from '../words/addresses.js';
import { formatMessage } from '../words/findings.js';
import { forgetJob, storeJob } from './live.js';
import { createTrouble, notifyChange, service, type Trouble, worldVersion } from './service.js';
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
export async function tryAction<T>(
  act: () => Promise<T>,
  onRefusal: OnRefusal = notifyRefusal,
): Promise<T | undefined> {
  try {
    return await act();
  } catch (thrown) {
    const trouble = createTrouble(thrown);
    onRefusal(trouble);
    return undefined;
  }
}

/** Submits a job. The stream of jobs reports how it ends. */
export async function submitJob<J extends AnyJob>(
  submit: () => Promise<J>,
  onRefusal?: OnRefusal,
): Promise<J | undefined> {
  const job = await tryAction(submit, onRefusal);
  if (job !== undefined && 'created_at' in job) storeJob(job as unknown as JobStatus); // every job response is a JobStatus
  return job;
}

export const runIndex = (indexId: string, body: BacktestRequest, onRefusal?: OnRefusal) =>
  submitJob(() => service.value.call('startBacktest', { params: { index_id: indexId }, body }), onRefusal);

export const activateStore = (id: string, onRefusal?: OnRefusal) =>
  submitJob(() => service.value.call('activateStore', { params: { store_id: id } }), onRefusal);

export const cancelJob = (jobId: string) =>
  tryAction(async () => {
    storeJob(await service.value.call('cancelJob', { params: { job_id: jobId } }));
    notifyChange();
  });

/** Queues a failed job again with its original request. */
export const retryJob = (jobId: string, onRefusal?: OnRefusal) =>
  tryAction(async () => {
    const { refused } = await service.value.call('retryJobs', { body: { job_ids: [jobId] } });
    const [first] = refused;
    if (first !== undefined) throw new Error(first.message);
    forgetJob(jobId);
    notifyChange();
  }, onRefusal);

interface RefusedRequest {
  readonly place: object;
  /**
   * Subject of the request, such as `run CORE`. A form in another place that shows its fields finds the refusal by it.
   */
  readonly about: string;
  readonly trouble: Trouble;
}

/** Refusals of the last request, or of the last group of requests. The next request clears them. */
const lastRefusals = signal<readonly RefusedRequest[]>([]);

/** After a change, clears the refusal of a busy service. The service may accept the request now. */
effect(() => {
  void worldVersion.value;
  removeRefusals(({ trouble }) => trouble.retrySeconds !== null);
});

function removeRefusals(isRemoved: (refusal: RefusedRequest) => boolean): void {
  const remainingRefusals = lastRefusals.peek().filter((refusal) => !isRemoved(refusal));
  if (remainingRefusals.length < lastRefusals.peek().length) lastRefusals.value = remainingRefusals;
}

/** Returns the refusal of the last request about a subject; null if there is none. */
export const findRefusal = (about: string): Trouble | null =>
  lastRefusals.value.find((refusal) => refusal.about === about)?.trouble ?? null;

/** Clears the refusal because the request was changed. */
export const forgetRefusal = (about: string): void => removeRefusals((refusal) => refusal.about === about);

/** Request that has not been sent yet. */
interface PendingRequest {
  readonly about: string;
  readonly request: (onRefusal: OnRefusal) => Promise<unknown>;
}

export interface RefusedQuery {
  /** Refusal of the last request from this component. */
  readonly trouble: Trouble | null;
  /** Refusals of the last request, or of all requests of the last group, from this component. */
  readonly troubles: readonly Trouble[];
  ask<T>(about: string, request: (onRefusal: OnRefusal) => Promise<T>): Promise<T>;
  /** Sends a group of requests one after the other. */
  askAll(requests: readonly PendingRequest[]): Promise<void>;
}

/** Returns functions that send requests, and the refusals of the last ones. */
export function useAsking(): RefusedQuery {
  const [place] = useState({});
  const troubles = lastRefusals.value.filter((refusal) => refusal.place === place).map(({ trouble }) => trouble);
  const createHandler =
    (about: string): OnRefusal =>
    (trouble) => {
      lastRefusals.value = [...lastRefusals.peek(), { place, about, trouble }];
    };
  return {
    trouble: troubles.at(-1) ?? null,
    troubles,
    ask(about, request) {
      lastRefusals.value = [];
      return request(createHandler(about));
    },
    async askAll(requests) {
      lastRefusals.value = [];
      for (const { about, request } of requests) await request(createHandler(about));
    },
  };
}

/** Returns the subject of run requests. The form of the terms shows refusals of this subject. */
export const formatRunSubject = (id: string): string => `run ${id}`;
