import type { ArtifactDestination } from '#store/port.js';
import type { CheckedFiles } from './tasks/files.js';

/** What a process remembers of files: 32,768 at 16 bytes, three of each of 10,000 runs. */
export const CHECKED_FILES_BYTES = 512 * 1024;

/**
 * Room for the files that a process writes or hashes, none of which it has yet. Undefined where other machines write to
 * the same place: what they do to a file may show in it late.
 */
export function newCheckedFiles(destination: ArtifactDestination): CheckedFiles | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return new BigUint64Array(new SharedArrayBuffer(CHECKED_FILES_BYTES));
}
