import { assertOrder } from '#domain/schema/assert-order.js';
import type { GenerateSyntheticRequest } from '#domain/documents/synthetic-request.js';
import type { RefreshRequest } from '#contract/stores/refresh.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { toCivilDate, parseValidDay, formatDay } from '#domain/time/days.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import { isLiveIn } from '#jobs/job-record.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Markets } from '#market/serving/markets.js';
import { GENERATOR } from '#market/synthetic/spec.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { DatasetActivity } from './activity.js';
import { isRefreshable } from '../stored/dataset-documents.js';
import type { DatasetJobs } from './jobs.js';
import type { GeneratePayload, GenerateRequest, RefreshPayload } from '#domain/jobs/payloads.js';
import { listSessionsBetween } from '#domain/calendars/sessions-between.js';
import { createWritingDataset } from './synthetic-dataset.js';

export interface DatasetSubmissionsDependencies {
  readonly documents: DocumentStore;
  readonly activity: DatasetActivity;
  readonly jobs: Jobs;
  readonly kinds: DatasetJobs;
  readonly markets: Pick<Markets, 'require'>;
  readonly calendars: Calendars;
  readonly timestamp: () => string;
}

/** Memory in bytes for reading a store, in addition to its panels: the reader process and its buffers. */
const READER_BYTES = 512 << 20;

/** Day of a schedule whose step refreshes a store. */
export type RefreshedDay = NonNullable<RefreshPayload['day']>;

/** Operations on stores that run as jobs. */
export interface DatasetSubmissions {
  /** Queues the activation of a store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  activate(datasetId: string, origin: Origin | null): Promise<JobStatus>;
  /** Queues the generation of a synthetic store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_LOADING */
  generate(request: GenerateSyntheticRequest, origin: Origin | null, by?: Authorship): Promise<JobStatus>;
  /**
   * Queues a refresh of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, NOTHING_TO_REFRESH, STORE_NOT_SERVED,
   *   STORE_LOADING, STORE_REFRESHING
   */
  refresh(datasetId: string, request: RefreshRequest, origin: Origin | null, day?: RefreshedDay): Promise<JobStatus>;
  /** Refreshes the served store. @throws Refusal NO_DATA_SOURCE, and the refusals of `refresh` */
  sync(request: RefreshRequest, origin: Origin | null, day?: RefreshedDay): Promise<JobStatus>;
}

export function createDatasetSubmissions(dependencies: DatasetSubmissionsDependencies): DatasetSubmissions {
  const { documents, activity, jobs, kinds, markets, calendars, timestamp } = dependencies;
  const admitJob = createJobAdmission(dependencies);

  async function activate(datasetId: string, origin: Origin | null): Promise<JobStatus> {
    const { document } = await activity.requireKnown(datasetId);
    if (activity.isServed(datasetId))
      throw new Refusal('STORE_ACTIVE', `The data store ${datasetId} is already being served.`, {
        store_id: datasetId,
      });
    const submit = () =>
      jobs.submit({
        kind: kinds.load,
        payload: { store_id: datasetId },
        request: null,
        estimatedBytes: READER_BYTES,
        message: 'waiting to be read',
        origin,
      });
    return admitJob(datasetId, submit, { isLoad: !document.writing });
  }

  async function submitRefresh(
    kind: DatasetJobs['refresh'],
    datasetId: string,
    { request, origin, day }: RefreshTerms,
  ): Promise<JobStatus> {
    const { document } = await activity.requireKnown(datasetId);
    assertRefreshable(document, request, calendars);
    assertServed(document, request, activity);
    return admitJob(datasetId, () =>
      jobs.submit({
        kind,
        payload: {
          store_id: datasetId,
          until: request.until,
          full: request.full,
          dry_run: request.dry_run,
          fail_on: [request.fail_on].flat(),
          ...(day && { day }),
        },
        request,
        estimatedBytes: READER_BYTES,
        message: 'waiting to be refreshed',
        origin,
      }),
    );
  }

  /** Requests for synthetic data that are being queued, by their content. */
  const pendingRequests = new Map<string, Promise<JobStatus>>();

  async function generate(
    request: GenerateSyntheticRequest,
    origin: Origin | null,
    authorship?: Authorship,
  ): Promise<JobStatus> {
    const key = toCanonicalJson(request);
    const pendingRequest = pendingRequests.get(key);
    if (pendingRequest !== undefined) return pendingRequest;
    const submission = (async () =>
      (await findLiveGeneration(jobs, key)) ?? submitGeneration(request, origin, authorship))();
    pendingRequests.set(key, submission);
    try {
      return await submission;
    } finally {
      pendingRequests.delete(key);
    }
  }

  async function submitGeneration(
    request: GenerateSyntheticRequest,
    origin: Origin | null,
    authorship: Authorship | undefined,
  ): Promise<JobStatus> {
    const { store_id, name, ...rest } = request;
    const fullRequest: GenerateRequest = { ...rest, end: request.end ?? formatLastYearEnd(timestamp()) };
    assertGeneratable(fullRequest, calendars, 'end');
    const submitForId = (datasetId: string) =>
      submitJob(
        {
          store_id: datasetId,
          name: name ?? `Synthetic market ${request.seed}`,
          created_at: timestamp(),
          request: fullRequest,
        },
        { request, origin, by: authorship },
      );
    return store_id === undefined
      ? activity.withFreeId(`synthetic-${request.seed}`, submitForId)
      : submitForId(store_id);
  }

  async function submitJob(payload: GeneratePayload, { request, origin, by }: GenerationTerms): Promise<JobStatus> {
    const { store_id: datasetId } = payload;
    await activity.assertFree(datasetId);
    if (request.activate) await activity.assertNoneLoads();
    const status = await jobs.submit({
      kind: kinds.generate,
      payload,
      request,
      estimatedBytes: READER_BYTES,
      message: 'waiting to be generated',
      origin,
    });
    // The job may have ended already. In that case its outcome is stored.
    const write = async (tx: DocumentTransaction): Promise<void> => {
      if ((await tx.get('store', datasetId)) === undefined && (await isLiveIn(tx, `generate:${datasetId}`)))
        await tx.put('store', datasetId, createWritingDataset(payload));
    };
    await documents.transaction(write, { by });
    return status;
  }

  return {
    activate,
    generate,
    refresh: (datasetId, request, origin, day) => submitRefresh(kinds.refresh, datasetId, { request, origin, day }),
    sync: async (request, origin, day) =>
      submitRefresh(kinds.sync, markets.require().handle.datasetId, { request, origin, day }),
  };
}

/** Returns a function that queues a job about an idle store, unless the store is deleted meanwhile. */
function createJobAdmission({
  documents,
  activity,
  jobs,
}: Pick<DatasetSubmissionsDependencies, 'documents' | 'activity' | 'jobs'>) {
  async function assertStored(datasetId: string): Promise<void> {
    if ((await documents.get('store', datasetId)) === undefined)
      throw new Refusal('STORE_LOADING', `The data store ${datasetId} was deleted meanwhile.`, { store_id: datasetId });
  }

  return (
    datasetId: string,
    submit: () => Promise<JobStatus>,
    options?: { readonly isLoad: boolean },
  ): Promise<JobStatus> =>
    activity.admit(
      datasetId,
      async () => {
        await assertStored(datasetId);
        const status = await submit();
        await assertStored(datasetId).catch(async (failure: unknown) => {
          await jobs.cancel(status.job_id); // another process deleted the store
          throw failure;
        });
        return status;
      },
      options,
    );
}

/** Returns the live job with the same request. */
async function findLiveGeneration(
  jobs: DatasetSubmissionsDependencies['jobs'],
  key: string,
): Promise<JobStatus | undefined> {
  for (const jobId of await jobs.ids('generate')) {
    const status = (await jobs.isLive(jobId)) ? await jobs.get(jobId) : undefined;
    if (
      status !== undefined &&
      (status.status === 'pending' || status.status === 'running') &&
      toCanonicalJson(status.request) === key
    )
      return status;
  }
  return undefined;
}

/**
 * Refuses a refresh of a store without a source, and an extension that cannot be generated. @throws Refusal
 * NOTHING_TO_REFRESH, and the refusals of `assertGeneratable`
 */
function assertRefreshable(
  document: DatasetDocument,
  { until }: RefreshRequest,
  calendars: DatasetSubmissionsDependencies['calendars'],
): void {
  if (!isRefreshable(document))
    throw new Refusal('NOTHING_TO_REFRESH', `The data store ${document.store_id} ${explainNoSource(document)}.`);
  if (document.kind !== 'synthetic' || until === null || until <= document.end!) return;
  const request = document.synthetic!['request'] as GenerateRequest; // this engine wrote the request, for the synthetic generator
  assertGeneratable({ ...request, end: until }, calendars, 'until');
}

/** Refuses a refresh of a store that its activation reads again. @throws Refusal STORE_NOT_SERVED */
function assertServed(
  { store_id: datasetId, kind }: DatasetDocument,
  { load }: RefreshRequest,
  { isServed }: Pick<DatasetActivity, 'isServed'>,
): void {
  if (load || isManaged(kind) || isServed(datasetId)) return;
  throw new Refusal(
    'STORE_NOT_SERVED',
    `The data store ${datasetId} is a ${kind} that is not active. Its activation reads the source again; "load": true refreshes it without an activation.`,
    { store_id: datasetId },
  );
}

interface RefreshTerms {
  readonly request: RefreshRequest;
  readonly origin: Origin | null;
  readonly day: RefreshedDay | undefined;
}

interface GenerationTerms {
  readonly request: GenerateSyntheticRequest;
  readonly origin: Origin | null;
  readonly by: Authorship | undefined;
}

/** Explains why a store has no source to refresh from. */
function explainNoSource({ kind, synthetic }: DatasetDocument): string {
  switch (kind) {
    case 'imported':
      return 'has imported data without a source; an import with on_exists append or replace changes it';
    case 'synthetic':
      return `was made by version ${String(synthetic?.['generator'])} of the generator; this build has version ${GENERATOR} and would make other bars`;
    default:
      return 'has no source to refresh from; a PATCH of its source gives it one';
  }
}

/** Returns the last day of the last complete calendar year. */
function formatLastYearEnd(timestamp: string): string {
  return `${toCivilDate(parseValidDay(timestamp.slice(0, 10))).year - 1}-12-31`;
}

/**
 * Refuses a request if no market can be generated for it. @param field request field with the end of the market
 * @throws Refusal VALIDATION_FAILED, INVALID_RANGE
 */
function assertGeneratable(request: GenerateRequest, calendars: Calendars, field: 'end' | 'until'): void {
  const createRefusal = (finding: Omit<Finding, 'severity'>) =>
    refuseWithFindings('request', [{ severity: 'error', ...finding }]);
  const calendar = calendars.get(request.calendar);
  if (calendar === undefined) {
    throw createRefusal({
      code: 'UNKNOWN_CALENDAR',
      path: 'calendar',
      message: `${request.calendar} is not a calendar of /indices/calendars.`,
      value: request.calendar,
    });
  }
  assertOrder(request);
  const { from, to } = calendar.coverage;
  if (parseValidDay(request.end) > to) {
    throw createRefusal({
      code: 'OUT_OF_RANGE',
      path: field,
      message: `${field} is ${request.end}; sessions of ${request.calendar} are known and generated up to ${formatDay(to)}.`,
      value: request.end,
    });
  }
  if (parseValidDay(request.start) < from) {
    throw createRefusal({
      code: 'OUT_OF_RANGE',
      path: 'start',
      message: `start is ${request.start}; sessions of ${request.calendar} are known and generated from ${formatDay(from)} on.`,
      value: request.start,
    });
  }
  const sessions = listSessionsBetween(calendar.sessions, request.start, request.end).length;
  if (sessions < 2)
    throw createRefusal({
      code: 'EMPTY_RANGE',
      path: 'start',
      message: `${sessions} sessions of ${request.calendar} are in the range; at least 2 are needed.`,
    });
  const bars = sessions * request.assets;
  if (bars > LIMITS.MAX_SYNTHETIC_BARS) {
    const path = field === 'until' ? 'until' : 'assets';
    throw createRefusal({
      code: 'OUT_OF_RANGE',
      path,
      message: `${request.assets} assets on ${sessions} sessions are ${bars} bars; at most ${LIMITS.MAX_SYNTHETIC_BARS} are generated.`,
    });
  }
}
