import { setImmediate } from 'node:timers/promises';
import {
  BATCH_ENTRIES_MAX,
  PublicationBatch,
  PublicationHead,
  type PublicationEntry,
} from '#domain/documents/publication-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { numberedId } from '../document-id.js';
import type { DocumentReader, DocumentTransaction } from '../port.js';
import { latestTime } from '../timestamp.js';

/**
 * Where the log of an index ends; undefined where nothing was published.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function logHead(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
): Promise<PublicationHead | undefined> {
  const stored = await reader.get('publication-head', indexId);
  if (stored === undefined) return undefined;
  const head = 'unreadable' in stored ? undefined : PublicationHead.safeParse(stored.body).data;
  if (head === undefined) throw unreadable(indexId);
  return head;
}

/** The entries of a log in their order, batch by batch. @throws Refusal DOCUMENT_UNREADABLE */
export async function* logBatches(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): AsyncGenerator<readonly PublicationEntry[]> {
  for (let batch = 1; batch <= batches; batch++) {
    const read = await batchOf(reader, indexId, batch);
    if (read === undefined) throw unreadable(indexId);
    yield read.entries;
  }
}

/** @throws Refusal DOCUMENT_UNREADABLE for a log of which any batch is missing or damaged @cost a reading of the log */
export async function assertReadable(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): Promise<void> {
  for (let batch = 1; batch <= batches; batch++) {
    if ((await batchOf(reader, indexId, batch)) === undefined) throw unreadable(indexId);
    await setImmediate(); // Others have their turn.
  }
}

async function batchOf(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  batch: number,
): Promise<PublicationBatch | undefined> {
  const stored = await reader.get('publication', numberedId(indexId, batch));
  return stored === undefined || 'unreadable' in stored ? undefined : PublicationBatch.safeParse(stored.body).data;
}

/**
 * The latest of a time and of those of the last entries of all logs, which no entry of a log is after. A log that cannot
 * be read says nothing.
 * @cost two reads a log
 */
export async function timeAfterLogs(reader: Pick<DocumentReader, 'get' | 'ids'>, now: string): Promise<string> {
  let latest = now;
  for (const indexId of await reader.ids('publication-head')) {
    const stored = await reader.get('publication-head', indexId);
    const head =
      stored === undefined || 'unreadable' in stored ? undefined : PublicationHead.safeParse(stored.body).data;
    const last = head === undefined ? undefined : await batchOf(reader, indexId, head.batches);
    latest = latestTime(latest, last?.entries.at(-1)?.at);
  }
  return latest;
}

/** Adds entries, which follow the last one, to the end of a log. */
export async function appendEntries(
  tx: DocumentTransaction,
  indexId: string,
  { entries, after }: { readonly entries: readonly PublicationEntry[]; readonly after: PublicationHead | undefined },
): Promise<void> {
  let batches = after?.batches ?? 0;
  for (let from = 0; from < entries.length; from += BATCH_ENTRIES_MAX) {
    batches++;
    const batch: PublicationBatch = { entries: entries.slice(from, from + BATCH_ENTRIES_MAX) };
    await tx.put('publication', numberedId(indexId, batches), batch);
  }
  const { seq, hash } = entries.at(-1)!; // Nobody appends nothing.
  await tx.put('publication-head', indexId, { seq, hash, batches } satisfies PublicationHead);
}

function unreadable(indexId: string): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    `The published log of ${indexId} cannot be read; restore it from a backup.`,
    {
      index_id: indexId,
    },
  );
}
