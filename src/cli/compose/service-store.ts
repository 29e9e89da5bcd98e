import type { Logger } from 'pino';
import { loadSystemSha256 } from '#kernels/memory/system-sha256.js';
import type { Home } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { EXIT_CONFIGURATION } from '#store/start-refusal.js';
import type { StoreClaim } from '#store/ownership/claim-store.js';
import { readArtifactLocation, readDatabase } from '../locations.js';
import type { Settings } from '../settings.js';

/**
 * Role of a process. A service answers requests and runs light jobs. A worker runs only heavy jobs. A command executes
 * one command. A practice service runs in the process of a service and does not change its memory limits.
 */
export type Role = 'service' | 'worker' | 'command' | 'practice';

/** Time limit in ms of a worker for reading from the database. It is slightly longer than a node may be silent. */
const WORKER_READ_MS = 2500;

/**
 * Minimum size in bytes of an input that another thread hashes. Such an input takes 3 ms; a smaller one is hashed
 * faster on the calling thread.
 */
const THREAD_HASH_BYTES_MIN = 4 << 20;

interface ServiceStoreInput {
  readonly role: Role;
  readonly home: Home;
  readonly settings: Settings;
  readonly log: Logger;
  readonly onDefect: (cause: unknown) => void;
}

/** Opens the documents and artifacts of a service or worker. Logs the state of the results location. */
export function openServiceStore({ role, home, settings, log, onDefect }: ServiceStoreInput): Promise<Store> {
  const database = readDatabase(settings);
  // A worker reads on the connection of its heartbeat. No request waits for it.
  const roleDatabase = database && role === 'worker' ? { ...database, readMs: WORKER_READ_MS } : database;
  return openStore({
    home,
    database: roleDatabase,
    artifacts: readArtifactLocation(settings),
    isReadOnly: settings.readOnly,
    versionLimits: {
      keyBytesMax: settings.keyQuotaMegabytes * 2 ** 20,
      versionsKept: settings.documentVersionsKept,
    },
    hashApart: (bytes) => (bytes < THREAD_HASH_BYTES_MIN ? undefined : loadSystemSha256()),
    onClaim({ place, storeId, isMade }: StoreClaim) {
      const sentence = isMade ? 'the database now owns a new folder' : 'the database now owns a results storage';
      log.warn({ place, store_id: storeId }, `${sentence} for its results`);
    },
    onPlace(fault) {
      if (fault === undefined) log.info('the results storage is available again');
      else log.warn({ fault, place: settings.artifacts }, 'the results storage is unavailable');
    },
    onPlaceWarning(warning) {
      if (warning === undefined) log.info('the credentials of the results storage are renewed again');
      else log.warn({ warning, place: settings.artifacts }, 'the credentials of the results storage expire soon');
    },
    onPlaceLost(refusal) {
      log.fatal({ reason: refusal.message }, 'another database owns the results storage');
      process.exit(EXIT_CONFIGURATION);
    },
    trashMs: settings.trashHours * 3_600_000,
    onFailure: onDefect,
  });
}
