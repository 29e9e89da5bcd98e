import type { ServerResponse } from 'node:http';
import type { Answer } from './reply.js';
import { sendStream } from './send-stream.js';

/**
 * Sends an answer; one that cannot be sent breaks the connection off. Resolves when a stream has ended; what is whole has
 * gone to the socket at the return.
 */
export function sendAnswer({ status, headers, body }: Answer, outgoing: ServerResponse): Promise<void> | undefined {
  if (body instanceof ReadableStream) return sendStream({ status, headers, stream: body }, outgoing);
  try {
    outgoing.writeHead(status, headers);
    // Text of ASCII alone, as its length tells, has the same bytes in Latin-1, which takes no counting and no encoding.
    if (typeof body === 'string')
      outgoing.end(body, headers['Content-Length'] === String(body.length) ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // What `node:http` throws.
  }
  return undefined;
}
