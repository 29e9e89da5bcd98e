import { setImmediate } from 'node:timers/promises';
import type { AuditedKind, AuditEntry, AuditHead } from '#domain/documents/audit-document.js';
import { auditBatches, auditHead } from '#store/audit/log.js';
import type { DocumentStore } from '#store/port.js';

export interface AuditQuery {
  /** A day or a time, both ends included. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly kind?: AuditedKind | undefined;
  readonly id?: string | undefined;
  readonly author?: string | undefined;
  readonly after: number;
  readonly limit?: number | undefined;
}

/** The log of writes. */
export interface Audit {
  /** Its end, and the entries that are asked for, batch by batch. @throws Refusal DOCUMENT_UNREADABLE */
  read(query: AuditQuery): Promise<{ readonly head: AuditHead; readonly batches: AuditBatches }>;
}

export type AuditBatches = AsyncGenerator<readonly AuditEntry[]>;

export function createAudit({ documents }: { readonly documents: DocumentStore }): Audit {
  return {
    async read(query) {
      const head = await auditHead(documents);
      return { head, batches: limited(auditBatches(documents, { after: query.after, head }), query) };
    },
  };
}

async function* limited(batches: AuditBatches, query: AuditQuery): AuditBatches {
  let left = query.limit ?? Infinity;
  for await (const batch of batches) {
    const found = batch.filter((entry) => isAsked(entry, query)).slice(0, left);
    left -= found.length;
    yield found;
    if (left === 0) return;
    await setImmediate(); // Others have their turn.
  }
}

/** A day covers its times: they begin with it. */
function isAsked({ at, kind, id, author }: AuditEntry, query: AuditQuery): boolean {
  if (query.start !== undefined && at < query.start) return false;
  if (query.end !== undefined && at > query.end && !at.startsWith(query.end)) return false;
  const isOther = (given: string | undefined, value: string): boolean => given !== undefined && given !== value;
  return !isOther(query.kind, kind) && !isOther(query.id, id) && !isOther(query.author, author);
}
