import { AuditEntry, AuditSeal, NO_AUDIT, StoredAuditHead, type AuditHead } from '#domain/documents/audit-document.js';
import { NO_HASH, SigningKey, type PublicKey } from '#domain/documents/publication-document.js';
import { computeStatementHash } from '../publication/statement-hash.js';
import { findSignatureFault } from '../publication/verify-log.js';
import { computeAuditHash } from './log.js';

/** First error in an audit log. */
export interface AuditFault {
  /** Number of the entry; for a missing entry, its expected number. */
  readonly seq: number;
  /** Reason as a clause, such as `its hash does not match its content`. */
  readonly reason: string;
}

/** Reference data for the verification of an audit log. */
export interface AuditTerms {
  /** Expected hash of the last entry. If it is unknown (null), a signature must cover the last entry. */
  readonly head: string | null;
  /** Signatures of the log. Default: only the hash chain is verified. */
  readonly seals?: readonly unknown[];
  /** Public keys by id. If they are unavailable (null), signatures are not verified. */
  readonly keys?: ReadonlyMap<string, PublicKey> | null;
}

/** Verdict on an intact log. */
export interface ValidAudit extends AuditHead {
  /** Number of the last signed entry; 0 without a signature. */
  readonly sealed: number;
  /** Number of signatures of earlier versions, which form no chain. The removal of such a signature is not detected. */
  readonly unchained: number;
}

/**
 * Verifies the hash chain of entries, in log order, and the signatures of the log, which form a separate chain. Missing
 * last entries are detected only if a hash or a signature refers to them.
 * @cost 0.1 ms per entry, and the same per signature
 */
export function verifyAudit(
  entries: Iterable<unknown>,
  { head, seals = [], keys = null }: AuditTerms,
): ValidAudit | AuditFault {
  const check = createSealsCheck(seals, keys);
  let last: AuditHead = NO_AUDIT;
  for (const value of entries) {
    const seq = last.seq + 1;
    const entry = AuditEntry.safeParse(value).data;
    if (entry === undefined) return { seq, reason: 'it is not an entry of an audit log' };
    const reason = findFault(entry, last) ?? check.faultAt(entry);
    if (reason !== undefined) return { seq, reason };
    last = { seq, hash: entry.hash };
  }
  const sealFault = check.beyond(last.seq);
  if (sealFault !== undefined) return { seq: last.seq + 1, reason: sealFault };
  // A signature must cover the last entry. An attacker who removes the signatures can recompute the hashes of later
  // entries.
  if (head === null && keys !== null && check.last < last.seq)
    return { seq: check.last + 1, reason: 'no signature covers it' };
  if (head === null || head === last.hash) return { ...last, sealed: check.last, unchained: check.unchained };
  return { seq: last.seq + 1, reason: `it is missing: the log ends with ${last.hash}, not with ${head}` };
}

function findFault(entry: AuditEntry, before: AuditHead): string | undefined {
  if (entry.seq !== before.seq + 1) return `it has the number ${entry.seq}`;
  if (entry.previous !== before.hash) return 'its previous hash does not match the entry before it';
  return computeAuditHash(entry) === entry.hash ? undefined : 'its hash does not match its content';
}

/** Checks of signatures, by the entry that a signature covers. */
interface SealsCheck {
  /** Returns the error in the signature of an entry. Returns undefined if the signature is valid. */
  faultAt(entry: AuditEntry): string | undefined;
  /** Returns the reason why a log that ends with this entry is incomplete. Returns undefined if it is complete. */
  beyond(seq: number): string | undefined;
  /** Number of the last signed entry. */
  readonly last: number;
  readonly unchained: number;
}

function createSealsCheck(values: readonly unknown[], keys: ReadonlyMap<string, PublicKey> | null): SealsCheck {
  const seals = values.map((each) => AuditSeal.safeParse(each).data);
  const sealBySeq = new Map<number, AuditSeal>();
  const misplacedSeals = new Map<number, string>();
  let previousSeal: AuditSeal | undefined;
  for (const seal of seals) {
    if (seal === undefined) continue;
    const fault = findLinkFault(seal, previousSeal);
    if (fault !== undefined && !misplacedSeals.has(seal.seq)) misplacedSeals.set(seal.seq, fault);
    sealBySeq.set(seal.seq, seal);
    previousSeal = seal;
  }
  const last = Math.max(0, ...sealBySeq.keys());
  return {
    faultAt({ seq, hash }) {
      const seal = sealBySeq.get(seq);
      if (seal === undefined) return undefined;
      if (seal.entry_hash !== hash) return 'it differs from the signed entry';
      if (computeStatementHash(seal) !== seal.hash) return 'the hash of its seal does not match the seal';
      const fault = keys === null ? undefined : findSignatureFault(seal, keys);
      return fault === undefined ? misplacedSeals.get(seq) : `in its seal, ${fault}`;
    },
    beyond(seq) {
      if (seals.includes(undefined)) return 'a seal of the log cannot be read';
      return last > seq ? `it is missing: the log is signed up to entry ${last}` : undefined;
    },
    last,
    unchained: seals.filter((seal) => seal !== undefined && seal.previous === undefined).length,
  };
}

/**
 * Returns the reason why a signature does not follow the previous one. Signatures that form no chain must come first.
 */
function findLinkFault({ seq, previous }: AuditSeal, before: AuditSeal | undefined): string | undefined {
  if (before !== undefined && before.seq >= seq)
    return before.seq === seq ? 'its seal occurs twice' : 'its seal comes after a later one';
  if (previous === undefined)
    return before?.previous === undefined ? undefined : 'its seal does not name the previous one';
  return previous === (before?.hash ?? NO_HASH) ? undefined : 'the previous seal is missing';
}

/** Document as read from disk. */
interface DiskDocument {
  readonly kind: string | undefined;
  readonly body: unknown;
}

/** Check for an audit log with a broken chain. It receives all documents of a snapshot, in any order. */
export interface AuditCheck {
  look(document: DiskDocument): void;
  /** Returns the error, after all documents were read. @cost sorts the entries */
  fault(): AuditFault | undefined;
}

export function createAuditCheck(): AuditCheck {
  const entries: unknown[] = [];
  const seals: unknown[] = [];
  const keys = new Map<string, PublicKey>();
  let head: StoredAuditHead | undefined;
  return {
    look({ kind, body }) {
      if (kind === 'audit') entries.push(body);
      if (kind === 'audit-head') head = StoredAuditHead.safeParse(body).data;
      if (kind === 'audit-seal') seals.push(body);
      const key = kind === 'signing-key' ? SigningKey.safeParse(body).data : undefined;
      if (key !== undefined) keys.set(key.key_id, key);
    },
    fault() {
      const sortedEntries = sortByNumber(entries, (entry) => AuditEntry.safeParse(entry).data?.seq);
      const sortedSeals = sortByNumber(seals, (seal) => AuditSeal.safeParse(seal).data?.seq);
      const verdict = verifyAudit(sortedEntries, { head: (head ?? NO_AUDIT).hash, seals: sortedSeals, keys });
      if ('reason' in verdict) return verdict;
      const { sealed = 0, seals: count = seals.length } = head ?? {};
      if (verdict.sealed < sealed) return { seq: sealed, reason: 'its signature is missing' };
      if (seals.length < count)
        return { seq: sealed, reason: `${seals.length} signatures exist up to it; ${count} were written` };
      return undefined;
    },
  };
}

/** Sorts items by number; items without a number come first. */
function sortByNumber(items: readonly unknown[], numberOf: (item: unknown) => number | undefined): unknown[] {
  return items
    .map((item) => ({ item, number: numberOf(item) ?? 0 }))
    .toSorted((a, b) => a.number - b.number)
    .map(({ item }) => item);
}
