import { LOG_MEDIA, type publicationRoutes } from '#contract/publication.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';
import type { Publications } from '#services/publication/publications.js';
import type { Handlers } from '../handler.js';

export function publicationHandlers(publications: Publications): Handlers<typeof publicationRoutes> {
  return {
    publishIndex: async ({ params, body, authorship, signal }) => ({
      json: await publications.publish(params.index_id, body, { by: authorship(), signal }),
    }),
    async getPublished({ params, query, media }) {
      const batches = await publications.entries(params.index_id, query);
      return media === LOG_MEDIA
        ? { stream: textStream(lines(batches)), type: LOG_MEDIA }
        : { stream: textStream(listed(batches)), type: 'application/json; charset=utf-8' };
    },
    getPublishedKeys: async ({ params }) => ({ json: { keys: await publications.keys(params.index_id) } }),
    rotateSigningKey: async ({ authorship }) => ({ json: await publications.rotateKey(authorship()) }),
  };
}

type Batches = AsyncGenerator<readonly PublicationEntry[]>;

async function* lines(batches: Batches): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* listed(batches: Batches): AsyncGenerator<string> {
  yield '{"entries":[';
  let isFirst = true;
  for await (const batch of batches) {
    for (const entry of batch) {
      yield `${isFirst ? '' : ','}${JSON.stringify(entry)}`;
      isFirst = false;
    }
  }
  yield ']}';
}

function textStream(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
