import { z } from 'zod';
import { routes, type Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { codingFor, type Coding } from '../content-coding.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';

/** A file of the console in every coding that the build has made. */
export interface ConsoleFile {
  readonly type: string;
  /** SHA-256 of the bytes as they are. */
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly coded: Readonly<Partial<Record<Coding, Uint8Array<ArrayBuffer>>>>;
}

/** The console as the build made it. */
export interface ConsoleFiles {
  /** The page that every address of the console shows; undefined where only the sources were compiled. */
  page(): ConsoleFile | undefined;
  /** A script, style, font or picture by its name, which holds a hash of its content. */
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

/** The pages of the console, beside the contract: they hold no data and need no key. */
export const consoleRoutes = routes({
  getConsole: { ...page, path: '/', summary: 'The console.' },
  getConsolePage: { ...page, path: '/console/*', summary: 'A page of the console, at an address that can be sent.' },
  getConsoleAsset: {
    ...page,
    path: '/console/assets/{asset}',
    summary: 'A script, style, font or picture of the console.',
    params: z.strictObject({ asset: z.string() }),
    success: { status: 200, description: 'The file.' },
  },
});

/** Only what the service itself serves may run, style or be asked; a PDF made here may be shown. */
export const CONSOLE_POLICY = [
  "default-src 'self'",
  "frame-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

type Asked = Pick<RouteRequest<Route>, 'header'>;

export function consoleHandlers(files: ConsoleFiles): Handlers<typeof consoleRoutes> {
  /** Browsers ask for HTML by name; other clients get ROUTE_NOT_FOUND. */
  function pageReply(request: Asked): Reply {
    if (!/(^|,)\s*text\/html\s*(;|,|$)/i.test(request.header('accept') ?? ''))
      throw new Refusal('ROUTE_NOT_FOUND', 'The console is here for browsers; GET /openapi.json lists the routes.');
    const file = files.page();
    if (file === undefined)
      throw new Refusal('ROUTE_NOT_FOUND', 'The console has not been built; `npm run build` makes it.');
    const { etag, ...reply } = codedReply(file, request);
    return {
      ...reply,
      etag,
      headers: { ...reply.headers, Vary: 'Accept, Accept-Encoding', 'Content-Security-Policy': CONSOLE_POLICY },
    };
  }

  return {
    getConsole: pageReply,
    getConsolePage: pageReply,
    getConsoleAsset(request) {
      const file = files.asset(request.params.asset);
      if (file === undefined)
        throw new Refusal('ROUTE_NOT_FOUND', 'The console has no such file; load its page again.');
      const { etag: _, ...reply } = codedReply(file, request);
      return { ...reply, headers: { ...reply.headers, 'Cache-Control': 'public, max-age=31536000, immutable' } };
    },
  };
}

/** In the best coding the client takes. */
export function codedReply(
  { type, etag, bytes, coded }: ConsoleFile,
  { header }: Asked,
): Reply & { readonly etag: string } {
  const coding = codingFor(header('accept-encoding'));
  const stored = coding === null ? undefined : coded[coding];
  const headers = { Vary: 'Accept-Encoding' };
  if (coding === null || stored === undefined) return { type, bytes, etag, headers };
  return { type, bytes: stored, etag: `${etag}-${coding}`, headers: { ...headers, 'Content-Encoding': coding } };
}
