import type { PublicKeys } from '#contract/publication.js';
import { SigningKey, type PublicKey } from '#domain/documents/publication-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { findLastSealTime, signAuditLog } from '#store/audit/seals.js';
import { removePrivateKey } from '#store/history/superseded-secrets.js';
import { chooseTimeAfterLogs } from '#store/publication/log.js';
import { createSigningKey } from '#store/publication/signing.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { SecretBox } from '#store/secrets/secret-box.js';
import { findLatestTime } from '#store/timestamp.js';
import { addUnreadable } from '../shared/skipped.js';

/** Keys that sign publications. One key is in use. Earlier keys are stored so that their signatures can be verified. */
export interface SigningKeys {
  /** Returns the key in use. If there is none, creates one. @param by author that is recorded for the key */
  current(by?: Authorship): Promise<SigningKey>;
  /** Returns true if a key is in use. */
  isCurrent(reader: Pick<DocumentReader, 'get'>, keyId: string): Promise<boolean>;
  /** Returns the public keys, oldest first. */
  list(): Promise<PublicKeys>;
  /** Replaces the key in use. The new key is never older than the last signature, whatever the clock says. */
  rotate(by: Authorship): Promise<PublicKey>;
}

export function createSigningKeys({
  documents,
  timestamp,
  secrets,
}: {
  readonly documents: DocumentStore;
  readonly timestamp: () => string;
  /** Encryption of private keys. */
  readonly secrets: Pick<SecretBox, 'seal' | 'open'>;
}): SigningKeys {
  async function readKeyInUse(tx: Pick<DocumentTransaction, 'get' | 'ids'>): Promise<SigningKey | undefined> {
    for (const id of await tx.ids('signing-key')) {
      const storedDocument = await tx.get('signing-key', id);
      const key = readStored(storedDocument, readKey);
      if (key?.valid_until === null) return { ...key, private_key: secrets.open(key.private_key) };
    }
    return undefined;
  }

  const load = (key: SigningKey): SigningKey => ({ ...key, private_key: secrets.seal(key.private_key) });

  async function replaceKey(tx: DocumentTransaction, now: string): Promise<SigningKey> {
    const currentKey = await readKeyInUse(tx);
    const latestTimestamp = findLatestTime(
      await chooseTimeAfterLogs(tx, now),
      currentKey?.valid_from,
      await findLastSealTime(tx),
    );
    if (currentKey !== undefined) {
      await signAuditLog(tx, currentKey, latestTimestamp); // The previous key signs the entries up to this time.
      await tx.put('signing-key', currentKey.key_id, removePrivateKey({ ...currentKey, valid_until: latestTimestamp }));
    }
    const key = createSigningKey(latestTimestamp);
    await tx.put('signing-key', key.key_id, load(key));
    return key;
  }

  return {
    current: async (authorship) =>
      (await readKeyInUse(documents)) ??
      documents.transaction(async (tx) => (await readKeyInUse(tx)) ?? (await replaceKey(tx, timestamp())), {
        by: authorship,
      }),
    async isCurrent(reader, keyId) {
      const storedDocument = await reader.get('signing-key', keyId);
      return readStored(storedDocument, readKey)?.valid_until === null;
    },
    async list() {
      const { documents: keys, ...skippedKeys } = await documents.list('signing-key', readKey);
      return { keys: keys.map(selectPublicPart).toSorted(compareByAge), ...addUnreadable(skippedKeys, 0) };
    },
    rotate: async (authorship) =>
      selectPublicPart(await documents.transaction((tx) => replaceKey(tx, timestamp()), { by: authorship })),
  };
}

/**
 * Compares keys by age. If a clock was set back, several keys can have the same creation time. The key in use is then
 * the last one.
 */
function compareByAge(a: PublicKey, b: PublicKey): number {
  if (a.valid_from !== b.valid_from) return a.valid_from < b.valid_from ? -1 : 1;
  return Number(a.valid_until === null) - Number(b.valid_until === null);
}

const readKey = (body: unknown): SigningKey | undefined => SigningKey.safeParse(body).data;

function selectPublicPart({ private_key: _private, ...key }: SigningKey): PublicKey {
  return key;
}
