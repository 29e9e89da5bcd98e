import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { findAddressRange } from '#base/addresses.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type Delivery, readDelivery } from '#jobs/port/callbacks.js';
import type { Clock } from '#jobs/port/clock.js';
import { type JobCallback, type JobRecord, readJobRecord } from '#jobs/port/life-cycle.js';
import type { JobLog } from '#jobs/port/queue.js';
import { type DocumentStore, type DocumentTransaction, formatTimestamp, readStoredBody } from '#store/port.js';

export interface CallbackDestinationOptions {
  /** Permitted hosts: `host` for the port of the scheme, or `host:port`. */
  readonly hosts: readonly string[];
  /** True to allow addresses of this machine and of private networks. */
  readonly isPrivateAllowed: boolean;
  /** True if messages can be signed. */
  readonly hasSecret: boolean;
}

/** Permitted destinations of messages. */
export interface CallbackDestinations {
  /** Returns the reason why callbacks to a URL are not permitted; undefined if they are permitted. */
  findProblem(url: string): AddressProblem | undefined;
  /** Returns true if connections to an IP address are allowed. */
  isAddressAllowed(address: string): boolean;
}

interface AddressProblem {
  readonly reason: string;
  readonly isFinal: true;
}

export function createCallbackDestinations({
  hosts,
  isPrivateAllowed,
  hasSecret,
}: CallbackDestinationOptions): CallbackDestinations {
  const allowedHosts = new Set(hosts.map((host) => host.toLowerCase()));
  const isAddressAllowed = (address: string): boolean => {
    const range = findAddressRange(address);
    return range?.kind === 'public' || (isPrivateAllowed && range?.kind === 'private');
  };

  return {
    isAddressAllowed,
    findProblem(text) {
      const url = URL.parse(text);
      if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
        return createProblem('The callback must be an http or https URL.');
      if (url.username !== '' || url.password !== '')
        return createProblem(
          'The callback must contain no user and no password: everybody who may read the job sees it.',
        );
      if (!hasSecret || allowedHosts.size === 0)
        return createProblem(
          'Callbacks are not configured on this service (--callback-hosts, DIVISOR_CALLBACK_HOSTS, DIVISOR_CALLBACK_SECRET).',
        );
      const host = url.hostname.toLowerCase();
      const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
      if (!allowedHosts.has(`${host}:${port}`) && !(url.port === '' && allowedHosts.has(host)))
        return createProblem('The host of the callback is none of those the operator allows (DIVISOR_CALLBACK_HOSTS).');
      const address = host.replace(/^\[|\]$/g, '');
      const range = findAddressRange(address);
      if (range === undefined || isAddressAllowed(address)) return undefined;
      return createProblem(
        range.kind === 'private'
          ? 'The callback is a private address, which the operator does not allow (--callback-private).'
          : `The callback goes to ${address}, and nothing is sent to ${range.range} (${range.name}).`,
      );
    },
  };
}

const createProblem = (reason: string): AddressProblem => ({ reason, isFinal: true });

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
export interface CallbackMessages {
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

export function createDeliveries(dependencies: DeliveriesDependencies): CallbackMessages {
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
      const delivery = readStoredBody(storedDocument, readDelivery);
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
    const delivery = readStoredBody(storedDocument, readDelivery);
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
  const job = readStoredBody(storedDocument, readJobRecord);
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

export interface SendOptions {
  readonly destinations: Pick<CallbackDestinations, 'isAddressAllowed'>;
  /** Secrets in the form `whsec_` followed by base64. A message gets one signature per secret. */
  readonly secrets: readonly string[];
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number;
  /** Name and version of the program. They are sent as the user agent. */
  readonly userAgent: string;
}

/** Request to sign and send. */
export interface SignedPost {
  readonly url: string;
  /** Id of the message, equal in all attempts. */
  readonly id: string;
  readonly body: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets of the receiver. Default: the secrets of the service. */
  readonly secrets?: readonly string[];
}

/** Function that tries once to send a request. @returns undefined if the receiver accepted it, otherwise the failure */
export type SignedPostSender = (post: SignedPost, signal: AbortSignal) => Promise<Failure | undefined>;

/** Creates the function that sends messages about jobs. */
export const createSend =
  (post: SignedPostSender): SendDelivery =>
  ({ url, delivery_id: id, body, traceparent }, closeSignal) => {
    const headers = { 'Content-Type': 'application/json', ...(traceparent !== undefined && { traceparent }) };
    return post({ url, id, body, headers }, closeSignal);
  };

/**
 * Creates the function that sends POST requests with HMAC-SHA256 signatures. It does not follow redirects and does not
 * read the response body. The address is checked after the DNS look-up, and the connection uses that address.
 * @source Standard Webhooks specification 1.0.0, standardwebhooks.com
 */
export function createPost({ destinations, secrets, now, userAgent }: SendOptions): SignedPostSender {
  const lookUpAllowed: LookupFunction = (host, options, done) => {
    lookup(host, { ...options, all: true }, (failure, addresses) => {
      if (failure !== null) return done(failure, '');
      const allowedAddresses = addresses.filter(({ address }) => destinations.isAddressAllowed(address));
      const [first] = allowedAddresses;
      if (first === undefined) return done(new Error('the host has no address that callbacks may go to'), '');
      return options.all === true ? done(null, allowedAddresses) : done(null, first.address, first.family);
    });
  };

  return async ({ url, id, body, headers, secrets: ownSecrets = secrets }, closeSignal) => {
    const seconds = Math.floor(now() / 1000);
    const send = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest;
    try {
      const status = await new Promise<number>((resolve, reject) => {
        const outgoing = send(
          url,
          {
            method: 'POST',
            agent: false,
            lookup: lookUpAllowed,
            signal: AbortSignal.any([closeSignal, AbortSignal.timeout(LIMITS.MAX_CALLBACK_SECONDS * 1000)]),
            headers: {
              ...headers,
              'Content-Length': Buffer.byteLength(body),
              'User-Agent': userAgent,
              'webhook-id': id,
              'webhook-timestamp': String(seconds),
              'webhook-signature': computeSignature({ delivery_id: id, body }, seconds, ownSecrets),
            },
          },
          (answer: IncomingMessage) => {
            resolve(answer.statusCode ?? 0);
            answer.destroy();
          },
        );
        outgoing.on('error', reject);
        outgoing.end(body);
      });
      return findFailure(status);
    } catch (failure) {
      return { reason: formatReason(failure as Error), isFinal: false }; // node throws only errors
    }
  };
}

/** Returns the base64 HMACs of id, time and body, one per secret. */
export function computeSignature(
  { delivery_id: id, body }: Pick<Delivery, 'delivery_id'> & Pick<SignedPost, 'body'>,
  seconds: number,
  secrets: readonly string[],
): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')}`;
    })
    .join(' ');
}

const GONE_STATUS = 410;

function findFailure(status: number): Failure | undefined {
  if (status >= 200 && status < 300) return undefined;
  return { reason: `The receiver answered ${status}.`, isFinal: status === GONE_STATUS };
}

/** Returns the text of a failure. It contains the error code but no other details of the internal network. */
function formatReason({ name, message, ...failure }: Error & { readonly code?: string }): string {
  if (name === 'AbortError' || name === 'TimeoutError')
    return `The receiver did not answer within ${LIMITS.MAX_CALLBACK_SECONDS} seconds.`;
  return `The receiver was not reached: ${failure.code ?? message}.`;
}
