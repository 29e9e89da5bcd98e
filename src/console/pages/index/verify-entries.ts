import type { PublicationEntry, PublicKey } from '#clients/typescript/divisor.js';

/** Result of the verification of a log. */
export interface Verdict {
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
export async function verifyEntries(
  entries: readonly PublicationEntry[],
  keys: readonly PublicKey[],
): Promise<Verdict> {
  const verifiers = new Map(
    await Promise.all(keys.map(async (key) => [key.key_id, await createVerifier(key)] as const)),
  );
  const hasSignatures = [...verifiers.values()].every((verifier) => verifier !== null);
  const faults = await Promise.all(entries.map((entry) => findFault(entry, hasSignatures ? verifiers : null)));
  const faultPosition = entries.findIndex(
    (entry, i) => linkFault(entry, entries[i - 1]) !== null || faults[i] !== null,
  );
  if (faultPosition < 0) return { sound: entries.length, hasSignatures, fault: null };
  return {
    sound: faultPosition,
    hasSignatures,
    fault: linkFault(entries[faultPosition]!, entries[faultPosition - 1]) ?? faults[faultPosition]!,
  };
}

/** Returns true if the browser has the Web Crypto API. It exists only on secure connections. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined;

function linkFault(entry: PublicationEntry, before: PublicationEntry | undefined): string | null {
  if (entry.seq !== (before?.seq ?? 0) + 1) return `its number is ${entry.seq}`;
  if (before !== undefined && entry.index_id !== before.index_id) return `it belongs to the index ${entry.index_id}`;
  return entry.previous === (before?.hash ?? NO_HASH) ? null : 'its previous hash does not match the previous entry';
}

export type Verifier = (hash: string, signature: string, time: string) => Promise<boolean>;

async function findFault(
  entry: PublicationEntry,
  verifiers: ReadonlyMap<string, Verifier | null> | null,
): Promise<string | null> {
  if ((await computeHash(entry)) !== entry.hash) return 'its hash does not match its content';
  if (verifiers === null) return null;
  const verifier = verifiers.get(entry.key_id);
  if (verifier == null) return `its key ${entry.key_id} is unknown`;
  const isSigned = await verifier(entry.hash, entry.signature, entry.at);
  return isSigned ? null : `its signature does not match the key ${entry.key_id}`;
}

/** Entry or signature of a log, with its hash. */
type Signable = object & { readonly hash: string; readonly signature?: string };

/**
 * Computes the SHA-256 of the canonical JSON of an entry without its hash and signature. Canonical JSON has sorted
 * members and no spaces.
 */
export async function computeHash({ hash: _hash, signature: _signature, ...stated }: Signable): Promise<string> {
  const members = Object.entries(stated).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const textBytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(members)));
  return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-256', textBytes)));
}

/**
 * Creates a function that verifies signatures with a key.
 * @returns null if the browser does not support Ed25519
 */
export async function createVerifier({
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
