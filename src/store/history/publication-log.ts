import { Buffer } from 'node:buffer';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Refusal } from '#domain/base/refusals.js';
import {
  BATCH_ENTRIES_MAX,
  PublicationBatch,
  type PublicationEntry,
  PublicationHead,
  type PublicKey,
  type SigningKey,
} from '#domain/definition/publication.js';
import {
  type DocumentReader,
  type DocumentTransaction,
  findLatestTime,
  formatNumberedId,
  getOwner,
  parseStored,
} from '../port.js';
import { createLogCheck, type LogCheck, type LogFault } from './log-check.js';

/** Creates an Ed25519 key. @param timestamp time of its creation, ISO-8601 UTC */
export function createSigningKey(timestamp: string): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const rawKey = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  return {
    key_id: computeKeyId(rawKey),
    public_key: rawKey.toString('base64'),
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    valid_from: timestamp,
    valid_until: null,
  };
}

/** Returns the id of a public key, the first digits of its SHA-256. */
function computeKeyId(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, KEY_ID_DIGITS);
}

const KEY_ID_DIGITS = 16;

/** Function that signs the 32 bytes of a hash in another thread. The signature is base64. */
type HashSigner = (hash: string) => Promise<string>;

/** Creates a signer with a key that is parsed once. @cost 0.2 ms per hash */
export function createHashSigner({ private_key }: SigningKey): HashSigner {
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' });
  return (hash) =>
    new Promise((resolve, reject) => {
      sign(null, Buffer.from(hash, 'hex'), key, (failure, signature) => {
        if (failure === null) resolve(signature.toString('base64'));
        else reject(failure);
      });
    });
}

/** Signs the 32 bytes of a hash within a transaction. The signature is base64. @cost 0.2 ms */
export function signHash({ private_key }: SigningKey, hash: string): string {
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' });
  return sign(null, Buffer.from(hash, 'hex'), key).toString('base64');
}

/** Returns true if the key has signed the hash. The text of the signature must be in canonical form. */
export function isSigned({ hash, signature }: Pick<PublicationEntry, 'hash' | 'signature'>, key: PublicKey): boolean {
  const rawKey = Buffer.from(key.public_key, 'base64');
  const bytes = Buffer.from(signature, 'base64');
  if (rawKey.length !== 32 || computeKeyId(rawKey) !== key.key_id || bytes.toString('base64') !== signature)
    return false;
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: rawKey.toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(hash, 'hex'), publicKey, bytes);
}

/** Reference data for the verification of a log. */
interface LogTerms {
  /** Public keys by id. If they are unavailable (null), signatures are not verified. */
  readonly keys: ReadonlyMap<string, PublicKey> | null;
  /** Expected hash of the last entry. If it is unknown (null), missing last entries are not detected. */
  readonly head: string | null;
}

/** Verdict on an intact log. */
interface ValidLog {
  readonly entries: number;
  /** Hash of the last entry. */
  readonly head: string;
}

/**
 * Verifies the hash chain and the signatures of entries, in log order.
 * @cost 0.1 ms per entry
 */
export function verifyLog(entries: Iterable<unknown>, terms: LogTerms): ValidLog | LogFault {
  const { keys } = terms;
  const check = createLogCheck(keys === null ? null : (entry) => findSignatureFault(entry, keys));
  for (const entry of entries) {
    const fault = check.next(entry);
    if (fault !== undefined) return fault;
  }
  const { seq, hash } = check.last();
  return terms.head === null || terms.head === hash
    ? { entries: seq, head: hash }
    : { seq: seq + 1, reason: `it is missing: the log ends with ${hash}, not with ${terms.head}` };
}

type SignedHash = Pick<PublicationEntry, 'hash' | 'signature' | 'key_id' | 'at'>;

/** Returns the error of a signature. Returns undefined if it is valid. */
export function findSignatureFault(entry: SignedHash, keys: ReadonlyMap<string, PublicKey>): string | undefined {
  const key = keys.get(entry.key_id);
  if (key === undefined) return `its key ${entry.key_id} is unknown`;
  if (!isSigned(entry, key)) return `its signature does not match the key ${entry.key_id}`;
  const isValid = entry.at >= key.valid_from && (key.valid_until === null || entry.at <= key.valid_until);
  return isValid ? undefined : `its key ${entry.key_id} was not valid at ${entry.at}`;
}

/** Document as read from disk. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for logs with a broken chain. It receives all documents of a snapshot, by id. */
interface LogsCheck {
  look(entry: Entry): void;
  /** Returns the first error of each log, by index, after all documents were read. */
  faults(): readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the check without signatures, because a writer of a home can also replace the keys. */
export function createLogsCheck(): LogsCheck {
  const logChecks = new Map<string, LogCheck>();
  const headByIndex = new Map<string, PublicationHead>();
  const faults = new Map<string, string>();
  return {
    look({ kind, id, body }) {
      if (kind === 'publication-head') {
        const head = PublicationHead.safeParse(body).data;
        if (head !== undefined) headByIndex.set(id, head);
      }
      if (kind !== 'publication') return;
      const indexId = getOwner(id);
      const log = logChecks.get(indexId) ?? createLogCheck(null);
      logChecks.set(indexId, log);
      for (const entry of PublicationBatch.safeParse(body).data?.entries ?? []) {
        const fault = log.next(entry);
        if (fault !== undefined && !faults.has(indexId)) faults.set(indexId, `entry ${fault.seq}: ${fault.reason}`);
      }
    },
    faults() {
      for (const indexId of new Set([...headByIndex.keys(), ...logChecks.keys()])) {
        const head = headByIndex.get(indexId);
        const result = logChecks.get(indexId)?.last().hash;
        if (result !== head?.hash && !faults.has(indexId))
          faults.set(indexId, `it does not end with entry ${head?.seq ?? 'none'}, which its head names`);
      }
      return [...faults].map(([name, reason]) => ({ name, reason }));
    },
  };
}

/**
 * Returns the head of the log of an index, with its last entry. Returns undefined if nothing was published.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function readLogHead(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
): Promise<PublicationHead | undefined> {
  const storedHead = await reader.get('publication-head', indexId);
  if (storedHead === undefined) return undefined;
  const head = parseStored(storedHead, PublicationHead);
  if (head === undefined) throw refuseLog(indexId);
  return head;
}

/** Yields the entries of a log in batches, in order. @throws Refusal DOCUMENT_UNREADABLE */
export async function* readLogBatches(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): AsyncGenerator<readonly PublicationEntry[]> {
  for (let batch = 1; batch <= batches; batch++) {
    const batchResult = await readBatch(reader, indexId, batch);
    if (batchResult === undefined) throw refuseLog(indexId);
    yield batchResult.entries;
  }
}

/**
 * Returns the entry of the last published date that is in force. Restatements of earlier dates may follow it.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function findLastClose(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): Promise<PublicationEntry | null> {
  const entriesInForce = new Map<string, PublicationEntry>();
  for (let batch = batches; batch > 0; batch--) {
    const batchResult = await readBatch(reader, indexId, batch);
    if (batchResult === undefined) throw refuseLog(indexId);
    for (const entry of batchResult.entries.toReversed()) {
      const inForce = entriesInForce.get(entry.date) ?? entry;
      if (entry.kind === 'close') return inForce;
      entriesInForce.set(entry.date, inForce);
    }
  }
  return null;
}

/**
 * Checks that all batches of a log are readable. @throws Refusal DOCUMENT_UNREADABLE for a log with a missing or
 * damaged batch @cost a read of the log
 */
export async function assertReadable(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): Promise<void> {
  for (let batch = 1; batch <= batches; batch++) {
    if ((await readBatch(reader, indexId, batch)) === undefined) throw refuseLog(indexId);
    await setImmediate(); // yields to other work
  }
}

async function readBatch(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  batch: number,
): Promise<PublicationBatch | undefined> {
  const storedBatch = await reader.get('publication', formatNumberedId(indexId, batch));
  return parseStored(storedBatch, PublicationBatch);
}

/**
 * Returns the latest of the given time and the times of the last entries of all logs. No entry of a log is then later
 * than the result. Ignores an unreadable log.
 * @cost two reads per log
 */
export async function chooseTimeAfterLogs(reader: Pick<DocumentReader, 'get' | 'ids'>, now: string): Promise<string> {
  let latestTime = now;
  for (const indexId of await reader.ids('publication-head')) {
    const storedHead = await reader.get('publication-head', indexId);
    const head = parseStored(storedHead, PublicationHead);
    const last = head === undefined ? undefined : await readBatch(reader, indexId, head.batches);
    latestTime = findLatestTime(latestTime, last?.entries.at(-1)?.at);
  }
  return latestTime;
}

export async function appendEntries(
  tx: DocumentTransaction,
  indexId: string,
  { entries, after }: { readonly entries: readonly PublicationEntry[]; readonly after: PublicationHead | undefined },
): Promise<void> {
  let batches = after?.batches ?? 0;
  for (let from = 0; from < entries.length; from += BATCH_ENTRIES_MAX) {
    batches++;
    const batch: PublicationBatch = { entries: entries.slice(from, from + BATCH_ENTRIES_MAX) };
    await tx.put('publication', formatNumberedId(indexId, batches), batch);
  }
  const { seq, hash } = entries.at(-1)!; // callers append at least one entry
  await tx.put('publication-head', indexId, { seq, hash, batches } satisfies PublicationHead);
}

function refuseLog(indexId: string): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    `The published log of ${indexId} cannot be read; restore it from a backup.`,
    {
      index_id: indexId,
    },
  );
}
