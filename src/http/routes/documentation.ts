import { createHash } from 'node:crypto';
import type { documentationRoutes } from '#contract/documentation.js';
import { MARKDOWN_MEDIA } from '#contract/media-formats.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { Route } from '#contract/route.js';
import { once } from '#base/once.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { PAGE_POLICY, type Page } from '#views/documentation/page.js';
import { guidePage, type GuidePage } from '#views/documentation/guide-page.js';
import { referencePage } from '#views/documentation/reference-page.js';
import { codingFor, type Coding } from '../content-coding.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';

export interface DocumentationSources {
  readonly openApi: () => OpenApiDocument;
  /** Pages of the guide in reading order, the first one named by the empty word. */
  readonly guide: () => readonly GuidePage[];
  /** A page of the guide as it is written, in Markdown. */
  readonly written: (name: string) => string;
  /** A picture of the guide by its name; undefined where there is none. */
  readonly picture: (name: string) => Uint8Array<ArrayBuffer> | undefined;
  /** What the build has made of the contract, undefined where it has made nothing of this one. */
  readonly built: (what: BuiltDocument) => Page | undefined;
  /** A page in a coding, by its etag; undefined where the build has not made it. */
  readonly coded: (etag: string, coding: Coding) => Uint8Array<ArrayBuffer> | undefined;
}

/** The contract for programs, and for people. */
export type BuiltDocument = 'contract' | 'reference';

/**
 * Each document is read, or made where the build has not, at its first request and never again.
 * @cost of making the contract some 200 ms
 */
export function documentationHandlers(sources: DocumentationSources): Handlers<typeof documentationRoutes> {
  const openApi = once(sources.openApi);
  const guide = once(sources.guide);
  const json = once(() => {
    const built = sources.built('contract');
    if (built !== undefined) return built;
    const bytes = new TextEncoder().encode(JSON.stringify(openApi()));
    return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
  });
  const reference = once(() => sources.built('reference') ?? referencePage(openApi(), guide()));
  const pages = once(() => new Map(guide().map((page) => [page.name, guidePage(page, guide())])));

  const coded = memoised(sources.coded);

  /** In the best coding the client takes; each has an etag of its own, as its bytes are others. */
  function replyOf(
    { bytes, etag }: Page,
    { header }: Pick<RouteRequest<Route>, 'header'>,
    more: Pick<Reply, 'type' | 'headers'> = {},
  ): Reply {
    const coding = codingFor(header('accept-encoding'));
    const stored = coding === null ? undefined : coded(etag, coding);
    const headers = { ...more.headers, Vary: 'Accept-Encoding' };
    if (coding === null || stored === undefined) return { ...more, bytes, etag, headers };
    return { ...more, bytes: stored, etag: `${etag}-${coding}`, headers: { ...headers, 'Content-Encoding': coding } };
  }

  const pageReply = (page: Page, request: Pick<RouteRequest<Route>, 'header'>) => replyOf(page, request, PAGE);

  function guideReply(name: string, request: Pick<RouteRequest<Route>, 'header' | 'media'>): Reply {
    const page = pages().get(name);
    if (page === undefined)
      throw new Refusal(
        'ROUTE_NOT_FOUND',
        `The guide has no page ${name}; its pages are ${[...pages().keys()].filter(Boolean).join(', ')}.`,
      );
    if (request.media !== MARKDOWN_MEDIA) return pageReply(page, request);
    const bytes = new TextEncoder().encode(sources.written(name));
    return { bytes, type: `${MARKDOWN_MEDIA}; charset=utf-8`, etag: createHash('sha256').update(bytes).digest('hex') };
  }

  const pictures = memoised(sources.picture);

  function pictureReply(name: string): Reply {
    const bytes = pictures(name);
    if (bytes === undefined) throw new Refusal('ROUTE_NOT_FOUND', `The guide has no picture ${name}.`);
    return { bytes, type: 'image/webp', etag: createHash('sha256').update(bytes).digest('hex') };
  }

  return {
    getOpenApi: (request) => replyOf(json(), request),
    getDocumentation: (request) => pageReply(reference(), request),
    getGuide: (request) => guideReply('', request),
    getGuidePage: (request) => guideReply(request.params.page, request),
    getGuidePicture: ({ params: { picture } }) => pictureReply(picture),
  };
}

const PAGE: Pick<Reply, 'type' | 'headers'> = {
  type: 'text/html; charset=utf-8',
  headers: { 'Content-Security-Policy': PAGE_POLICY },
};

/** Asks once for each combination of words. */
function memoised<W extends readonly string[], T>(read: (...words: W) => T): (...words: W) => T {
  const known = new Map<string, T>();
  return (...words) => {
    const key = words.join('.');
    const found = known.get(key);
    if (found !== undefined || known.has(key)) return found as T; // It was put in.
    const value = read(...words);
    known.set(key, value);
    return value;
  };
}
