import { LOG_MEDIA } from '#contract/media-formats.js';
import type { publicationRoutes } from '#contract/publication.js';
import type { Publications } from '#services/publication/publications.js';
import type { Handlers } from '../handler.js';
import { logLines, logObject } from '../log-stream.js';

export function publicationHandlers(publications: Publications): Handlers<typeof publicationRoutes> {
  return {
    publishIndex: async ({ params, body, authorship, signal }) => ({
      json: await publications.publish(params.index_id, body, { by: authorship(), signal }),
    }),
    async getPublished({ params, query, media }) {
      const batches = await publications.entries(params.index_id, query);
      return media === LOG_MEDIA
        ? { stream: logLines(batches), type: LOG_MEDIA }
        : { stream: logObject(batches), type: 'application/json; charset=utf-8' };
    },
    getPublishedKeys: async ({ params }) => ({ json: await publications.keys(params.index_id) }),
    rotateSigningKey: async ({ authorship }) => ({ json: await publications.rotateKey(authorship()) }),
  };
}
