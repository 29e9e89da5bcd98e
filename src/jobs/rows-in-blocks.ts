import type { ArtifactRef } from '#store/port.js';

/** Rows of a result as JSON text, in consecutive blocks. */
export interface RowsInBlocks {
  readonly artifact: ArtifactRef;
  readonly count: number;
  /** Blocks in the order of the rows. */
  readonly blocks: readonly RowBlock[];
}

/** Rows of a block, separated by commas. */
export interface RowBlock {
  readonly bytes: number;
  /** SHA-256 of the block's bytes, hex. */
  readonly sha256: string;
}
