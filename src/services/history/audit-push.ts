import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseHostPort } from '#base/text/host-port.js';
import type { AuditEntry } from '#domain/documents/audit-document.js';
import { readAuditBatches, readAuditHead } from '#store/audit/log.js';
import type { DocumentStore } from '#store/port.js';

/** Process that sends the entries of the log to a receiver, in order. Each entry is sent at least once. */
export interface AuditPush {
  /**
   * Starts to send entries. It continues after the last entry that the previous process sent; if there was none, it
   * starts with the next entry.
   */
  start(): void;
  /** Stops sending. The next process sends the remaining entries. */
  close(): Promise<void>;
}

/** Function that sends several entries. It rejects if the receiver did not accept them. */
export type SendAudit = (entries: readonly AuditEntry[], signal: AbortSignal) => Promise<void>;

export interface AuditPushDependencies {
  readonly documents: DocumentStore;
  readonly send: SendAudit;
  readonly onFailure: (cause: unknown) => void;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5_000;
const SEND_MS = 10_000;
const SYSLOG_PORT = 601;
/**
 * Priority of a syslog message: facility 13 (log audit), severity 6 (informational). @source RFC 5424, section 6.2.1
 */
const SYSLOG_PRIORITY = 13 * 8 + 6;
const CURSOR = 'cursor';

export function createAuditPush(dependencies: AuditPushDependencies): AuditPush {
  const { documents, send, onFailure, intervalMs = INTERVAL_MS } = dependencies;
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
    start: () => void (transmission = run()),
    async close() {
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
