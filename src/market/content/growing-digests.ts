import { BLOCK_DAYS, blockDigests, type MadeBlocks } from './day-blocks.js';
import type { DayFollower } from './scatter-rows.js';

/** Digests of blocks of days, computed as the days are completed, while they are in the processor's cache. */
export interface GrowingDigests extends DayFollower {
  /** Digests computed so far for the panels of the last `begin`; undefined before it. */
  made(): MadeBlocks | undefined;
}

/** @cost that of the content hash, on the thread that completes the days */
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
      for (let block = from / BLOCK_DAYS; block * BLOCK_DAYS < to; block++) digests.set(block, digestOf!(block)); // set by `begin`
    },
    made: () => made,
  };
}
