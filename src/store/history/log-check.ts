import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import { NO_HASH, PublicationEntry } from '#domain/definition/publication.js';

type Signable = object & Partial<Pick<PublicationEntry, 'hash' | 'signature'>>;

/** Returns the SHA-256 of the canonical JSON of a statement, without its hash and signature. */
export function computeStatementHash({ hash: _hash, signature: _signature, ...stated }: Signable): string {
  return createHash('sha256').update(toCanonicalJson(stated)).digest('hex');
}

/** First error in a log. */
export interface LogFault {
  /** Number of the entry; for a missing entry, its expected number. */
  readonly seq: number;
  /** Reason as a clause, such as `its hash does not match its content`. */
  readonly reason: string;
}

export interface LogCheck {
  /** Checks the next entry. Returns its error, or undefined if it is valid. */
  next(entry: unknown): LogFault | undefined;
  /** Returns the last valid entry. */
  last(): { readonly seq: number; readonly hash: string };
}

/**
 * Creates the check. @param faultOfSignature returns the error of a signature. It is null if signatures are not checked
 */
export function createLogCheck(faultOfSignature: ((entry: PublicationEntry) => string | undefined) | null): LogCheck {
  let seq = 0;
  let hash = NO_HASH;
  let indexId: string | undefined;

  function findFault(parsed: PublicationEntry): string | undefined {
    if (seq === 0 && parsed.seq > 1) return `it is missing: the log is incomplete and begins with entry ${parsed.seq}`;
    if (parsed.seq !== seq + 1) return `it has the number ${parsed.seq}`;
    if (indexId !== undefined && parsed.index_id !== indexId) return `it belongs to the index ${parsed.index_id}`;
    if (parsed.previous !== hash) return 'its previous hash does not match the entry before it';
    if (computeStatementHash(parsed) !== parsed.hash) return 'its hash does not match its content';
    return faultOfSignature?.(parsed);
  }

  return {
    next(entry) {
      const parsedEntry = PublicationEntry.safeParse(entry).data;
      const reason = parsedEntry === undefined ? 'it is not an entry of a log' : findFault(parsedEntry);
      if (parsedEntry === undefined || reason !== undefined) return { seq: seq + 1, reason: reason! };
      ({ seq, hash } = parsedEntry);
      indexId = parsedEntry.index_id;
      return undefined;
    },
    last: () => ({ seq, hash }),
  };
}
