import { channel } from 'node:diagnostics_channel';

/** A request to an object store, to the head of its answer. */
export interface ObjectRequest {
  /** Method of HTTP: GET reads and lists, HEAD looks, PUT writes and copies. */
  readonly method: string;
  readonly seconds: number;
  /** False where no answer came, or one that the store is overloaded or defective. */
  readonly isAnswered: boolean;
}

/** A channel, because there are many clients, and threads open some from settings that are plain data. */
const REQUESTS = channel('divisor:object-request');

/** Sends a request and reports its time to those who listen in this thread. */
export async function timedRequest(method: string, send: () => Promise<Response>): Promise<Response> {
  const startMs = performance.now();
  let isAnswered = false;
  try {
    const answer = await send();
    isAnswered = answer.status < 500 && answer.status !== 429;
    return answer;
  } finally {
    const seconds = (performance.now() - startMs) / 1000;
    REQUESTS.publish({ method, seconds, isAnswered } satisfies ObjectRequest);
  }
}

/** Calls for each request of this thread, its repetitions too. @returns how to stop */
export function onObjectRequest(call: (request: ObjectRequest) => void): () => void {
  const listener = (message: unknown): void => call(message as ObjectRequest); // As `timedRequest` publishes it.
  REQUESTS.subscribe(listener);
  return () => void REQUESTS.unsubscribe(listener);
}

/** Requests that a thread reports at most at once, so that one task does not send a message of any length. */
const REPORTED_MAX = 10_000;

/**
 * Collects the requests of this thread from now on, for a thread that hands them to another one.
 * @returns a function that takes those since its last call, or undefined if there are none
 */
export function collectObjectRequests(): () => readonly ObjectRequest[] | undefined {
  let collected: ObjectRequest[] = [];
  onObjectRequest((request) => {
    if (collected.length < REPORTED_MAX) collected.push(request);
  });
  return () => {
    if (collected.length === 0) return undefined;
    const taken = collected;
    collected = [];
    return taken;
  };
}

/** Reports requests of another thread to the listeners in this thread. */
export function reportObjectRequests(requests: readonly ObjectRequest[]): void {
  for (const request of requests) REQUESTS.publish(request);
}
