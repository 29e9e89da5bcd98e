import { Buffer } from 'node:buffer';
import { createHash, webcrypto } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { callDirectly, WRITE_MS } from '../access/folder-calls.js';
import { closeBy, openBy, writePart } from './flush-folder.js';

export interface FileDigest {
  readonly bytes: number;
  /** SHA-256 of the content, hex. */
  readonly sha256: string;
}

const CHUNK_BYTES = 1 << 20;
/** Size above which files are hashed in chunks. Files of data stores are larger; results are smaller. */
const WHOLE_BYTES_MAX = 64 << 20;

/** Returns the size and hash of a file. @cost one read of the file */
export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Returns the SHA-256 of a file, hex; a small file is hashed outside the event loop. @cost one read of the file */
export async function computeFileSha256(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > WHOLE_BYTES_MAX) return (await digestFile(path)).sha256;
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', await readFile(path))).toString('hex');
}

/**
 * Copies a file to a new file. The copy is on disk when the promise resolves.
 * @returns size and hash of the copied bytes
 * @param call makes each call to the new file
 * @cost one read and one write of the file
 */
export async function copyFlushed(from: string, to: string, call = callDirectly): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  const target = await openBy(call, to, 'wx');
  try {
    for await (const chunk of createReadStream(from, { highWaterMark: CHUNK_BYTES })) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      await writePart(call, target, chunk as Buffer);
    }
    await call(() => target.datasync(), WRITE_MS);
  } finally {
    await closeBy(call, target);
  }
  return { bytes, sha256: hash.digest('hex') };
}
