import type { auditRoutes } from '#contract/governance.js';
import type { QueryOf } from '#contract/route.js';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { parseHostPort } from '#base/addresses.js';
import { Refusal } from '#domain/base/refusals.js';
import { refuseReversedRange } from '#domain/base/schema.js';
import { parseMoment, parsePeriodStart } from '#domain/base/time.js';
import {
  type AuditEntry,
  type AuditHead,
  AuditSeal,
  type Authorship,
  LOCAL_AUTHOR,
} from '#domain/definition/versions.js';
import type { PublicKey } from '#domain/definition/publication.js';
import { mayRead, type Reach } from '#domain/definition/reach.js';
import { appendAudit, isSealed, readAuditBatches, readAuditHead, signAuditLog } from '#store/history/audit.js';
import { findCurrentReach } from '#store/reach.js';
import type { SigningKeys } from '../publication/publications.js';
import type { Context } from '../shared/context.js';
import { type Skipped, sumSkipped } from '../shared/documents.js';

/** Log of audited actions that write no document. */
export interface AuditNotes {
  /** Records that a job was cancelled. Resolves when the entry is on disk. */
  cancelled(jobId: string, by: Authorship): Promise<void>;
  /** Records that a key was refused. Writes at most one entry per minute and address. Never rejects. */
  refusedKey(refused: RefusedKey): void;
  /** Records a response if the service logs reads. Never rejects. */
  read(read: AuditedRead): void;
}

export interface RefusedKey {
  readonly address: string;
  readonly requestId: string;
}

export interface AuditedRead {
  readonly operation: string;
  readonly path: string;
  readonly requestId: string;
  readonly keyId: string | null;
  readonly name: string | null;
}

interface AuditNoteTerms {
  /** Monotonic clock in milliseconds. */
  readonly monotonicMs: () => number;
  /** Operations whose responses are logged. */
  readonly loggedReads: ReadonlySet<string>;
  /** Called if an entry could not be written. */
  readonly onFailure: (cause: unknown) => void;
}

const WINDOW_MS = 60_000;
/**
 * Maximum number of addresses that are recorded per minute. Attackers with many addresses can therefore not fill the
 * disk.
 */
const REFUSALS_MAX = 30;
const ID_LENGTH_MAX = 200;

/** Operations that return data of a run or a store, and operations that return keys. */
export const AUDITED_READS = {
  exports: ['exportRun', 'getRender', 'getRecord', 'getPublished', 'getPrices', 'getAssetReferences'],
  keys: ['getPrincipal', 'getPublishedKeys', 'getAudit'],
} as const;

/** Operations that are always logged. They disclose the inputs of an index. */
const ALWAYS_LOGGED: ReadonlySet<string> = new Set(['getPublishedBundle']);

export function createAuditNotes(
  { documents, timestamp }: Context,
  { monotonicMs, loggedReads, onFailure }: AuditNoteTerms,
): AuditNotes {
  const refusals = { since: -Infinity, addresses: new Set<string>() };

  async function appendNote(
    entry: Pick<AuditEntry, 'kind' | 'action' | 'id' | 'author' | 'request_id' | 'key_id' | 'note'>,
  ) {
    const statement = { at: timestamp(), version: null, etag: null, ...entry, id: entry.id.slice(0, ID_LENGTH_MAX) };
    await documents.transaction(async (tx) => void (await appendAudit(tx, statement, await readAuditHead(tx))));
  }

  return {
    cancelled: (jobId, { author, keyId, note, requestId }) =>
      appendNote({
        kind: 'job',
        action: 'cancelled',
        id: jobId,
        author,
        ...selectKeyId(keyId),
        note,
        request_id: requestId,
      }),
    refusedKey({ address, requestId }) {
      if (monotonicMs() - refusals.since >= WINDOW_MS) {
        refusals.since = monotonicMs();
        refusals.addresses.clear();
      }
      if (refusals.addresses.has(address) || refusals.addresses.size >= REFUSALS_MAX) return;
      refusals.addresses.add(address);
      const entry = { kind: 'authentication', action: 'refused', id: address, author: '', note: null } as const;
      appendNote({ ...entry, request_id: requestId }).catch(onFailure);
    },
    read({ operation, path, requestId, keyId, name }) {
      if (!loggedReads.has(operation) && !ALWAYS_LOGGED.has(operation)) return;
      const entry = {
        kind: 'read',
        action: 'read',
        id: path,
        author: name ?? LOCAL_AUTHOR,
        ...selectKeyId(keyId),
      } as const;
      appendNote({ ...entry, note: operation, request_id: requestId }).catch(onFailure);
    },
  };
}

const selectKeyId = (keyId: string | null | undefined) => (keyId == null ? {} : { key_id: keyId });

/** Function that sends several entries. It rejects if the receiver did not accept them. */
export type SendAudit = (entries: readonly AuditEntry[], signal: AbortSignal) => Promise<void>;

const INTERVAL_MS = 5_000;
const SEND_MS = 10_000;
const SYSLOG_PORT = 601;
/**
 * Priority of a syslog message: facility 13 (log audit), severity 6 (informational). @source RFC 5424, section 6.2.1
 */
const SYSLOG_PRIORITY = 13 * 8 + 6;
const CURSOR = 'cursor';

/** Process that sends the entries of the log to a receiver, in order. Each entry is sent at least once. */
export function createAuditPush(
  { documents }: Context,
  send: SendAudit,
  onFailure: (cause: unknown) => void,
  intervalMs = INTERVAL_MS,
) {
  const closing = new AbortController();
  let transmission: Promise<void> = Promise.resolve();

  async function readCursor(): Promise<number> {
    const storedDocument = await documents.get('audit-push', CURSOR);
    const seq =
      storedDocument === undefined || 'unreadable' in storedDocument
        ? undefined
        : (storedDocument.body as { seq?: unknown }).seq;
    if (typeof seq === 'number') return seq;
    const { seq: end } = await readAuditHead(documents);
    await writeCursor(end);
    return end;
  }
  const writeCursor = (seq: number) =>
    documents.transaction(async (tx) => void (await tx.put('audit-push', CURSOR, { seq })));

  async function pushNewEntries(after: number): Promise<number> {
    let last = after;
    for await (const batch of readAuditBatches(documents, { after, head: await readAuditHead(documents) })) {
      await send(batch, AbortSignal.any([closing.signal, AbortSignal.timeout(SEND_MS)]));
      last = batch.at(-1)?.seq ?? last;
      await writeCursor(last);
    }
    return last;
  }

  async function run(): Promise<void> {
    let lastSent: number | undefined;
    let hasFailed = false;
    while (!closing.signal.aborted) {
      try {
        lastSent = await pushNewEntries(lastSent ?? (await readCursor()));
        hasFailed = false;
      } catch (failure) {
        if (!hasFailed && !closing.signal.aborted) onFailure(failure); // an outage is reported once
        hasFailed = true;
        lastSent = undefined;
      }
      await pause(intervalMs, undefined, { signal: closing.signal, ref: false }).catch(() => {});
    }
  }

  return {
    /**
     * Starts to send entries. It continues after the last entry that the previous process sent; if there was none, it
     * starts with the next entry.
     */
    start: (): void => void (transmission = run()),
    /** Stops sending. The next process sends the remaining entries. */
    async close(): Promise<void> {
      closing.abort();
      await transmission;
    },
  };
}

/**
 * Creates the function that sends entries to an address: JSON lines by POST, or syslog messages over TCP. @param token
 * token for POST
 */
export function createAuditSender(url: string, token: string | undefined): SendAudit {
  return url.startsWith('syslog://') ? createSyslogSender(url) : createHttpSender(url, token);
}

function createHttpSender(url: string, token: string | undefined): SendAudit {
  const headers = { 'content-type': 'application/x-ndjson', ...(token && { authorization: `Bearer ${token}` }) };
  return async (entries, signal) => {
    const body = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the receiver of the log answered ${response.status}`);
  };
}

/** @source RFC 5424 and RFC 6587, section 3.4.1 (octet counting) */
function createSyslogSender(url: string): SendAudit {
  const address = parseHostPort(url.slice('syslog://'.length).replace(/\/$/, ''), SYSLOG_PORT);
  return async (entries, signal) => {
    const socket = connect({ host: address!.host, port: address!.port, signal }); // the schema of the setting has validated the address
    try {
      await once(socket, 'connect');
      const lines = entries.map((entry) =>
        formatFrame(`<${SYSLOG_PRIORITY}>1 ${entry.at} - divisor - audit - ${JSON.stringify(entry)}`),
      );
      socket.end(lines.join(''));
      await once(socket, 'close');
    } finally {
      socket.destroy();
    }
  };
}

const formatFrame = (message: string): string => `${Buffer.byteLength(message)} ${message}`;

export type AuditQuery = QueryOf<typeof auditRoutes.getAudit>;

/** Log of writes. */
export interface Audit {
  /**
   * Signs all entries of the log and then returns the log.
   * @throws Refusal INVALID_RANGE, DOCUMENT_UNREADABLE
   */
  read(query: AuditQuery): Promise<AuditReading>;
}

export interface AuditReading {
  /** End of the log. */
  readonly head: AuditHead;
  /** Requested entries, in batches. */
  readonly batches: AuditBatches;
  /** Signatures of the log after the first requested entry, in the order of the log. */
  readonly seals: readonly AuditSeal[];
  /** Keys that signed the log. */
  readonly keys: readonly PublicKey[];
  /** Signatures and keys that are unreadable. */
  readonly left: Skipped;
  /** True if the request covers the whole log. */
  readonly isWhole: boolean;
}

export type AuditBatches = AsyncGenerator<readonly AuditEntry[]>;

export function createAudit(
  { documents, timestamp }: Context,
  signingKeys: Pick<SigningKeys, 'current' | 'isCurrent' | 'list'>,
): Audit {
  /** Signs the unsigned entries. Does not change a read-only store. */
  async function sealLog(): Promise<void> {
    if (await isSealed(documents)) return;
    try {
      const key = await signingKeys.current();
      await documents.transaction(async (tx) => {
        if (await signingKeys.isCurrent(tx, key.key_id)) await signAuditLog(tx, key, timestamp());
      });
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || !UNWRITABLE.has(refusal.code)) throw refusal;
    }
  }

  return {
    async read(query) {
      const { start, end, kind, id, author, limit, after } = query;
      if (start !== undefined && end !== undefined && parsePeriodStart(start) > parseMoment(end))
        throw refuseReversedRange(start, end);
      await sealLog();
      const { seq, hash } = await readAuditHead(documents);
      const head: AuditHead = { seq, hash };
      const reach = findCurrentReach();
      const readEntries = (): AuditBatches => addLimit(readAuditBatches(documents, { after, head }), query, reach);
      for await (const batch of readEntries()) void batch; // An error must be thrown before the first byte is sent.
      const { documents: seals, ...skippedSeals } = await documents.list(
        'audit-seal',
        (body) => AuditSeal.safeParse(body).data,
      );
      const { keys, ...leftKeys } = await signingKeys.list();
      return {
        head,
        batches: readEntries(),
        seals: seals.filter(({ seq }) => seq > after && seq <= head.seq),
        keys,
        left: sumSkipped(skippedSeals, leftKeys),
        isWhole:
          reach === undefined &&
          after === 0 &&
          [start, end, kind, id, author, limit].every((parameter) => parameter === undefined),
      };
    },
  };
}

const UNWRITABLE: ReadonlySet<string> = new Set(['STORAGE_FULL', 'STORE_UNAVAILABLE', 'DRAINING']);

async function* addLimit(batches: AuditBatches, query: AuditQuery, reach: Reach | undefined): AuditBatches {
  let remainingCount = query.limit ?? Infinity;
  for await (const batch of batches) {
    const result = batch
      .filter((entry) => isRequested(entry, query) && isVisible(entry, reach))
      .slice(0, remainingCount);
    remainingCount -= result.length;
    yield result;
    if (remainingCount === 0) return;
    await setImmediate(); // other work runs between the batches
  }
}

/** Kinds of entries whose ids start with the id of a document of another kind. */
const OWNER_KINDS: Partial<Record<AuditEntry['kind'], string>> = {
  run: 'index',
  publication: 'index',
  'publication-error': 'index',
  'data-version': 'store',
};

function isVisible({ kind, id }: AuditEntry, reach: Reach | undefined): boolean {
  return reach === undefined || mayRead(reach, OWNER_KINDS[kind] ?? kind, id.split('/')[0]!);
}

function isRequested({ at, kind, id, author }: AuditEntry, query: AuditQuery): boolean {
  const time = Date.parse(at);
  if (query.start !== undefined && time < parsePeriodStart(query.start)) return false;
  if (query.end !== undefined && time > parseMoment(query.end)) return false;
  const isOtherEntry = (queryValue: string | undefined, value: string): boolean =>
    queryValue !== undefined && queryValue !== value;
  // An entry also matches if it belongs to the document, for example a close that was published for the index.
  const isBelow = query.id !== undefined && id.startsWith(`${query.id}/`);
  return (
    !isOtherEntry(query.kind, kind) && (isBelow || !isOtherEntry(query.id, id)) && !isOtherEntry(query.author, author)
  );
}
