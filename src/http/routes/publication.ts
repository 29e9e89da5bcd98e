import { BUNDLE_MEDIA, LOG_MEDIA } from '#contract/media-formats.js';
import type { publicationRoutes } from '#contract/publication.js';
import type { Bundles } from '#services/publication/bundles.js';
import type { Publications } from '#services/publication/publications.js';
import type { Handlers } from '../handler.js';
import { streamLogLines, streamLogObject } from '../log-stream.js';

export function createPublicationHandlers(
  publications: Publications,
  bundles: Bundles,
): Handlers<typeof publicationRoutes> {
  return {
    publishIndex: async ({ params, body, authorship, signal }) => ({
      json: await publications.publish(params.index_id, body, { by: authorship(), signal }),
    }),
    async getPublished({ params, query, media }) {
      const batches = await publications.entries(params.index_id, query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(batches), type: LOG_MEDIA }
        : { stream: streamLogObject(batches), type: 'application/json; charset=utf-8' };
    },
    async getPublishedBundle({ params, authorship, signal }) {
      const { parts, length } = await bundles.of(params.index_id, { by: authorship(), signal });
      return { stream: createByteStream(parts), length, type: BUNDLE_MEDIA };
    },
    listPublishedErrors: async ({ params, query }) => ({
      json: { errors: await publications.errors(params.index_id, query.limit) },
    }),
    getPublishedKeys: async ({ params }) => ({ json: await publications.keys(params.index_id) }),
    rotateSigningKey: async ({ authorship }) => ({ json: await publications.rotateKey(authorship()) }),
  };
}

/** Size of one chunk of a response in bytes. */
const PIECE_BYTES = 1 << 18;

/** Streams parts in chunks. Other requests are handled between two chunks. */
function createByteStream(parts: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = (function* () {
    for (const part of parts)
      for (let offset = 0; offset < part.length; offset += PIECE_BYTES)
        yield part.subarray(offset, offset + PIECE_BYTES);
  })();
  return new ReadableStream({
    pull(controller) {
      const { value, done } = pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}
