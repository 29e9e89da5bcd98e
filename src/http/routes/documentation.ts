import { createHash } from 'node:crypto';
import type { documentationRoutes } from '#contract/documentation.js';
import type { Handlers } from '../handler.js';

/** @param openApi  builds the document; called at the first request, and never again. */
export function documentationHandlers(openApi: () => object): Handlers<typeof documentationRoutes> {
  let built: { readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string } | undefined;
  const document = () => {
    const bytes = new TextEncoder().encode(JSON.stringify(openApi()));
    return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
  };
  return {
    getOpenApi: () => (built ??= document()),
  };
}
