import type { Logger } from 'pino';
import { systemSha256 } from '#kernels/memory/system-sha256.js';
import type { Home } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { EXIT_CONFIGURATION } from '#store/start-refusal.js';
import type { PlaceClaim } from '#store/place/claim-place.js';
import { artifactsOf, databaseOf } from '../places.js';
import type { Settings } from '../settings.js';

/** What a process does: answers requests and does light jobs, does heavy jobs alone, or is a service to one command. */
export type Role = 'service' | 'worker' | 'command';

/** A little more than a node is silent for. */
const WORKER_READ_MS = 2500;

/** So many bytes take 3 ms to hash: fewer are hashed sooner than another thread is asked. */
const HASHED_APART_BYTES_MIN = 4 << 20;

interface ServiceStoreInput {
  readonly role: Role;
  readonly home: Home;
  readonly settings: Settings;
  readonly log: Logger;
  readonly onDefect: (cause: unknown) => void;
}

/** The documents and artifacts of a service or worker; its log tells of their place. */
export function openServiceStore({ role, home, settings, log, onDefect }: ServiceStoreInput): Promise<Store> {
  const database = databaseOf(settings);
  // A worker hears with its signs of life: nobody waits for what it does then.
  const heard = database && role === 'worker' ? { ...database, readMs: WORKER_READ_MS } : database;
  return openStore({
    home,
    database: heard,
    artifacts: artifactsOf(settings),
    isReadOnly: settings.readOnly,
    versionLimits: {
      keyBytesMax: settings.keyQuotaMegabytes * 2 ** 20,
      versionsKept: settings.documentVersionsKept,
    },
    hashApart: (bytes) => (bytes < HASHED_APART_BYTES_MIN ? undefined : systemSha256()),
    onClaim({ place, storeId, isMade }: PlaceClaim) {
      const taken = isMade ? 'the database has taken a folder that was not there' : 'the database has taken a place';
      log.warn({ place, store_id: storeId }, `${taken} for its results`);
    },
    onPlace(fault) {
      if (fault === undefined) log.info('the place of the results is there again');
      else log.warn({ fault, place: settings.artifacts }, 'no place of results');
    },
    onPlaceWarning(warning) {
      if (warning === undefined) log.info('the keys of the place of results are renewed again');
      else log.warn({ warning, place: settings.artifacts }, 'the place of results will not be had before long');
    },
    onPlaceLost(refusal) {
      log.fatal({ reason: refusal.message }, 'another database owns the place of the results');
      process.exit(EXIT_CONFIGURATION);
    },
    trashMs: settings.trashHours * 3_600_000,
    onFailure: onDefect,
  });
}
