import type { ServerResponse } from 'node:http';
import type { Answer } from './reply.js';
import { sendStream } from './send-stream.js';

/** A connection without a request is closed then: a client that polls keeps its own, one that left frees its place. */
export const KEEP_ALIVE_MS = 20_000;

/** Characters of a text that is copied behind its head: beyond them the copy takes longer than a second write. */
const SHORT_TEXT_MAX = 16_384;

/**
 * Sends an answer; one that cannot be sent breaks the connection off. Resolves when a stream has ended; what is whole has
 * gone to the socket at the return.
 */
export function sendAnswer(answer: Answer, outgoing: ServerResponse): Promise<void> | undefined {
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream) return sendStream({ status, headers: headers.byName(), stream: body }, outgoing);
  try {
    if (isSentAtOnce(answer, outgoing)) return undefined;
    outgoing.writeHead(status, headers.byName());
    // Text of ASCII alone, as its length tells, has the same bytes in Latin-1, which takes no counting and no encoding.
    if (typeof body === 'string') outgoing.end(body, headers.length === body.length ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // What `node:http` throws.
  }
  return undefined;
}

/** A response as `node:http` keeps it: what is to be sent before anything else. */
interface Unsent {
  _header?: string | null;
}

/**
 * Sends a short text of ASCII and its head in one write, where the connection stays open: the bytes are those that `node:http`
 * would write, which looks at each header by two regular expressions and sends head and body in two pieces. A node that keeps
 * its head elsewhere writes it by itself.
 */
function isSentAtOnce({ status, headers, body }: Answer, outgoing: ServerResponse & Unsent): boolean {
  if (status !== 200 || typeof body !== 'string') return false;
  if (body.length !== headers.length || body.length > SHORT_TEXT_MAX) return false;
  if (!outgoing.shouldKeepAlive || outgoing._header !== null) return false;
  const lines = headers.plainLines();
  if (lines === undefined) return false;
  outgoing._header = `HTTP/1.1 200 OK\r\n${lines}Date: ${dateNow()}\r\n${KEPT_ALIVE}\r\n${body}`;
  outgoing.end();
  return true;
}

const KEPT_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;

let dateText = '';
/** Until when it holds, ms since the epoch. */
let dateEnd = -Infinity;

/** As the header `Date` wants it, written once a second. */
function dateNow(): string {
  const now = Date.now();
  if (now >= dateEnd || now < dateEnd - 1000) {
    dateText = new Date(now).toUTCString();
    dateEnd = now - (now % 1000) + 1000;
  }
  return dateText;
}
