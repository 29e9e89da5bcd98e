import { AuditEntry, AuditHead, NO_AUDIT } from '#domain/documents/audit-document.js';
import { auditHash } from './log.js';

/** The first thing that is wrong with a log of writes. */
export interface AuditFault {
  /** Number of the entry: that it should have where it is missing. */
  readonly seq: number;
  /** One clause: `its hash is not that of its content`. */
  readonly reason: string;
}

/**
 * Holds entries, in the order of their log, to their chain of hashes.
 * @param head hash that the last must have; null where it is not known, and missing last entries are not noticed
 */
export function verifyAudit(entries: Iterable<unknown>, head: string | null): AuditHead | AuditFault {
  let last: AuditHead = NO_AUDIT;
  for (const given of entries) {
    const seq = last.seq + 1;
    const entry = AuditEntry.safeParse(given).data;
    if (entry === undefined) return { seq, reason: 'it is no entry of a log of writes' };
    const reason = faultOf(entry, last);
    if (reason !== undefined) return { seq, reason };
    last = { seq, hash: entry.hash };
  }
  if (head === null || head === last.hash) return last;
  return { seq: last.seq + 1, reason: `it is missing: the log ends with ${last.hash}, not with ${head}` };
}

function faultOf(entry: AuditEntry, before: AuditHead): string | undefined {
  if (entry.seq !== before.seq + 1) return `it has the number ${entry.seq}`;
  if (entry.previous !== before.hash) return 'its previous hash is not that of the entry before';
  return auditHash(entry) === entry.hash ? undefined : 'its hash is not that of its content';
}

/** A document as it was found on disk. */
interface Found {
  readonly kind: string | undefined;
  readonly body: unknown;
}

/** Looks through all documents of one moment, in any order, for a log that is not the chain that was written. */
export interface AuditCheck {
  look(found: Found): void;
  /** Once every document was looked at. @cost sorts the entries */
  fault(): AuditFault | undefined;
}

export function createAuditCheck(): AuditCheck {
  const entries: unknown[] = [];
  let head: AuditHead | undefined;
  return {
    look({ kind, body }) {
      if (kind === 'audit') entries.push(body);
      if (kind === 'audit-head') head = AuditHead.safeParse(body).data;
    },
    fault() {
      const place = (entry: unknown): number => AuditEntry.safeParse(entry).data?.seq ?? 0;
      const placed = entries.map((entry) => ({ entry, seq: place(entry) })).toSorted((a, b) => a.seq - b.seq);
      const verdict = verifyAudit(
        placed.map(({ entry }) => entry),
        (head ?? NO_AUDIT).hash,
      );
      return 'reason' in verdict ? verdict : undefined;
    },
  };
}
