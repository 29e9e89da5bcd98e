/** Time as the engine knows it; a simulator brings its own. */
export interface Clock {
  /** Wall time, ms since 1970: for what a client reads. */
  now(): number;
  /** A clock that is never set: for every duration. */
  monotonicMs(): number;
  /** Calls once after a while; the returned function calls it off. Does not keep the process alive. */
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
