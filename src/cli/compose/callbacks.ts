import type { Logger } from 'pino';
import { systemClock } from '#jobs/clock.js';
import { createCallbackDestinations, type CallbackDestinations } from '#services/operations/callback-destinations.js';
import { createDeliveries, type Deliveries } from '#services/operations/deliveries.js';
import { createPost, createSend, type SignedPostSender } from '#services/operations/send-callback.js';
import type { DocumentStore } from '#store/port.js';
import type { Settings } from '../settings.js';
import { getBuildVersion } from '../version.js';

/** Notifications of ended jobs, and signed requests. Both go only to receivers that the operator permits. */
export interface CallbackDeliveries {
  readonly deliveries: Deliveries;
  readonly callbacks: { readonly destinations: CallbackDestinations; readonly post: SignedPostSender };
}

interface DeliveriesInput {
  readonly settings: Settings;
  readonly documents: DocumentStore;
  readonly log: Logger;
  /** Current time for records, in ms since 1970. */
  readonly now: () => number;
}

/** Opens the notifications of ended jobs. They go only to receivers that the operator permits. */
export function openDeliveries({ settings, documents, log, now }: DeliveriesInput): CallbackDeliveries {
  const { callbackHosts: hosts, callbackPrivate: isPrivateAllowed, callbackSecrets: secrets } = settings;
  const destinations = createCallbackDestinations({ hosts, isPrivateAllowed, hasSecret: secrets.length > 0 });
  const post = createPost({ destinations, secrets, now, userAgent: `divisor/${getBuildVersion()}` });
  const isShared = settings.artifacts !== undefined;
  const clock = { ...systemClock, now };
  const deliveries = createDeliveries({
    documents,
    destinations,
    send: createSend(post),
    clock,
    log,
    isShared,
  });
  return { deliveries, callbacks: { destinations, post } };
}
