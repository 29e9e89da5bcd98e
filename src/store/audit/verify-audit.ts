import { AuditEntry, AuditSeal, NO_AUDIT, StoredAuditHead, type AuditHead } from '#domain/documents/audit-document.js';
import { NO_HASH, SigningKey, type PublicKey } from '#domain/documents/publication-document.js';
import { hashOf } from '../publication/statement-hash.js';
import { signatureFault } from '../publication/verify-log.js';
import { auditHash } from './log.js';

/** The first thing that is wrong with a log of writes. */
export interface AuditFault {
  /** Number of the entry: that it should have where it is missing. */
  readonly seq: number;
  /** One clause: `its hash is not that of its content`. */
  readonly reason: string;
}

/** What a log of writes is held against. */
export interface AuditTerms {
  /** Hash that the last entry must have; null where it is not known, and a signature has to cover the last entry. */
  readonly head: string | null;
  /** Signatures of the log; without them only its chain is verified. */
  readonly seals?: readonly unknown[];
  /** Keys by id; null where there are none to look at, and signatures are not verified. */
  readonly keys?: ReadonlyMap<string, PublicKey> | null;
}

/** A log that is as it was written. */
export interface SoundAudit extends AuditHead {
  /** Number of the last entry that a signature covers; 0 without one. */
  readonly sealed: number;
  /** Signatures made before they were chained: one of them that was left out is not noticed. */
  readonly unchained: number;
}

/**
 * Holds entries, in the order of their log, to their chain of hashes, and the log to its signatures, which are a chain of
 * their own. Missing last entries are noticed where a head or a seal names them.
 * @cost 0.1 ms an entry, and as much a seal
 */
export function verifyAudit(
  entries: Iterable<unknown>,
  { head, seals = [], keys = null }: AuditTerms,
): SoundAudit | AuditFault {
  const check = createSealsCheck(seals, keys);
  let last: AuditHead = NO_AUDIT;
  for (const given of entries) {
    const seq = last.seq + 1;
    const entry = AuditEntry.safeParse(given).data;
    if (entry === undefined) return { seq, reason: 'it is no entry of a log of writes' };
    const reason = faultOf(entry, last) ?? check.faultAt(entry);
    if (reason !== undefined) return { seq, reason };
    last = { seq, hash: entry.hash };
  }
  const beyond = check.beyond(last.seq);
  if (beyond !== undefined) return { seq: last.seq + 1, reason: beyond };
  // Whoever takes the signatures away can hash the rest again.
  if (head === null && keys !== null && check.last < last.seq)
    return { seq: check.last + 1, reason: 'no signature covers it' };
  if (head === null || head === last.hash) return { ...last, sealed: check.last, unchained: check.unchained };
  return { seq: last.seq + 1, reason: `it is missing: the log ends with ${last.hash}, not with ${head}` };
}

function faultOf(entry: AuditEntry, before: AuditHead): string | undefined {
  if (entry.seq !== before.seq + 1) return `it has the number ${entry.seq}`;
  if (entry.previous !== before.hash) return 'its previous hash is not that of the entry before';
  return auditHash(entry) === entry.hash ? undefined : 'its hash is not that of its content';
}

/** Seals by the entry that they cover. */
interface SealsCheck {
  /** What is wrong with the seals of an entry; undefined when nothing is. */
  faultAt(entry: AuditEntry): string | undefined;
  /** Why a log that ends with an entry lacks some. */
  beyond(seq: number): string | undefined;
  /** Number of the last entry that one covers. */
  readonly last: number;
  readonly unchained: number;
}

function createSealsCheck(given: readonly unknown[], keys: ReadonlyMap<string, PublicKey> | null): SealsCheck {
  const seals = given.map((each) => AuditSeal.safeParse(each).data);
  const bySeq = new Map<number, AuditSeal>();
  const misplaced = new Map<number, string>();
  let before: AuditSeal | undefined;
  for (const seal of seals) {
    if (seal === undefined) continue;
    const fault = linkFault(seal, before);
    if (fault !== undefined && !misplaced.has(seal.seq)) misplaced.set(seal.seq, fault);
    bySeq.set(seal.seq, seal);
    before = seal;
  }
  const last = Math.max(0, ...bySeq.keys());
  return {
    faultAt({ seq, hash }) {
      const seal = bySeq.get(seq);
      if (seal === undefined) return undefined;
      if (seal.entry_hash !== hash) return 'it is not the entry that was signed';
      if (hashOf(seal) !== seal.hash) return 'the hash of its seal is not that of its content';
      const fault = keys === null ? undefined : signatureFault(seal, keys);
      return fault === undefined ? misplaced.get(seq) : `of its seal, ${fault}`;
    },
    beyond(seq) {
      if (seals.includes(undefined)) return 'a seal of the log cannot be read';
      return last > seq ? `it is missing: the log is signed up to entry ${last}` : undefined;
    },
    last,
    unchained: seals.filter((seal) => seal !== undefined && seal.previous === undefined).length,
  };
}

/** Why a seal is not the one that follows another; those made before seals were chained are the first. */
function linkFault({ seq, previous }: AuditSeal, before: AuditSeal | undefined): string | undefined {
  if (before !== undefined && before.seq >= seq)
    return before.seq === seq ? 'its seal is there twice' : 'its seal is behind a later one';
  if (previous === undefined)
    return before?.previous === undefined ? undefined : 'its seal does not name the one before it';
  return previous === (before?.hash ?? NO_HASH) ? undefined : 'the seal before its own is missing';
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
      const ordered = inOrder(entries, (entry) => AuditEntry.safeParse(entry).data?.seq);
      const signed = inOrder(seals, (seal) => AuditSeal.safeParse(seal).data?.seq);
      const verdict = verifyAudit(ordered, { head: (head ?? NO_AUDIT).hash, seals: signed, keys });
      if ('reason' in verdict) return verdict;
      const { sealed = 0, seals: count = seals.length } = head ?? {};
      if (verdict.sealed < sealed) return { seq: sealed, reason: 'its signature is missing' };
      if (seals.length < count)
        return { seq: sealed, reason: `up to it there are ${seals.length} signatures; ${count} were written` };
      return undefined;
    },
  };
}

/** Items by their numbers; those without one are first. */
function inOrder(items: readonly unknown[], numberOf: (item: unknown) => number | undefined): unknown[] {
  return items
    .map((item) => ({ item, number: numberOf(item) ?? 0 }))
    .toSorted((a, b) => a.number - b.number)
    .map(({ item }) => item);
}
