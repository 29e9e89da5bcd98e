import type { ResolvedRequest } from '#domain/documents/backtest-plan.js';
import { findPricesFile } from '#domain/backtest/run-file/separate-prices.js';
import { computeRunId } from '#store/run-id.js';
import { RunDocument } from '#domain/documents/run-document.js';
import { RunListDocument } from '#domain/documents/run-list-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { listMatrixFiles, type MatrixFiles } from '#domain/risk/matrix-files.js';
import type { ArtifactReference, HashedReference } from '#jobs/tasks/references.js';
import type { RunProvenance } from '#jobs/tasks/runs.js';
import type { ArtifactRef, ArtifactStore, DocumentStore, DocumentTransaction, DocumentLookup } from '#store/port.js';
import { parseStored, readStored } from '#store/read-stored.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

/** Parses the body of a stored document. Returns undefined if it is invalid. */
export function readRun(body: unknown): RunDocument | undefined {
  const result = RunDocument.safeParse(body);
  return result.success ? result.data : undefined;
}

/** Returns a stored run; undefined if no readable run is stored. */
export async function findRun(reader: Reader, runId: string): Promise<RunDocument | undefined> {
  const storedDocument = await reader.get('run', runId);
  return readStored(storedDocument, readRun);
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
  const run = readStored(newestDocument, readRun);
  if (run !== undefined && (id === undefined || computeRunId(run) === id)) return run;
  const storedDocument =
    id === undefined ? newestDocument : await reader.get('kept-run', createStoredRunId(subject, id));
  if (storedDocument === undefined) {
    await assertSubject(reader, subject);
    throw refuseMissingRun({ subject, id }, await reader.get('run-list', subject));
  }
  const document = readStored(storedDocument, readRun);
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

/** Creates the document id of a run that is not the newest one. */
export const createStoredRunId = (subject: string, id: string): string => `${subject}/${id}`;

/** Returns the files with the earlier parts of a run's columns, in order. */
export function listEarlierFiles({ artifacts: { begun: earlierFiles, base } }: RunDocument): readonly ArtifactRef[] {
  return earlierFiles ?? (base ? [base] : []);
}

/** Returns the provenance of a run. A run that was stored before extensions existed counts as computed in full. */
export function createProvenance({
  run_hash: runHash,
  store_content_hash: storeContentHash,
  engine_version: engineVersion,
  extended_from: extendedFrom = null,
  full_run_reason: fullRunReason = null,
}: RunDocument): RunProvenance {
  return { runHash, storeContentHash, engineVersion, extendedFrom, fullRunReason };
}

/** Returns true if a run belongs to an existing index or strategy. */
export const hasSubject = async (reader: Reader, runId: string): Promise<boolean> =>
  (await reader.get('index', runId)) !== undefined || (await reader.get('strategy', runId)) !== undefined;

/** Checks that the index or the strategy of a run exists. @throws Refusal INDEX_NOT_FOUND */
export async function assertSubject(reader: Reader, runId: string): Promise<void> {
  if (!(await hasSubject(reader, runId))) {
    throw new Refusal('INDEX_NOT_FOUND', `No index or strategy is stored under the id ${runId}.`, { index_id: runId });
  }
}

/** Creates a reference to an artifact by its name. Tasks use it. */
export const toReference = ({ name }: Pick<ArtifactRef, 'name'>): ArtifactReference => ({ artifact: name });

/** Returns a reference to an artifact by its name and expected hash. */
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

/** Returns the artifacts of a new run. */
export function listArtifacts({ artifacts }: RunDocument): readonly ArtifactRef[] {
  const { columns, begun = [], checkpoint, plan, models = {} } = artifacts;
  const artifactRefs = [columns, ...begun, ...(checkpoint ? [checkpoint] : []), ...(plan ? [plan] : [])];
  return [...artifactRefs, ...Object.values(models).flatMap(listMatrixFiles)];
}

/** File of a run with its role. */
export interface NamedFile {
  readonly name: string;
  readonly path: string;
  readonly sha256: string;
}

const listNamedMatrix = (name: string, matrix: MatrixFiles) =>
  listMatrixFiles(matrix).map((ref, i) => ['files' in matrix ? `${name}, file ${i + 1}` : name, ref] as const);

/** Returns all files of a run. */
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
