import { NO_HASH, PublicationEntry } from '#domain/documents/publication-document.js';
import { hashOf } from './statement-hash.js';

/** The first thing that is wrong with a log. */
export interface LogFault {
  /** Number of the entry: that it should have where it is missing. */
  readonly seq: number;
  /** One clause: `its hash is not that of its content`. */
  readonly reason: string;
}

/** Looks at a log entry by entry. */
export interface LogCheck {
  /** Error of the next entry; undefined if it is valid. */
  next(entry: unknown): LogFault | undefined;
  /** The last sound entry. */
  last(): { readonly seq: number; readonly hash: string };
}

/** @param faultOfSignature error of a signature; null if signatures are not checked */
export function createLogCheck(faultOfSignature: ((entry: PublicationEntry) => string | undefined) | null): LogCheck {
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
    return faultOfSignature?.(parsed);
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
