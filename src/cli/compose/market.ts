import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { Logger } from 'pino';
import type { CalendarsInUse } from '#domain/calendars/calendar.js';
import { findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { createManagedFolders, type ManagedFolders } from '#market/content/managed-folder.js';
import { createDatabaseLocations, type DatabaseLocations } from '#market/read/database-location.js';
import { createLocations, type Locations } from '#market/read/folder.js';
import { createCallMarkets, createServedMarkets, type ServedMarkets } from '#market/serve/served-markets.js';
import { readCalendarsInUse } from '#services/indices/calendars.js';
import type { Context, DataVersions, StoreMarkets } from '#services/shared/context.js';
import { createDataVersions } from '#services/stores/data-versions.js';
import { createSharedStoreFiles, localStoreFiles, type SourceContext } from '#services/shared/store-documents.js';
import { createDatasetJobs, type DatasetJobs } from '#services/stores/jobs.js';
import { createDatasetLoading } from '#services/stores/loading.js';
import {
  type Activations,
  createLocalActivations,
  createRegeneration,
  createSharedActivations,
  createStoreContents,
  createStoreMarkets,
  followDatasetEvents,
} from '#services/stores/serving.js';
import { createDatasets, type Datasets } from '#services/stores/stores.js';
import type { Home } from '#store/home/home.js';
import { changePassword, type SecretBox } from '#store/secret-box.js';
import type { Settings } from '../settings/settings.js';
import { getBuildVersion } from '../version.js';
import type { Role } from './storage.js';

export interface MarketComponents {
  /** Market that a call reads: the market of the store that the call names, otherwise of the active store. */
  readonly markets: ServedMarkets;
  /** Market of the active store. */
  readonly active: ServedMarkets;
  readonly stores: StoreMarkets;
  readonly activations: Activations;
  readonly datasets: Datasets;
  readonly dataVersions: DataVersions;
  /** Handlers of the jobs that change data stores. */
  readonly jobKinds: DatasetJobs;
}

export interface MarketComposition extends Omit<
  Context,
  'markets' | 'stores' | 'dataVersions' | 'states' | 'approvals'
> {
  readonly role: Role;
  readonly home: Home;
  readonly settings: Settings;
  readonly log: Logger;
  /** Called when another market is served. */
  readonly onServe: () => void;
}

/**
 * Maximum time in ms that a service waits for copies of data when it stops. It is half the grace period of a container.
 */
const SERVICE_COPY_WAIT_MS = 5000;

/**
 * Maximum time in ms that a command waits for copies of data. Without the copy, the next command would read a changed
 * source when it starts, and would store data that its refresh rejects.
 */
const COMMAND_COPY_WAIT_MS = 600_000;

/** Composes the served market and its data stores. */
export function composeMarket(core: MarketComposition): MarketComponents {
  const { role, home, settings, log, documents, artifacts, onServe } = core;
  const isShared = settings.artifacts !== undefined;
  const locations = createLocations([...settings.dataRoots, home.stores], {
    machine: isShared ? hostname() : undefined,
    // Several machines share the documents: a path may be another folder on each.
    areRegisteredAllowed: !settings.areDataRootsGiven && !isShared,
  });
  const folders = isShared ? resolveSharedFolders(home.stores) : createManagedFolders(home.stores);
  const active = createServedMarkets(onServe);
  const markets = createCallMarkets(active);
  const calendarsInUse: CalendarsInUse = (datasetId, isActive = active.served()?.identity.datasetId === datasetId) =>
    readCalendarsInUse(documents, { datasetId, isActive });
  const sources: SourceContext = {
    ...core,
    markets: active,
    locations,
    databases: listDatabases(core, locations),
    folders,
    files: isShared ? createSharedStoreFiles(artifacts, folders, home.stores) : localStoreFiles,
    calendarsInUse,
  };
  const activations = isShared
    ? createSharedActivations(sources, (cause) => log.error({ err: cause }, 'the active market could not be loaded'))
    : createLocalActivations(active, getBuildVersion());
  const versions = createDataVersions(
    { ...sources, markets },
    {
      copyWaitMs: role === 'command' ? COMMAND_COPY_WAIT_MS : SERVICE_COPY_WAIT_MS,
      onCopyFailure: (cause) => log.warn({ err: cause }, 'the served data could not be copied'),
    },
  );
  const loading = createDatasetLoading(sources, createRegeneration(sources));
  const contents = { ...sources, activations, loading, versions };
  const load = createStoreContents(contents, settings.readOnly);
  const stores = createStoreMarkets(sources, load, findMemoryLimit().panelBytes);
  const context = { ...contents, stores };
  followDatasetEvents(context);
  const kinds = createDatasetJobs(context);
  const datasets = createDatasets(context, kinds);
  return { markets, active, stores, activations, datasets, dataVersions: versions, jobKinds: kinds };
}

/** Returns the databases that may be read. Their passwords are stored encrypted. */
function listDatabases(
  { settings, secrets }: { readonly settings: Settings; readonly secrets: SecretBox },
  locations: Locations,
): DatabaseLocations {
  const openUrl = (url: string): string => changePassword(url, secrets.open);
  return createDatabaseLocations({ locations, hosts: settings.databaseHosts, openUrl });
}

/**
 * Resolves the folders of stores that several processes share. A document contains the folder in the home that created
 * the store.
 */
function resolveSharedFolders(root: string): ManagedFolders {
  const folders = createManagedFolders(root);
  const locateFolder = (folder: string): string => join(root, basename(folder));
  return {
    ...folders,
    remove: (folder, datasetId) => folders.remove(locateFolder(folder), datasetId),
    discardFailed: (folder, datasetId, failure) => folders.discardFailed(locateFolder(folder), datasetId, failure),
    sweep: (folderNames) => folders.sweep(new Set([...folderNames].map(locateFolder))),
  };
}
