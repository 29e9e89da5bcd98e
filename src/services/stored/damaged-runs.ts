import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DatedArtifact } from '#store/artifact-terms.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { listEarlierFiles, requireRun } from './run-documents.js';

type DamageSource = Pick<ArtifactStore, 'damaged'>;

/**
 * Returns the runs whose record or overview is unreadable because a file is missing or damaged.
 * @cost a check of three files per run, and of further files of an extended run, see `ArtifactStore.damaged`
 */
export const findDamagedRuns = (
  artifacts: DamageSource,
  runs: readonly RunDocument[],
): Promise<ReadonlySet<RunDocument>> =>
  findRunsWithDamage(artifacts, runs, (run) => {
    const { overview, plan } = run.artifacts;
    const source = overview ?? plan; // an overview is made from the columns and the plan, unless an earlier version stored it
    return [...listFiles(run), ...(source ? createDatedFiles(run, [source]) : [])];
  });

async function findRunsWithDamage(
  artifacts: DamageSource,
  runs: readonly RunDocument[],
  listFilesOf: (run: RunDocument) => readonly DatedArtifact[],
): Promise<ReadonlySet<RunDocument>> {
  const files = new Map(runs.map((run) => [run, listFilesOf(run)]));
  const damagedNames = await artifacts.damaged([...files.values()].flat());
  if (damagedNames.size === 0) return new Set();
  return new Set(runs.filter((run) => files.get(run)!.some(({ ref }) => damagedNames.has(ref.name))));
}

/**
 * Checks that the columns of a run are intact, because views must not show damaged numbers. @throws Refusal
 * DOCUMENT_UNREADABLE
 */
export async function assertUndamaged(artifacts: DamageSource, run: RunDocument): Promise<void> {
  if ((await findRunsWithDamage(artifacts, [run], listFiles)).size > 0)
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is missing or damaged.');
}

/**
 * Returns the latest run of a subject, for a job that computes with it. @throws the refusals of `requireRun`, and
 * DOCUMENT_UNREADABLE if the run is damaged
 */
export async function requireUndamagedRun(
  { documents, artifacts }: { readonly documents: Pick<DocumentStore, 'get'>; readonly artifacts: DamageSource },
  runId: string,
): Promise<RunDocument> {
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

/** Returns the files from which the record of a run is written. */
function listFiles(run: RunDocument): readonly DatedArtifact[] {
  const { columns, record } = run.artifacts;
  return createDatedFiles(run, [columns, ...listEarlierFiles(run), ...(record ? [record] : [])]);
}

/** Returns the files of a run with the time of the run. The files are written after that time. */
function createDatedFiles(
  { run_at: runAt }: RunDocument,
  refs: readonly DatedArtifact['ref'][],
): readonly DatedArtifact[] {
  const madeAt = runAt === null ? 0 : Date.parse(runAt);
  return refs.map((ref) => ({ ref, madeAt }));
}
