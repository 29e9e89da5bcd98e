import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Deadline of requests, after which they are refused. */
export interface Deadlines {
  /** Resolves with the result of the work. @throws Refusal OVERLOADED if the work has not ended by the deadline */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Interval of the single timer for all requests, which costs less than one timer per request. */
const LOOK_MS = 1000;

export function createDeadlines(seconds: number = LIMITS.MAX_REQUEST_SECONDS): Deadlines {
  /** Pending requests in the order of their deadlines. */
  const pending = new Map<object, { readonly untilMs: number; readonly refuse: (late: Refusal) => void }>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    for (const [key, { untilMs, refuse }] of pending) {
      if (untilMs > now) break;
      pending.delete(key);
      refuse(new Refusal('OVERLOADED', `The request was not answered within ${seconds} seconds.`));
    }
    if (pending.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    within(work) {
      const key = {};
      if (timer === undefined) timer = setInterval(look, LOOK_MS).unref();
      return new Promise((resolve, reject) => {
        pending.set(key, { untilMs: performance.now() + seconds * 1000, refuse: reject });
        work.finally(() => pending.delete(key)).then(resolve, reject);
      });
    },
  };
}
