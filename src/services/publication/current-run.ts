import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';
import { listEarlierRuns } from '../stored/run-list.js';
import { requireRun } from '../stored/run-documents.js';
import { computeRunId } from '#store/run-id.js';
import type { RunStates } from '../runs/run-states.js';

interface CurrentRunTerms {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly states: Pick<RunStates, 'findStaleState'>;
}

/**
 * Returns the latest run of an index that is not stale and did not use earlier contents.
 * @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_CURRENT_RUN
 */
export async function findCurrentRun({ documents, states }: CurrentRunTerms, indexId: string): Promise<RunDocument> {
  const newestRun = await requireRun(documents, indexId);
  const reasons = await listReasonsAgainst(states, newestRun);
  if (reasons.length === 0) return newestRun;
  for await (const earlierRun of listEarlierRuns(documents, indexId))
    if ((await listReasonsAgainst(states, earlierRun)).length === 0) return earlierRun;
  const message = `The newest run ${computeRunId(newestRun)} of ${indexId} is not current: ${reasons.join(' ')} Run it again, or name the run by run_id.`;
  throw new Refusal('NO_CURRENT_RUN', message, { index_id: indexId, run_id: computeRunId(newestRun), reasons });
}

async function listReasonsAgainst(states: CurrentRunTerms['states'], run: RunDocument): Promise<readonly string[]> {
  if (run.as_known_on !== undefined) return [`It was made on version ${run.as_known_on} of the data, as asked for.`];
  if ((run.request as { readonly as_known?: unknown }).as_known !== undefined)
    return ['Its decisions were made on what was known at their dates.'];
  return (await states.findStaleState(run))?.reasons ?? [];
}
