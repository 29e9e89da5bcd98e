import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusal.js';
import type { ArtifactStore, DatedArtifact } from '#store/port.js';
import { earlierFiles } from './run-documents.js';

type Looked = Pick<ArtifactStore, 'damaged'>;

/**
 * Runs whose record cannot be read, as a file with their columns is missing or damaged.
 * @cost a look at two files of each run and more of an extended one, see `ArtifactStore.damaged`
 */
export async function damagedRuns(artifacts: Looked, runs: readonly RunDocument[]): Promise<ReadonlySet<RunDocument>> {
  const files = new Map(runs.map((run) => [run, filesOf(run)]));
  const damaged = await artifacts.damaged([...files.values()].flat());
  if (damaged.size === 0) return new Set();
  return new Set(runs.filter((run) => files.get(run)!.some(({ ref }) => damaged.has(ref.name))));
}

/** @throws Refusal DOCUMENT_UNREADABLE of a run whose columns are missing or damaged: no view shows a damaged number */
export async function assertUndamaged(artifacts: Looked, run: RunDocument): Promise<void> {
  if ((await damagedRuns(artifacts, [run])).size > 0)
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is missing or damaged.');
}

/** Files that the record of a run is written from, made after the run was stamped. */
function filesOf(run: RunDocument): readonly DatedArtifact[] {
  const { columns, record } = run.artifacts;
  const madeAt = run.run_at === null ? 0 : Date.parse(run.run_at);
  return [columns, ...earlierFiles(run), ...(record ? [record] : [])].map((ref) => ({ ref, madeAt }));
}
