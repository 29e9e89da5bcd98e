import type { AuditEntry } from '#domain/documents/audit-document.js';
import { LOCAL_AUTHOR, type Authorship } from '#domain/documents/version-document.js';
import { appendAudit, readAuditHead } from '#store/audit/log.js';
import type { DocumentStore } from '#store/port.js';

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
  /** Path of the resource that was read. */
  readonly path: string;
  readonly requestId: string;
  readonly keyId: string | null;
  readonly name: string | null;
}

export interface AuditNotesDependencies {
  readonly documents: DocumentStore;
  readonly timestamp: () => string;
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

export function createAuditNotes(dependencies: AuditNotesDependencies): AuditNotes {
  const { documents, timestamp, monotonicMs, loggedReads, onFailure } = dependencies;
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
