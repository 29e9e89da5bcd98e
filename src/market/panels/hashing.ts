import { Worker } from 'node:worker_threads';
import { digestFiles, type SourceDigest, type SourceFile } from '../formats/source-file.js';
import { BLOCK_DAYS, type ComputedBlocks, computePanelBytes, createBlockDigests, type Panels } from './panels.js';
import type { DayFollower } from './scattering.js';

/** Orders to the hashing thread. It sets the panels in shared memory, hashes a block of them, or hashes files. */
export type HashingOrder =
  | { readonly kind: 'panels'; readonly turn: number; readonly panels: Panels }
  | { readonly kind: 'block'; readonly block: number }
  | { readonly kind: 'files'; readonly files: readonly Pick<SourceFile, 'path' | 'label'>[] };

export type HashingResult =
  | { readonly kind: 'block'; readonly turn: number; readonly block: number; readonly digest: Uint8Array }
  | { readonly kind: 'files'; readonly digests: readonly SourceDigest[] }
  | { readonly kind: 'unread'; readonly message: string };

/** Minimum number of bytes for a separate hashing thread, which takes 50 ms to start. */
export const THREAD_BYTES_MIN = 64 << 20;

/** Starts a hashing thread. @param onEnd called when the thread has stopped for any reason */
function startHashing(onAnswer: (answer: HashingResult) => void, onEnd: () => void): Worker {
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
export async function digestFilesApart(files: readonly SourceFile[], digests: SourceDigest[]): Promise<void> {
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

/**
 * Digests of blocks of days, which are computed as days are completed. Large panels in shared memory are hashed in a
 * separate thread. Other panels are hashed at once, while they are in the processor cache.
 */
export interface GrowingDigests extends Required<DayFollower> {
  /**
   * Returns the available digests of blocks that were completed since the last `begin`. Returns undefined before the
   * first `begin`.
   */
  awaitBlocks(): Promise<ComputedBlocks | undefined>;
  end(): Promise<void>;
}

/** Creates the digests. @cost equal to that of the content hash */
export function createGrowingDigests(): GrowingDigests {
  let computedBlocks: ComputedBlocks | undefined;
  let digests = new Map<number, Uint8Array>();
  let digestOf: ((block: number) => Uint8Array) | undefined;
  let thread: Worker | undefined;
  /** Serial number of the current panels, and number of blocks that the thread has not hashed yet. */
  let [turn, awaited] = [0, 0];
  let onSettled = () => {};

  function start(): Worker {
    const hashingThread = startHashing(
      (answer) => {
        if (answer.kind !== 'block' || answer.turn !== turn) return;
        digests.set(answer.block, answer.digest);
        awaited -= 1;
        if (awaited === 0) onSettled();
      },
      () => {
        if (thread !== hashingThread) return;
        thread = undefined; // the content hash computes the missing digests
        awaited = 0;
        onSettled();
      },
    );
    return hashingThread;
  }

  const order = (message: HashingOrder) => thread!.postMessage(message, []);

  return {
    begin(panels) {
      digests = new Map();
      computedBlocks = { fields: panels.fields, digests };
      digestOf = undefined;
      [turn, awaited] = [turn + 1, 0];
      if (isShared(panels)) {
        thread ??= start();
        order({ kind: 'panels', turn, panels });
      } else digestOf = createBlockDigests(panels);
    },
    digested: (block, digest) => void digests.set(block, digest),
    complete(from, to) {
      for (let block = from / BLOCK_DAYS; block * BLOCK_DAYS < to; block++) {
        if (digests.has(block)) continue;
        if (digestOf !== undefined) digests.set(block, digestOf(block));
        else if (thread !== undefined) {
          awaited += 1;
          order({ kind: 'block', block });
        }
      }
    },
    async awaitBlocks() {
      if (awaited > 0) await new Promise<void>((resolve) => (onSettled = resolve));
      return computedBlocks;
    },
    async end() {
      const endedThread = thread;
      thread = undefined;
      await endedThread?.terminate();
    },
  };
}

/** Returns true if panels are large enough for a separate thread and in memory that it can read. */
function isShared({ identifiers, dates, fields }: Panels): boolean {
  const shape = { identifiers: identifiers.length, dates: dates.length, fields: fields.size };
  return (
    computePanelBytes(shape) >= THREAD_BYTES_MIN &&
    [...fields.values()].every(({ buffer }) => buffer instanceof SharedArrayBuffer)
  );
}
