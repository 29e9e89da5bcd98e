import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import type { MarketViewName } from '#domain/sql/views.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { Repair } from '#market/audit/data-warning.js';
import type { RefreshOptions, RefreshReport } from '#market/content/refresh-report.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { SecurityBars, SeriesRequest } from '#market/serving/price-series.js';

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
