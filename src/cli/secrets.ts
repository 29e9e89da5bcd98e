import { readFile } from 'node:fs/promises';
import { SigningKey } from '#domain/documents/publication-document.js';
import type { DocumentStore } from '#store/port.js';
import { createSecretBox, secretKeyIn, withPassword, type SecretBox } from '#store/secrets/secret-box.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { Settings } from './settings.js';

/**
 * Opens the key that encrypts stored secrets, and encrypts existing plain secrets at once.
 * @throws StartRefusal if the file contains no key
 */
export async function openSecrets(
  { secretKeyFile, secretKey }: Pick<Settings, 'secretKeyFile' | 'secretKey'>,
  documents: DocumentStore,
): Promise<SecretBox> {
  const secrets = createSecretBox(await keyOf(secretKeyFile, secretKey));
  if (secrets.hasKey) await protectStored(documents, secrets);
  return secrets;
}

async function keyOf(file: string | undefined, text: string): Promise<Buffer | undefined> {
  if (file === undefined) return text === '' ? undefined : secretKeyIn(text);
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartRefusal(EXIT_CONFIGURATION, `The file of --secret-key-file cannot be read: ${file}.`, { cause });
  });
  const key = secretKeyIn(content);
  if (key !== undefined) return key;
  throw new StartRefusal(EXIT_CONFIGURATION, `The file ${file} must contain 32 bytes in base64 or hexadecimal digits.`);
}

/** Encrypts the signing keys and the passwords of sources that were stored before a key was configured. */
async function protectStored(documents: DocumentStore, { seal, isSealed }: SecretBox): Promise<void> {
  const { documents: keys } = await documents.list('signing-key', (body) => SigningKey.safeParse(body).data);
  const { documents: stores } = await documents.list('store', (body) => body as Readonly<Record<string, unknown>>);
  const openKeys = keys.filter(({ private_key }) => !isSealed(private_key));
  const openStores = stores.flatMap((store) => {
    const sealed = { ...store, ...sealedUrls(store, seal) };
    return JSON.stringify(sealed) === JSON.stringify(store) ? [] : [sealed];
  });
  if (openKeys.length + openStores.length === 0) return;
  await documents.transaction(async (tx) => {
    for (const key of openKeys) await tx.put('signing-key', key.key_id, { ...key, private_key: seal(key.private_key) });
    for (const store of openStores) await tx.put('store', String(store['store_id']), store);
  });
}

function sealedUrls(store: Readonly<Record<string, unknown>>, seal: (text: string) => string): Record<string, unknown> {
  const urls = ['location', 'source'].filter((name) => typeof store[name] === 'string');
  return Object.fromEntries(urls.map((name) => [name, withPassword(store[name] as string, seal)])); // filtered above
}
