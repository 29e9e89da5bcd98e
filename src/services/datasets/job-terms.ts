import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import type { Activations } from './activations.js';
import type { DataVersions } from './data-versions.js';
import type { DatasetLoading } from './loading.js';
import type { StoreFiles } from './store-files.js';
import type { StoreMarkets } from './store-markets.js';

export interface DatasetJobsDependencies {
  readonly documents: DocumentStore;
  readonly markets: ServedMarkets;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  readonly calendars: Calendars;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  readonly versions: Pick<DataVersions, 'prepare' | 'preserve'>;
  readonly timestamp: () => string;
}
