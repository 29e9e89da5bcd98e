import { channel } from 'node:diagnostics_channel';

/** A request to an object store, to the head of its answer. */
export interface ObjectRequest {
  /** Method of HTTP: GET reads and lists, HEAD looks, PUT writes and copies. */
  readonly method: string;
  readonly seconds: number;
  /** False where no answer came, or one that the store is overloaded or defective. */
  readonly isAnswered: boolean;
}

/** Clients are many, and are opened from settings that go to threads as data: who measures listens beside them. */
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
