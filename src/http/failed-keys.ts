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
      return window.count > PROMPT_REFUSALS_MAX ? DELAY_MS : 0;
    },
  };
}
