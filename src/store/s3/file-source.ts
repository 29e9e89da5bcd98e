import type { FileHandle } from 'node:fs/promises';
import type { ObjectSource } from './s3-client.js';

/** Returns the content of an open file as a source, which reads it piece by piece. */
export const createSource = (file: FileHandle, length: number): ObjectSource => ({
  length,
  slice: (start, end) => readSlice(file, start, end),
});

async function readSlice(file: FileHandle, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at);
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - at} bytes early`);
    at += bytesRead;
  }
  return bytes;
}
