import { hash as hashOnce } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  AUDITED_KINDS,
  type AuditedKind,
  AuditEntry,
  type AuditHead,
  AuditSeal,
  NO_AUDIT,
  StoredAuditHead,
} from '#domain/definition/versions.js';
import { NO_HASH, type PublicKey, SigningKey } from '#domain/definition/publication.js';
import {
  type DocumentKind,
  type DocumentReader,
  type DocumentTransaction,
  findLatestTime,
  parseStored,
} from '../port.js';
import { computeStatementHash } from './log-check.js';
import { findSignatureFault, signHash } from './publication-log.js';

/** Content of an entry that has not been appended to the log yet. */
type AuditStatement = Omit<AuditEntry, 'seq' | 'previous' | 'hash'>;

type Reader = Pick<DocumentReader, 'get'>;

/** Id of the only head document of the log. */
const HEAD_ID = 'head';

/** Number of digits in a key, so that keys sort like entry numbers. */
const ID_DIGITS = 12;

export const formatEntryId = (seq: number): string => String(seq).padStart(ID_DIGITS, '0');

const BATCH_ENTRIES = 256;

export function isAudited(kind: DocumentKind): kind is AuditedKind {
  return (AUDITED_KINDS as readonly string[]).includes(kind);
}

/** Returns the head of the log: the number and hash of its last entry. @throws Refusal DOCUMENT_UNREADABLE */
export async function readAuditHead(reader: Reader): Promise<StoredAuditHead> {
  const storedHead = await reader.get('audit-head', HEAD_ID);
  if (storedHead === undefined) return NO_AUDIT;
  const head = parseStored(storedHead, StoredAuditHead);
  if (head === undefined) throw refuseLog('its head');
  return head;
}

/** Appends an entry to the log. @param end current head @returns the new head */
export async function appendAudit(
  tx: DocumentTransaction,
  statement: AuditStatement,
  { seq, hash: previous, ...signed }: StoredAuditHead,
): Promise<StoredAuditHead> {
  const statedEntry = { ...statement, seq: seq + 1, previous };
  const head: StoredAuditHead = { hash: computeAuditHash(statedEntry), ...signed, seq: seq + 1 };
  await tx.put('audit', formatEntryId(head.seq), orderMembers({ ...statedEntry, hash: head.hash }));
  await putAuditHead(tx, head);
  return head;
}

async function putAuditHead(tx: DocumentTransaction, head: StoredAuditHead): Promise<void> {
  await tx.put('audit-head', HEAD_ID, head);
}

/** Returns an entry with its members in stored order. The hash may be missing. */
function orderMembers(entry: { readonly [Member in keyof AuditEntry]?: AuditEntry[Member] | undefined }): object {
  const { action, at, author, etag, hash, id, key_id, kind, note, previous, request_id, run_id, seq, version } = entry;
  return { action, at, author, etag, hash, id, key_id, kind, note, previous, request_id, run_id, seq, version };
}

/** Yields the entries after a number in batches, in order. @throws Refusal DOCUMENT_UNREADABLE */
export async function* readAuditBatches(
  reader: Reader,
  { after, head }: { readonly after: number; readonly head: AuditHead },
): AsyncGenerator<readonly AuditEntry[]> {
  for (let from = after + 1; from <= head.seq; from += BATCH_ENTRIES) {
    const seqs = Array.from({ length: Math.min(BATCH_ENTRIES, head.seq - from + 1) }, (_, i) => from + i);
    yield Promise.all(seqs.map((seq) => readEntry(reader, seq)));
  }
}

async function readEntry(reader: Reader, seq: number): Promise<AuditEntry> {
  const storedEntry = await reader.get('audit', formatEntryId(seq));
  const entry = parseStored(storedEntry, AuditEntry);
  if (entry === undefined) throw refuseLog(`its entry ${seq}`);
  return entry;
}

/** Returns the SHA-256 of the canonical JSON of an entry without its hash. */
export function computeAuditHash(entry: Partial<AuditEntry>): string {
  return hashOnce('sha256', toCanonicalJson(orderMembers({ ...entry, hash: undefined })), 'hex');
}

function refuseLog(part: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The audit log cannot be read: ${part}; restore it from a backup.`);
}

/**
 * Signs the log up to its end, unless it is signed already. The time of the signature is never before the last
 * signature or the creation of the key.
 * @param time current time, ISO-8601 UTC
 * @cost 0.2 ms
 */
export async function signAuditLog(tx: DocumentTransaction, key: SigningKey, time: string): Promise<void> {
  const head = await readAuditHead(tx);
  const { seq, hash: entry_hash, sealed = 0, seals = 0, seal_hash: previous = NO_HASH } = head;
  if (seq === 0 || sealed === seq) return;
  const at = findLatestTime(time, key.valid_from, await findLastSealTime(tx));
  const sealStatement = { seq, entry_hash, previous, at, key_id: key.key_id };
  const hash = computeStatementHash(sealStatement);
  await tx.put('audit-seal', formatEntryId(seq), {
    ...sealStatement,
    hash,
    signature: signHash(key, hash),
  } satisfies AuditSeal);
  await putAuditHead(tx, { ...head, sealed: seq, seals: seals + 1, seal_hash: hash });
}

/** Returns the time of the last signature of the log; undefined if none is readable. */
export async function findLastSealTime(reader: Pick<DocumentReader, 'get'>): Promise<string | undefined> {
  const { sealed = 0 } = await readAuditHead(reader);
  return parseStored(await reader.get('audit-seal', formatEntryId(sealed)), AuditSeal)?.at;
}

/** Returns true if the last entry is signed, or there is no entry. */
export async function isSealed(reader: Pick<DocumentReader, 'get'>): Promise<boolean> {
  const { seq, sealed = 0 } = await readAuditHead(reader);
  return sealed === seq;
}

/** First error in an audit log. */
interface AuditFault {
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
interface ValidAudit extends AuditHead {
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

interface DiskDocument {
  readonly kind: string | undefined;
  readonly body: unknown;
}

/** Check for an audit log with a broken chain. It receives all documents of a snapshot, in any order. */
interface AuditCheck {
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

function sortByNumber(items: readonly unknown[], numberOf: (item: unknown) => number | undefined): unknown[] {
  return items
    .map((item) => ({ item, number: numberOf(item) ?? 0 }))
    .toSorted((a, b) => a.number - b.number)
    .map(({ item }) => item);
}
