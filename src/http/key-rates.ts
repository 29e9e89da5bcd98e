import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Rate limits of keys. Each key has a token bucket with a maximum size and a refill rate. */
export interface KeyRates {
  /** Counts one request of a key. @throws Refusal RATE_LIMITED if the bucket is empty */
  take(keyId: string): void;
}

export interface RateOptions {
  /** Monotonic clock in milliseconds. */
  readonly monotonicMs: () => number;
  readonly perSecond?: number;
  readonly burst?: number;
}

export function createKeyRates({
  monotonicMs,
  perSecond = LIMITS.MAX_KEY_REQUESTS_PER_SECOND,
  burst = LIMITS.MAX_KEY_REQUEST_BURST,
}: RateOptions): KeyRates {
  /**
   * One bucket per key. The map cannot grow beyond the number of keys, because only authenticated keys get a bucket.
   */
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
          `The key exceeded its limit of ${burst} requests at once and ${perSecond} per second afterwards.`,
          { requests_per_second: perSecond, burst },
        );
      }
      bucket.left--;
    },
  };
}
