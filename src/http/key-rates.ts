import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** How many requests each key has left: a bucket that holds a burst and fills at the rate a key may keep up. */
export interface KeyRates {
  /** Takes one request of a key. @throws Refusal RATE_LIMITED when it has none left */
  take(keyId: string): void;
}

export interface RateOptions {
  /** A clock that never jumps, milliseconds. */
  readonly monotonicMs: () => number;
  readonly perSecond?: number;
  readonly burst?: number;
}

export function createKeyRates({
  monotonicMs,
  perSecond = LIMITS.MAX_KEY_REQUESTS_PER_SECOND,
  burst = LIMITS.MAX_KEY_REQUEST_BURST,
}: RateOptions): KeyRates {
  /** One a key of the service: as many as were made, since only keys that were recognised come here. */
  const buckets = new Map<string, { left: number; atMs: number }>();
  return {
    take(keyId) {
      const now = monotonicMs();
      const bucket = buckets.get(keyId);
      if (bucket === undefined) {
        buckets.set(keyId, { left: burst - 1, atMs: now });
        return;
      }
      bucket.left = Math.min(burst, bucket.left + ((now - bucket.atMs) * perSecond) / 1000);
      bucket.atMs = now;
      if (bucket.left < 1) {
        throw new Refusal(
          'RATE_LIMITED',
          `The key has sent more than ${burst} requests at once, or more than ${perSecond} a second since.`,
          { requests_per_second: perSecond, burst },
        );
      }
      bucket.left--;
    },
  };
}
