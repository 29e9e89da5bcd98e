import { statSync } from 'node:fs';
import type { Task } from '#jobs/tasks.js';
import type { SharedHashes } from '#jobs/tasks/files.js';
import type { HashCells } from '#jobs/thread-messages.js';
import { hashFile } from './run-file.js';

/** What has become of a file: nobody has it, somebody hashes it, its digest is there, it is not there. */
const FREE = 0;
const TAKEN = 1;
const DONE = 2;
const ABSENT = 3;

const DIGEST_BYTES = 32;

/**
 * Bytes that a thread hashes in a millisecond, or nearly: what it takes to make a digest again is what it is waited
 * for.
 */
const BYTES_PER_MS = 1e6;

/** Hashes the files that nobody has taken yet. */
export const hashFiles: Task<'hash-files'> = (hashes) => {
  takeHashes(hashes);
  return null;
};

/**
 * SHA-256 of every file, null of one that is not there: of those that nobody takes by this thread, of the others as
 * they come.
 */
export function sharedHashes(hashes: SharedHashes): (string | null)[] {
  takeHashes(hashes);
  return hashes.paths.map((path, k) => finishedHash(hashes.cells, k, path) ?? hashFile(path));
}

function takeHashes({ paths, cells: { states, digests } }: SharedHashes): void {
  for (const [k, path] of paths.entries()) {
    if (Atomics.compareExchange(states, k, FREE, TAKEN) !== FREE) continue;
    const digest = hashFile(path);
    if (digest !== null) digests.set(Buffer.from(digest, 'hex'), k * DIGEST_BYTES);
    Atomics.store(states, k, digest === null ? ABSENT : DONE);
    Atomics.notify(states, k);
  }
}

/**
 * Undefined when it has not come: the other thread has ended, or hardly gets a processor. Absent files are looked for
 * again.
 */
function finishedHash({ states, digests }: HashCells, k: number, path: string): string | undefined {
  if (Atomics.load(states, k) === TAKEN)
    Atomics.wait(states, k, TAKEN, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / BYTES_PER_MS);
  return Atomics.load(states, k) === DONE
    ? Buffer.from(digests.slice(k * DIGEST_BYTES, (k + 1) * DIGEST_BYTES)).toString('hex')
    : undefined;
}
