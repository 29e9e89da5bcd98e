import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/refusals/refusal.js';
import { openPackedMatrix, type PackedMatrix } from '#domain/risk/packed-matrix.js';
import type { StoredMatrix } from '#jobs/tasks/indices.js';

/**
 * The matrix read last, because a long body is requested in parts. Files are never rewritten, so a path identifies its
 * content.
 */
let latest: { readonly path: string; readonly at: number; readonly matrix: PackedMatrix } | undefined;

/** @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredMatrix({ path, order, at }: StoredMatrix): PackedMatrix {
  const from = at ?? 0;
  if (latest?.path === path && latest.at === from && latest.matrix.order === order) return latest.matrix;
  const numbers = readStoredDoubles(path);
  // A file of several matrices has more numbers than one.
  const own = at === undefined ? numbers : numbers.slice(at, at + (order * (order + 1)) / 2);
  latest = { path, at: from, matrix: openPackedMatrix(own, order) };
  return latest.matrix;
}

/** Reads the numbers of a stored model. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredDoubles(path: string): Float64Array {
  try {
    const bytes = readFileSync(path);
    const isAligned = bytes.byteOffset % Float64Array.BYTES_PER_ELEMENT === 0;
    const { buffer, byteOffset, byteLength } = isAligned ? bytes : Uint8Array.from(bytes);
    return new Float64Array(buffer, byteOffset, byteLength / Float64Array.BYTES_PER_ELEMENT);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored risk model cannot be read: its numbers are missing.', null, {
      cause,
    });
  }
}
