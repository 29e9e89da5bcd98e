import { statSync } from 'node:fs';
import type { Task } from '#jobs/tasks.js';
import type { SharedHashes } from '#jobs/tasks/files.js';
import type { HashCells } from '#jobs/thread-messages.js';
import { hashFile } from './run-file.js';

/** States of a file: unclaimed, being hashed, hashed, absent. */
const UNCLAIMED = 0;
const CLAIMED = 1;
const HASHED = 2;
const ABSENT = 3;

const DIGEST_BYTES = 32;

/**
 * Approximate number of bytes that a thread hashes per ms. A thread waits for a digest as long as it would take to
 * compute it.
 */
const BYTES_PER_MS = 1e6;

/** Hashes files that no thread has claimed yet. */
export const hashFiles: Task<'hash-files'> = (hashes) => {
  claimFiles(hashes);
  return null;
};

/**
 * Returns the SHA-256 of every file, null for an absent file. Hashes files on this thread that no thread has claimed,
 * and waits for the other files.
 */
export function completeHashes(hashes: SharedHashes): (string | null)[] {
  claimFiles(hashes);
  return hashes.paths.map((path, k) => finishHash(hashes.cells, k, path) ?? hashFile(path));
}

function claimFiles({ paths, cells: { states, digests } }: SharedHashes): void {
  for (const [k, path] of paths.entries()) {
    if (Atomics.compareExchange(states, k, UNCLAIMED, CLAIMED) !== UNCLAIMED) continue;
    const digest = hashFile(path);
    if (digest !== null) digests.set(Buffer.from(digest, 'hex'), k * DIGEST_BYTES);
    Atomics.store(states, k, digest === null ? ABSENT : HASHED);
    Atomics.notify(states, k);
  }
}

/**
 * Returns the hash from the thread that claimed a file. Returns undefined if the thread found no file, has ended or is
 * too slow.
 */
function finishHash({ states, digests }: HashCells, k: number, path: string): string | undefined {
  if (Atomics.load(states, k) === CLAIMED)
    Atomics.wait(states, k, CLAIMED, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / BYTES_PER_MS);
  return Atomics.load(states, k) === HASHED
    ? Buffer.from(digests.slice(k * DIGEST_BYTES, (k + 1) * DIGEST_BYTES)).toString('hex')
    : undefined;
}
