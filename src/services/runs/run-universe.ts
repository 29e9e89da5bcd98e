import type { RunDocument } from '#domain/documents/run-document.js';
import { readsUniverse } from '#domain/datapoints/expressions/field-text.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';
import { findIndex } from '../stored/stored-indices.js';
import { readRunDefinition } from '../stored/run-definition.js';

interface UniverseDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'read' | 'file'>;
}

/**
 * Returns the definition to whose universe some datapoints are relative. It is the definition of the run, or the stored
 * definition if the run has none. Returns null if no datapoint is relative, or if the definition was deleted.
 */
export async function findUniverse(
  { documents, artifacts }: UniverseDependencies,
  run: RunDocument,
  fields: readonly string[],
): Promise<ComparedWith | null> {
  if (!fields.some(readsUniverse)) return null;
  if (run.artifacts.plan !== undefined) return (await readRunDefinition(artifacts, run)).definition;
  const document = await findIndex(documents, run.index_id);
  return document === undefined ? null : { indexId: document.id, documents: await resolveReached(documents, document) };
}
