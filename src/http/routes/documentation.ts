import { createHash } from 'node:crypto';
import type { documentationRoutes } from '#contract/documentation.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import { Refusal } from '#domain/refusal.js';
import { PAGE_POLICY, type Page } from '#views/documentation/frame.js';
import { guidePage, type GuidePage } from '#views/documentation/guide-page.js';
import { referencePage } from '#views/documentation/reference-page.js';
import type { Handlers, Reply } from '../handler.js';

export interface DocumentationSources {
  readonly openApi: () => OpenApiDocument;
  /** Pages of the guide in reading order, the first one named by the empty word. */
  readonly guide: () => readonly GuidePage[];
}

/** Each document is built at its first request, and never again. */
export function documentationHandlers(sources: DocumentationSources): Handlers<typeof documentationRoutes> {
  const openApi = once(sources.openApi);
  const guide = once(sources.guide);
  const json = once(() => {
    const bytes = new TextEncoder().encode(JSON.stringify(openApi()));
    return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
  });
  const reference = once(() => referencePage(openApi(), guide()));
  const pages = once(() => new Map(guide().map((page) => [page.name, guidePage(page, guide())])));

  function guideReply(name: string): Reply {
    const page = pages().get(name);
    if (page === undefined) throw new Refusal('ROUTE_NOT_FOUND', `The guide has no page ${name}; its pages are ${[...pages().keys()].filter(Boolean).join(', ')}.`);
    return pageReply(page);
  }

  return {
    getOpenApi: json,
    getDocumentation: () => pageReply(reference()),
    getGuide: () => guideReply(''),
    getGuidePage: ({ params }) => guideReply(params.page),
  };
}

function pageReply({ bytes, etag }: Page): Reply {
  return { bytes, etag, type: 'text/html; charset=utf-8', headers: { 'Content-Security-Policy': PAGE_POLICY } };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
