import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileDigest } from './read-source.js';

/** The size of a file and the SHA-256 of its bytes. @throws when it cannot be read */
export async function digestFile(path: string, label: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer); // no encoding is set
    bytes += (chunk as Buffer).length;
  }
  return { label, bytes, sha256: hash.digest('hex') };
}
