import type { FileHandle } from 'node:fs/promises';
import type { ObjectSource } from './s3-client.js';

/** Returns the content of an open file as a source. The source reads the file piece by piece. */
export const createSource = (file: FileHandle, length: number): ObjectSource => ({
  length,
  slice: (start, end) => readSlice(file, start, end),
});

async function readSlice(file: FileHandle, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  for (let offset = 0; offset < bytes.length;) {
    const { bytesRead } = await file.read(bytes, offset, bytes.length - offset, start + offset);
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - offset} bytes early`);
    offset += bytesRead;
  }
  return bytes;
}
