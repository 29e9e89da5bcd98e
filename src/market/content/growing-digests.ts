import { BLOCK_DAYS, blockDigests, type MadeBlocks } from './day-blocks.js';
import type { DayFollower } from './scatter-rows.js';

/**
 * Digests of the blocks of a content that are made as its days are completed, while they are still near the processor.
 */
export interface GrowingDigests extends DayFollower {
  /** Digests made so far of the latest panels. */
  made(): MadeBlocks | undefined;
}

/** @cost of the content hash, on the thread that completes the days */
export function createGrowingDigests(): GrowingDigests {
  let made: MadeBlocks | undefined;
  let digests = new Map<number, Uint8Array>();
  let digestOf: ((block: number) => Uint8Array) | undefined;
  return {
    begin(panels) {
      digests = new Map();
      digestOf = blockDigests(panels);
      made = { fields: panels.fields, digests };
    },
    complete(from, to) {
      for (let block = from / BLOCK_DAYS; block * BLOCK_DAYS < to; block++) digests.set(block, digestOf!(block)); // begun with
    },
    made: () => made,
  };
}
