import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { RunListDocument } from '#domain/documents/run-list-document.js';
import type { DocumentReader, DocumentTransaction } from '#store/port.js';
import { parseStored, readStored } from '#store/read-stored.js';
import { listContents } from './data-history.js';
import { assertSubject, hasSubject, createStoredRunId, readRun, requireRun } from './run-documents.js';
import { findLastClose, readLogHead } from '#store/publication/log.js';
import { computeRunId } from '#store/run-id.js';

const NO_RUNS: RunListDocument = { earlier: [], published: [] };

/** Reads the list of stored runs of a subject, other than the newest run. */
export async function readRunList(reader: Pick<DocumentReader, 'get'>, subject: string): Promise<RunListDocument> {
  const storedDocument = await reader.get('run-list', subject);
  return parseStored(storedDocument, RunListDocument) ?? NO_RUNS;
}

/**
 * Checks that an index or a strategy exists and has runs. If it was deleted, published runs are enough.
 * @throws Refusal INDEX_NOT_FOUND
 */
export async function assertHasRuns(reader: Pick<DocumentReader, 'get'>, subject: string): Promise<void> {
  if ((await readRunList(reader, subject)).earlier.length === 0) await assertSubject(reader, subject);
}

/** Yields the stored runs of a subject before the newest, the latest first. @throws Refusal DOCUMENT_UNREADABLE */
export async function* listEarlierRuns(
  reader: Pick<DocumentReader, 'get'>,
  subject: string,
): AsyncGenerator<RunDocument, void> {
  for (const id of (await readRunList(reader, subject)).earlier) yield requireRun(reader, { subject, id });
}

/**
 * Stores a run as the latest run. The previous run becomes an earlier run.
 * @param runsKept number of runs to keep, including the latest, in addition to published runs
 */
export async function putRun(tx: DocumentTransaction, run: RunDocument, runsKept: number): Promise<void> {
  const subject = run.run_id;
  const list = await addNewest(tx, subject, await readRunList(tx, subject));
  await retainRuns(tx, subject, { list, stays: isRetained(list, runsKept) });
  await tx.put('run', subject, run);
}

/**
 * Stores a run that was computed while another run was the latest. If the latest run changed since, this run is stored
 * as an earlier run. If the runs were deleted, nothing is stored.
 * @param after id of the latest run when this run was computed; null if no run was readable
 * @returns true if this run is now the latest
 */
export async function putRunAfter(
  tx: DocumentTransaction,
  run: RunDocument,
  { after, runsKept }: { readonly after: string | null; readonly runsKept: number },
): Promise<boolean> {
  const subject = run.run_id;
  const storedDocument = await tx.get('run', subject);
  const newestRun = readStored(storedDocument, readRun);
  if ((newestRun === undefined ? null : computeRunId(newestRun)) === after) {
    if (after === null && !(await hasSubject(tx, subject))) return false;
    await putRun(tx, run, runsKept);
    return true;
  }
  if (newestRun === undefined) return false;
  const previousList = await readRunList(tx, subject);
  const list = { ...previousList, earlier: [computeRunId(run), ...previousList.earlier] };
  await tx.put('kept-run', createStoredRunId(subject, computeRunId(run)), run);
  await retainRuns(tx, subject, { list, stays: isRetained(list, runsKept) });
  return false;
}

/** Records that closes of a stored run were published. */
export async function markPublished(tx: DocumentTransaction, run: RunDocument): Promise<void> {
  const list = await readRunList(tx, run.run_id);
  const id = computeRunId(run);
  if (list.published.includes(id)) return;
  await tx.put('run-list', run.run_id, { ...list, published: [id, ...list.published] } satisfies RunListDocument);
}

/**
 * Removes the runs of a subject. Published runs are kept unless `all` is true.
 * @returns the number of removed runs
 */
export async function deleteRuns(
  tx: DocumentTransaction,
  subject: string,
  { all = false }: { readonly all?: boolean | undefined } = {},
): Promise<number> {
  const previousList = await readRunList(tx, subject);
  const list = await addNewest(tx, subject, previousList);
  const hadNewest = await tx.delete('run', subject);
  const isUnreadable = hadNewest && list === previousList;
  const removedRuns = await retainRuns(tx, subject, { list, stays: (id) => !all && list.published.includes(id) });
  return removedRuns + Number(isUnreadable);
}

/**
 * Refuses to delete a data store if the runs of a published log used its content, because replays and views of these runs need its
 * prices. If an earlier store with the same id was purged, its contents do not count.
 * @throws Refusal STORE_PUBLISHED
 * @cost of a read of every published run, and of the versions of the store if a run refers to it
 */
export async function assertNothingPublished(
  reader: Pick<DocumentReader, 'get' | 'ids'>,
  datasetId: string,
): Promise<void> {
  const indices: string[] = [];
  let contents: ReadonlySet<string> | null | undefined;
  for (const subject of await reader.ids('run-list')) {
    if ((await reader.get('publication-head', subject)) === undefined) continue; // no log needs these runs
    for await (const { store_id: id, store_content_hash: hash } of listPublishedRuns(reader, subject)) {
      if (id !== datasetId) continue;
      if (contents === undefined) contents = await listContents(reader, datasetId);
      if (contents !== null && !contents.has(hash)) continue; // If versions are unknown, any run may have used the store's content.
      indices.push(subject);
      break;
    }
  }
  if (indices.length === 0) return;
  const indexText = indices.length === 1 ? indices[0]! : `${indices[0]!} and ${indices.length - 1} others`;
  throw new Refusal(
    'STORE_PUBLISHED',
    `The published log of ${indexText} was computed on the data store ${datasetId}: without it the closes could not be computed again. purge=true (scope admin) deletes it all the same.`,
    { store_id: datasetId, indices },
  );
}

/**
 * Returns the date of the last close that was published on a data store; null if there is none.
 * @cost of a read of the published runs and of the last entries of their logs
 */
export async function findPublishedThrough(
  reader: Pick<DocumentReader, 'get' | 'ids'>,
  datasetId: string,
): Promise<string | null> {
  let through: string | null = null;
  for (const subject of await reader.ids('run-list'))
    for await (const { store_id: id } of listPublishedRuns(reader, subject)) {
      if (id !== datasetId) continue;
      const head = await readLogHead(reader, subject);
      const last = head === undefined ? null : await findLastClose(reader, subject, head);
      if (last !== null && (through === null || last.date > through)) through = last.date;
      break;
    }
  return through;
}

/** Yields the published runs of a subject that are readable. */
async function* listPublishedRuns(
  reader: Pick<DocumentReader, 'get'>,
  subject: string,
): AsyncGenerator<RunDocument, void> {
  for (const id of (await readRunList(reader, subject)).published) {
    const storedDocument =
      (await reader.get('kept-run', createStoredRunId(subject, id))) ?? (await reader.get('run', subject));
    const run = readStored(storedDocument, readRun);
    if (run !== undefined) yield run;
  }
}

/**
 * Returns a function that tests whether an earlier run is kept. The latest runs and published runs are kept. @param
 * runsKept number of runs to keep, including the latest
 */
function isRetained({ earlier, published }: RunListDocument, runsKept: number): (id: string) => boolean {
  const isPublished = (id: string): boolean => published.includes(id);
  const recentIds = new Set(earlier.filter((id) => !isPublished(id)).slice(0, runsKept - 1));
  return (id) => recentIds.has(id) || isPublished(id);
}

/** Adds the latest run to the list of earlier runs. If the run is unreadable, it is not kept. */
async function addNewest(tx: DocumentTransaction, subject: string, list: RunListDocument): Promise<RunListDocument> {
  const storedDocument = await tx.get('run', subject);
  const run = readStored(storedDocument, readRun);
  if (run === undefined) return list;
  const id = computeRunId(run);
  await tx.put('kept-run', createStoredRunId(subject, id), run);
  return { ...list, earlier: [id, ...list.earlier] };
}

interface RetentionRule {
  readonly list: RunListDocument;
  stays(id: string): boolean;
}

/** Removes all runs for which `stays` is false. @returns the number of removed runs */
async function retainRuns(tx: DocumentTransaction, subject: string, { list, stays }: RetentionRule): Promise<number> {
  const earlierRuns = list.earlier.filter(stays);
  for (const id of list.earlier) if (!stays(id)) await tx.delete('kept-run', createStoredRunId(subject, id));
  const next: RunListDocument = { earlier: earlierRuns, published: list.published.filter(stays) };
  if (next.earlier.length + next.published.length === 0) await tx.delete('run-list', subject);
  else await tx.put('run-list', subject, next);
  return list.earlier.length - earlierRuns.length;
}
