import { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusal.js';
import type { ArtifactReference } from '#jobs/tasks/references.js';
import type { RunProvenance } from '#jobs/tasks/runs.js';
import type { ArtifactRef, DocumentStore, DocumentTransaction } from '#store/port.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

/** The document of a body, undefined when it is none. */
export function readRun(body: unknown): RunDocument | undefined {
  const parsed = RunDocument.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}

/** A stored run, undefined when there is none that can be read. */
export async function findRun(reader: Reader, runId: string): Promise<RunDocument | undefined> {
  const stored = await reader.get('run', runId);
  return stored === undefined || 'unreadable' in stored ? undefined : readRun(stored.body);
}

/** @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireRun(reader: Reader, runId: string): Promise<RunDocument> {
  await assertSubject(reader, runId);
  const stored = await reader.get('run', runId);
  if (stored === undefined) throw new Refusal('RUN_NOT_FOUND', `${runId} has no stored run.`, { index_id: runId });
  const document = 'unreadable' in stored ? undefined : readRun(stored.body);
  if (document === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The stored run of ${runId} cannot be read; it can still be deleted.`);
  return document;
}

/** The files that the columns of a run begin in, in order. */
export function earlierFiles({ artifacts: { begun: earlier, base } }: RunDocument): readonly ArtifactRef[] {
  return earlier ?? (base ? [base] : []);
}

/** What a run was made from, and how; runs stored before they could be extended were made whole. */
export function provenanceOf({
  run_hash: runHash,
  store_content_hash: storeContentHash,
  engine_version: engineVersion,
  extended_from: extendedFrom = null,
  full_run_reason: fullRunReason = null,
}: RunDocument): RunProvenance {
  return { runHash, storeContentHash, engineVersion, extendedFrom, fullRunReason };
}

/** Whether there is an index or a strategy to have runs. @throws Refusal INDEX_NOT_FOUND */
export async function assertSubject(reader: Reader, runId: string): Promise<void> {
  if ((await reader.get('index', runId)) === undefined && (await reader.get('strategy', runId)) === undefined) {
    throw new Refusal('INDEX_NOT_FOUND', `No index or strategy is stored under the id ${runId}.`, { index_id: runId });
  }
}

/** An artifact by its name, for a task. */
export const referenceTo = ({ name }: Pick<ArtifactRef, 'name'>): ArtifactReference => ({ artifact: name });

/** The columns of a run by name, for a task. */
export function columnsOf(run: RunDocument): ArtifactReference {
  const beside = earlierFiles(run).map(({ name }) => name);
  return { ...referenceTo(run.artifacts.columns), ...(beside.length === 0 ? {} : { beside }) };
}
