import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { VersionedMarket } from '../datasets/data-versions.js';
import { listEarlierRuns } from '../stored/run-list.js';
import { requireRun, type RunName } from '../stored/run-documents.js';
import { computeRunId } from '#store/run-id.js';

/**
 * Returns the latest stored run of a subject on a content of its store, or the run with the requested id.
 * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED for an id of a run on another
 * content
 */
export async function requireRunOn(
  reader: Pick<DocumentStore, 'get'>,
  name: RunName,
  versionedMarket: VersionedMarket,
): Promise<RunDocument> {
  const { subject, id } = typeof name === 'string' ? { subject: name, id: undefined } : name;
  const run = await requireRun(reader, name);
  if (isRunOfMarket(run, versionedMarket)) return run;
  if (id !== undefined) throw createOtherContentRefusal(run, versionedMarket);
  for await (const earlierRun of listEarlierRuns(reader, subject))
    if (isRunOfMarket(earlierRun, versionedMarket)) return earlierRun;
  throw new Refusal(
    'RUN_NOT_FOUND',
    `${subject} has no stored run on version ${versionedMarket.version} of the data. A backtest with \`as_known_on\` creates one.`,
    { index_id: subject, data_version: versionedMarket.version },
  );
}

function isRunOfMarket(run: RunDocument, { served, version }: VersionedMarket): boolean {
  const { datasetId, contentHash } = served.identity;
  if (run.store_id !== undefined && run.store_id !== datasetId) return false;
  // If a store was deleted and created again, its versions start with 1 again, but their content is different.
  if (run.store_content_hash !== contentHash) return false;
  return version === null || run.store_version == null || run.store_version === version;
}

function createOtherContentRefusal(run: RunDocument, { version }: VersionedMarket): Refusal {
  const contentText = run.store_version == null ? 'other content' : `version ${run.store_version} of the data`;
  return refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'DIFFERENT_DATA',
      message: `The run ${computeRunId(run)} was made on ${contentText}, not on version ${version}: omit \`run_id\` or \`as_known_on\`.`,
      path: 'as_known_on',
      value: version,
    },
  ]);
}
