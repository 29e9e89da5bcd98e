import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { readDelivery, type Delivery } from '#jobs/callbacks.js';
import type { Clock } from '#jobs/clock.js';
import { readJobRecord, type JobRecord } from '#jobs/job-record.js';
import type { JobLog } from '#jobs/queue.js';
import type { JobCallback } from '#jobs/status.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { CallbackDestinations } from './callback-destinations.js';

/**
 * Function that tries once to deliver a message. It stops when the signal is aborted.
 * @returns undefined if the receiver accepted the message, otherwise the failure
 */
export type SendDelivery = (delivery: Delivery, signal: AbortSignal) => Promise<Failure | undefined>;

export interface Failure {
  readonly reason: string;
  /** True if no further attempt can succeed: the receiver refuses all messages, or the address is not permitted. */
  readonly isFinal: boolean;
}

/**
 * Messages about ended jobs. A message is stored as a document until its receiver has accepted it or all attempts have
 * failed. Therefore it is delivered at least once.
 */
export interface Deliveries {
  /**
   * Checks that messages may be sent to a URL and that there is space for one. @throws Refusal VALIDATION_FAILED for a
   * URL that is not permitted, OVERLOADED if too many messages wait
   */
  assertAccepted(url: string): void;
  /** Resumes the deliveries that the last process left. */
  start(): Promise<void>;
  /** Stops running attempts. The next process delivers the remaining messages. */
  close(): Promise<void>;
}

export interface DeliveriesDependencies {
  readonly documents: DocumentStore;
  readonly destinations: CallbackDestinations;
  readonly send: SendDelivery;
  readonly clock: Clock;
  readonly log: JobLog;
  /** True if other processes deliver the same messages. Each process must then claim a message first. */
  readonly isShared?: boolean;
}

/** Maximum number of concurrent attempts. */
const SENDING_MAX = 4;
/** Pause in ms after the first failure. It doubles with every further failure. */
const FIRST_PAUSE_MS = 1000;
const PAUSE_MS_MAX = 3_600_000;
/**
 * Time in ms for which a claim reserves a message. If the process dies, other processes can send the message after this
 * time.
 */
const CLAIM_MS = 60_000;

export function createDeliveries(dependencies: DeliveriesDependencies): Deliveries {
  const { documents, destinations, send, clock, log, isShared = false } = dependencies;
  /** Deliveries that wait for their time. The value cancels the wait. */
  const waitingTimers = new Map<string, () => void>();
  /** Due deliveries, oldest first. */
  const dueIds = new Set<string>();
  const activeSends = new Map<string, Promise<void>>();
  const closing = new AbortController();
  const unsubscribe = documents.subscribe('delivery-due', ({ delivery_id: id }) => updateDelivery(id));

  function updateDelivery(id: string): void {
    if (closing.signal.aborted) return;
    waitingTimers.delete(id);
    dueIds.add(id);
    sendNextDelivery();
  }

  function sendNextDelivery(): void {
    for (const id of dueIds) {
      if (activeSends.size >= SENDING_MAX) return;
      dueIds.delete(id);
      activeSends.set(
        id,
        attemptDelivery(id)
          .catch((failure: unknown) => {
            // The outcome could not be written, for example because the disk is full. The attempt is therefore
            // repeated.
            log.error({ delivery_id: id, err: failure }, 'the delivery of a callback could not be recorded');
            retryAt(id, clock.now() + FIRST_PAUSE_MS * 60);
          })
          .finally(() => {
            activeSends.delete(id);
            if (!closing.signal.aborted) sendNextDelivery();
          }),
      );
    }
  }

  function retryAt(id: string, atMs: number): void {
    if (closing.signal.aborted) return;
    waitingTimers.set(
      id,
      clock.after(Math.min(Math.max(atMs - clock.now(), 0), PAUSE_MS_MAX), () => updateDelivery(id)),
    );
  }

  /**
   * Reserves a message for this process for a limited time. @returns false if another process has reserved or delivered
   * it
   */
  async function claim({ delivery_id: id }: Delivery): Promise<boolean> {
    const nowMs = clock.now();
    const leaseEnd = formatTimestamp(nowMs + CLAIM_MS);
    const { isClaimed, next } = await documents.transaction(async (tx) => {
      const storedDocument = await tx.get('delivery', id);
      const delivery = readStored(storedDocument, readDelivery);
      const next = delivery?.next_attempt_at;
      if (delivery === undefined || Date.parse(delivery.next_attempt_at) > nowMs) return { isClaimed: false, next };
      await tx.put('delivery', id, { ...delivery, next_attempt_at: leaseEnd } satisfies Delivery);
      return { isClaimed: true, next };
    });
    if (!isClaimed && next !== undefined) retryAt(id, Date.parse(next));
    return isClaimed;
  }

  async function attemptDelivery(id: string): Promise<void> {
    const storedDocument = await documents.get('delivery', id);
    const delivery = readStored(storedDocument, readDelivery);
    if (delivery === undefined || (isShared && !(await claim(delivery)))) return;
    // The operator may have removed the host from the list since the message was stored.
    const failure = destinations.findProblem(delivery.url) ?? (await send(delivery, closing.signal));
    if (failure !== undefined && closing.signal.aborted) return; // the receiver had no time to answer
    const after = createOutcome(delivery, failure, clock.now());
    await documents.transaction((tx) => record(tx, delivery, after), { reserve: true });
    const { state, attempts, next_attempt_at: next, last_error: error } = after;
    log.info({ delivery_id: id, job_id: delivery.job_id, state, attempts, error }, 'callback sent');
    if (next !== null) retryAt(id, Date.parse(next));
  }

  return {
    assertAccepted(url) {
      const problem = destinations.findProblem(url);
      if (problem !== undefined) throw refuseDestination(url, problem.reason);
      const count = waitingTimers.size + dueIds.size + activeSends.size;
      if (count >= LIMITS.MAX_WAITING_CALLBACKS)
        throw new Refusal(
          'OVERLOADED',
          `${count} messages of callbacks wait to be delivered (limit ${LIMITS.MAX_WAITING_CALLBACKS}).`,
        );
    },
    async start() {
      const { documents: leftDeliveries } = await documents.list('delivery', readDelivery);
      for (const { delivery_id: id, next_attempt_at: nextAttemptAt } of leftDeliveries)
        if (!dueIds.has(id) && !activeSends.has(id)) retryAt(id, Date.parse(nextAttemptAt));
    },
    async close() {
      closing.abort();
      unsubscribe();
      for (const cancelTimer of waitingTimers.values()) cancelTimer();
      await Promise.allSettled(activeSends.values());
    },
  };
}

type Outcome = Pick<JobCallback, 'state' | 'attempts' | 'last_attempt_at' | 'last_error' | 'next_attempt_at'>;

function createOutcome({ attempts: previousAttempts }: Delivery, failure: Failure | undefined, nowMs: number): Outcome {
  const attempts = previousAttempts + 1;
  const outcome = { attempts, last_attempt_at: formatTimestamp(nowMs), last_error: failure?.reason ?? null };
  if (failure === undefined) return { state: 'delivered', ...outcome, next_attempt_at: null };
  if (failure.isFinal || attempts >= LIMITS.MAX_CALLBACK_ATTEMPTS)
    return { state: 'failed', ...outcome, next_attempt_at: null };
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** previousAttempts, PAUSE_MS_MAX);
  return { state: 'due', ...outcome, next_attempt_at: formatTimestamp(nowMs + pauseMs) };
}

/**
 * Writes the outcome of an attempt. Deletes a delivery that is complete, and adds the outcome to the job if the job
 * still exists.
 */
async function record(tx: DocumentTransaction, delivery: Delivery, outcome: Outcome): Promise<void> {
  const { delivery_id: id, job_id: jobId } = delivery;
  const { attempts, next_attempt_at: next } = outcome;
  if (next === null) await tx.delete('delivery', id);
  else await tx.put('delivery', id, { ...delivery, attempts, next_attempt_at: next } satisfies Delivery);
  const storedDocument = await tx.get('job', jobId);
  const job = readStored(storedDocument, readJobRecord);
  if (job?.callbacks.some((callback) => callback.delivery_id === id) !== true) return;
  const callbacks = job.callbacks.map((callback) =>
    callback.delivery_id === id ? { ...callback, ...outcome } : callback,
  );
  await tx.put('job', jobId, { ...job, callbacks } satisfies JobRecord);
}

function refuseDestination(url: string, reason: string): Refusal {
  return refuseWithFindings('query', [
    { severity: 'error', code: 'CALLBACK_NOT_ALLOWED', path: 'callback', message: reason, value: url },
  ]);
}
