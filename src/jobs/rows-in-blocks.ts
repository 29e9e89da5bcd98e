import type { ArtifactRef } from '#store/port.js';

/** Rows of a result as the text of JSON, one block behind the other. */
export interface RowsInBlocks {
  readonly artifact: ArtifactRef;
  readonly count: number;
  /** In their order. */
  readonly blocks: readonly RowBlock[];
}

/** The rows of a block, separated by commas. */
export interface RowBlock {
  readonly bytes: number;
  /** Of those bytes, hex. */
  readonly sha256: string;
}
