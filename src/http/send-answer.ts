import type { ServerResponse } from 'node:http';
import type { Answer } from './reply.js';
import { sendStream } from './send-stream.js';

/** A connection without a request is closed then: a client that polls keeps its own, one that left frees its place. */
export const KEEP_ALIVE_MS = 20_000;

/**
 * Sends an answer; one that cannot be sent breaks the connection off. Resolves when a stream has ended; what is whole has
 * gone to the socket at the return.
 */
export function sendAnswer(answer: Answer, outgoing: ServerResponse): Promise<void> | undefined {
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream) return sendStream({ status, headers: headers.byName(), stream: body }, outgoing);
  try {
    outgoing.writeHead(status, headers.byName());
    // Text of ASCII alone, as its length tells, has the same bytes in Latin-1, which takes no counting and no encoding.
    if (typeof body === 'string') outgoing.end(body, headers.length === body.length ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // What `node:http` throws.
  }
  return undefined;
}
