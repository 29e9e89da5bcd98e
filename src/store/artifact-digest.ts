import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ArtifactPlace } from './place/artifact-place.js';
import { digestFile, type FileDigest } from './files/file-digest.js';

/** Size and hash of a stored artifact as it lies there, no copy of it. @throws where it is not there */
export type DigestArtifact = (name: string) => Promise<FileDigest>;

/** @cost one read of each artifact that is asked for */
export async function openArtifactDigests(place: ArtifactPlace): Promise<DigestArtifact> {
  if (place.kind === 'folder') return (name) => digestFile(join(place.folder, name));
  const { createS3Client } = await import('./s3/s3-client.js'); // Loaded by those alone who use it.
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
