import type { Worker } from 'node:worker_threads';
import { THREAD_BYTES_MIN, startHashing, type HashingOrder } from '../threads/hashing.js';
import { computePanelBytes, type Panels } from '../panels/panels.js';
import { BLOCK_DAYS, createBlockDigests, type ComputedBlocks } from '../panels/day-blocks.js';
import type { DayFollower } from '../threads/scatter-rows.js';

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
  /** Ends the thread. */
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
