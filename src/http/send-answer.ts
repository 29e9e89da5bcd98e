import type { ServerResponse } from 'node:http';
import type { ResponseParts } from './reply.js';
import { sendStream } from './send-stream.js';

/**
 * Time in ms after which an idle connection is closed. A client that polls keeps its connection; the connection of a
 * client that has gone is released.
 */
export const KEEP_ALIVE_MS = 20_000;

/**
 * Sends a response. If it cannot be sent, the connection is aborted. For a stream, resolves when the stream has ended.
 * A complete body is in the socket when the function returns.
 */
export function sendResponse(answer: ResponseParts, outgoing: ServerResponse): Promise<void> | undefined {
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream) return sendStream({ status, headers: headers.byName(), stream: body }, outgoing);
  try {
    outgoing.writeHead(status, headers.byName());
    // If the text has one byte per character, it is ASCII. Its Latin-1 bytes are the same, and they need no counting or
    // encoding.
    if (typeof body === 'string') outgoing.end(body, headers.length === body.length ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // `node:http` throws this error
  }
  return undefined;
}
