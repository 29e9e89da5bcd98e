import type { Reply } from './handler.js';

/** A view made for a request. */
export function viewReply({ bytes }: { readonly bytes: Uint8Array<ArrayBuffer> }): Reply {
  return { bytes };
}
