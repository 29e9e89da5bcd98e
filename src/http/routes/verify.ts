import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineRoutes } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Handlers } from '../handler.js';
import { createEncodedReply, type ConsoleFile } from './console.js';

/**
 * Function that returns a file of the page `/verify`. It returns undefined if the file does not exist or if the engine
 * was not built.
 */
export type VerifyFiles = (name: string) => ConsoleFile | undefined;

const page = {
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
    ...page,
    path: '/verify',
    summary: 'Returns the page that verifies a published index in the browser.',
  },
  getVerifyFile: {
    ...page,
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
