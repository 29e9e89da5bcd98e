import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { ClientSecrets } from '#domain/definition/delivery.js';
import { SigningKey } from '#domain/definition/publication.js';
import { loadSystemSha256 } from '#kernels/memory/system-sha256.js';
import type { Home } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import type { StoreClaim } from '#store/ownership/ownership.js';
import type { DocumentStore } from '#store/port.js';
import {
  changePassword,
  createSecretBox,
  parseSecretKeys,
  type SecretBox,
  type SecretKeys,
} from '#store/secret-box.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { readArtifactLocation, readDatabaseSettings, type Settings } from '../settings/settings.js';

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
  const database = readDatabaseSettings(settings);
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

/**
 * Opens the keys with which secrets are stored. A secret in plain text, or encrypted with an earlier key, is encrypted
 * with the first key at once.
 * @throws StartRefusal if the file contains no key
 */
export async function openSecrets(
  { secretKeyFile, secretKey }: Pick<Settings, 'secretKeyFile' | 'secretKey'>,
  documents: DocumentStore,
): Promise<SecretBox> {
  const { key, earlier } = await readKeys(secretKeyFile, secretKey);
  const secrets = createSecretBox(key, earlier);
  if (key !== undefined || earlier.length > 0) await protectStored(documents, secrets);
  return secrets;
}

const NO_KEYS: SecretKeys = { key: undefined, earlier: [] };

async function readKeys(file: string | undefined, text: string): Promise<SecretKeys> {
  if (file === undefined) return parseSecretKeys(text) ?? NO_KEYS; // The setting is already validated.
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartRefusal(EXIT_CONFIGURATION, `The file of --secret-key-file cannot be read: ${file}.`, { cause });
  });
  const keys = parseSecretKeys(content);
  if (keys !== undefined) return keys;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The file ${file} must contain keys of 32 bytes in base64 or hexadecimal digits, one per line.`,
  );
}

/** Encrypts signing keys, passwords of sources and secrets of clients, if they are not encrypted with the first key. */
async function protectStored(documents: DocumentStore, { renew }: SecretBox): Promise<void> {
  const { documents: keys } = await documents.list('signing-key', (body) => SigningKey.safeParse(body).data);
  const { documents: stores } = await documents.list('store', (body) => body as Readonly<Record<string, unknown>>);
  const openKeys = keys.flatMap((key) => {
    const renewedKey = key.private_key === '' ? '' : renew(key.private_key); // A replaced key has no private half.
    return renewedKey === key.private_key ? [] : [{ ...key, private_key: renewedKey }];
  });
  const openStores = stores.flatMap((store) => {
    const sealedStore = { ...store, ...sealUrls(store, renew) };
    return JSON.stringify(sealedStore) === JSON.stringify(store) ? [] : [sealedStore];
  });
  const { documents: clients } = await documents.list('client-secrets', (body) => ClientSecrets.safeParse(body).data);
  const openClients = clients.flatMap(({ client_id, secrets }) => {
    const sealedSecrets = Object.fromEntries(
      Object.entries(secrets).map(([target, secret]) => [target, { ...secret, sealed: renew(secret.sealed) }]),
    );
    return JSON.stringify(sealedSecrets) === JSON.stringify(secrets) ? [] : [{ client_id, secrets: sealedSecrets }];
  });
  if (openKeys.length + openStores.length + openClients.length === 0) return;
  await documents.transaction(async (tx) => {
    for (const key of openKeys) await tx.put('signing-key', key.key_id, key);
    for (const client of openClients) await tx.put('client-secrets', client.client_id, client);
    for (const store of openStores) await tx.put('store', String(store['store_id']), store);
  });
}

function sealUrls(store: Readonly<Record<string, unknown>>, seal: (text: string) => string): Record<string, unknown> {
  const urls = ['location', 'source'].filter((name) => typeof store[name] === 'string');
  return Object.fromEntries(urls.map((name) => [name, changePassword(store[name] as string, seal)])); // the filter keeps only members with text
}
