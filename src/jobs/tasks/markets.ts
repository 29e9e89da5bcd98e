import type { MarketViewName } from '#domain/sql/views.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { Repair } from '#market/audit/doubt.js';
import type { RefreshOptions, RefreshReport } from '#market/content/refresh-report.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { NameBars, SeriesRequest } from '#market/serving/price-series.js';

export interface RepairMarketInput {
  readonly market: MarketHandle;
  readonly repairs: readonly Repair[];
  /** Folder to write to, and the store it is for. */
  readonly folder: string;
  readonly datasetId: string;
  /** Codes of the calendars that stored indices are on. */
  readonly calendars: readonly string[];
}

export interface RepairMarketOutput {
  readonly handle: MarketHandle;
  readonly summary: ContentSummary;
}

export interface RefreshMarketInput {
  readonly held: MarketHandle;
  readonly fresh: MarketHandle;
  readonly options: Omit<RefreshOptions, 'adjustment'>;
  /** Codes of the calendars that stored indices are on. */
  readonly calendars: readonly string[];
}

export interface RefreshMarketOutput {
  readonly handle: MarketHandle;
  /** Whether identifiers and tables are those held. */
  readonly isSameTables: boolean;
  readonly report: RefreshReport;
  readonly identifiers: number;
  /** Doubts about the new version. */
  readonly warnings: readonly Finding[];
}

/** One name's bars, and how a client wants them. */
export interface PricesInput {
  readonly identifier: string;
  readonly bars: NameBars;
  readonly request: SeriesRequest;
  readonly format: 'json' | 'csv' | 'arrow';
}

export interface MarketTableInput {
  readonly market: MarketHandle;
  readonly table: MarketViewName;
  /** Columns besides the keys. */
  readonly columns: readonly string[];
  /** File that is written; it must not be there. */
  readonly path: string;
}
