import { findPricesFile } from '#domain/backtest/run-file/header.js';
import { Refusal } from '#domain/base/refusals.js';
import type { BacktestPlan, ResolvedRequest } from '#domain/definition/backtest-plan.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import { RunDocument, RunListDocument } from '#domain/definition/runs.js';
import { listMatrixFiles, type MatrixFiles } from '#domain/risk/risk-models.js';
import type { ArtifactReference, HashedReference } from '#jobs/tasks/catalogue.js';
import type { IndexQuestion } from '#jobs/tasks/indices.js';
import type { RunProvenance } from '#jobs/tasks/runs.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  computeRunId,
  type DatedArtifact,
  type DocumentLookup,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  parseStored,
  readStoredBody,
} from '#store/port.js';
import { findLastClose, readLogHead } from '#store/history/publication-log.js';
import type { Context } from './context.js';
import { resolveRunModelFiles } from './model-documents.js';
import { listContents } from './store-documents.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

/** Parses the body of a stored document. Returns undefined if it is invalid. */
export function readRun(body: unknown): RunDocument | undefined {
  const result = RunDocument.safeParse(body);
  return result.success ? result.data : undefined;
}

/** Returns a stored run; undefined if no readable run is stored. */
export async function findRun(reader: Reader, runId: string): Promise<RunDocument | undefined> {
  const storedDocument = await reader.get('run', runId);
  return readStoredBody(storedDocument, readRun);
}

/** Returns true for the latest run of an index if it covers the whole history. A benchmark needs such a run. */
export function isWholeHistory({ run_id, index_id, request }: RunDocument): boolean {
  // requests of runs are stored with defaults
  const { start = null, end = null, as_known: asKnown } = request as Partial<ResolvedRequest>;
  return run_id === index_id && start === null && end === null && asKnown === undefined;
}

/** Run of an index or a strategy. If no run id is given, the latest run is meant. */
export interface RequestedRun {
  readonly subject: string;
  readonly id: string | undefined;
}

/** Returns the members that identify a run in the payload of a job. */
export const createPayload = ({
  subject,
  id,
}: RequestedRun): { readonly run_id: string; readonly which_run?: string } => ({
  run_id: subject,
  ...(id === undefined ? {} : { which_run: id }),
});

/** Name of a run: an index or strategy for its latest run, or an index or strategy together with a run id. */
export type RunName = string | RequestedRun;

/**
 * Returns a run. A published run can be read by its id even if its index was deleted.
 * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE
 */
export async function requireRun(reader: Reader, name: RunName): Promise<RunDocument> {
  const { subject, id } = typeof name === 'string' ? { subject: name, id: undefined } : name;
  const newestDocument = await reader.get('run', subject);
  const run = readStoredBody(newestDocument, readRun);
  if (run !== undefined && (id === undefined || computeRunId(run) === id)) return run;
  const storedDocument =
    id === undefined ? newestDocument : await reader.get('kept-run', createStoredRunId(subject, id));
  if (storedDocument === undefined) {
    await assertSubject(reader, subject);
    throw refuseMissingRun({ subject, id }, await reader.get('run-list', subject));
  }
  const document = readStoredBody(storedDocument, readRun);
  if (document === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The stored run of ${subject} cannot be read; it can still be deleted.`);
  return document;
}

/** @param list runs of the subject other than the newest run */
function refuseMissingRun({ subject, id }: RequestedRun, list: DocumentLookup): Refusal {
  if (id !== undefined)
    return new Refusal('RUN_NOT_FOUND', `${subject} has no stored run ${id}.`, { index_id: subject, run_id: id });
  const runList = parseStored(list, RunListDocument);
  const earlierRuns = runList?.earlier ?? [];
  if (earlierRuns.length === 0)
    return new Refusal('RUN_NOT_FOUND', `${subject} has no stored run.`, { index_id: subject });
  return new Refusal(
    'RUN_NOT_FOUND',
    `The newest run of ${subject} was deleted. Earlier ones are there by their id: run_id=${earlierRuns[0]!}.`,
    { index_id: subject, run_ids: earlierRuns },
  );
}

export const createStoredRunId = (subject: string, id: string): string => `${subject}/${id}`;

export const listEarlierFiles = ({ artifacts }: RunDocument): readonly ArtifactRef[] => artifacts.begun ?? [];

export function createProvenance({
  run_hash: runHash,
  store_content_hash: storeContentHash,
  engine_version: engineVersion,
  extended_from: extendedFrom,
  full_run_reason: fullRunReason,
}: RunDocument): RunProvenance {
  return { runHash, storeContentHash, engineVersion, extendedFrom, fullRunReason };
}

/** Returns true if a run belongs to an existing index or strategy. */
const hasSubject = async (reader: Reader, runId: string): Promise<boolean> =>
  (await reader.get('index', runId)) !== undefined || (await reader.get('strategy', runId)) !== undefined;

/** Checks that the index or the strategy of a run exists. @throws Refusal INDEX_NOT_FOUND */
export async function assertSubject(reader: Reader, runId: string): Promise<void> {
  if (!(await hasSubject(reader, runId))) {
    throw new Refusal('INDEX_NOT_FOUND', `No index or strategy is stored under the id ${runId}.`, { index_id: runId });
  }
}

/** Creates a reference to an artifact by its name. Tasks use it. */
export const toReference = ({ name }: Pick<ArtifactRef, 'name'>): ArtifactReference => ({ artifact: name });

export const toHashedReference = ({ name, sha256 }: Pick<ArtifactRef, 'name' | 'sha256'>): HashedReference => ({
  ...toReference({ name }),
  sha256,
});

/** Creates a reference to the columns of a run. Tasks use it. */
export function getColumns(run: RunDocument): ArtifactReference {
  const earlierNames = listEarlierFiles(run).map(({ name }) => name);
  return { ...toReference(run.artifacts.columns), ...(earlierNames.length === 0 ? {} : { beside: earlierNames }) };
}

/** Returns the path of the file with the columns of a run. The files that it refers to are in the same folder. */
export async function resolveColumnsFile(artifacts: Pick<ArtifactStore, 'file'>, run: RunDocument): Promise<string> {
  const [columns] = await Promise.all([run.artifacts.columns, ...listEarlierFiles(run)].map(artifacts.file));
  return columns!; // every run has at least one file
}

/**
 * Returns the path of the file with the columns of a run whose files are intact.
 * @throws Refusal DOCUMENT_UNREADABLE, STORE_UNAVAILABLE
 */
export async function requireColumnsFile(
  artifacts: Pick<ArtifactStore, 'file' | 'damaged'>,
  run: RunDocument,
): Promise<string> {
  await assertUndamaged(artifacts, run);
  return resolveColumnsFile(artifacts, run);
}

export function listArtifacts({ artifacts }: RunDocument): readonly ArtifactRef[] {
  const { columns, begun = [], checkpoint, plan, models = {} } = artifacts;
  const artifactRefs = [columns, ...begun, ...(checkpoint ? [checkpoint] : []), ...(plan ? [plan] : [])];
  return [...artifactRefs, ...Object.values(models).flatMap(listMatrixFiles)];
}

export interface NamedFile {
  readonly name: string;
  readonly path: string;
  readonly sha256: string;
}

const listNamedMatrix = (name: string, matrix: MatrixFiles) =>
  listMatrixFiles(matrix).map((ref, i) => ['files' in matrix ? `${name}, file ${i + 1}` : name, ref] as const);

export async function listNamedFiles(artifacts: Pick<ArtifactStore, 'file'>, run: RunDocument): Promise<NamedFile[]> {
  const { begun: earlierFiles = [], models = {}, ...others } = run.artifacts;
  const pricesName = findPricesFile(others.columns.name);
  const namedFiles = [
    ...Object.entries({ ...others, snapshots: others.result?.inset }),
    ...earlierFiles.map(
      (ref, i) => [ref.name === pricesName ? 'prices' : `column segments of file ${i + 1}`, ref] as const,
    ),
    ...Object.entries(models).flatMap(([id, matrix]) => listNamedMatrix(`risk model ${id}`, matrix)),
  ];
  const files: NamedFile[] = [];
  for (const [name, ref] of namedFiles)
    if (ref !== undefined) files.push({ name, path: await artifacts.file(ref), sha256: ref.sha256 });
  return files;
}

type DamageSource = Pick<ArtifactStore, 'damaged'>;

/**
 * Returns the runs of which a view is unreadable because a file is missing or damaged.
 * @cost a check of three files per run, and of further files of an extended run, see `ArtifactStore.damaged`
 */
export async function findDamagedRuns(
  artifacts: DamageSource,
  runs: readonly RunDocument[],
): Promise<ReadonlySet<RunDocument>> {
  const files = new Map(runs.map((run) => [run, listFiles(run)]));
  const damagedNames = await artifacts.damaged([...files.values()].flat());
  if (damagedNames.size === 0) return new Set();
  return new Set(runs.filter((run) => files.get(run)!.some(({ ref }) => damagedNames.has(ref.name))));
}

/**
 * Checks that the files of a run are intact, because views must not show damaged numbers, and a listing leaves out a
 * damaged run. @throws Refusal DOCUMENT_UNREADABLE
 */
export async function assertUndamaged(artifacts: DamageSource, run: RunDocument): Promise<void> {
  if ((await findDamagedRuns(artifacts, [run])).size > 0)
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is missing or damaged.');
}

/**
 * Returns the latest run of a subject, for a job that computes with it. @throws the refusals of `requireRun`, and
 * DOCUMENT_UNREADABLE if the run is damaged
 */
export async function requireUndamagedRun({ documents, artifacts }: Context, runId: string): Promise<RunDocument> {
  const run = await requireRun(documents, runId);
  await assertUndamaged(artifacts, run);
  return run;
}

/** Returns true if a file of a run, or its result, is missing or damaged. */
export async function isAnyDamaged(artifacts: DamageSource, run: RunDocument): Promise<boolean> {
  const { result, overview, plan, checkpoint } = run.artifacts;
  const otherFiles = [result, result?.inset, overview, plan, checkpoint].filter((ref) => ref !== undefined);
  return (await artifacts.damaged([...listFiles(run), ...createDatedFiles(run, otherFiles)])).size > 0;
}

/** Returns the files from which the record, the overview and the other views of a run are made. */
function listFiles(run: RunDocument): readonly DatedArtifact[] {
  const { columns, record, overview, plan } = run.artifacts;
  // an overview is made from the columns and the plan, unless an earlier version stored it
  const files = [columns, ...listEarlierFiles(run), record, overview ?? plan];
  return createDatedFiles(
    run,
    files.filter((ref) => ref !== undefined),
  );
}

/** Returns the files of a run with the time of the run. The files are written after that time. */
function createDatedFiles(
  { run_at: runAt }: RunDocument,
  refs: readonly DatedArtifact['ref'][],
): readonly DatedArtifact[] {
  const madeAt = runAt === null ? 0 : Date.parse(runAt);
  return refs.map((ref) => ({ ref, madeAt }));
}

/**
 * Returns the plan of a run, byte for byte.
 * @throws Refusal RUN_NOT_FOUND for a run stored without a plan, DOCUMENT_UNREADABLE
 */
export async function readStoredPlan(
  artifacts: Pick<ArtifactStore, 'read'>,
  { run_id: runId, artifacts: { plan } }: RunDocument,
): Promise<BacktestPlan> {
  if (plan === undefined)
    throw new Refusal(
      'RUN_NOT_FOUND',
      `The run of ${runId} was stored without its definition and request and cannot be replayed; run the backtest again.`,
      { index_id: runId },
    );
  // the job of the run stored these bytes, and `read` verified their hash
  return JSON.parse(new TextDecoder().decode(await artifacts.read(plan))) as BacktestPlan;
}

/** Definition from which a run was made, and all documents and risk models that it refers to. */
export interface RunDefinition {
  readonly definition: Omit<IndexQuestion, 'market'>;
  readonly request: ResolvedRequest;
}

/**
 * Reads the definition of a run. @throws Refusal RUN_NOT_FOUND if the run was stored without its plan,
 * DOCUMENT_UNREADABLE if the plan is unreadable
 */
export async function readRunDefinition(
  artifacts: Pick<ArtifactStore, 'read' | 'file'>,
  run: RunDocument,
): Promise<RunDefinition> {
  const { indexId, documents, models, request } = addDefaultsToPlan(await readStoredPlan(artifacts, run));
  const files = await resolveRunModelFiles(artifacts, models, run.artifacts.models);
  return { definition: { indexId, documents, ...files }, request };
}

const NO_RUNS: RunListDocument = { earlier: [], published: [] };

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
  const newestRun = readStoredBody(storedDocument, readRun);
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

async function* listPublishedRuns(
  reader: Pick<DocumentReader, 'get'>,
  subject: string,
): AsyncGenerator<RunDocument, void> {
  for (const id of (await readRunList(reader, subject)).published) {
    const storedDocument =
      (await reader.get('kept-run', createStoredRunId(subject, id))) ?? (await reader.get('run', subject));
    const run = readStoredBody(storedDocument, readRun);
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
  const run = readStoredBody(storedDocument, readRun);
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

/** Returns the time at which a stored run was made; null if its record has no time. */
export function readRunTime(body: unknown): string | null {
  const { run_at } = (typeof body === 'object' && body !== null ? body : {}) as { run_at?: unknown };
  return typeof run_at === 'string' ? run_at : null;
}
