import type { AuditLog, PublicKey } from '#clients/typescript/divisor.js';
import { computeHash, createVerifier, type Verifier } from '../index/publication/verify-entries.js';

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
export async function verifyAudit({ entries, seals, keys }: AuditLog): Promise<AuditVerdict> {
  const hashes = await Promise.all(entries.map(computeHash));
  const faultPosition = entries.findIndex(
    (entry, i) => findLinkFault(entry, entries[i - 1]) !== null || hashes[i] !== entry.hash,
  );
  if (faultPosition >= 0) {
    const entry = entries[faultPosition]!; // `findIndex` found it
    const fault = findLinkFault(entry, entries[faultPosition - 1]) ?? 'its hash does not match its content';
    return { sound: faultPosition, seal: null, isSigned: false, fault: `entry ${entry.seq}: ${fault}` };
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
function findLinkFault(entry: Entry, before: Entry | undefined): string | null {
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
  const verify: Verifier | null = await createVerifier(key);
  if (verify === null) return undefined;
  return (await verify(seal.hash, seal.signature, seal.at))
    ? null
    : `the signature does not match the key ${seal.key_id}`;
}
