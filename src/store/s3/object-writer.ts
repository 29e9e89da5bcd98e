import { createHash } from 'node:crypto';
import type { ArtifactDestination, ArtifactWriter } from '../port.js';
import { joinBytes } from '#base/memory/produced-bytes.js';
import { openObjectCache } from './object-cache.js';
import { createS3Client } from './s3-client.js';

/** Maximum size of produced content that is joined in memory. Larger content is sent from a file. */
const JOINED_BYTES_MAX = 16 << 20;

/**
 * Opens a writer of artifacts as objects. It also stores the objects in the cache of this machine, because they are
 * read there next.
 */
export async function openObjectWriter(
  destination: Extract<ArtifactDestination, { readonly kind: 's3' }>,
): Promise<ArtifactWriter> {
  const client = createS3Client(destination.access);
  const cache = await openObjectCache(destination.cache);
  return {
    async write(contents) {
      const outcomes = await Promise.allSettled(
        contents.map(async ({ name, bytes: content }) => {
          if (!(content instanceof Uint8Array) && content.length > JOINED_BYTES_MAX) {
            const sha256 = await cache.make(name, content, (source, hash) => client.put(name, source, hash));
            return { name, bytes: content.length, sha256 };
          }
          const bytes = content instanceof Uint8Array ? content : joinBytes(content); // the signature of a request includes its hash, so the hash must be known before
          const sha256 = createHash('sha256').update(bytes).digest('hex');
          await client.put(name, bytes, sha256);
          await cache.put(name, bytes, sha256);
          return { name, bytes: bytes.length, sha256 };
        }),
      );
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure !== undefined) {
        // Objects that cannot be removed now have no document. They are removed a day later.
        await Promise.allSettled(contents.map(({ name }) => client.remove(name)));
        throw failure.reason;
      }
      return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    },
  };
}
