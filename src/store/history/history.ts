import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import {
  deflateRaw as deflateRawCallback,
  deflateRawSync,
  inflateRawSync,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  DataHistoryDocument,
  type DatasetDocument,
  DataVersionDocument,
  ForgottenHistory,
  readDeclaration,
} from '#domain/definition/datasets.js';
import { SigningKey } from '#domain/definition/publication.js';
import type { RunDocument } from '#domain/definition/runs.js';
import {
  type AuditedKind,
  AuditEntry,
  type Authorship,
  HistoryDocument,
  LOCAL_AUTHOR,
  NO_REQUEST,
  type StoredAuditHead,
  type Subject,
  type VersionAction,
  VersionDocument,
  VERSIONED_KINDS,
  type VersionedKind,
} from '#domain/definition/versions.js';
import {
  computeRunId,
  createNumberedRange,
  type DocumentKind,
  type DocumentLookup,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  formatNumberedId,
  formatTimestamp,
  getOwner,
  isDocumentId,
  parseNumber,
  parseStored,
  readStoredBody,
  type TransactionOptions,
  type UnreadableCause,
} from '../port.js';
import { appendAudit, isAudited, readAuditHead } from './audit.js';

/** Version with its content as text; null for a deletion. */
export interface StoredVersion extends Omit<VersionDocument, 'content'> {
  readonly content: string | null;
}

/** Metadata of a write. */
interface Change extends Omit<Authorship, 'restores' | 'purges'> {
  readonly restores?: number | undefined;
  readonly action: VersionAction;
  /** Time of the write, ISO-8601 UTC. */
  readonly at: string;
  readonly etag: string;
  /** Content as text; null for a deletion. */
  readonly content: string | null;
}

type Reader = Pick<DocumentReader, 'get' | 'ids' | 'lastNumber'>;

const formatHistoryId = ({ kind, id }: Subject): string => `${kind}/${id}`;
const formatVersionId = (subject: Subject, version: number): string =>
  formatNumberedId(formatHistoryId(subject), version);

/** Range of the versions of a document. Version numbers are above `purged`, up to `latest`. */
export interface HistoryHead {
  readonly latest: number;
  readonly purged: number;
}

/**
 * Returns the version range of a document. Returns undefined if the document never had versions. If the record of its
 * history is damaged, the keys of the versions give the range.
 */
export async function readHead(reader: Reader, subject: Subject): Promise<HistoryHead | undefined> {
  const [last, record] = await Promise.all([readLastVersion(reader, subject), readHistoryRecord(reader, subject)]);
  if (record !== undefined) return { latest: Math.max(last, record.latest), purged: record.purged ?? 0 };
  if (last === 0) return undefined;
  const prefix = createNumberedRange(formatHistoryId(subject)).from;
  const first = (await reader.ids('version')).find((id) => id.startsWith(prefix));
  return { latest: last, purged: first === undefined ? 0 : parseNumber(first) - 1 };
}

/** Returns the number of the last stored version; 0 if there is none. */
export function readLastVersion(reader: Pick<DocumentReader, 'lastNumber'>, subject: Subject): Promise<number> {
  return reader.lastNumber('version', formatHistoryId(subject));
}

/** Reads a version of a document. @returns undefined if no version has the number; the cause if it is unreadable */
export async function loadVersion(
  reader: Pick<DocumentReader, 'get'>,
  subject: Subject,
  version: number,
): Promise<StoredVersion | UnreadableCause | undefined> {
  const storedVersion = await reader.get('version', formatVersionId(subject, version));
  if (storedVersion === undefined) return undefined;
  return 'unreadable' in storedVersion ? storedVersion.unreadable : (readVersion(storedVersion.body) ?? 'invalid');
}

/** Returns the number of the last version of a document if that version has the ETag. Returns null otherwise. */
export async function findVersionByEtag(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  subject: Subject,
  etag: string,
): Promise<number | null> {
  const last = await readLastVersion(reader, subject);
  const storedVersion = last === 0 ? undefined : await reader.get('version', formatVersionId(subject, last));
  return parseStored(storedVersion, VersionDocument)?.etag === etag ? last : null;
}

/** Parses a version with its content. Returns undefined if the content does not match its ETag. */
function readVersion(body: unknown): StoredVersion | undefined {
  const document = VersionDocument.safeParse(body).data;
  if (document === undefined) return undefined;
  const content = document.content === null ? null : unpackContent(document.content);
  if (content === undefined || (content !== null && findEtag(content) !== document.etag)) return undefined;
  return { ...document, content };
}

export interface DocumentState {
  readonly document: DocumentLookup;
  /** Number of the last version; 0 without versions. */
  readonly latest: number;
  /** ETag of the current content; null without content. */
  readonly etag: string | null;
}

/** Reads that have started: of a document, and of the number of its last version. */
interface PendingReads {
  readonly document: Promise<DocumentLookup>;
  /** Result of `readLastVersion`; undefined if it was not requested. */
  readonly last: Promise<number> | undefined;
}

async function readDocumentState(
  tx: DocumentTransaction,
  subject: Subject,
  reading: PendingReads,
): Promise<DocumentState> {
  const { kind } = subject;
  const [document, stored] = await Promise.all([reading.document, reading.last ?? readLastVersion(tx, subject)]);
  const latest = stored > 0 ? stored : ((await readHead(tx, subject))?.latest ?? 0);
  if (document === undefined) return { document, latest, etag: null };
  if ('unreadable' in document) return { document, latest, etag: await findLastEtag(tx, subject, latest) };
  return { document, latest, etag: createContent(kind, document.body, document.etag).etag };
}

/** Starts the history of a document that a release without versions wrote. */
export async function startHistory(tx: DocumentTransaction, subject: Subject): Promise<void> {
  const document = await tx.get(subject.kind, subject.id);
  if (document === undefined || 'unreadable' in document || (await readHead(tx, subject)) !== undefined) return;
  const { etag, content } = createContent(subject.kind, document.body, document.etag);
  const first = { author: LOCAL_AUTHOR, note: null, requestId: '', action: 'created', at: document.updatedAt } as const;
  await append(tx, subject, 0, { ...first, etag, content: content() });
}

/**
 * Returns the ETag of the last version, used if the document is unreadable. Returns null without a readable version.
 */
async function findLastEtag(tx: DocumentTransaction, subject: Subject, latest: number): Promise<string | null> {
  const version = latest === 0 ? undefined : await loadVersion(tx, subject, latest);
  return typeof version === 'object' && version.content !== null ? version.etag : null;
}

/**
 * Writes a document and adds a version. Adds no version if the content is unchanged.
 * @returns ETag of the body, and the new version
 * @cost a second write of the document; for a long document, its compression
 */
async function putVersioned(
  tx: DocumentTransaction,
  subject: Subject,
  { body, by: { author, keyId = null, note, requestId, restores }, at, standing }: VersionedPut,
): Promise<PutOutcome> {
  const { kind, id } = subject;
  const bodyEtag = await tx.put(kind, id, body);
  const { etag, content } = createContent(kind, body, bodyEtag);
  if (standing.etag === etag) return { etag: bodyEtag };
  const action = restores !== undefined ? 'restored' : standing.document === undefined ? 'created' : 'updated';
  const change = { author, keyId, note, requestId, restores, action, at, etag, content: content() } as const;
  return { etag: bodyEtag, added: { version: await append(tx, subject, standing.latest, change), action, etag } };
}

interface PutOutcome {
  readonly etag: string;
  /** Appended version; absent if the content was unchanged. */
  readonly added?: Pick<VersionDocument, 'version' | 'action' | 'etag'>;
}

interface VersionedPut extends PutRecord {
  readonly standing: DocumentState;
}

interface PutRecord {
  readonly body: unknown;
  readonly by: Authorship;
  /** Time of the write, ISO-8601 UTC. */
  readonly at: string;
}

/**
 * Appends the deletion of a document to its history. @returns number of the version; null if there was no readable
 * content
 */
async function recordDeletion(
  tx: DocumentTransaction,
  subject: Subject,
  { by: { author, keyId = null, note, requestId }, at, standing: { etag, latest } }: Omit<VersionedPut, 'body'>,
): Promise<number | null> {
  if (etag === null) return null; // without readable content, there is nothing to record
  return append(tx, subject, latest, { author, keyId, note, requestId, action: 'deleted', at, etag, content: null });
}

/** Removes every version of a document; version numbers are not reused. @returns true if there were any versions */
async function purgeHistory(tx: DocumentTransaction, subject: Subject): Promise<boolean> {
  const head = await readHead(tx, subject);
  if (!hasVersions(head)) return false;
  const { latest, purged } = head;
  for (let version = purged + 1; version <= latest; version++)
    await tx.delete('version', formatVersionId(subject, version));
  await tx.put('history', formatHistoryId(subject), { latest, purged: latest } satisfies HistoryDocument);
  return true;
}

/** Maximum number of versions that one write removes. If the limit was lowered, later writes remove the rest. */
const TRIM_BATCH = 100;

/**
 * Removes the oldest versions beyond the limit. Version numbers are not reused. The author of the first version stays
 * recorded.
 * @param latest number of the last version
 * @param keptVersions number of versions to keep, at least 1
 */
async function trimHistory(
  tx: DocumentTransaction,
  subject: Subject,
  { latest, keptVersions }: { readonly latest: number; readonly keptVersions: number },
): Promise<void> {
  if (latest <= keptVersions) return;
  const [{ purged } = { purged: 0 }, record] = await Promise.all([
    readHead(tx, subject),
    readHistoryRecord(tx, subject),
  ]);
  const last = Math.min(latest - keptVersions, purged + TRIM_BATCH);
  if (last <= purged) return;
  const owner = record?.owner ?? (await readAuthor(tx, subject, purged + 1));
  for (let version = purged + 1; version <= last; version++)
    await tx.delete('version', formatVersionId(subject, version));
  await tx.put('history', formatHistoryId(subject), {
    latest,
    purged: last,
    ...(owner && { owner }),
  } satisfies HistoryDocument);
}

/**
 * Returns the author of the first version of a document, even if that version was removed. Returns null if there are no
 * versions.
 */
export async function findFirstAuthor(reader: Reader, subject: Subject): Promise<HistoryDocument['owner'] | null> {
  const [head, record] = await Promise.all([readHead(reader, subject), readHistoryRecord(reader, subject)]);
  if (!hasVersions(head)) return null;
  return record?.owner ?? (await readAuthor(reader, subject, head.purged + 1)) ?? null;
}

async function readAuthor(
  reader: Pick<DocumentReader, 'get'>,
  subject: Subject,
  number: number,
): Promise<HistoryDocument['owner']> {
  const version = await loadVersion(reader, subject, number);
  if (typeof version !== 'object') return undefined;
  const { author, key_id: keyId } = version;
  return { author, ...(keyId !== undefined && { key_id: keyId }) };
}

async function readHistoryRecord(
  reader: Pick<DocumentReader, 'get'>,
  subject: Subject,
): Promise<HistoryDocument | undefined> {
  const storedRecord = await reader.get('history', formatHistoryId(subject));
  return parseStored(storedRecord, HistoryDocument);
}

/** Returns true if a history has versions. A document whose history was removed has none. */
export function hasVersions(head: HistoryHead | undefined): head is HistoryHead {
  return head !== undefined && head.latest > head.purged;
}

/**
 * Appends a version.
 * @param latest number of the last version
 * @returns number of the new version
 */
async function append(
  tx: DocumentTransaction,
  subject: Subject,
  latest: number,
  { author, keyId, note, requestId, restores, action, at, etag, content }: Change,
): Promise<number> {
  const version = latest + 1;
  await tx.put('version', formatVersionId(subject, version), {
    // members in stored order
    action,
    at,
    author,
    content: content === null ? null : await packContent(content),
    etag,
    ...(keyId == null ? {} : { key_id: keyId }),
    note,
    request_id: requestId,
    ...(restores === undefined ? {} : { restored_from: restores }),
    version,
  } satisfies VersionDocument);
  if (latest === 0) await tx.put('history', formatHistoryId(subject), { latest: version } satisfies HistoryDocument);
  return version;
}

/**
 * Returns the part of a body that versions contain. For a data store, it is the declaration; for any other kind, it is
 * the whole body.
 */
function createContent(
  kind: VersionedKind,
  body: unknown,
  bodyEtag: string,
): { readonly etag: string; content(): string } {
  if (kind !== 'store') return { etag: bodyEtag, content: () => JSON.stringify(body) };
  const text = toCanonicalJson(readDeclaration(body));
  return { etag: computeCanonicalEtag(text), content: () => text };
}

/** Returns the ETag of the part of a body that versions contain. */
function computeContentEtag(kind: VersionedKind, body: unknown): string {
  return computeCanonicalEtag(toCanonicalJson(kind === 'store' ? readDeclaration(body) : body));
}

/** Returns the SHA-256 of a JSON text in canonical form. Returns undefined for any other text. */
function findEtag(text: string): string | undefined {
  try {
    return computeCanonicalEtag(toCanonicalJson(JSON.parse(text)));
  } catch {
    return undefined; // not JSON, so the text is damaged
  }
}

export const computeCanonicalEtag = (text: string): string => hash('sha256', text, 'hex');

/** Document as read from disk. Its body is undefined if it is unreadable. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for missing or inconsistent versions. It receives all documents of a snapshot. */
interface HistoryCheck {
  /** Returns the error in one document; undefined if it is valid. */
  look(entry: Entry): string | undefined;
  /** Returns the incomplete histories by id, after all documents were read. */
  gaps(): readonly Gap[];
}

interface Gap {
  readonly name: string;
  readonly reason: string;
}

type Part = Pick<HistoryCheck, 'gaps'> & {
  /** @returns the error in the document; undefined if it is valid or of another kind */
  look(entry: Entry): string | undefined;
};

export function createHistoryCheck(): HistoryCheck {
  const parts: readonly Part[] = [createDocumentPart(), createDataPart()];
  return {
    look(entry) {
      for (const part of parts) {
        const reason = part.look(entry);
        if (reason !== undefined) return reason;
      }
      return undefined;
    },
    gaps: () => parts.flatMap((part) => part.gaps()),
  };
}

interface HistoryState {
  /** Record of the history. Contains its latest version number and the last number that was purged. */
  record?: { readonly latest: number; readonly purged: number };
  count: number;
  /** Last existing version with its ETag. The ETag is null for a deletion, undefined for a damaged version. */
  last: { readonly number: number; readonly etag: string | null | undefined };
  /** ETag of the document. It is undefined if the document is damaged, null if it is absent. */
  etag: string | null | undefined;
  /** Highest version number in the audit log. */
  named: number;
}

function createDocumentPart(): Part {
  const historyByName = new Map<string, HistoryState>();
  const getState = (name: string): HistoryState => {
    const history = historyByName.get(name) ?? { count: 0, last: { number: 0, etag: null }, etag: null, named: 0 };
    historyByName.set(name, history);
    return history;
  };

  function lookAtVersion(id: string, body: unknown): string | undefined {
    const subject = getState(getOwner(id));
    const version = readVersion(body);
    subject.count++;
    const number = parseNumber(id);
    if (number > subject.last.number) subject.last = { number, etag: version && computeCurrentEtag(id, version) };
    return version === undefined ? 'its content does not match its ETag' : undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'version') return lookAtVersion(id, body);
      if (kind === 'history') {
        const record = HistoryDocument.safeParse(body).data;
        if (record === undefined) return 'it is not a record of a history';
        getState(id).record = { latest: record.latest, purged: record.purged ?? 0 };
      }
      if (isVersioned(kind))
        getState(`${kind}/${id}`).etag = body === undefined ? undefined : computeContentEtag(kind, body);
      const entry = kind === 'audit' ? AuditEntry.safeParse(body).data : undefined;
      if (entry !== undefined && isVersioned(entry.kind)) {
        const subject = getState(`${entry.kind}/${entry.id}`);
        subject.named = Math.max(subject.named, entry.version ?? 0);
      }
      return undefined;
    },
    gaps: () =>
      [...historyByName].flatMap(([name, each]) => {
        const reason = findGap(each);
        return reason === undefined ? [] : [{ name, reason }];
      }),
  };
}

/**
 * Returns the error in the history of a document. Returns undefined if there is none, and for a document of an earlier
 * release without versions.
 */
function findGap({ record, count, last, etag, named }: HistoryState): string | undefined {
  if (record === undefined)
    return count > 0 || named > 0 ? 'it has versions, but the record of its history is missing' : undefined;
  const latestVersion = Math.max(record.latest, last.number, named);
  const writtenCount = latestVersion - record.purged;
  if (count !== writtenCount) return `it has ${count} versions; ${writtenCount} were written`;
  if (etag === undefined || last.etag === undefined || etag === last.etag) return undefined; // damage is reported by other checks
  if (etag === null) return `the document is missing, but version ${last.number} is not its deletion`;
  return `the document differs from its version ${last.number}`;
}

/**
 * Returns the ETag of the content of a version in its current form. The form has changed, because stores have more
 * members now.
 */
function computeCurrentEtag(id: string, { content, etag }: StoredVersion): string | null {
  if (content === null) return null;
  return id.startsWith('store/') ? computeContentEtag('store', JSON.parse(content)) : etag;
}

const isVersioned = (kind: string | undefined): kind is VersionedKind =>
  (VERSIONED_KINDS as readonly (string | undefined)[]).includes(kind);

function createDataPart(): Part {
  const heads = new Map<string, DataHistoryDocument>();
  /**
   * Last version number of deleted data stores, by the id that they had; 0 if there is none. The next start removes the
   * versions up to this number.
   */
  const forgottenByName = new Map<string, number>();
  const numbers = new Map<string, number[]>();
  const stores = new Set<string>();

  function checkHead(id: string, body: unknown): string | undefined {
    const head = DataHistoryDocument.safeParse(body).data;
    const historyHead = head ?? ForgottenHistory.safeParse(body).data;
    if (historyHead === undefined) return 'it is not a head of a history';
    if (head !== undefined) heads.set(id, head);
    forgottenByName.set(id, historyHead.forgotten ?? 0);
    return undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'store') stores.add(id);
      if (kind === 'data-history') return checkHead(id, body);
      if (kind !== 'data-version') return undefined;
      const ownerNumbers = numbers.get(getOwner(id)) ?? [];
      numbers.set(getOwner(id), ownerNumbers);
      ownerNumbers.push(parseNumber(id));
      return DataVersionDocument.safeParse(body).success ? undefined : 'it is not a data version';
    },
    gaps: () => [
      ...[...numbers.keys()].flatMap((id) =>
        stores.has(id) && !heads.has(id)
          ? [{ name: `data ${id}`, reason: 'it has versions, but their head is missing' }]
          : [],
      ),
      ...[...heads].flatMap(([id, { latest }]) => {
        const lastForgottenVersion = forgottenByName.get(id) ?? 0;
        const count =
          numbers.get(id)?.filter((number) => number > lastForgottenVersion && number <= latest).length ?? 0;
        const writtenCount = latest - lastForgottenVersion;
        return count === writtenCount
          ? []
          : [{ name: `data ${id}`, reason: `it has ${count} versions; ${writtenCount} were written` }];
      }),
    ],
  };
}

/** Returns a signing key that was replaced, without its private half. The public half still verifies its signatures. */
export const removePrivateKey = (key: SigningKey): SigningKey => ({ ...key, private_key: '' });

/**
 * Common parts of stored documents with their default values. The most frequent parts come last, nearest to the text.
 * Stored versions depend on this dictionary, so it must never change. A different dictionary needs a different mark in
 * `packContent`.
 */
const DICTIONARY = [
  '{"template_id":"","name":"","blocks":[{"kind":"header","title":null,"index_id":"","width":"full","subtitle":"",',
  '"stamp":true},{"kind":"stat_grid","stats":["total_return","volatility","sharpe_ratio"],"columns":4,"values":null},',
  '{"kind":"chart","lines":["level","benchmark"],"log_scale":false,"rule":null,"height":180},{"kind":"table"}],',
  '"page":{"size":"A4","orientation":"portrait","margin":48}}',
  '{"watchlist_id":"","name":"","description":null,"identifiers":["AAPL","MSFT"],"updated_at":"2026-01-01T00:00:00.000',
  '000+00:00"}{"adjustment":"none","currency":null,"kind":"imported","mapping":null,"name":"","source":null,',
  '"store_id":"","synthetic":null,"tables":{}}{"id":"","name":"","constraints":[{"type":"PositionBounds","id":"pos",',
  '"params":{"lower":0,"upper":0.05}},{"type":"ActiveGroupBounds","id":"sec","params":{"field":"SECTOR","lower":-0.02,',
  '"upper":0.02}},{"type":"Turnover","id":"turn","params":{"limit":0.15,"priority":2,"reference":"index"}}]}',
  '"benchmark":null,"start":null,"end":null,"initial_capital":1000000,"transaction_cost_bps":5,"constraint_set_id":',
  'null,"rebalance":{"frequency":"annual","anchor":"last_session"},"drift_tolerance":0.002,"exposure":0.98}',
  '{"objective":{"type":"min_tracking_error"},"risk_model":null,"source_index_id":"","overlay":null,"kind":"overlay"',
  '{"type":"TopN","params":{"count":50,"field":"FREE_FLOAT_MARKET_CAP"}},{"type":"EqualWeight","params":{}}',
  '{"id":"","name":"","description":null,"calendar":"XNYS","base_date":"2020-01-02","base_value":100,"currency":"USD",',
  '"universe":{"kind":"all"},"universe":{"kind":"list","identifiers":["rebalance":{"frequency":"quarterly",',
  '"anchor":"third_friday","months":null,"weekday":null,"nth":null,"day":null,"roll":"following","effective_lag":0,',
  '"dates":[]},"pipeline":{"selection":[{"id":"liquid","type":"LiquidityFilter","params":{"minimum":5000000}},',
  '{"id":"size","type":"BufferedTopN","params":{"count":100,"field":"FREE_FLOAT_MARKET_CAP"}}],"selection":[],',
  '"treatment":{"dividends":"total","withholding_tax":0,"special_dividends":"reinvest","splits":"apply","delisting":',
  '"action_value","spin_offs":"zero_price","missing_prices":"carry","max_stale_sessions":5,"stale_targets":"carry"},',
  '"weighting":{"type":"EqualWeight","type":"MarketCapWeight","params":{"free_float":true},"params":{},"cap":0.1,',
  '"cap":null,"floor":null,"group_caps":[]}},"derivation":null,"tags":[]}',
].join('');

/**
 * Compression of short texts with a dictionary. The format is LZ77 in sequences like LZ4, each `token | literals |
 * distance`. The upper half of a token is the number of literal bytes, and the lower half is the length of the match
 * less `MATCH_MIN`. A half of 15 is followed by the remainder as a number of variable length. The distance has the same
 * format. The last sequence has no match. Deflating a definition takes three to five times as long, mostly for the
 * setup of the compressor.
 */

/**
 * Maximum length of a text in bytes. It is four times the maximum number of characters of a compressed text, and UTF-8
 * needs at most three bytes per character.
 */
const SHORT_BYTES_MAX = 8192;
const MATCH_MIN = 4;
const HALF_MAX = 15;

const dictionary = Buffer.from(DICTIONARY, 'latin1');
const TEXT_START = dictionary.length;
/** Dictionary followed by the text. A match may therefore begin in the dictionary and end in the text. */
const window = Buffer.alloc(TEXT_START + SHORT_BYTES_MAX);
dictionary.copy(window);
/** Output buffer. Compression adds at most a token and a length per 15 literals. */
const output = Buffer.alloc(2 * SHORT_BYTES_MAX);

const HASH_BITS = 11;
/** Last position of four bytes in the dictionary by their hash, plus one. It is 0 if there is none. */
const lastPositions = new Uint16Array(1 << HASH_BITS);
for (let offset = 0; offset + MATCH_MIN <= TEXT_START; offset++) lastPositions[hashFour(offset)] = offset + 1;
const positions = new Uint16Array(lastPositions.length);

function hashFour(offset: number): number {
  const fourBytes =
    window[offset]! | (window[offset + 1]! << 8) | (window[offset + 2]! << 16) | (window[offset + 3]! << 24);
  return Math.imul(fourBytes, 0x9e3779b1) >>> (32 - HASH_BITS);
}

/**
 * Compresses a text to bytes, which the next call overwrites.
 * @param text of at most `SHORT_BYTES_MAX` bytes
 * @cost about 10 us per kilobyte
 */
function shorten(text: string): Buffer {
  const end = TEXT_START + window.write(text, TEXT_START, 'utf8');
  positions.set(lastPositions);
  let writtenLength = 0;
  let literalStart = TEXT_START;
  for (let offset = TEXT_START; offset + MATCH_MIN <= end;) {
    const slot = hashFour(offset);
    const from = positions[slot]! - 1;
    positions[slot] = offset + 1;
    const length = from < 0 ? 0 : measureMatch(from, offset, end);
    if (length < MATCH_MIN) {
      offset++;
      continue;
    }
    writtenLength = writeSequence(writtenLength, {
      literal: literalStart,
      at: offset,
      length,
      distance: offset - from,
    });
    offset += length;
    literalStart = offset;
  }
  writtenLength = writeSequence(writtenLength, { literal: literalStart, at: end, length: 0, distance: 0 });
  return output.subarray(0, writtenLength);
}

function measureMatch(from: number, offset: number, end: number): number {
  let length = 0;
  while (offset + length < end && window[from + length] === window[offset + length]) length++;
  return length;
}

interface Sequence {
  /** Start of the literal bytes, which end at `at`. */
  readonly literal: number;
  readonly at: number;
  /** Length of the match; 0 in the last sequence. */
  readonly length: number;
  readonly distance: number;
}

function writeSequence(to: number, { literal, at, length, distance }: Sequence): number {
  const count = at - literal;
  const matchExcess = length === 0 ? 0 : length - MATCH_MIN;
  let next = to;
  output[next++] = (Math.min(count, HALF_MAX) << 4) | Math.min(matchExcess, HALF_MAX);
  if (count >= HALF_MAX) next = writeNumber(next, count - HALF_MAX);
  for (let i = literal; i < at; i++) output[next++] = window[i]!;
  if (length === 0) return next;
  if (matchExcess >= HALF_MAX) next = writeNumber(next, matchExcess - HALF_MAX);
  return writeNumber(next, distance);
}

/** Writes a number in seven bits per byte, the lowest bits first; every byte except the last has its eighth bit set. */
function writeNumber(to: number, value: number): number {
  let [next, left] = [to, value];
  for (; left > 127; left >>>= 7) output[next++] = (left & 127) | 128;
  output[next++] = left;
  return next;
}

/** Restores a text; undefined for invalid bytes. */
function restoreText(bytes: Uint8Array): string | undefined {
  let [offset, to] = [0, TEXT_START];
  const readNumber = (): number => {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = bytes[offset++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return Infinity;
  };
  while (offset < bytes.length) {
    const token = bytes[offset++]!;
    const count = token >> 4 === HALF_MAX ? HALF_MAX + readNumber() : token >> 4;
    if (offset + count > bytes.length || to + count > window.length) return undefined;
    for (let i = 0; i < count; i++) window[to++] = bytes[offset++]!;
    if (offset === bytes.length) return window.toString('utf8', TEXT_START, to);
    const lengthHalf = token & HALF_MAX;
    const length = MATCH_MIN + (lengthHalf === HALF_MAX ? HALF_MAX + readNumber() : lengthHalf);
    const distance = readNumber();
    if (distance === 0 || distance > to || to + length > window.length) return undefined;
    for (let i = 0; i < length; i++, to++) window[to] = window[to - distance]!;
  }
  return undefined; // the last sequence is missing
}

const deflateRaw = promisify<InputType, ZlibOptions, Buffer>(deflateRawCallback);

/** Maximum size of restored content in bytes: many times the longest document. */
const CONTENT_BYTES_MAX = 256 << 20;

/** Compression level. It is the fastest one, because the second-fastest saves less than a tenth on definitions. */
const COMPRESSION_LEVEL = 1;
/**
 * Memory level n of the compressor, which allocates 2^(n + 9) bytes in addition to its window. It is low, because
 * clearing more memory takes longer than deflating a definition.
 */
const MEMORY_LEVEL = 5;

/**
 * Maximum length of a text that is deflated synchronously, in characters. Deflating it takes half a millisecond.
 * Another thread deflates longer texts.
 */
const SYNCHRONOUS_BYTES_MAX = 32 * 1024;

/**
 * Number of output bytes that are allocated at a time. Most versions are shorter; larger allocations would account for
 * half of their cost.
 */
const CHUNK_BYTES = 2048;

/** Minimum and maximum window of the compressor, as a power of two in bytes. */
const [WINDOW_BITS_MIN, WINDOW_BITS_MAX] = [10, 15];

/**
 * Returns the settings of the compressor for a text length. A window longer than the text finds no more matches, and
 * its allocation takes longer than deflating a definition.
 */
function chooseSettings(length: number): ZlibOptions {
  const bits = Math.ceil(Math.log2(Math.max(1, length)));
  const windowBits = Math.min(Math.max(bits, WINDOW_BITS_MIN), WINDOW_BITS_MAX);
  return { level: COMPRESSION_LEVEL, memLevel: MEMORY_LEVEL, chunkSize: CHUNK_BYTES, windowBits };
}

/**
 * Maximum length of a text that is compressed with the dictionary, in characters. Deflating a definition of 100
 * securities, 1.1 KB, takes longer than the rest of its version: docs/decisions/versions.md.
 */
const SHORT_MAX = SHORT_BYTES_MAX / 4;

/** First character of a text that is compressed with `DICTIONARY`. Base64 never begins with it. */
const SHORT_PREFIX = '~';

/**
 * Encodes the JSON of a document for a version in base64, which needs no escapes in JSON and SQL. A short text is
 * compressed with the dictionary, a longer one is deflated.
 * @cost about 10 us for a definition of 1 KB, 25 us for 4 KB; another thread encodes a long text
 */
export async function packContent(text: string): Promise<string> {
  if (text.length <= SHORT_MAX) return SHORT_PREFIX + shorten(text).toString('base64');
  const settings = chooseSettings(text.length);
  const bytes =
    text.length <= SYNCHRONOUS_BYTES_MAX ? deflateRawSync(text, settings) : await deflateRaw(text, settings);
  return bytes.toString('base64');
}

/** Restores the text of a version. Returns undefined if it is damaged. */
export function unpackContent(content: string): string | undefined {
  if (content.startsWith(SHORT_PREFIX)) return restoreText(Buffer.from(content.slice(1), 'base64'));
  try {
    return inflateRawSync(Buffer.from(content, 'base64'), { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8');
  } catch {
    return undefined; // damaged, because it is not the output of deflation
  }
}

/** Limit on the bytes of the versions that each key may write. */
interface KeyQuota {
  /** Reads the stored versions at the first call. */
  ready(): Promise<void>;
  /** Counts the bytes that a transaction writes. @throws Refusal QUOTA_EXCEEDED from `put` */
  meter(tx: DocumentTransaction): {
    readonly tx: DocumentTransaction;
    /** Adds the written bytes; called when they are durable. */
    readonly commit: () => void;
  };
}

interface WriterRecord {
  readonly keyId: string;
  readonly bytes: number;
}

/**
 * Returns the key that wrote a version, and the size of the version. Returns undefined if it was not written with a
 * key.
 */
function readWriter(body: unknown): WriterRecord | undefined {
  const { key_id: keyId, content } = body as { readonly key_id?: unknown; readonly content?: unknown };
  if (typeof keyId !== 'string') return undefined;
  return { keyId, bytes: typeof content === 'string' ? content.length : 0 };
}

/**
 * Creates a limit on the bytes of the versions written with each key. The versions include the current documents. Each
 * process counts separately; it includes the writes of other processes after its next start.
 */
function createKeyQuota(documents: Pick<DocumentStore, 'list'>, bytesMax: number): KeyQuota {
  const bytesByKey = new Map<string, number>();
  let pendingRead: Promise<void> | undefined;

  async function read(): Promise<void> {
    const { documents: versions } = await documents.list('version', readWriter);
    for (const { keyId, bytes } of versions) add(keyId, bytes);
  }
  const add = (keyId: string, bytes: number): void => void bytesByKey.set(keyId, (bytesByKey.get(keyId) ?? 0) + bytes);

  return {
    ready() {
      pendingRead ??= read();
      pendingRead.catch(() => (pendingRead = undefined)); // the next write retries the read
      return pendingRead;
    },
    meter(tx) {
      const changes = new Map<string, number>();
      const computeChange = ({ keyId, bytes }: WriterRecord): number => {
        const sum = (changes.get(keyId) ?? 0) + bytes;
        changes.set(keyId, sum);
        return (bytesByKey.get(keyId) ?? 0) + sum;
      };
      return {
        commit: () => changes.forEach((bytes, keyId) => add(keyId, bytes)),
        tx: {
          ...tx,
          async put(kind, id, body) {
            const writerRecord = kind === 'version' ? readWriter(body) : undefined;
            if (writerRecord !== undefined && computeChange(writerRecord) > bytesMax)
              throw createQuotaRefusal(writerRecord.keyId, bytesMax);
            return tx.put(kind, id, body);
          },
          async delete(kind, id) {
            const storedVersion = kind === 'version' ? await tx.get(kind, id) : undefined;
            const writerRecord = readStoredBody(storedVersion, readWriter);
            if (writerRecord !== undefined) computeChange({ ...writerRecord, bytes: -writerRecord.bytes });
            return tx.delete(kind, id);
          },
        },
      };
    },
  };
}

const createQuotaRefusal = (keyId: string, limit: number): Refusal =>
  new Refusal(
    'QUOTA_EXCEEDED',
    `The documents and versions of the key ${keyId} exceed its limit of ${Math.floor(limit / 2 ** 20)} MiB; purge some to free space.`,
    { limit },
  );

export interface VersionLimits {
  /** Maximum number of bytes in the versions of one key. Default: no limit. */
  readonly keyBytesMax?: number | undefined;
  /** Maximum number of versions per document. Default: no limit. */
  readonly versionsKept?: number | undefined;
}

/**
 * Wraps an engine in a document store that keeps earlier states of some kinds of documents, and a log of the writes to
 * audited kinds. The transaction that writes a document also writes its version and its log entry.
 * @param now wall clock, ms since 1970
 */
export function createVersionedStore(
  documents: DocumentStore,
  now: () => number = Date.now,
  { keyBytesMax, versionsKept }: VersionLimits = {},
): DocumentStore {
  const quota = keyBytesMax === undefined ? undefined : createKeyQuota(documents, keyBytesMax);
  return {
    ...documents,
    async transaction(change, options) {
      if (quota === undefined || options?.by === undefined)
        return documents.transaction(
          (tx) => change(createVersionedTransaction(tx, { now, options, versionsKept })),
          options,
        );
      await quota.ready();
      let commit = (): void => {};
      const result = await documents.transaction((tx) => {
        const meteredTransaction = quota.meter(tx); // a new meter for each run, because the engine repeats a transaction after a conflict
        ({ commit } = meteredTransaction);
        return change(createVersionedTransaction(meteredTransaction.tx, { now, options, versionsKept }));
      }, options);
      commit();
      return result;
    },
  };
}

interface TransactionParts {
  readonly now: () => number;
  readonly options: TransactionOptions | undefined;
  readonly versionsKept?: number | undefined;
}

/** Wraps a transaction. It also adds versions for kinds with versions, and log entries for kinds that are logged. */
export function createVersionedTransaction<T extends DocumentTransaction>(
  tx: T,
  { now, options, versionsKept: keptVersions = Infinity }: TransactionParts,
): T {
  const getAuthor = (): Authorship => options?.by ?? NO_REQUEST;
  let timestamp: string | undefined;
  const getTime = (): string => (timestamp ??= formatTimestamp(now()));
  const prefetchedReads = createPrefetchedReads(tx, options?.by !== undefined);

  async function appendLog(kind: AuditedKind, id: string, writtenVersion: WrittenVersion): Promise<void> {
    const { author: name, keyId, note, requestId: request_id } = getAuthor();
    const subject = kind === 'data-version' ? getOwner(id) : id;
    const by = keyId == null ? { author: name } : { author: name, key_id: keyId };
    const statement = { at: getTime(), ...by, request_id, note, kind, id: subject, ...writtenVersion };
    prefetchedReads.logEndsWith(await appendAudit(tx, statement, await prefetchedReads.logEnd()));
  }

  /** Deletes a versioned document. @returns true if the document or its versions existed */
  async function deleteVersioned(subject: Subject): Promise<boolean> {
    const { kind, id } = subject;
    const documentState = await readDocumentState(tx, subject, prefetchedReads.take(subject));
    const hasExisted = await tx.delete(kind, id);
    const authorship = getAuthor();
    if (authorship.purges === true) {
      const isPurged = await purgeHistory(tx, subject);
      if (hasExisted || isPurged) await appendLog(kind, id, { action: 'purged', version: null, etag: null });
      return hasExisted || isPurged;
    }
    if (!hasExisted) return false;
    const version = await recordDeletion(tx, subject, { by: authorship, at: getTime(), standing: documentState });
    if (version !== null) await trimHistory(tx, subject, { latest: version, keptVersions });
    await appendLog(kind, id, { action: 'deleted', version, etag: null });
    return true;
  }

  /** Deletes a kept run and logs the deletion as that of a run. */
  async function deletePurgedVersions(id: string): Promise<boolean> {
    const subject = getOwner(id);
    const hasExisted = await tx.delete('kept-run', id);
    const versionReference = { version: null, run_id: id.slice(subject.length + 1) };
    if (hasExisted) await appendLog('run', subject, { action: 'deleted', ...versionReference, etag: null });
    return hasExisted;
  }

  return {
    ...tx,
    authorship: getAuthor,
    get(kind, id) {
      return isVersionedKind(kind) ? prefetchedReads.document({ kind, id }) : tx.get(kind, id);
    },
    async put(kind, id, body) {
      if (isVersionedKind(kind)) {
        const documentState = await readDocumentState(tx, { kind, id }, prefetchedReads.take({ kind, id }));
        const { etag, added } = await putVersioned(
          tx,
          { kind, id },
          { body, by: getAuthor(), at: getTime(), standing: documentState },
        );
        if (added !== undefined) await trimHistory(tx, { kind, id }, { latest: added.version, keptVersions });
        const changes =
          kind === 'store' ? storeChanges(documentState.document, body, { etag, isVersion: added !== undefined }) : [];
        for (const writtenVersion of [added, ...changes])
          if (writtenVersion !== undefined) await appendLog(kind, id, writtenVersion);
        return etag;
      }
      if (kind === 'audit-head') prefetchedReads.logEndsWith(body as StoredAuditHead); // the only shape of this kind
      if (!isAudited(kind)) return tx.put(kind, id, body);
      const action = (await tx.get(kind, id)) === undefined ? 'created' : 'updated';
      const etag = await tx.put(kind, id, body);
      await appendLog(kind, id, { action, ...createReference(kind, body), etag });
      return etag;
    },
    async delete(kind, id) {
      if (isVersionedKind(kind)) return deleteVersioned({ kind, id });
      if (kind === 'kept-run') return deletePurgedVersions(id);
      if (!isAudited(kind)) return tx.delete(kind, id);
      const storedDocument = await tx.get(kind, id);
      const versionReference =
        storedDocument === undefined || 'unreadable' in storedDocument
          ? NO_VERSION
          : createReference(kind, storedDocument.body);
      const hasExisted = await tx.delete(kind, id);
      const isKept = kind === 'run' && (await tx.get('kept-run', `${id}/${versionReference.run_id}`)) !== undefined;
      if (hasExisted && !isKept) await appendLog(kind, id, { action: 'deleted', ...versionReference, etag: null });
      return hasExisted;
    },
  };
}

/** Reads of documents before their writes. Each read of a database is a round trip, so all of them start at once. */
interface PrefetchedReads {
  /**
   * Reads a document. A request usually writes the document, so the reads for its version and for the log start too.
   */
  document(subject: Subject): Promise<DocumentLookup>;
  /** Returns the reads that have started for a document that is about to be written. */
  take(subject: Subject): PendingReads;
  /** Returns the head of the log. It includes the entries of this transaction. */
  logEnd(): Promise<StoredAuditHead>;
  logEndsWith(head: StoredAuditHead): void;
}

function createPrefetchedReads(tx: DocumentTransaction, isRequest: boolean): PrefetchedReads {
  const readings = new Map<string, PendingReads>();
  let end: Promise<StoredAuditHead> | undefined;
  const formatKey = ({ kind, id }: Subject): string => `${kind}/${id}`;

  function read(subject: Subject, isWritten: boolean): PendingReads {
    const pendingReads = readings.get(formatKey(subject));
    if (pendingReads !== undefined) return pendingReads;
    const document = tx.get(subject.kind, subject.id);
    const last = isWritten && isDocumentId(subject.id) ? readLastVersion(tx, subject) : undefined;
    if (isWritten) end ??= readAuditHead(tx);
    for (const pendingWrite of [last, end]) pendingWrite?.catch(() => {}); // the caller that awaits the read receives the error
    const newReads = { document, last };
    readings.set(formatKey(subject), newReads);
    return newReads;
  }

  return {
    document: (subject) => read(subject, isRequest).document,
    take(subject) {
      const nextReads = read(subject, true);
      readings.delete(formatKey(subject));
      return nextReads;
    },
    logEnd: () => (end ??= readAuditHead(tx)),
    logEndsWith(head) {
      end = Promise.resolve(head);
    },
  };
}

/** Outcome of a write to a document. */
type WrittenVersion = Pick<AuditEntry, 'action' | 'version' | 'etag' | 'run_id'>;

type VersionReference = Pick<AuditEntry, 'version' | 'run_id'>;
const NO_VERSION: VersionReference = { version: null };

/** Returns members that identify a written document in addition to its id. */
function createReference(kind: AuditedKind, body: unknown): VersionReference {
  if (kind === 'data-version') return { version: (body as Pick<DataVersionDocument, 'version'>).version };
  if (kind !== 'run') return { version: null };
  const { run_id, artifacts } = body as Partial<RunDocument>;
  if (run_id === undefined || artifacts === undefined) return { version: null };
  return { version: null, run_id: computeRunId({ run_id, artifacts }) };
}

/**
 * Returns the changes of a data store that are no versions. These are a new password of its source, which no version
 * contains, and new content. The entry of a store's creation also covers its first content.
 */
function storeChanges(
  before: DocumentLookup,
  body: unknown,
  { etag, isVersion }: { readonly etag: string; readonly isVersion: boolean },
): readonly WrittenVersion[] {
  if (before !== undefined && 'unreadable' in before) return [];
  const [was, is] = [before?.body, body] as readonly (Partial<DatasetDocument> | undefined)[]; // bodies of this kind are datasets
  const actions: WrittenVersion['action'][] = [];
  if (!isVersion && was !== undefined && is!.source !== was.source) actions.push('updated');
  if (is!.active === true && was?.active !== true) actions.push('activated');
  else if (was !== undefined && is!.content_hash !== was.content_hash) actions.push('loaded');
  return actions.map((action) => ({ action, version: null, etag }));
}

function isVersionedKind(kind: DocumentKind): kind is VersionedKind {
  return (VERSIONED_KINDS as readonly string[]).includes(kind);
}
