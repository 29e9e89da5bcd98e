import { LRUCache } from 'lru-cache';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';

/**
 * Counter of refused keys by address. It limits how fast keys can be guessed and how much work a misconfigured client
 * causes.
 */
export interface FailedKeys {
  /**
   * Records a refused key.
   * @returns milliseconds by which the response must be delayed: 0 for the first refusals of a minute, so that a client
   * can find its mistake
   */
  note(address: string): number;
}

/** Maximum number of refusals per minute without a delay. */
const PROMPT_REFUSALS_MAX = 20;
const WINDOW_MS = 60_000;
/**
 * Delay in ms of a response to a refused key. It limits one connection to two guesses per second. The response to a
 * valid key is never delayed.
 */
const DELAY_MS = 500;
/** Maximum number of addresses that are remembered. The oldest ones are dropped. */
const ADDRESSES_MAX = 10_000;

/** @param monotonicMs a monotonic clock */
export function createFailedKeys(monotonicMs: () => number): FailedKeys {
  const windows = new LRUCache<string, { count: number; readonly endMs: number }>({ max: ADDRESSES_MAX });
  return {
    note(address) {
      const now = monotonicMs();
      let window = windows.peek(address);
      if (window === undefined || now >= window.endMs) {
        window = { count: 0, endMs: now + WINDOW_MS };
        windows.set(address, window);
      }
      window.count++;
      return window.count > PROMPT_REFUSALS_MAX ? DELAY_MS : 0;
    },
  };
}

/** Waits until a request of a key may start; the result is undefined if it may start at once. */
export type KeyTurns = (keyId: string | null) => Promise<void> | undefined;

/**
 * Lets each key start one request per turn of the event loop. Further requests of the key wait for the following turns,
 * so that a request of another key waits for at most one of them.
 */
export function createKeyTurns(): KeyTurns {
  /** Waiting requests by key. A key that started a request in this turn has an entry. */
  const waiting = new Map<string | null, (() => void)[]>();
  const startNext = (keyId: string | null): void => {
    const start = waiting.get(keyId)!.shift();
    if (start === undefined) return void waiting.delete(keyId);
    setImmediate(startNext, keyId);
    start();
  };
  return (keyId) => {
    const line = waiting.get(keyId);
    if (line !== undefined) return new Promise((start) => line.push(start));
    waiting.set(keyId, []);
    setImmediate(startNext, keyId);
    return undefined;
  };
}

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
