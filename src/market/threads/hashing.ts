import { Worker } from 'node:worker_threads';
import type { Panels } from '../panels/panels.js';
import { digestFiles, type FileDigest } from '../formats/digest-file.js';
import type { SourceFile } from '../formats/source-file.js';

/** Orders to the hashing thread. It sets the panels in shared memory, hashes a block of them, or hashes files. */
export type HashingOrder =
  | { readonly kind: 'panels'; readonly turn: number; readonly panels: Panels }
  | { readonly kind: 'block'; readonly block: number }
  | { readonly kind: 'files'; readonly files: readonly Pick<SourceFile, 'path' | 'label'>[] };

export type HashingResult =
  | { readonly kind: 'block'; readonly turn: number; readonly block: number; readonly digest: Uint8Array }
  | { readonly kind: 'files'; readonly digests: readonly FileDigest[] }
  | { readonly kind: 'unread'; readonly message: string };

/** Minimum number of bytes for a separate hashing thread, which takes 50 ms to start. */
export const THREAD_BYTES_MIN = 64 << 20;

/** Starts a hashing thread. @param onEnd called when the thread has stopped for any reason */
export function startHashing(onAnswer: (answer: HashingResult) => void, onEnd: () => void): Worker {
  const thread = new Worker(new URL('./hashing-thread.js', import.meta.url));
  thread.on('message', onAnswer);
  thread.on('error', onEnd); // an exit follows
  thread.on('exit', onEnd);
  return thread;
}

/**
 * Hashes files like `digestFiles`. Uses a separate thread if the files are large.
 * @throws if a file cannot be read
 */
export async function digestFilesApart(files: readonly SourceFile[], digests: FileDigest[]): Promise<void> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const answer = bytes < THREAD_BYTES_MIN ? undefined : await hashInThread(files);
  if (answer?.kind === 'unread') throw new Error(answer.message);
  if (answer?.kind === 'files') digests.push(...answer.digests);
  else await digestFiles(files, digests);
}

/** Returns the digests of files from a separate thread. Returns undefined if the thread ended without an answer. */
async function hashInThread(files: readonly SourceFile[]): Promise<HashingResult | undefined> {
  let thread: Worker | undefined;
  try {
    return await new Promise((resolve) => {
      thread = startHashing(resolve, () => resolve(undefined));
      const order: HashingOrder = { kind: 'files', files: files.map(({ path, label }) => ({ path, label })) };
      thread.postMessage(order, []);
    });
  } finally {
    await thread?.terminate();
  }
}
