import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { StudyRow } from '#contract/studies.js';
import type { Finding } from '#domain/base/findings.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { listUsedModels, readStoredModelId } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import {
  joinStudyRuns,
  type OptimisationDocument,
  type OptimisationRequest,
  readStudyRequest,
  readStudyRun,
  type StudyRun,
} from '#domain/definition/optimisation-requests.js';
import { reportMissingReturns } from '#domain/definition/optimisation.js';
import { listReferences } from '#domain/definition/references.js';
import { createOptimisationId, type RequestsFile, type StudyPayload } from '#domain/outputs/jobs.js';
import { splitLines } from '#domain/personal/read-account.js';
import { createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { RowEntry } from '#jobs/tasks/runs.js';
import { getCallMarket } from '#market/serve/served-markets.js';
import type { ArtifactStore } from '#store/port.js';
import { findReferencedStore, type StoredIndex } from '../indices/documents.js';
import { assertOwnName, limitJobs, prefixName } from '../keys/access.js';
import { isOfService } from '../runs/backtests.js';
import type { Context } from '../shared/context.js';
import {
  createRowsInParts,
  createTimedId,
  readResultRows,
  type RowAttempt,
  type RowsOrder,
  submitWithFile,
} from '../shared/jobs.js';
import {
  createOptimisationPlans,
  estimateOptimisationBytes,
  optimiseOnce,
  requireSet,
  requireTarget,
} from './optimisations.js';

/** Many optimisations as one job. */
export interface Studies {
  /**
   * Queues a study.
   * @param lines runs of a large request, as lines of JSON
   * @throws Refusal VALIDATION_FAILED, INDEX_NOT_FOUND, CONSTRAINT_SET_NOT_FOUND, RISK_MODEL_NOT_FOUND, INVALID_RANGE,
   * NO_DATA_IN_RANGE, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(
    body: Readonly<Record<string, unknown>>,
    lines: Uint8Array | undefined,
    origin: JobOrigin | null,
  ): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded study as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED beyond the last block; DOCUMENT_UNREADABLE
   */
  rows(studyId: string, query: { readonly block: number }): Promise<Uint8Array<ArrayBuffer>>;
}

type StudyTerms = ReturnType<typeof readStudyRequest>;

const TURN_RUNS = 20;

/** Runs of a study up to which its job has them as a list. */
const LISTED_RUNS = 200;

/** Writes requests as an artifact, one JSON line each, in several turns of the event loop. */
async function storeRequests(
  requests: StudyTerms['requests'],
  artifacts: Pick<ArtifactStore, 'write'>,
): Promise<RequestsFile> {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  for (let i = 0; i < requests.length; i += LISTED_RUNS) {
    await setImmediate();
    const lines = requests.slice(i, i + LISTED_RUNS).map((request) => `${JSON.stringify(request)}\n`);
    const chunk = Buffer.from(lines.join(''));
    hash.update(chunk);
    chunks.push(chunk);
  }
  return { file: await artifacts.write(Buffer.concat(chunks), hash.digest('hex')) };
}

/** Reads a study whose runs are lines of JSON. The shape of its body was checked. @throws Refusal VALIDATION_FAILED */
async function readLargeStudy(body: Readonly<Record<string, unknown>>, lines: Uint8Array): Promise<StudyTerms> {
  const runs: StudyRun[] = [];
  for await (const line of splitLines([lines])) {
    if (runs.length % TURN_RUNS === 0) await setImmediate();
    runs.push(readStudyRun(JSON.parse(line.toString()) as Readonly<Record<string, unknown>>, runs.length));
  }
  return { studyId: (body['study_id'] as string | null | undefined) ?? null, requests: joinStudyRuns(runs) };
}

export function createStudies(context: Context, kind: JobKind<StudyPayload>): Studies {
  const { documents, jobs, artifacts, markets, stores, engineVersion, workers, now } = context;
  const plans = createOptimisationPlans(context);

  async function submit(
    { studyId: requestedId, requests }: StudyTerms,
    targets: readonly StoredIndex[],
    origin: JobOrigin | null,
  ) {
    const { identity, market } = markets.require();
    for (const [position, request] of requests.entries()) {
      if (position % TURN_RUNS === 0) await setImmediate();
      plans.assertRequest(request, market);
    }
    const reachedDocuments: Record<string, IndexDocument> = {};
    for (const target of targets) Object.assign(reachedDocuments, await plans.reachedOn(target, market));
    const sets: Record<string, StudyPayload['sets'][string]> = {};
    for (const id of new Set(requests.map((request) => request.constraint_set_id))) {
      const { set } = await requireSet(documents, id);
      plans.assertRows(set, market);
      sets[id] = set.constraints;
    }
    const missingReturns: Finding[] = [];
    for (const [i, request] of requests.entries()) {
      if (i % LISTED_RUNS === 0) await setImmediate();
      missingReturns.push(...reportMissingReturns(request, sets[request.constraint_set_id]!, `runs[${i}].`));
    }
    assertNoErrors('request', missingReturns);
    const { models = {} } = await plans.readModels(requests, {
      reached: reachedDocuments,
      storeId: identity.datasetId,
    });
    const studyId = requestedId ?? prefixName(createTimedId(now()));
    const subjects = { indices: targets.map(({ document }) => document.id), constraint_sets: Object.keys(sets) };
    const createPayload = (storedRequests: StudyPayload['requests']): StudyPayload => ({
      study_id: studyId,
      documents: reachedDocuments,
      models,
      sets,
      requests: storedRequests,
      content_hash: identity.contentHash,
      engine_version: engineVersion,
    });
    const submission = {
      kind,
      request: { study_id: studyId, runs: requests.length, ...subjects },
      estimatedBytes: workers * estimateOptimisationBytes(market),
      message: 'waiting for a worker',
      origin,
    };
    if (requests.length <= LISTED_RUNS) return jobs.submit({ ...submission, payload: createPayload(requests) });
    return submitWithFile(
      { documents, jobs, artifacts },
      {
        ...submission,
        input: await storeRequests(requests, artifacts),
        select: (payload) => ('file' in payload.requests ? payload.requests : undefined),
        createPayload,
      },
    );
  }

  return {
    rows: (ident, { block }) => readResultRows({ kind: 'study', ident, block }, limitJobs(jobs), artifacts),
    async start(body, lines, origin) {
      const terms = lines === undefined ? readStudyRequest(body) : await readLargeStudy(body, lines);
      if (terms.studyId !== null) assertOwnName(terms.studyId);
      const targets: StoredIndex[] = [];
      for (const id of new Set(terms.requests.map((request) => request.index_id)))
        targets.push(await requireTarget(documents, id));
      const datasetId = getCallMarket()?.identity.datasetId;
      const storeIds = new Set<string | null>();
      for (const { document } of targets) storeIds.add(await findReferencedStore(documents, document, datasetId));
      if (storeIds.size > 1) throw createSeveralStoresRefusal([...storeIds]);
      return stores.within([...storeIds][0]!, () => submit(terms, targets, origin));
    },
  };
}

function createSeveralStoresRefusal(storeIds: readonly (string | null)[]) {
  const message = `A study is computed on one data store; its indices name ${storeIds.map((id) => id ?? 'the active one').join(', ')}.`;
  return refuseWithFindings('study', [{ severity: 'error', code: 'DIFFERENT_DATA', path: 'runs', message }]);
}

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
export function createStudyJob(context: Context): JobKind<StudyPayload> {
  const { artifacts, markets } = context;
  const parts = createRowsInParts(context);

  /** Returns the requests of a study, those of a file as lines of JSON. */
  async function readRequests({ requests }: StudyPayload): Promise<readonly (OptimisationRequest | string)[]> {
    if (!('file' in requests)) return requests;
    const text = Buffer.from(await artifacts.read(requests.file)).toString();
    return text.split('\n').slice(0, -1); // each line has an end
  }

  async function computeEntry(
    position: number,
    payload: StudyPayload,
    { line, attempt }: { readonly line: OptimisationRequest | string; readonly attempt: RowAttempt },
  ): Promise<StudyEntry> {
    const request = typeof line === 'string' ? (JSON.parse(line) as OptimisationRequest) : line; // the submission wrote it
    const { index_id, constraint_set_id } = request;
    const terms = { position, index_id, constraint_set_id };
    if (markets.require().identity.contentHash !== payload.content_hash) throw refuseChangedData(payload.study_id);
    try {
      const documents = collectReached(payload.documents, index_id);
      const usedModelIds = new Set([...listUsedModels(Object.values(documents)).keys(), readStoredModelId(request)]);
      const { document, figures } = await optimiseOnce(context, attempt, {
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

  async function createOrder(payload: StudyPayload): Promise<RowsOrder<StudyEntry>> {
    const lines = await readRequests(payload);
    return {
      count: lines.length,
      computeEntry: (position, attempt) => computeEntry(position, payload, { line: lines[position]!, attempt }),
      listFiles: ({ document }) => (document === null ? [] : [document.artifact]),
    };
  }

  return createJobKind(
    'study',
    async (payload, attempt) => {
      const { study_id: id, engine_version: engineVersion } = payload;
      const summary = { kind: 'study', id, total: 'runs', outcomes: STUDY_OUTCOMES, engineVersion } as const;
      const { result, entries } = await parts.run(await createOrder(payload), summary, attempt);
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
      result: await parts.readOutput(await createOrder(payload), partPositions, { attempt, share: 1 }),
    }),
  );
}

/** Returns the refusal for data that changed during a study. All results of a study must use the same data. */
const refuseChangedData = (studyId: string): Refusal =>
  new Refusal('STORE_MISMATCH', `The data has changed since the study ${studyId} was submitted: submit it again.`);

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
