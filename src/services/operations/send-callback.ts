import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { LIMITS } from '#domain/refusals/limits.js';
import type { Delivery } from '#jobs/callbacks.js';
import type { CallbackDestinations } from './callback-destinations.js';
import type { Failure, SendDelivery } from './deliveries.js';

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

  return async ({ url, id, body, headers }, closeSignal) => {
    const seconds = Math.floor(now() / 1000);
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
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
              'webhook-signature': computeSignature({ delivery_id: id, body }, seconds, secrets),
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
