import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineRoutes, type Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { selectCoding, type Coding } from '../content-coding.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';

/** File of the console with its compressed forms from the build. */
export interface ConsoleFile {
  readonly type: string;
  /** SHA-256 of the plain bytes. */
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly coded: Readonly<Partial<Record<Coding, Uint8Array<ArrayBuffer>>>>;
}

/** Built files of the console. */
export interface ConsoleFiles {
  /** Returns the page for every address of the console; undefined if only the sources were compiled. */
  page(): ConsoleFile | undefined;
  /** Returns a script, style, font or picture by its name, which contains a hash of its content. */
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

/** Pages of the console, outside the contract: they contain no data and need no key. */
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
 * Policy that allows scripts, styles and requests only from the service itself, and displays PDFs that the page
 * creates.
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
  /** Serves the page to browsers, which accept HTML by name; other clients get ROUTE_NOT_FOUND. */
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

/** Replies in the best coding that the client accepts. */
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
