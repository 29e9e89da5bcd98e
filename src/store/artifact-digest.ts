import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ArtifactLocation } from './ownership/artifact-location.js';
import { digestFile, type FileDigest } from './files/file-digest.js';

/**
 * Function that returns the size and hash of a stored artifact. It reads the artifact store and not a cache.
 * @throws if the artifact is absent
 */
export type DigestArtifact = (name: string) => Promise<FileDigest>;

/** Opens an artifact store for digests. @cost one read of each requested artifact */
export async function openArtifactDigests(place: ArtifactLocation): Promise<DigestArtifact> {
  if (place.kind === 'folder') return (name) => digestFile(join(place.folder, name));
  const { createS3Client } = await import('./s3/s3-client.js'); // loaded on demand
  const client = createS3Client(place.access);
  return async (name) => {
    const digest = await client.get(name, async ({ body }) => {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of body) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { bytes, sha256: hash.digest('hex') };
    });
    if (digest === undefined) throw new Error(`there is no object ${name}`);
    return digest;
  };
}
