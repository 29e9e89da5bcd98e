/**
 * What is remembered of addresses whose keys were refused, so that guessing and misconfigured clients cost the service
 * little.
 */
export interface FailedKeys {
  /**
   * Notes a key that was refused.
   * @returns milliseconds after which to tell it: 0 for the first of a minute, as many as a client may need to find its
   *   mistake
   */
  note(address: string): number;
}

/** Refusals of a minute that are reported at once. */
const AT_ONCE_MAX = 20;
const WINDOW_MS = 60_000;
/** Holds one connection to two guesses a second. A right key is never kept waiting. */
const DELAY_MS = 500;
/** Addresses remembered at once; the oldest make room. */
const ADDRESSES_MAX = 10_000;

/** @param monotonicMs a clock that never jumps */
export function createFailedKeys(monotonicMs: () => number): FailedKeys {
  const windows = new Map<string, { count: number; readonly endMs: number }>();
  return {
    note(address) {
      const now = monotonicMs();
      let window = windows.get(address);
      if (window === undefined || now >= window.endMs) {
        windows.delete(address);
        window = { count: 0, endMs: now + WINDOW_MS };
        windows.set(address, window);
        if (windows.size > ADDRESSES_MAX) windows.delete(windows.keys().next().value!);
      }
      window.count++;
      return window.count > AT_ONCE_MAX ? DELAY_MS : 0;
    },
  };
}
