import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { defineRoutes } from './route.js';

/** Pages for people and programs that read text. They are routes of the service, but not part of the API. */
const page = { method: 'GET', openQuery: true, scope: 'open' } as const;

const file = { ...page, success: { status: 200, description: 'The file.' } } as const;

const consolePage = { ...page, success: { status: 200, description: 'The page.' } } as const;

/** Pages of the console. They contain no data and need no key. */
export const consoleRoutes = defineRoutes('console', {
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
export const verifyRoutes = defineRoutes('console', {
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
  success: { status: 200, description: 'The text.', media: ['text/plain'] },
} as const;

/** The guide for programs that read text, by the names that https://llmstxt.org proposes. */
export const textRoutes = defineRoutes('documentation', {
  getGuideIndexText: { ...textPage, path: '/llms.txt', summary: 'Returns the list of the pages of the guide as text.' },
  getGuideText: { ...textPage, path: '/llms-full.txt', summary: 'Returns all pages of the guide as text.' },
});

/** Body of a sign-out, which is ignored. */
const SIGN_OUT_BYTES = 1024;

const signInPage = { scope: 'open', openQuery: true } as const;

/** Routes for signing in with a browser. They are not part of the contract; programs send tokens. */
export const signInRoutes = defineRoutes('sign-in', {
  beginSignIn: {
    ...signInPage,
    method: 'GET',
    path: '/auth/login',
    summary: 'Redirects the browser to the provider.',
    success: { status: 200, description: 'A redirection.' },
  },
  finishSignIn: {
    ...signInPage,
    method: 'GET',
    path: '/auth/callback',
    summary: 'Receives the browser from the provider.',
    success: { status: 200, description: 'A redirection.' },
  },
  getSession: {
    ...signInPage,
    method: 'GET',
    path: '/auth/session',
    summary: 'Returns the signed-in client, and the token that writes must contain.',
    success: { status: 200, description: 'The session.' },
  },
  endSession: {
    ...signInPage,
    method: 'DELETE',
    path: '/auth/session',
    summary: 'Signs out.',
    body: { schema: z.unknown(), optional: true, bytesMax: SIGN_OUT_BYTES },
    success: { status: 204, description: 'No client is signed in.' },
  },
});
