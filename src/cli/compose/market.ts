import type { Calendars } from '#domain/calendars/calendar.js';
import type { JobSystem } from '#jobs/job-system.js';
import { createDatabasePlaces } from '#market/sources/databases/database-place.js';
import { createLocations } from '#market/sources/locations.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { createServedMarkets, type ServedMarkets } from '#market/serving/served-markets.js';
import { calendarsInUse } from '#services/indices/calendars-in-use.js';
import { createData, type Data } from '#services/data/data.js';
import { followStoreEvents } from '#services/datasets/events.js';
import { createStoreJobs, type StoreJobs } from '#services/datasets/jobs.js';
import { createStoreLoading } from '#services/datasets/loading.js';
import { createStores, type Stores } from '#services/datasets/stores.js';
import type { Home } from '#store/home/home.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Settings } from '../settings.js';

export interface MarketRooms {
  readonly markets: ServedMarkets;
  readonly stores: Stores;
  readonly data: Data;
  /** Handlers of the jobs that change them. */
  readonly jobKinds: StoreJobs;
}

/** The served market and the stores behind it. */
export function composeMarket(rooms: {
  readonly home: Home;
  readonly settings: Settings;
  readonly documents: DocumentStore;
  readonly jobs: JobSystem;
  readonly calendars: Calendars;
  /** Called when another market is served. */
  readonly onServe: () => void;
}): MarketRooms {
  const { home, settings, documents, jobs, calendars, onServe } = rooms;
  const timestamp = () => formatTimestamp(Date.now());
  const locations = createLocations([...settings.dataRoots, home.stores]);
  const folders = createManagedFolders(home.stores);
  const markets = createServedMarkets(onServe);
  followStoreEvents({ documents, markets, folders });
  const databases = createDatabasePlaces({ locations, hosts: settings.databaseHosts });
  const inUse = () => calendarsInUse(documents);
  const loading = createStoreLoading({ locations, databases, calendarsInUse: inUse, timestamp });
  const kinds = createStoreJobs({ documents, markets, loading, folders, calendars, calendarsInUse: inUse, timestamp });
  const stores = createStores({
    documents,
    jobs,
    kinds,
    markets,
    loading,
    locations,
    databases,
    folders,
    calendars,
    calendarsInUse: inUse,
    timestamp,
  });
  const data = createData({ markets, jobs, served: () => stores.servedStore(), now: Date.now });
  return { markets, stores, data, jobKinds: kinds };
}
