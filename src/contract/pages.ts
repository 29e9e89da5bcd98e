import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { defineRoutes } from './route.js';

/** Pages for people and programs that read text. They are routes of the service, but not part of the API. */
const page = { method: 'GET', openQuery: true, scope: 'open', tag: 'console', errors: [] } as const;

const file = { ...page, success: { status: 200, description: 'The file.' } } as const;

const consolePage = { ...page, success: { status: 200, description: 'The page.' } } as const;

/** Pages of the console. They contain no data and need no key. */
export const consoleRoutes = defineRoutes({
  getConsole: { ...consolePage, path: '/', summary: 'The console.' },
  getConsolePage: {
    ...consolePage,
    path: '/console/*',
    summary: 'Returns a page of the console, at an address that can be shared.',
  },
  getConsoleAsset: {
    ...file,
    path: '/console/assets/{asset}',
    summary: 'Returns a script, style, font or picture of the console.',
    params: defineObject(() => ({ asset: z.string() })),
  },
});

/** Page that recomputes published closes. It contains no data and needs no key. */
export const verifyRoutes = defineRoutes({
  getVerifyPage: {
    ...file,
    path: '/verify',
    summary: 'Returns the page that verifies a published index in the browser.',
  },
  getVerifyFile: {
    ...file,
    path: '/verify/{file}',
    summary: 'Returns a script or style of the verification page.',
    params: defineObject(() => ({ file: z.string() })),
  },
});

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
