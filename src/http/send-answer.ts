import type { ServerResponse } from 'node:http';
import type { ResponseParts } from './reply.js';
import { sendStream } from './send-stream.js';

/**
 * Idle time after which a connection is closed: a client that polls keeps its connection, and a client that left
 * releases it.
 */
export const KEEP_ALIVE_MS = 20_000;

/**
 * Sends a response; aborts the connection if it cannot be sent. Resolves when a stream has ended; a complete
 * body is in the socket at the return.
 */
export function sendResponse(answer: ResponseParts, outgoing: ServerResponse): Promise<void> | undefined {
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream) return sendStream({ status, headers: headers.byName(), stream: body }, outgoing);
  try {
    outgoing.writeHead(status, headers.byName());
    // Text with one byte per character is ASCII: its Latin-1 bytes are identical, and need no counting and no encoding.
    if (typeof body === 'string') outgoing.end(body, headers.length === body.length ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // `node:http` throws this error
  }
  return undefined;
}
