import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import type { HashedBytes, HashedFile } from './files.js';

/** Two contents of one data store. */
export interface TwoContents {
  readonly before: MarketHandle;
  readonly after: MarketHandle;
}

export interface ContentChangeInput extends TwoContents {
  /** Whether the content after is to be made from the one before, too. */
  readonly isBothWays: boolean;
}

export interface ContentChangeOutput {
  /** How the content before is made from the one after. */
  readonly back: HashedBytes;
  /** The other way round, where it was asked for. */
  readonly forth: HashedBytes | null;
  readonly rows: ChangeCounts;
}

export interface CopiedMarketInput extends Pick<MarketIdentity, 'datasetId' | 'adjustment' | 'currency'> {
  readonly content: HashedFile;
  /** Changes from it, the earliest first. */
  readonly changes: readonly HashedFile[];
  /** Hash that the content has to have. */
  readonly contentHash: string;
}

export interface EarlierMarketInput {
  readonly last: MarketHandle;
  /** Changes back from it, the latest first. */
  readonly changes: readonly HashedFile[];
  /** Hash that the content has to have. */
  readonly contentHash: string;
}

export interface DataDifferenceInput extends TwoContents {
  readonly from: number;
  readonly to: number;
  /** Most values that are listed. */
  readonly limit: number;
  readonly isAppendedListed: boolean;
}
