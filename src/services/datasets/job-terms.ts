import type { Calendars } from '#domain/calendars/calendar.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import type { DatasetLoading } from './loading.js';

export interface RefreshPayload {
  readonly store_id: string;
  /** Last day to bring in, null for the latest there is. */
  readonly until: string | null;
  readonly full: boolean;
}

export interface LoadPayload {
  readonly store_id: string;
}

export interface DatasetJobsDependencies {
  readonly documents: DocumentStore;
  readonly markets: ServedMarkets;
  readonly loading: DatasetLoading;
  readonly folders: ManagedFolders;
  readonly calendars: Calendars;
  /** Codes of the calendars that stored indices are on. */
  readonly calendarsInUse: () => Promise<readonly string[]>;
  readonly timestamp: () => string;
}
