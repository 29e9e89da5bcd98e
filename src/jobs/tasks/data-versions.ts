import type { MarketHandle } from '#domain/market/handle.js';
import type { HashedFile } from './files.js';

/** Two contents of one data store. */
export interface ContentChangeInput {
  readonly before: MarketHandle;
  readonly after: MarketHandle;
}

export interface ContentChangeOutput {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
  readonly rows: { readonly added: number; readonly changed: number; readonly removed: number };
}

export interface EarlierMarketInput {
  readonly last: MarketHandle;
  /** Changes back from it, the latest first. */
  readonly changes: readonly HashedFile[];
  /** Hash that the content has to have. */
  readonly contentHash: string;
}

export interface DataDifferenceInput extends ContentChangeInput {
  readonly from: number;
  readonly to: number;
  /** Most values that are listed. */
  readonly limit: number;
}
