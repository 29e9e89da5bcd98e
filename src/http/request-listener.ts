import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Refusal } from '#domain/base/refusals.js';
import { createErrorAnswer, JSON_TYPE, type ResponseParts, selectCoding, sendResponse, toResponse } from './answers.js';
import type { App } from './app.js';

/** Minimum size in bytes of a response to compress. A shorter response needs only one or two packets anyway. */
const COMPRESSED_MIN_BYTES = 16_384;

/** Compression quality from 0 to 11. At 4, series of numbers shrink to 37% at about 100 MB/s. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 1;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/**
 * Compresses a long JSON response for a browser, on another thread. Returns undefined for other responses: programs
 * that call the API are near the service and receive the stored bytes. The ETag is the same with and without
 * compression, as `If-Match` requires.
 */
export function compressResponse(
  answer: ResponseParts,
  requestHeaders: IncomingHttpHeaders,
): Promise<ResponseParts> | undefined {
  const { status, headers, body } = answer;
  const isLong = status === 200 && (headers.length ?? 0) >= COMPRESSED_MIN_BYTES;
  if (!isLong || body === null || body instanceof ReadableStream || !isBrowser(requestHeaders)) return undefined;
  if (headers.byName()['Content-Type'] !== JSON_TYPE || headers.byName()['Content-Encoding'] !== undefined)
    return undefined;
  const coding = selectCoding(String(requestHeaders['accept-encoding'] ?? ''));
  if (coding === null) return undefined;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return compress(bytes, coding).then((compressedBytes) => {
    headers.set('Vary', 'Accept-Encoding');
    headers.set('Content-Encoding', coding);
    headers.describe(JSON_TYPE, compressedBytes.byteLength);
    return { status, headers, body: new Uint8Array(compressedBytes) };
  });
}

const isBrowser = ({ 'user-agent': agent }: IncomingHttpHeaders): boolean => agent?.startsWith('Mozilla/') === true;

const compress = (bytes: Uint8Array, coding: 'br' | 'gzip'): Promise<Buffer> =>
  coding === 'gzip'
    ? toGzip(bytes, { level: GZIP_LEVEL })
    : toBrotli(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
        },
      });

/** Creates a listener that answers `node:http` requests through the `Request` adapter. */
export const createRequestListener = (app: App): ReturnType<typeof getRequestListener> =>
  getRequestListener(
    (request, { incoming, outgoing }) =>
      sendDirectly(
        app.answer(request, () => incoming.socket.remoteAddress),
        { incoming: incoming as IncomingMessage, outgoing: outgoing as ServerResponse },
      ),
    {
      errorHandler: (failure) => {
        const refusal = new Refusal(
          'MALFORMED_REQUEST',
          `The request cannot be read: ${failure instanceof Error ? failure.message : 'unknown fault'}.`,
        );
        return toResponse(createErrorAnswer(refusal, 'GET', app.headersFor(randomUUID())));
      },
    },
  );

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Sends a response without the `Request` adapter. */
async function sendDirectly(
  response: ResponseParts | Promise<ResponseParts>,
  { incoming, outgoing }: Exchange,
): Promise<Response> {
  const answer = await response;
  await sendResponse((await compressResponse(answer, incoming.headers)) ?? answer, outgoing);
  return RESPONSE_ALREADY_SENT;
}
