import { listReferences } from '#domain/checks/validate-reference.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { OptimisationDocument } from '#domain/documents/optimisation-document.js';
import { readStoredModelId, listUsedModels } from '#domain/documents/used-models.js';
import { createOptimisationId } from '#domain/jobs/job-kinds.js';
import type { StudyPayload } from '#domain/jobs/payloads.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import type { RowEntry } from '#jobs/tasks/runs.js';
import type { StudyRow } from '#contract/studies.js';
import { isOfService } from '../runs/backtest-batches.js';
import {
  createRowsInParts,
  type RowAttempt,
  type RowsInPartsDependencies,
  type RowsOrder,
} from '../runs/rows-in-parts.js';
import { optimiseOnce, type OptimisationJobDependencies } from './optimise-job.js';

export type StudyJobDependencies = OptimisationJobDependencies & RowsInPartsDependencies;

/** Result of one optimisation of a study, or the reason why there is no result. */
interface StudyEntry extends RowEntry {
  readonly row: StudyRow;
  /** Result to store. */
  readonly document: OptimisationDocument | null;
}

const STUDY_OUTCOMES = ['solved', 'refused'] as const satisfies readonly StudyRow['outcome'][];

/**
 * Creates the kind of job that runs many optimisations in parts. Any node can compute a part. The end of the job stores
 * all results.
 */
export function createStudyJob(dependencies: StudyJobDependencies): JobKind<StudyPayload> {
  const { markets } = dependencies;
  const parts = createRowsInParts(dependencies);

  async function computeEntry(position: number, payload: StudyPayload, attempt: RowAttempt): Promise<StudyEntry> {
    const request = payload.requests[position]!;
    const { index_id, constraint_set_id } = request;
    const terms = { position, index_id, constraint_set_id };
    if (markets.require().identity.contentHash !== payload.content_hash) throw refuseChangedData(payload.study_id);
    try {
      const documents = collectReached(payload.documents, index_id);
      const usedModelIds = new Set([...listUsedModels(Object.values(documents)).keys(), readStoredModelId(request)]);
      const { document, figures } = await optimiseOnce(dependencies, attempt, {
        run_id: createOptimisationId(payload.study_id, position),
        documents,
        models: Object.fromEntries(Object.entries(payload.models).filter(([id]) => usedModelIds.has(id))),
        constraints: payload.sets[constraint_set_id]!,
        request,
      });
      return { row: { ...terms, outcome: 'solved', run_id: document.run_id, figures, error: null }, document };
    } catch (failure) {
      if (!(failure instanceof Refusal) || isOfService(failure)) throw failure;
      const error = failure.toDetail() as StudyRow['error'];
      return { row: { ...terms, outcome: 'refused', run_id: null, figures: null, error }, document: null };
    }
  }

  const createOrder = (payload: StudyPayload): RowsOrder<StudyEntry> => ({
    count: payload.requests.length,
    computeEntry: (position, attempt) => computeEntry(position, payload, attempt),
    listFiles: ({ document }) => (document === null ? [] : [document.artifact]),
  });

  return createJobKind(
    'study',
    async (payload, attempt) => {
      const { study_id: id, engine_version: engineVersion } = payload;
      const summary = { kind: 'study', id, total: 'runs', outcomes: STUDY_OUTCOMES, engineVersion } as const;
      const { result, entries } = await parts.run(createOrder(payload), summary, attempt);
      const solvedDocuments = entries.flatMap(({ document }) => document ?? []);
      const unsolvedCount = entries.length - solvedDocuments.length;
      return {
        result,
        message:
          unsolvedCount === 0 ? 'Done.' : `Done. ${unsolvedCount} of ${entries.length} optimisations have no result.`,
        async effect(tx) {
          for (const document of solvedDocuments) await tx.put('optimisation-run', document.run_id, document);
        },
      };
    },
    async (payload, partPositions, attempt) => ({
      result: await parts.readOutput(createOrder(payload), partPositions, { attempt, share: 1 }),
    }),
  );
}

/** Returns the refusal for data that changed during a study. All results of a study must use the same data. */
const refuseChangedData = (studyId: string): Refusal =>
  new Refusal('STORE_MISMATCH', `The data has changed since the study ${studyId} was submitted: submit it again.`);

/** Returns an index and every document that it refers to. */
function collectReached(
  documents: Readonly<Record<string, IndexDocument>>,
  indexId: string,
): Readonly<Record<string, IndexDocument>> {
  const reachedDocuments = new Map<string, IndexDocument>();
  const pendingIds = [indexId];
  for (let id = pendingIds.pop(); id !== undefined; id = pendingIds.pop()) {
    const document = documents[id];
    if (document === undefined || reachedDocuments.has(id)) continue;
    reachedDocuments.set(id, document);
    pendingIds.push(...listReferences(document));
  }
  return Object.fromEntries(reachedDocuments);
}
