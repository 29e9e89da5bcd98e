import type { ArtifactDestination } from '#store/port.js';
import type { CheckedFiles } from './tasks/files.js';

/**
 * Size in bytes of a process's record of files. It has 32,768 entries of 16 bytes: three entries for each of 10,000
 * runs.
 */
export const CHECKED_FILES_BYTES = 512 * 1024;

/**
 * Creates an empty record of the files that a process writes or hashes. Returns undefined if other machines write to
 * the same location: their changes to a file may become visible late.
 */
export function createCheckedFiles(destination: ArtifactDestination): CheckedFiles | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return new BigUint64Array(new SharedArrayBuffer(CHECKED_FILES_BYTES));
}
