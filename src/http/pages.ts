import { hash } from 'node:crypto';
import { callOnce } from '#base/once.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { consoleRoutes, textRoutes, verifyRoutes } from '#contract/pages.js';
import { MARKDOWN_MEDIA, type Route } from '#contract/route.js';
import type { documentationRoutes } from '#contract/service.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  type GuidePage,
  type Page,
  PAGE_POLICY,
  renderGuideIndexText,
  renderGuidePage,
  renderGuideText,
  renderReferencePage,
} from '#views/documentation/reference.js';
import { type Coding, type Handlers, type Reply, type RouteRequest, selectCoding } from './handler.js';

const refusePage = (message: string) => new Refusal('ROUTE_NOT_FOUND', message);

type PageRequest = Pick<RouteRequest<Route>, 'header' | 'media'>;

/** Returns the compressed form of a page; undefined if there is none. */
type FindCoded = (coding: Coding) => Uint8Array<ArrayBuffer> | undefined;

/**
 * Replies with the best compression that the client accepts. Each compression has its own etag, because the bytes
 * differ.
 */
function toCodedReply(
  { bytes, etag }: Page,
  findCoded: FindCoded,
  { header }: PageRequest,
  { type, headers = {} }: Pick<Reply, 'type' | 'headers'> = {},
): Reply {
  const coding = selectCoding(header('accept-encoding'));
  const coded = coding === null ? undefined : findCoded(coding);
  const reply = { ...(type !== undefined && { type }), headers: { Vary: 'Accept-Encoding', ...headers } };
  return coding === null || coded === undefined
    ? { ...reply, bytes, etag }
    : {
        ...reply,
        bytes: coded,
        etag: `${etag}-${coding}`,
        headers: { ...reply.headers, 'Content-Encoding': coding },
      };
}

function toBytesReply(content: string | Uint8Array<ArrayBuffer>, type?: string) {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return { bytes, etag: hash('sha256', bytes), ...(type !== undefined && { type }) };
}

/** File of the console. The build also contains compressed forms of it. */
export interface ConsoleFile extends Page {
  readonly type: string;
  readonly coded: Readonly<Partial<Record<Coding, Uint8Array<ArrayBuffer>>>>;
}

const toFileReply = (file: ConsoleFile, request: PageRequest, headers: Readonly<Record<string, string>> = {}): Reply =>
  toCodedReply(file, (coding) => file.coded[coding], request, { type: file.type, headers });

export interface ConsoleFiles {
  /** Returns the page for all addresses of the console. Returns undefined if the console was not built. */
  page(): ConsoleFile | undefined;
  /** Returns a script, style, font or picture by its name. The name contains a hash of the content. */
  asset(name: string): ConsoleFile | undefined;
}

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

export function createConsoleHandlers(files: ConsoleFiles): Handlers<typeof consoleRoutes> {
  /** Returns the page to a browser, whose `Accept` header names HTML. Other clients get ROUTE_NOT_FOUND. */
  function toPageReply(request: PageRequest): Reply {
    if (!/(^|,)\s*text\/html\s*(;|,|$)/i.test(request.header('accept') ?? ''))
      throw refusePage('This address serves the console to browsers; GET /openapi.json lists the routes.');
    const file = files.page();
    if (file === undefined) throw refusePage('The console has not been built. Run `npm run build`.');
    return toFileReply(file, request, { Vary: 'Accept, Accept-Encoding', 'Content-Security-Policy': CONSOLE_POLICY });
  }

  return {
    getConsole: toPageReply,
    getConsolePage: toPageReply,
    getConsoleAsset(request) {
      const file = files.asset(request.params.asset);
      if (file === undefined) throw refusePage('The console has no such file; reload the page.');
      const { etag: _, ...reply } = toFileReply(file, request, {
        'Cache-Control': 'public, max-age=31536000, immutable',
      });
      return reply;
    },
  };
}

/**
 * Function that returns a file of the page `/verify`. It returns undefined if the file does not exist or if the engine
 * was not built.
 */
export type VerifyFiles = (name: string) => ConsoleFile | undefined;

const STRICT_POLICY = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** Content security policy of the page. It may request a bundle from this service and nothing from other servers. */
const VERIFY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  ...STRICT_POLICY,
].join('; ');

/** Content security policy of the worker. The worker has the data and may connect to nothing. */
const WORKER_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "connect-src 'none'",
  ...STRICT_POLICY,
].join('; ');

const PAGE = 'index.html';
const WORKER = 'worker.js';

export function createVerifyHandlers(files: VerifyFiles): Handlers<typeof verifyRoutes> {
  function toVerifyReply(name: string, request: PageRequest): Reply {
    const file = files(name);
    if (file === undefined)
      throw refusePage(`The page /verify has no file ${name}, or has not been built: \`npm run build\`.`);
    return toFileReply(file, request, {
      'Content-Security-Policy': name === WORKER ? WORKER_POLICY : VERIFY_POLICY,
      'Cross-Origin-Embedder-Policy': 'require-corp',
    });
  }
  return {
    getVerifyPage: (request) => toVerifyReply(PAGE, request),
    getVerifyFile: (request) => toVerifyReply(request.params.file, request),
  };
}

export interface DocumentationSources {
  readonly openApi: () => OpenApiDocument;
  /** Returns the pages of the guide in reading order; the first page has an empty name. */
  readonly guide: () => readonly GuidePage[];
  /** Returns the Markdown source of a page of the guide. */
  readonly written: (name: string) => string;
  /** Returns a picture of the guide by name; undefined if there is none. */
  readonly picture: (name: string) => Uint8Array<ArrayBuffer> | undefined;
  /** Returns a document that the build contains. Returns undefined if it was built for another contract. */
  readonly built: (document: BuiltDocument) => Page | undefined;
  /** Returns a compressed page by its etag. Returns undefined if the build does not contain it. */
  readonly coded: (etag: string, coding: Coding) => Uint8Array<ArrayBuffer> | undefined;
}

/** Contract for programs, and its reference for people. */
export type BuiltDocument = 'contract' | 'reference';

/**
 * Creates the handlers of the documentation. A document is read at its first request and cached. If the build does not
 * contain it, it is rendered.
 * @cost about 200 ms to render the contract
 */
export function createDocumentationHandlers(sources: DocumentationSources): Handlers<typeof documentationRoutes> {
  const openApi = callOnce(sources.openApi);
  const getGuide = callOnce(sources.guide);
  const getOpenApiPage = callOnce(() => sources.built('contract') ?? toBytesReply(JSON.stringify(openApi())));
  const getReferencePage = callOnce(() => sources.built('reference') ?? renderReferencePage(openApi(), getGuide()));
  const getPages = callOnce(() => new Map(getGuide().map((page) => [page.name, renderGuidePage(page, getGuide())])));
  const readPicture = memoise(sources.picture);
  const findForms = memoise((etag) => memoise((coding) => sources.coded(etag, coding as Coding)));
  const toDocumentReply = (page: Page, request: PageRequest, reply?: Pick<Reply, 'type' | 'headers'>): Reply =>
    toCodedReply(page, findForms(page.etag), request, reply);

  function toGuideReply(name: string, request: PageRequest): Reply {
    const page = getPages().get(name);
    if (page === undefined)
      throw refusePage(
        `The guide has no page ${name}; its pages are ${[...getPages().keys()].filter(Boolean).join(', ')}.`,
      );
    return request.media === MARKDOWN_MEDIA
      ? toBytesReply(sources.written(name), `${MARKDOWN_MEDIA}; charset=utf-8`)
      : toDocumentReply(page, request, HTML);
  }

  return {
    getOpenApi: (request) => toDocumentReply(getOpenApiPage(), request),
    getDocumentation: (request) => toDocumentReply(getReferencePage(), request, HTML),
    getGuide: (request) => toGuideReply('', request),
    getGuidePage: (request) => toGuideReply(request.params.page, request),
    getGuidePicture({ params: { picture } }) {
      const bytes = readPicture(picture);
      if (bytes === undefined) throw refusePage(`The guide has no picture ${picture}.`);
      return toBytesReply(bytes, 'image/webp');
    },
  };
}

const HTML: Pick<Reply, 'type' | 'headers'> = {
  type: 'text/html; charset=utf-8',
  headers: { 'Content-Security-Policy': PAGE_POLICY },
};

/** Caches each result, also undefined. */
function memoise<T>(read: (key: string) => T): (key: string) => T {
  const values = new Map<string, { readonly value: T }>();
  return (key) => {
    const { value } = values.get(key) ?? { value: read(key) };
    values.set(key, { value });
    return value;
  };
}

export function createTextHandlers({
  guide,
  written,
}: Pick<DocumentationSources, 'guide' | 'written'>): Handlers<typeof textRoutes> {
  const toTextReply = (text: string): Reply => toBytesReply(text, 'text/plain; charset=utf-8');
  const getIndex = callOnce(() => toTextReply(renderGuideIndexText(written(''))));
  const getText = callOnce(() => toTextReply(renderGuideText(guide().map(({ name }) => written(name)))));
  return { getGuideIndexText: getIndex, getGuideText: getText };
}
