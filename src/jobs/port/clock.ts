/** Clock of the job engine; simulations replace it. */
export interface Clock {
  /** Returns the wall time in ms since 1970, for times that a client reads. */
  now(): number;
  /** Returns the monotonic time in ms, for all durations. */
  monotonicMs(): number;
  /** Calls `call` once after a delay; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
