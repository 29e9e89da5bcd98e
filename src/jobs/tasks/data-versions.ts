import type { MarketHandle } from '#domain/market/handle.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import type { HashedBytes, HashedFile } from './files.js';

/** Two contents of one data store. */
export interface TwoContents {
  readonly before: MarketHandle;
  readonly after: MarketHandle;
}

export interface ContentChangeInput extends TwoContents {
  /** True if the change in the other direction, from the earlier content to the later one, is also computed. */
  readonly isBothWays: boolean;
}

export interface ContentChangeOutput {
  /** Change from the later content to the earlier one. */
  readonly back: HashedBytes;
  /** Change from the earlier content to the later one; null if it was not requested. */
  readonly forth: HashedBytes | null;
  readonly rows: ChangeCounts;
}

export interface CopiedMarketInput extends Pick<MarketIdentity, 'datasetId' | 'adjustment' | 'currency'> {
  readonly content: HashedFile;
  /** Changes to apply, the earliest first. */
  readonly changes: readonly HashedFile[];
  /** Required hash of the content. */
  readonly contentHash: string;
}

export interface EarlierMarketInput {
  readonly last: MarketHandle;
  /** Changes to apply backwards, the latest first. */
  readonly changes: readonly HashedFile[];
  /** Required hash of the content. */
  readonly contentHash: string;
}

export interface DataDifferenceInput extends TwoContents {
  readonly from: number;
  readonly to: number;
  /** Maximum number of listed values. */
  readonly limit: number;
  readonly isAppendedListed: boolean;
}
