import type { MiddlewareHandler } from 'hono';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { formatTraceResponse } from '#base/tracing/tracing.js';
import { JSON_CONTENT_TYPE } from '../answers.js';
import type { Env, RequestContext } from '../handler.js';
import { type Coding, selectCoding } from '../request.js';

/** Headers that forbid a browser to guess media types, and other sites to embed a response or to run it as a page. */
const SECURE_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const HTTPS_ONLY_HEADERS = { 'Strict-Transport-Security': 'max-age=31536000' };

export interface HeaderOptions {
  readonly version: string;
  /** True if the service can be reached only over HTTPS. Browsers then remember this for a year. */
  readonly isHttps: boolean;
  readonly isDraining: () => boolean;
}

/**
 * Adds the headers of every response, which a reply can replace. Proxies may not cache a response that does not say
 * otherwise. The middleware of Hono sets each header of a finished response, which takes a third of the time of a short
 * request.
 */
export function addHeaders({ version, isHttps, isDraining }: HeaderOptions): MiddlewareHandler<Env> {
  const constant = {
    'X-Engine-Version': version,
    'Cache-Control': 'no-store',
    ...SECURE_HEADERS,
    ...(isHttps && HTTPS_ONLY_HEADERS),
  };
  return (c, next) => {
    c.set('headers', () => {
      const trace = c.get('trace');
      return {
        'X-Request-Id': c.get('requestId'),
        ...constant,
        ...(trace && { traceresponse: formatTraceResponse(trace) }),
        ...(isDraining() && { Connection: 'close' }),
      };
    });
    return next();
  };
}

/** Minimum size in bytes of a response to compress. A shorter response needs only one or two packets anyway. */
const COMPRESSED_MIN_BYTES = 16_384;

/** Compression quality from 0 to 11. At 4, series of numbers shrink to 37% at about 100 MB/s. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 1;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/**
 * Compresses a long JSON response for a browser, on another thread. Programs that call the API are near the service and
 * receive the stored bytes. The ETag is the same with and without compression, as `If-Match` requires. The middleware
 * of Hono has no Brotli, and would change the ETag.
 */
export const compressResponses: MiddlewareHandler<Env> = (c, next) => {
  const isBrowser = c.req.header('user-agent')?.startsWith('Mozilla/') === true;
  const coding = isBrowser ? selectCoding(c.req.header('accept-encoding')) : null;
  return coding === null ? next() : next().then(() => compressResponse(c, coding));
};

async function compressResponse(c: RequestContext, coding: Coding): Promise<void> {
  if (c.res.status !== 200 || c.env.isStreamed === true || c.req.method === 'HEAD') return;
  const { headers } = c.res;
  const isLong = Number(headers.get('Content-Length')) >= COMPRESSED_MIN_BYTES;
  if (!isLong || headers.get('Content-Type') !== JSON_CONTENT_TYPE || headers.has('Content-Encoding')) return;
  const bytes = await compress(new Uint8Array(await c.res.arrayBuffer()), coding);
  const compressedHeaders = new Headers(headers);
  compressedHeaders.set('Vary', 'Accept-Encoding');
  compressedHeaders.set('Content-Encoding', coding);
  compressedHeaders.set('Content-Length', String(bytes.byteLength));
  c.res = undefined; // otherwise Hono copies the headers of the present response, with its length
  c.res = new Response(new Uint8Array(bytes), { headers: compressedHeaders });
}

function compress(bytes: Uint8Array, coding: Coding): Promise<Buffer> {
  if (coding === 'gzip') return toGzip(bytes, { level: GZIP_LEVEL });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return toBrotli(bytes, {
    params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: bytes.byteLength },
  });
}
