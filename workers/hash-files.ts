import type { HashCells, SharedHashes, Task } from '#jobs/tasks.js';
import { hashFile } from './run-file.js';

/** What has become of a file: nobody has it, somebody hashes it, its digest is there, it is not there. */
const FREE = 0;
const TAKEN = 1;
const DONE = 2;
const ABSENT = 3;

const DIGEST_BYTES = 32;

/** How long a digest is waited for that another thread makes: that of 1 GB. A thread may end under its work; then it is made again. */
const PATIENCE_MS = 1_000;

/** Hashes the files that nobody has taken yet. */
export const hashFiles: Task<'hash-files'> = (hashes) => {
  takeHashes(hashes);
  return null;
};

/** SHA-256 of every file, null of one that is not there: of those that nobody takes by this thread, of the others as they come. */
export function sharedHashes(hashes: SharedHashes, patienceMs = PATIENCE_MS): (string | null)[] {
  takeHashes(hashes);
  return hashes.paths.map((path, k) => finishedHash(hashes.cells, k, patienceMs) ?? hashFile(path));
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

/** Undefined when it has not come; absent files are looked for again. */
function finishedHash({ states, digests }: HashCells, k: number, patienceMs: number): string | undefined {
  Atomics.wait(states, k, TAKEN, patienceMs);
  return Atomics.load(states, k) === DONE ? Buffer.from(digests.slice(k * DIGEST_BYTES, (k + 1) * DIGEST_BYTES)).toString('hex') : undefined;
}
