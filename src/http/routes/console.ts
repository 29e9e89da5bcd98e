import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineRoutes, type Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { selectCoding, type Coding } from '../content-coding.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';

/** File of the console. The build also contains compressed forms of it. */
export interface ConsoleFile {
  readonly type: string;
  /** SHA-256 of the plain bytes. */
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly coded: Readonly<Partial<Record<Coding, Uint8Array<ArrayBuffer>>>>;
}

/** Built files of the console. */
export interface ConsoleFiles {
  /** Returns the page for all addresses of the console. Returns undefined if the console was not built. */
  page(): ConsoleFile | undefined;
  /** Returns a script, style, font or picture by its name. The name contains a hash of the content. */
  asset(name: string): ConsoleFile | undefined;
}

const page = {
  method: 'GET',
  scope: 'open',
  tag: 'console',
  openQuery: true,
  success: { status: 200, description: 'The page.' },
  errors: [],
} as const;

/** Pages of the console. They are not part of the contract: they contain no data and need no key. */
export const consoleRoutes = defineRoutes({
  getConsole: { ...page, path: '/', summary: 'The console.' },
  getConsolePage: {
    ...page,
    path: '/console/*',
    summary: 'Returns a page of the console, at an address that can be shared.',
  },
  getConsoleAsset: {
    ...page,
    path: '/console/assets/{asset}',
    summary: 'Returns a script, style, font or picture of the console.',
    params: defineObject(() => ({ asset: z.string() })),
    success: { status: 200, description: 'The file.' },
  },
});

/**
 * Content security policy of the console. Scripts, styles and requests may use only this service; PDFs that the page
 * creates may be shown.
 */
export const CONSOLE_POLICY = [
  "default-src 'self'",
  "frame-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  // The dashboard displays parts of pages in frames.
  "frame-ancestors 'self'",
].join('; ');

type PageRequest = Pick<RouteRequest<Route>, 'header'>;

export function createConsoleHandlers(files: ConsoleFiles): Handlers<typeof consoleRoutes> {
  /** Returns the page to a browser, whose `Accept` header names HTML. Other clients get ROUTE_NOT_FOUND. */
  function createPageReply(request: PageRequest): Reply {
    if (!/(^|,)\s*text\/html\s*(;|,|$)/i.test(request.header('accept') ?? ''))
      throw new Refusal(
        'ROUTE_NOT_FOUND',
        'This address serves the console to browsers; GET /openapi.json lists the routes.',
      );
    const file = files.page();
    if (file === undefined)
      throw new Refusal('ROUTE_NOT_FOUND', 'The console has not been built. Run `npm run build`.');
    const { etag, ...reply } = createEncodedReply(file, request);
    return {
      ...reply,
      etag,
      headers: { ...reply.headers, Vary: 'Accept, Accept-Encoding', 'Content-Security-Policy': CONSOLE_POLICY },
    };
  }

  return {
    getConsole: createPageReply,
    getConsolePage: createPageReply,
    getConsoleAsset(request) {
      const file = files.asset(request.params.asset);
      if (file === undefined) throw new Refusal('ROUTE_NOT_FOUND', 'The console has no such file; reload the page.');
      const { etag: _, ...reply } = createEncodedReply(file, request);
      return { ...reply, headers: { ...reply.headers, 'Cache-Control': 'public, max-age=31536000, immutable' } };
    },
  };
}

/** Replies with the best compression that the client accepts. */
export function createEncodedReply(
  { type, etag, bytes, coded }: ConsoleFile,
  { header }: PageRequest,
): Reply & { readonly etag: string } {
  const coding = selectCoding(header('accept-encoding'));
  const encodedBytes = coding === null ? undefined : coded[coding];
  const headers = { Vary: 'Accept-Encoding' };
  if (coding === null || encodedBytes === undefined) return { type, bytes, etag, headers };
  return { type, bytes: encodedBytes, etag: `${etag}-${coding}`, headers: { ...headers, 'Content-Encoding': coding } };
}
