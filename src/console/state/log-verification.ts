import type { AuditLog, PublicationEntry, PublicKey } from '#clients/typescript/divisor.js';

export interface LogVerdict {
  /** Number of valid entries at the start of the log. */
  readonly sound: number;
  /** True if signatures were verified as well. */
  readonly hasSignatures: boolean;
  /** Error of the first invalid entry; null if all entries are valid. */
  readonly fault: string | null;
}

const NO_HASH = '0'.repeat(64);

/**
 * Verifies the hash chain and the signatures of a log in the browser. The service need not be trusted.
 * @cost 0.1 ms per entry, on other threads
 */
export async function verifyPublishedLog(
  entries: readonly PublicationEntry[],
  keys: readonly PublicKey[],
): Promise<LogVerdict> {
  const verifiers = new Map(
    await Promise.all(keys.map(async (key) => [key.key_id, await createVerifier(key)] as const)),
  );
  const hasSignatures = [...verifiers.values()].every((verifier) => verifier !== null);
  const fault = await findFirstFault(entries, {
    findLinkFault,
    findOwnFault: (entry) => findOwnFault(entry, hasSignatures ? verifiers : null),
  });
  return { sound: fault?.position ?? entries.length, hasSignatures, fault: fault?.text ?? null };
}

interface ChainTerms<E> {
  /** Returns the error in the number of an entry or in its link to the previous entry; null if there is none. */
  findLinkFault(entry: E, before: E | undefined): string | null;
  /** Returns the error of an entry by itself; null if there is none. */
  findOwnFault(entry: E): Promise<string | null>;
}

/** Returns the position and the error of the first invalid entry of a chain; null if all entries are valid. */
async function findFirstFault<E>(entries: readonly E[], terms: ChainTerms<E>) {
  const ownFaults = await Promise.all(entries.map(terms.findOwnFault));
  const faults = entries.map((entry, i) => terms.findLinkFault(entry, entries[i - 1]) ?? ownFaults[i] ?? null);
  const position = faults.findIndex((text) => text !== null);
  return position < 0 ? null : { position, text: faults[position]! }; // `findIndex` found it
}

/** Returns true if the browser has the Web Crypto API. It exists only on secure connections. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined;

function findLinkFault(entry: PublicationEntry, before: PublicationEntry | undefined): string | null {
  if (entry.seq !== (before?.seq ?? 0) + 1) return `its number is ${entry.seq}`;
  if (before !== undefined && entry.index_id !== before.index_id) return `it belongs to the index ${entry.index_id}`;
  return entry.previous === (before?.hash ?? NO_HASH) ? null : 'its previous hash does not match the previous entry';
}

type Verifier = (hash: string, signature: string, time: string) => Promise<boolean>;

async function findOwnFault(
  entry: PublicationEntry,
  verifiers: ReadonlyMap<string, Verifier | null> | null,
): Promise<string | null> {
  const fault = await findHashFault(entry);
  if (fault !== null || verifiers === null) return fault;
  const verifier = verifiers.get(entry.key_id);
  if (verifier == null) return `its key ${entry.key_id} is unknown`;
  const isSigned = await verifier(entry.hash, entry.signature, entry.at);
  return isSigned ? null : `its signature does not match the key ${entry.key_id}`;
}

/** Returns the error of the hash of an entry; null if it is that of its content. */
const findHashFault = async (entry: Signable): Promise<string | null> =>
  (await computeHash(entry)) === entry.hash ? null : 'its hash does not match its content';

/** Entry or signature of a log, with its hash. */
type Signable = object & { readonly hash: string; readonly signature?: string };

/**
 * Computes the SHA-256 of the canonical JSON of an entry without its hash and signature. Canonical JSON has sorted
 * members and no spaces.
 */
async function computeHash({ hash: _hash, signature: _signature, ...stated }: Signable): Promise<string> {
  const members = Object.entries(stated).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const textBytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(members)));
  return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-256', textBytes)));
}

/**
 * Creates a function that verifies signatures with a key.
 * @returns null if the browser does not support Ed25519
 */
async function createVerifier({
  public_key: text,
  valid_from: from,
  valid_until: until,
}: PublicKey): Promise<Verifier | null> {
  const key = await crypto.subtle
    .importKey('raw', decodeBase64(text), { name: 'Ed25519' }, false, ['verify'])
    .catch(() => null);
  if (key === null) return null;
  return async (hash, signature, at) =>
    at >= from &&
    (until === null || at <= until) &&
    crypto.subtle.verify('Ed25519', key, decodeBase64(signature), decodeHex(hash));
}

const decodeBase64 = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const decodeHex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

const encodeHex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

type Entry = AuditLog['entries'][number];
type Seal = AuditLog['seals'][number];

/** Result of the verification of a part of the audit log. */
export interface AuditVerdict {
  /** Number of valid entries at the start of the part. */
  readonly sound: number;
  /** Latest signature that signs an entry of the part; null if the part contains none. */
  readonly seal: Seal | null;
  /** True if the signature was verified. False if there is none, or if the browser does not support Ed25519. */
  readonly isSigned: boolean;
  /** Error of the first invalid entry; null if all entries are valid. */
  readonly fault: string | null;
}

/**
 * Verifies consecutive entries of the audit log in the browser: their hashes, and the latest signature of one of them.
 * The service need not be trusted.
 * @cost 0.1 ms per entry, on other threads
 */
export async function verifyAuditLog({ entries, seals, keys }: AuditLog): Promise<AuditVerdict> {
  const broken = await findFirstFault(entries, { findLinkFault: findAuditLinkFault, findOwnFault: findHashFault });
  if (broken !== null) {
    const fault = `entry ${entries[broken.position]!.seq}: ${broken.text}`; // the entry was found in the list
    return { sound: broken.position, seal: null, isSigned: false, fault };
  }
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const seal = seals.findLast(({ seq }) => bySeq.has(seq)) ?? null;
  const valid = { sound: entries.length, seal, isSigned: false, fault: null };
  if (seal === null) return valid;
  const fault = await findSealFault(seal, bySeq.get(seal.seq)!, keys);
  if (fault === undefined) return valid;
  return fault === null ? { ...valid, isSigned: true } : { ...valid, sound: 0, fault };
}

/**
 * Returns the error in the number of an entry or in its link to the previous entry; null if there is none. If a reader
 * may see only some documents, the numbers have gaps.
 */
function findAuditLinkFault(entry: Entry, before: Entry | undefined): string | null {
  if (before === undefined || entry.seq > before.seq + 1) return null;
  if (entry.seq <= before.seq) return `its number ${entry.seq} is not after ${before.seq}`;
  return entry.previous === before.hash ? null : 'its previous hash does not match the previous entry';
}

/**
 * Returns the error of a signature. Returns null if it is valid, and undefined if the browser does not support Ed25519.
 */
async function findSealFault(seal: Seal, entry: Entry, keys: readonly PublicKey[]): Promise<string | null | undefined> {
  if (seal.entry_hash !== entry.hash) return `the signature of entry ${seal.seq} covers another hash`;
  if ((await computeHash(seal)) !== seal.hash) return `the signature of entry ${seal.seq} does not match its content`;
  const key = keys.find(({ key_id: id }) => id === seal.key_id);
  if (key === undefined) return `the key ${seal.key_id} of the signature is unknown`;
  const verify = await createVerifier(key);
  if (verify === null) return undefined;
  return (await verify(seal.hash, seal.signature, seal.at))
    ? null
    : `the signature does not match the key ${seal.key_id}`;
}
