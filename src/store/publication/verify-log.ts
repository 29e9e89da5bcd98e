import type { PublicationEntry, PublicKey } from '#domain/documents/publication-document.js';
import { createLogCheck, type LogFault } from './log-check.js';
import { isSigned } from './signing.js';

/** Reference data for the verification of a log. */
export interface LogTerms {
  /** Public keys by id. If they are unavailable (null), signatures are not verified. */
  readonly keys: ReadonlyMap<string, PublicKey> | null;
  /** Expected hash of the last entry. If it is unknown (null), missing last entries are not detected. */
  readonly head: string | null;
}

/** Verdict on an intact log. */
export interface ValidLog {
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

/** Signed hash, with its key and time. */
export type SignedHash = Pick<PublicationEntry, 'hash' | 'signature' | 'key_id' | 'at'>;

/** Returns the error of a signature. Returns undefined if it is valid. */
export function findSignatureFault(entry: SignedHash, keys: ReadonlyMap<string, PublicKey>): string | undefined {
  const key = keys.get(entry.key_id);
  if (key === undefined) return `its key ${entry.key_id} is unknown`;
  if (!isSigned(entry, key)) return `its signature does not match the key ${entry.key_id}`;
  const isValid = entry.at >= key.valid_from && (key.valid_until === null || entry.at <= key.valid_until);
  return isValid ? undefined : `its key ${entry.key_id} was not valid at ${entry.at}`;
}
