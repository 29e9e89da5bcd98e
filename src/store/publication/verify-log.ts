import { NO_HASH, PublicationEntry, type PublicKey } from '#domain/documents/publication-document.js';
import { hashOf, isSigned } from './signing.js';

/** What a log is held against. */
export interface LogTerms {
  /** Keys by id; null where there are none to look at, and signatures are not verified. */
  readonly keys: ReadonlyMap<string, PublicKey> | null;
  /** Hash that the last entry must have; null where it is not known, and missing last entries are not noticed. */
  readonly head: string | null;
}

/** The first thing that is wrong with a log. */
export interface LogFault {
  /** Number of the entry: that it should have where it is missing. */
  readonly seq: number;
  /** One clause: `its hash is not that of its content`. */
  readonly reason: string;
}

/** A log that is as it was written. */
export interface SoundLog {
  readonly entries: number;
  /** Hash of the last entry. */
  readonly head: string;
}

/**
 * Holds entries, in the order of their log, to their chain of hashes and to their signatures.
 * @cost 0.1 ms an entry
 */
export function verifyLog(entries: Iterable<unknown>, terms: LogTerms): SoundLog | LogFault {
  const check = createLogCheck(terms.keys);
  for (const entry of entries) {
    const fault = check.next(entry);
    if (fault !== undefined) return fault;
  }
  const { seq, hash } = check.last();
  return terms.head === null || terms.head === hash
    ? { entries: seq, head: hash }
    : { seq: seq + 1, reason: `it is missing: the log ends with ${hash}, not with ${terms.head}` };
}

/** Looks at a log entry by entry. */
export interface LogCheck {
  /** What is wrong with the next entry; undefined when nothing is. */
  next(entry: unknown): LogFault | undefined;
  /** The last sound entry. */
  last(): { readonly seq: number; readonly hash: string };
}

export function createLogCheck(keys: LogTerms['keys']): LogCheck {
  let seq = 0;
  let hash = NO_HASH;
  let indexId: string | undefined;

  function faultOf(parsed: PublicationEntry): string | undefined {
    if (seq === 0 && parsed.seq > 1)
      return `it is missing: this is not the whole log, it begins with entry ${parsed.seq}`;
    if (parsed.seq !== seq + 1) return `it has the number ${parsed.seq}`;
    if (indexId !== undefined && parsed.index_id !== indexId) return `it is of the index ${parsed.index_id}`;
    if (parsed.previous !== hash) return 'its previous hash is not that of the entry before';
    if (hashOf(parsed) !== parsed.hash) return 'its hash is not that of its content';
    return keys === null ? undefined : signatureFault(parsed, keys);
  }

  return {
    next(entry) {
      const parsed = PublicationEntry.safeParse(entry).data;
      const reason = parsed === undefined ? 'it is no entry of a log' : faultOf(parsed);
      if (parsed === undefined || reason !== undefined) return { seq: seq + 1, reason: reason! };
      ({ seq, hash } = parsed);
      indexId = parsed.index_id;
      return undefined;
    },
    last: () => ({ seq, hash }),
  };
}

/** What is signed, by which key and when. */
export type Signed = Pick<PublicationEntry, 'hash' | 'signature' | 'key_id' | 'at'>;

/** What is wrong with a signature; undefined when nothing is. */
export function signatureFault(entry: Signed, keys: ReadonlyMap<string, PublicKey>): string | undefined {
  const key = keys.get(entry.key_id);
  if (key === undefined) return `its key ${entry.key_id} is not known`;
  if (!isSigned(entry, key)) return `its signature is not one of the key ${entry.key_id}`;
  const isValid = entry.at >= key.valid_from && (key.valid_until === null || entry.at <= key.valid_until);
  return isValid ? undefined : `its key ${entry.key_id} was not valid at ${entry.at}`;
}
