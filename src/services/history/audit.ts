import { setImmediate } from 'node:timers/promises';
import { AuditSeal, type AuditKind, type AuditEntry, type AuditHead } from '#domain/documents/audit-document.js';
import type { PublicKey } from '#domain/documents/publication-document.js';
import { parsePeriodStart, parseMoment } from '#domain/time/moment.js';
import { refuseReversedRange } from '#domain/schema/assert-order.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { mayRead, type Reach } from '#domain/documents/reach.js';
import { findCurrentReach } from '#store/reach/reach-context.js';
import { readAuditBatches, readAuditHead } from '#store/audit/log.js';
import { isSealed, signAuditLog } from '#store/audit/seals.js';
import type { DocumentStore } from '#store/port.js';
import { sumSkipped, type Skipped } from '../shared/skipped.js';
import type { SigningKeys } from '../stored/signing-keys.js';

export interface AuditQuery {
  /** First and last day or time of the entries, both included. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly kind?: AuditKind | undefined;
  readonly id?: string | undefined;
  readonly author?: string | undefined;
  readonly after: number;
  readonly limit?: number | undefined;
}

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

export interface AuditDependencies {
  readonly documents: DocumentStore;
  readonly signingKeys: Pick<SigningKeys, 'current' | 'isCurrent' | 'list'>;
  readonly timestamp: () => string;
}

export function createAudit({ documents, signingKeys, timestamp }: AuditDependencies): Audit {
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
