import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Refusal } from '#domain/refusals/refusal.js';
import { openPackedMatrix, type PackedMatrix } from '#domain/risk/packed-matrix.js';
import type { StoredMatrix } from '#jobs/tasks/indices.js';

/**
 * Matrix that was read last. It is cached, because a long response is requested in parts. Files are never changed, so
 * that a path identifies its content.
 */
let latestMatrix: { readonly paths: string; readonly at: number; readonly matrix: PackedMatrix } | undefined;

/** Reads a stored matrix, or returns the cached one. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredMatrix({ paths, order, at }: StoredMatrix): PackedMatrix {
  const from = at ?? 0;
  const key = paths.join();
  if (latestMatrix?.paths === key && latestMatrix.at === from && latestMatrix.matrix.order === order)
    return latestMatrix.matrix;
  const numbers = readStoredDoubles(paths);
  // A file with several matrices has more numbers than one matrix.
  const selectedNumbers = at === undefined ? numbers : numbers.slice(at, at + (order * (order + 1)) / 2);
  latestMatrix = { paths: key, at: from, matrix: openPackedMatrix(selectedNumbers, order) };
  return latestMatrix.matrix;
}

/** Reads the numbers of a stored model from its files, one after another. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredDoubles(paths: readonly string[]): Float64Array {
  const files: number[] = [];
  try {
    for (const path of paths) files.push(openSync(path, 'r'));
    const sizes = files.map((file) => fstatSync(file).size);
    const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
    let position = 0;
    for (const [i, file] of files.entries()) {
      fill(file, bytes.subarray(position, position + sizes[i]!));
      position += sizes[i]!;
    }
    return new Float64Array(bytes.buffer);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored risk model cannot be read: its numbers are missing.', null, {
      cause,
    });
  } finally {
    files.forEach(closeSync);
  }
}

/** Fills a buffer from a file. @throws Error if the file is shorter */
function fill(file: number, bytes: Uint8Array): void {
  for (let readBytes = 0; readBytes < bytes.length;) {
    const count = readSync(file, bytes, readBytes, bytes.length - readBytes, readBytes);
    if (count === 0) throw new Error(`the file ends after ${readBytes} of ${bytes.length} bytes`);
    readBytes += count;
  }
}
