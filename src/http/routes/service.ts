import { createHash } from 'node:crypto';
import { callOnce } from '#base/once.js';
import type { accessRoutes, principalRoutes } from '#contract/access.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import { defineRoutes, MARKDOWN_MEDIA, type Route } from '#contract/route.js';
import type { changelogRoutes, documentationRoutes, Health, healthRoutes, metricsRoutes } from '#contract/service.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Access } from '#services/keys/access.js';
import type { Metrics } from '#services/shared/metrics.js';
import type { Changelog, HealthReport, HealthService } from '#services/shared/service.js';
import {
  type GuidePage,
  type Page,
  PAGE_POLICY,
  renderGuideIndexText,
  renderGuidePage,
  renderGuideText,
} from '#views/documentation/page.js';
import { renderReferencePage } from '#views/documentation/reference.js';
import { type Coding, selectCoding } from '../answers.js';
import type { Handlers, Principal, Reply, RouteRequest } from '../handler.js';

export function createAccessHandlers(access: Pick<Access, 'read' | 'share'>): Handlers<typeof accessRoutes> {
  return {
    getAccess: async ({ params }) => ({ json: await access.read({ kind: params.kind, id: params.document_id }) }),
    async putAccess(request) {
      const { params, body, authorship } = request;
      const subject = { kind: params.kind, id: params.document_id };
      await access.read(subject);
      return { json: await access.share(subject, body().shared_with, authorship()) };
    },
  };
}

export function createChangelogHandlers(changelog: Changelog): Handlers<typeof changelogRoutes> {
  return {
    getChangelog: ({ query }) => ({ json: changelog.read(query.since) }),
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
  const getOpenApiPage = callOnce(() => {
    const builtContract = sources.built('contract');
    if (builtContract !== undefined) return builtContract;
    const bytes = new TextEncoder().encode(JSON.stringify(openApi()));
    return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
  });
  const getReferencePage = callOnce(() => sources.built('reference') ?? renderReferencePage(openApi(), getGuide()));
  const getPages = callOnce(() => new Map(getGuide().map((page) => [page.name, renderGuidePage(page, getGuide())])));

  const readEncoded = memoise(sources.coded);

  /**
   * Replies with the best compression that the client accepts. Each compression has its own etag, because the bytes
   * differ.
   */
  function createReply(
    { bytes, etag }: Page,
    { header }: Pick<RouteRequest<Route>, 'header'>,
    extraFields: Pick<Reply, 'type' | 'headers'> = {},
  ): Reply {
    const coding = selectCoding(header('accept-encoding'));
    const encodedBytes = coding === null ? undefined : readEncoded(etag, coding);
    const headers = { ...extraFields.headers, Vary: 'Accept-Encoding' };
    if (coding === null || encodedBytes === undefined) return { ...extraFields, bytes, etag, headers };
    return {
      ...extraFields,
      bytes: encodedBytes,
      etag: `${etag}-${coding}`,
      headers: { ...headers, 'Content-Encoding': coding },
    };
  }

  const createPageReply = (page: Page, request: Pick<RouteRequest<Route>, 'header'>) =>
    createReply(page, request, PAGE_HEADERS);

  function createGuideReply(name: string, request: Pick<RouteRequest<Route>, 'header' | 'media'>): Reply {
    const page = getPages().get(name);
    if (page === undefined)
      throw new Refusal(
        'ROUTE_NOT_FOUND',
        `The guide has no page ${name}; its pages are ${[...getPages().keys()].filter(Boolean).join(', ')}.`,
      );
    if (request.media !== MARKDOWN_MEDIA) return createPageReply(page, request);
    const bytes = new TextEncoder().encode(sources.written(name));
    return { bytes, type: `${MARKDOWN_MEDIA}; charset=utf-8`, etag: createHash('sha256').update(bytes).digest('hex') };
  }

  const readPicture = memoise(sources.picture);

  function createPictureReply(name: string): Reply {
    const bytes = readPicture(name);
    if (bytes === undefined) throw new Refusal('ROUTE_NOT_FOUND', `The guide has no picture ${name}.`);
    return { bytes, type: 'image/webp', etag: createHash('sha256').update(bytes).digest('hex') };
  }

  return {
    getOpenApi: (request) => createReply(getOpenApiPage(), request),
    getDocumentation: (request) => createPageReply(getReferencePage(), request),
    getGuide: (request) => createGuideReply('', request),
    getGuidePage: (request) => createGuideReply(request.params.page, request),
    getGuidePicture: ({ params: { picture } }) => createPictureReply(picture),
  };
}

const textPage = {
  method: 'GET',
  scope: 'read',
  tag: 'documentation',
  success: { status: 200, description: 'The text.', media: ['text/plain'] },
  errors: [],
} as const;

/** The guide for programs that read text, by the names that https://llmstxt.org proposes. */
export const textRoutes = defineRoutes({
  getGuideIndexText: { ...textPage, path: '/llms.txt', summary: 'Returns the list of the pages of the guide as text.' },
  getGuideText: { ...textPage, path: '/llms-full.txt', summary: 'Returns all pages of the guide as text.' },
});

export function createTextHandlers({
  guide,
  written,
}: Pick<DocumentationSources, 'guide' | 'written'>): Handlers<typeof textRoutes> {
  const createTextReply = (text: string): Reply => {
    const bytes = new TextEncoder().encode(text);
    const etag = createHash('sha256').update(bytes).digest('hex');
    return { bytes, type: 'text/plain; charset=utf-8', etag };
  };
  const getIndex = callOnce(() => createTextReply(renderGuideIndexText(written(''))));
  const getText = callOnce(() => createTextReply(renderGuideText(guide().map(({ name }) => written(name)))));
  return { getGuideIndexText: getIndex, getGuideText: getText };
}

const PAGE_HEADERS: Pick<Reply, 'type' | 'headers'> = {
  type: 'text/html; charset=utf-8',
  headers: { 'Content-Security-Policy': PAGE_POLICY },
};

/** Caches the result for each combination of arguments. */
function memoise<W extends readonly string[], T>(read: (...words: W) => T): (...words: W) => T {
  const cachedValues = new Map<string, T>();
  return (...words) => {
    const key = words.join('.');
    const entry = cachedValues.get(key);
    if (entry !== undefined || cachedValues.has(key)) return entry as T; // the value was cached before, possibly as undefined
    const value = read(...words);
    cachedValues.set(key, value);
    return value;
  };
}

const liveReply = { text: JSON.stringify({ status: 'live' }) };

/** @param limits limits of this process */
export function createHealthHandlers(
  health: HealthService,
  limits: Health['limits'] = LIMITS,
): Handlers<typeof healthRoutes> {
  const createReply = (healthReport: HealthReport): Reply => ({ json: { ...healthReport, limits } });
  return {
    getHealth({ principal }) {
      if (isAnonymous(principal)) return { json: { status: 'live', version: health.version } };
      const read = health.health();
      return read instanceof Promise ? read.then(createReply) : createReply(read);
    },
    getLiveness: () => liveReply,
    getReadiness({ principal }) {
      const checks = health.readiness();
      return { json: { status: 'ready', checks: isAnonymous(principal) ? [] : checks } };
    },
  };
}

/** Returns true for an unauthenticated client. */
const isAnonymous = ({ scopes }: Principal): boolean => scopes.size === 0;

export function createMetricsHandlers(metrics: Metrics): Handlers<typeof metricsRoutes> {
  return {
    async getMetrics() {
      const { text, type } = await metrics.expose();
      return { bytes: new TextEncoder().encode(text), type };
    },
  };
}

export const principalHandlers: Handlers<typeof principalRoutes> = {
  getPrincipal: ({ principal: { keyId, scopes } }) => ({ json: { key_id: keyId, scopes: [...scopes] } }),
};
