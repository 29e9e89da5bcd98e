import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { removePassword } from '#domain/documents/dataset-document.js';
import { SigningKey } from '#domain/documents/publication-document.js';
import type { Subject, VersionDocument } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '../port.js';
import { computeCanonicalEtag, readHead, formatVersionId, loadVersion } from './history.js';
import { packContent } from './version-content.js';

/** Returns a signing key that was replaced, without its private half. The public half still verifies its signatures. */
export const removePrivateKey = (key: SigningKey): SigningKey => ({ ...key, private_key: '' });

/**
 * Erases secrets that earlier releases left in documents. These are passwords of sources in versions of data stores,
 * and the private halves of signing keys that were replaced. If the disk is full, the service starts nevertheless, and
 * the next start erases them.
 * @cost one read of the versions of data stores, of which there are few
 */
export async function eraseSupersededSecrets(documents: DocumentStore): Promise<void> {
  try {
    await eraseReplacedKeys(documents);
    await erasePasswords(documents);
  } catch (thrown) {
    if (!(thrown instanceof Refusal && thrown.code === 'STORAGE_FULL')) throw thrown;
  }
}

async function eraseReplacedKeys(documents: DocumentStore): Promise<void> {
  const { documents: keys } = await documents.list('signing-key', (body) => SigningKey.safeParse(body).data);
  const supersededKeys = keys.filter((key) => key.valid_until !== null && key.private_key !== '');
  if (supersededKeys.length === 0) return;
  await documents.transaction(async (tx) => {
    for (const key of supersededKeys) await tx.put('signing-key', key.key_id, removePrivateKey(key));
  });
}

async function erasePasswords(documents: DocumentStore): Promise<void> {
  for (const historyId of await documents.ids('history')) {
    if (!historyId.startsWith('store/')) continue;
    const subject: Subject = { kind: 'store', id: historyId.slice('store/'.length) };
    const { latest, purged } = (await readHead(documents, subject))!; // the document has a history
    for (let number = purged + 1; number <= latest; number++) await erasePassword(documents, subject, number);
  }
}

/** Writes a version again without the password. The audit log keeps the original ETag. */
async function erasePassword(documents: DocumentStore, subject: Subject, number: number): Promise<void> {
  const version = await loadVersion(documents, subject, number);
  if (typeof version !== 'object' || version.content === null) return; // a deletion, or a damaged version
  const declaration = JSON.parse(version.content) as Readonly<Record<string, unknown>>; // the content is the declaration of a store
  const { source } = declaration;
  if (typeof source !== 'string' || removePassword(source) === source) return;
  const content = toCanonicalJson({ ...declaration, source: removePassword(source) });
  const body: VersionDocument = {
    ...version,
    content: await packContent(content),
    etag: computeCanonicalEtag(content),
  };
  await documents.transaction((tx) => tx.put('version', formatVersionId(subject, number), body));
}
