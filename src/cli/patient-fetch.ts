import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';

/**
 * Maximum time in ms to wait for the response to a write. To read a store of thousands of files on a busy machine takes
 * longer than five minutes, after which the `fetch` of Node gives up.
 */
const ANSWER_MS = 2 * 60 * 60 * 1000;

/** Variant of `fetch` that waits for hours for the response to a write. Reads use the faster `fetch` of Node. */
export const fetchPatiently: typeof fetch = (address, options) =>
  options === undefined || (options.method ?? 'GET') === 'GET'
    ? fetch(address, options)
    : sendRequest(new URL(String(address)), options, ANSWER_MS);

/** Sends one request with its whole body. @throws DOMException TimeoutError if nothing arrives for `answerMs` */
export async function sendRequest(address: URL, options: RequestInit, answerMs: number): Promise<Response> {
  // This is the request that `fetch` would send, with its length and media type.
  const { method, headers, body } = new Request(address, { ...options, signal: null, duplex: 'half' } as RequestInit);
  const bytes = findLength(options.body);
  const ask = address.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const request = ask(address, {
      method,
      headers: { ...Object.fromEntries(headers), ...(bytes === undefined ? {} : { 'content-length': bytes }) },
      ...(options.signal ? { signal: options.signal } : {}),
      timeout: answerMs,
    });
    request.on('timeout', () => request.destroy(new DOMException('No response arrived in time.', 'TimeoutError')));
    request.on('error', reject);
    request.on('response', (answer) => {
      const status = answer.statusCode!; // a response always has a status
      const hasBody = status !== 204 && status !== 304;
      if (!hasBody) answer.resume();
      const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      resolve(
        new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null, {
          status,
          headers: fields,
        }),
      );
    });
    if (body === null) request.end();
    else
      Readable.fromWeb(body as NodeStream)
        .on('error', (failure) => request.destroy(failure))
        .pipe(request);
  });
}

function findLength(body: RequestInit['body']): number | undefined {
  if (body === null || body === undefined) return 0;
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Blob) return body.size;
  return body instanceof Uint8Array ? body.byteLength : undefined;
}
