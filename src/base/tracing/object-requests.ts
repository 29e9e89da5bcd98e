import { channel } from 'node:diagnostics_channel';

/** Request to an object store, up to the header of its response. */
export interface ObjectRequest {
  /** HTTP method: GET reads and lists, HEAD checks existence, PUT writes and copies. */
  readonly method: string;
  readonly seconds: number;
  /** False if the store sent no response, a server error or a request to slow down. */
  readonly isAnswered: boolean;
}

/**
 * Diagnostics channel on which requests are reported. The channel is global, because threads receive settings as data
 * and create many clients from them.
 */
const REQUEST_CHANNEL = channel('divisor:object-request');

/** Sends a request and reports its duration to the listeners of this thread. */
export async function timeRequest(method: string, send: () => Promise<Response>): Promise<Response> {
  const startMs = performance.now();
  let isAnswered = false;
  try {
    const answer = await send();
    isAnswered = answer.status < 500 && answer.status !== 429;
    return answer;
  } finally {
    const seconds = (performance.now() - startMs) / 1000;
    REQUEST_CHANNEL.publish({ method, seconds, isAnswered } satisfies ObjectRequest);
  }
}

/** Listens to each request of this thread, including retries. @returns a function that stops listening */
export function onObjectRequest(call: (request: ObjectRequest) => void): () => void {
  const listener = (message: unknown): void => call(message as ObjectRequest); // published by `timeRequest`
  REQUEST_CHANNEL.subscribe(listener);
  return () => void REQUEST_CHANNEL.unsubscribe(listener);
}

/** Maximum number of requests that a thread reports at once, to limit the size of a message. */
const REPORTED_MAX = 10_000;

/**
 * Starts to collect the requests of this thread, to pass them to another thread.
 * @returns a function that returns the requests since its last call; undefined if there are none
 */
export function collectObjectRequests(): () => readonly ObjectRequest[] | undefined {
  let collectedRequests: ObjectRequest[] = [];
  onObjectRequest((request) => {
    if (collectedRequests.length < REPORTED_MAX) collectedRequests.push(request);
  });
  return () => {
    if (collectedRequests.length === 0) return undefined;
    const objectRequests = collectedRequests;
    collectedRequests = [];
    return objectRequests;
  };
}

/** Reports requests of another thread to the listeners in this thread. */
export function reportObjectRequests(requests: readonly ObjectRequest[]): void {
  for (const request of requests) REQUEST_CHANNEL.publish(request);
}
