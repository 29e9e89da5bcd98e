import { readFile } from 'node:fs/promises';
import { ClientSecrets } from '#domain/delivery/client-document.js';
import { SigningKey } from '#domain/documents/publication-document.js';
import type { DocumentStore } from '#store/port.js';
import {
  createSecretBox,
  parseSecretKeys,
  changePassword,
  type SecretBox,
  type SecretKeys,
} from '#store/secrets/secret-box.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { Settings } from './settings.js';

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
