import { Agent, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** A request as it is sent. A test can print it. */
export interface WireRequest {
  /** Operation for which the request was generated. The request may reach another operation or none. */
  readonly operation: string;
  readonly method: string;
  /** Path and query of the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly encoding?: 'utf8' | 'latin1' | 'utf16le';
  /** True if the body is sent in chunks, without a length. */
  readonly isChunked?: boolean;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** True if the body has no end. Then only its beginning was read. */
  readonly isCut: boolean;
  readonly ms: number;
}

/**
 * Maximum time in ms until a response begins. The longest wait that the requests of this test ask for is much shorter.
 */
const PATIENCE_MS = 60_000;
/** Time for which an endless stream is read. */
const STREAM_MS = 50;

export interface Wire {
  /** @throws Error if the connection is reset or no response arrives */
  send(request: WireRequest): Promise<WireAnswer>;
  close(): void;
}

/** Sends HTTP/1.1 requests unmodified to a service over persistent connections. */
export function openWire(url: string, connections: number): Wire {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    async send(sent) {
      // The service may close an idle connection while a request is being sent. Then the client sends the request again
      // (RFC 9112 9.3.1).
      try {
        return await sendOnce(sent);
      } catch (failure) {
        if (!(failure instanceof StaleConnection)) throw failure;
        return sendOnce(sent);
      }
    },
    close: () => agent.destroy(),
  };

  function sendOnce({ method, path, headers, body, encoding = 'utf8', isChunked }: WireRequest): Promise<WireAnswer> {
    const startMs = performance.now();
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(body, encoding);
      const length: Record<string, string> =
        bytes === undefined
          ? {}
          : isChunked === true
            ? { 'transfer-encoding': 'chunked' }
            : { 'content-length': String(bytes.length) };
      const outgoing = request({ agent, hostname, port, method, path, headers: { ...length, ...headers } });
      const timer = setTimeout(
        () => outgoing.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} seconds`)),
        PATIENCE_MS,
      );
      outgoing.on('error', (failure: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        const isStale = outgoing.reusedSocket && (failure.code === 'ECONNRESET' || failure.code === 'EPIPE');
        reject(isStale ? new StaleConnection() : failure);
      });
      outgoing.on('response', (incoming) => {
        const chunks: Buffer[] = [];
        const isStream = incoming.headers['content-type']?.startsWith('text/event-stream') === true;
        const finish = (isCut: boolean) => {
          clearTimeout(timer);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: inflateBody(Buffer.concat(chunks), incoming.headers['content-encoding']),
            isCut,
            ms: performance.now() - startMs,
          });
        };
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => finish(false));
        incoming.on('error', reject);
        if (isStream) {
          setTimeout(() => {
            finish(true);
            incoming.destroy();
          }, STREAM_MS);
        }
      });
      if (bytes !== undefined && isChunked === true)
        for (let offset = 0; offset < bytes.length; offset += 16_384)
          outgoing.write(bytes.subarray(offset, offset + 16_384));
      else if (bytes !== undefined) outgoing.write(bytes);
      outgoing.end();
    });
  }
}

/** Decompresses a response body. */
function inflateBody(body: Buffer, encoding: string | undefined): Buffer {
  if (body.length === 0) return body;
  if (encoding === 'gzip') return gunzipSync(body);
  return encoding === 'br' ? brotliDecompressSync(body) : body;
}

class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}
