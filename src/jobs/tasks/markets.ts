import type { Finding } from '#domain/base/findings.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import type { MarketHandle, MarketIdentity } from '#domain/market/market-data.js';
import type { MarketViewName } from '#domain/outputs/exports.js';
import type { ChangeCounts } from '#market/content/changes.js';
import type { RefreshOptions, RefreshReport } from '#market/judge/refresh.js';
import type { Repair } from '#market/judge/security-histories.js';
import type { ContentSummary } from '#market/serve/market-tasks.js';
import type { SecurityBars, SeriesRequest } from '#market/serve/price-series.js';
import type { HashedBytes, HashedFile } from './messages.js';

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
  readonly contentHash: string;
}

export interface EarlierMarketInput {
  readonly last: MarketHandle;
  /** Changes to apply backwards, the latest first. */
  readonly changes: readonly HashedFile[];
  readonly contentHash: string;
}

export interface DataDifferenceInput extends TwoContents {
  readonly from: number;
  readonly to: number;
  /** Maximum number of listed values. */
  readonly limit: number;
  readonly isAppendedListed: boolean;
}

export interface RepairMarketInput {
  readonly market: MarketHandle;
  readonly repairs: readonly Repair[];
  /** Target folder, and the store that it belongs to. */
  readonly folder: string;
  readonly datasetId: string;
  /** Calendars of stored indices. */
  readonly calendars: UsedCalendars;
}

export interface RepairMarketOutput {
  readonly handle: MarketHandle;
  readonly summary: ContentSummary;
}

export interface RefreshMarketInput {
  readonly held: MarketHandle;
  readonly fresh: MarketHandle;
  readonly options: Omit<RefreshOptions, 'adjustment'>;
  /** Calendars of stored indices. */
  readonly calendars: UsedCalendars;
}

export interface RefreshMarketOutput {
  readonly handle: MarketHandle;
  /** True if identifiers and tables are unchanged. */
  readonly isSameTables: boolean;
  readonly report: RefreshReport;
  readonly identifiers: number;
  /** Data warnings about the new version. */
  readonly warnings: readonly Finding[];
  /** Data warnings that the previous version did not have. */
  readonly newWarnings: readonly Finding[];
}

/** Request for the bars of one security in a client's format. */
export interface PricesInput {
  readonly identifier: string;
  readonly bars: SecurityBars;
  readonly request: SeriesRequest;
  readonly format: 'json' | 'csv' | 'arrow';
}

export interface MarketTableInput {
  readonly market: MarketHandle;
  readonly table: MarketViewName;
  /** Columns in addition to the keys. */
  readonly columns: readonly string[];
  /** Path of the new file, which must not exist. */
  readonly path: string;
}
