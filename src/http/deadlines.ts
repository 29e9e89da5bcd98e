import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Limit of the duration of requests. */
export interface Deadlines {
  /** Resolves with the result of the work. @throws Refusal OVERLOADED if the work has not ended by the deadline */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Interval in ms of the timer that checks all requests. One timer for all costs less than one timer per request. */
const LOOK_MS = 1000;

export function createDeadlines(seconds: number = LIMITS.MAX_REQUEST_SECONDS): Deadlines {
  /** Pending requests in the order of their deadlines. */
  const pendingRequests = new Map<object, { readonly untilMs: number; readonly refuse: (late: Refusal) => void }>();
  let timer: NodeJS.Timeout | undefined;

  function refuseLateRequests(): void {
    const now = performance.now();
    for (const [key, { untilMs, refuse }] of pendingRequests) {
      if (untilMs > now) break;
      pendingRequests.delete(key);
      refuse(new Refusal('OVERLOADED', `The request was not answered within ${seconds} seconds.`));
    }
    if (pendingRequests.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    within(work) {
      const key = {};
      if (timer === undefined) timer = setInterval(refuseLateRequests, LOOK_MS).unref();
      return new Promise((resolve, reject) => {
        pendingRequests.set(key, { untilMs: performance.now() + seconds * 1000, refuse: reject });
        work.finally(() => pendingRequests.delete(key)).then(resolve, reject);
      });
    },
  };
}
