import { z } from 'zod';
import { defineRoutes, type Route } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { defineObject } from '#domain/base/schema.js';
import { type Coding, selectCoding } from '../answers.js';
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
function createEncodedReply(
  { type, etag, bytes, coded }: ConsoleFile,
  { header }: PageRequest,
): Reply & { readonly etag: string } {
  const coding = selectCoding(header('accept-encoding'));
  const encodedBytes = coding === null ? undefined : coded[coding];
  const headers = { Vary: 'Accept-Encoding' };
  if (coding === null || encodedBytes === undefined) return { type, bytes, etag, headers };
  return { type, bytes: encodedBytes, etag: `${etag}-${coding}`, headers: { ...headers, 'Content-Encoding': coding } };
}

/**
 * Function that returns a file of the page `/verify`. It returns undefined if the file does not exist or if the engine
 * was not built.
 */
export type VerifyFiles = (name: string) => ConsoleFile | undefined;

const verifyPage = {
  method: 'GET',
  scope: 'open',
  tag: 'console',
  openQuery: true,
  success: { status: 200, description: 'The file.' },
  errors: [],
} as const;

/** Page that recomputes published closes. It contains no data and needs no key. */
export const verifyRoutes = defineRoutes({
  getVerifyPage: {
    ...verifyPage,
    path: '/verify',
    summary: 'Returns the page that verifies a published index in the browser.',
  },
  getVerifyFile: {
    ...verifyPage,
    path: '/verify/{file}',
    summary: 'Returns a script or style of the verification page.',
    params: defineObject(() => ({ file: z.string() })),
  },
});

const STRICT_POLICY = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** Content security policy of the page. It may request a bundle from this service and nothing from other servers. */
export const VERIFY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  ...STRICT_POLICY,
].join('; ');

/** Content security policy of the worker. The worker has the data and may connect to nothing. */
export const WORKER_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "connect-src 'none'",
  ...STRICT_POLICY,
].join('; ');

const PAGE = 'index.html';
const WORKER = 'worker.js';

export function createVerifyHandlers(files: VerifyFiles): Handlers<typeof verifyRoutes> {
  function createFileReply(name: string, request: Parameters<typeof createEncodedReply>[1]) {
    const file = files(name);
    if (file === undefined)
      throw new Refusal(
        'ROUTE_NOT_FOUND',
        `The page /verify has no file ${name}, or has not been built: \`npm run build\`.`,
      );
    const reply = createEncodedReply(file, request);
    const policy = name === WORKER ? WORKER_POLICY : VERIFY_POLICY;
    return {
      ...reply,
      headers: { ...reply.headers, 'Content-Security-Policy': policy, 'Cross-Origin-Embedder-Policy': 'require-corp' },
    };
  }
  return {
    getVerifyPage: (request) => createFileReply(PAGE, request),
    getVerifyFile: (request) => createFileReply(request.params.file, request),
  };
}
