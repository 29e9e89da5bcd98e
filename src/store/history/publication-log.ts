import { setImmediate } from 'node:timers/promises';
import { Refusal } from '#domain/base/refusals.js';
import {
  BATCH_ENTRIES_MAX,
  PublicationBatch,
  type PublicationEntry,
  PublicationHead,
} from '#domain/definition/publication.js';
import { type DocumentReader, type DocumentTransaction, findLatestTime, formatNumberedId, getOwner, parseStored } from '../port.js';
import { createLogCheck, type LogCheck } from './log-check.js';

/** Document as read from disk. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for logs with a broken chain. It receives all documents of a snapshot, by id. */
interface LogsCheck {
  look(entry: Entry): void;
  /** Returns the first error of each log, by index, after all documents were read. */
  faults(): readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the check without signatures, because a writer of a home can also replace the keys. */
export function createLogsCheck(): LogsCheck {
  const logChecks = new Map<string, LogCheck>();
  const headByIndex = new Map<string, PublicationHead>();
  const faults = new Map<string, string>();
  return {
    look({ kind, id, body }) {
      if (kind === 'publication-head') {
        const head = PublicationHead.safeParse(body).data;
        if (head !== undefined) headByIndex.set(id, head);
      }
      if (kind !== 'publication') return;
      const indexId = getOwner(id);
      const log = logChecks.get(indexId) ?? createLogCheck(null);
      logChecks.set(indexId, log);
      for (const entry of PublicationBatch.safeParse(body).data?.entries ?? []) {
        const fault = log.next(entry);
        if (fault !== undefined && !faults.has(indexId)) faults.set(indexId, `entry ${fault.seq}: ${fault.reason}`);
      }
    },
    faults() {
      for (const indexId of new Set([...headByIndex.keys(), ...logChecks.keys()])) {
        const head = headByIndex.get(indexId);
        const result = logChecks.get(indexId)?.last().hash;
        if (result !== head?.hash && !faults.has(indexId))
          faults.set(indexId, `it does not end with entry ${head?.seq ?? 'none'}, which its head names`);
      }
      return [...faults].map(([name, reason]) => ({ name, reason }));
    },
  };
}

/**
 * Returns the head of the log of an index, with its last entry. Returns undefined if nothing was published.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function readLogHead(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
): Promise<PublicationHead | undefined> {
  const storedHead = await reader.get('publication-head', indexId);
  if (storedHead === undefined) return undefined;
  const head = parseStored(storedHead, PublicationHead);
  if (head === undefined) throw refuseLog(indexId);
  return head;
}

/** Yields the entries of a log in batches, in order. @throws Refusal DOCUMENT_UNREADABLE */
export async function* readLogBatches(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): AsyncGenerator<readonly PublicationEntry[]> {
  for (let batch = 1; batch <= batches; batch++) {
    const batchResult = await readBatch(reader, indexId, batch);
    if (batchResult === undefined) throw refuseLog(indexId);
    yield batchResult.entries;
  }
}

/**
 * Returns the entry of the last published date that is in force. Restatements of earlier dates may follow it.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function findLastClose(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): Promise<PublicationEntry | null> {
  const entriesInForce = new Map<string, PublicationEntry>();
  for (let batch = batches; batch > 0; batch--) {
    const batchResult = await readBatch(reader, indexId, batch);
    if (batchResult === undefined) throw refuseLog(indexId);
    for (const entry of batchResult.entries.toReversed()) {
      const inForce = entriesInForce.get(entry.date) ?? entry;
      if (entry.kind === 'close') return inForce;
      entriesInForce.set(entry.date, inForce);
    }
  }
  return null;
}

/**
 * Checks that all batches of a log are readable. @throws Refusal DOCUMENT_UNREADABLE for a log with a missing or
 * damaged batch @cost a read of the log
 */
export async function assertReadable(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  { batches }: PublicationHead,
): Promise<void> {
  for (let batch = 1; batch <= batches; batch++) {
    if ((await readBatch(reader, indexId, batch)) === undefined) throw refuseLog(indexId);
    await setImmediate(); // yields to other work
  }
}

async function readBatch(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  batch: number,
): Promise<PublicationBatch | undefined> {
  const storedBatch = await reader.get('publication', formatNumberedId(indexId, batch));
  return parseStored(storedBatch, PublicationBatch);
}

/**
 * Returns the latest of the given time and the times of the last entries of all logs. No entry of a log is then later
 * than the result. Ignores an unreadable log.
 * @cost two reads per log
 */
export async function chooseTimeAfterLogs(reader: Pick<DocumentReader, 'get' | 'ids'>, now: string): Promise<string> {
  let latestTime = now;
  for (const indexId of await reader.ids('publication-head')) {
    const storedHead = await reader.get('publication-head', indexId);
    const head = parseStored(storedHead, PublicationHead);
    const last = head === undefined ? undefined : await readBatch(reader, indexId, head.batches);
    latestTime = findLatestTime(latestTime, last?.entries.at(-1)?.at);
  }
  return latestTime;
}

export async function appendEntries(
  tx: DocumentTransaction,
  indexId: string,
  { entries, after }: { readonly entries: readonly PublicationEntry[]; readonly after: PublicationHead | undefined },
): Promise<void> {
  let batches = after?.batches ?? 0;
  for (let from = 0; from < entries.length; from += BATCH_ENTRIES_MAX) {
    batches++;
    const batch: PublicationBatch = { entries: entries.slice(from, from + BATCH_ENTRIES_MAX) };
    await tx.put('publication', formatNumberedId(indexId, batches), batch);
  }
  const { seq, hash } = entries.at(-1)!; // callers append at least one entry
  await tx.put('publication-head', indexId, { seq, hash, batches } satisfies PublicationHead);
}

function refuseLog(indexId: string): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    `The published log of ${indexId} cannot be read; restore it from a backup.`,
    {
      index_id: indexId,
    },
  );
}
