import type { RefreshRequest } from '#contract/stores.js';
import { type Finding, sortFindings } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay, toCivilDate } from '#domain/base/time.js';
import { type Calendars, listSessionsBetween } from '#domain/calendars/calendar.js';
import {
  DatasetDocument,
  findPendingPrices,
  type GenerateSyntheticRequest,
  isManaged,
} from '#domain/definition/datasets.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { GeneratePayload, GenerateRequest, LoadPayload, RefreshPayload } from '#domain/outputs/jobs.js';
import { type Attempt, type Completion, createJobKind, type JobKind, type Jobs } from '#jobs/port/job-kind.js';
import { isLiveIn, type JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { RefreshMarketOutput } from '#jobs/tasks/markets.js';
import type { UnpublishedDates } from '#market/judge/judged-securities.js';
import type { RefreshReport } from '#market/judge/refresh.js';
import { runMarketTask } from '#market/serve/market-process.js';
import { prepareServedAgain, prepareServedMarket, type ServedMarket } from '#market/serve/served-markets.js';
import { GENERATOR } from '#market/synthetic/factors.js';
import { countRowsByTable, type TableKind } from '#market/tables/table-kinds.js';
import { type DocumentReader, type DocumentStore, type DocumentTransaction, parseStored } from '#store/port.js';
import { findPublishedThrough } from '../shared/run-documents.js';
import {
  isRefreshable,
  recordCopy,
  recordDataVersion,
  requireDataset,
  toDataStore,
} from '../shared/store-documents.js';
import { isGap } from './audits.js';
import { purgeDataVersions } from './data-versions.js';
import {
  type AddedContent,
  createLoadedFields,
  type DatasetActivity,
  recordFailure,
  type SourceTerms,
} from './loading.js';
import {
  activateDataset,
  addStartImport,
  countRows,
  createRefreshFields,
  createReloadFields,
  createSyntheticSpec,
  createWritingDataset,
  deleteUnwritten,
  findNewWarnings,
  hasGrown,
  isChange,
  isOtherTable,
  replaceDataset,
  selectReusableFiles,
  type StoreContext,
  type StoreWork,
  summariseServed,
} from './serving.js';

const KEPT_TEXT = 'nothing was stored, and the earlier content is still served';
const LOST_TEXT =
  'the earlier content was no longer available, and the store has the content that its source had when it was read';

/** Maximum number of listed findings of a rejected refresh. */
const LISTED_MAX = 200;

/**
 * Ensures that no finding has one of the given codes.
 * @param isLost true if the earlier content was lost, so that the source was read in its place
 * @throws Refusal REFRESH_REJECTED
 */
function assertAccepted(findings: readonly Finding[], failOn: readonly string[], isLost = false): void {
  const rejectedFindings = findings.filter(({ code }) => failOn.includes(code));
  if (rejectedFindings.length === 0) return;
  const codes = [...new Set(rejectedFindings.map(({ code }) => code))].join(', ');
  throw new Refusal(
    'REFRESH_REJECTED',
    `The refresh was rejected for ${codes} (fail_on); ${isLost ? LOST_TEXT : KEPT_TEXT}.`,
    { findings: sortFindings(rejectedFindings).slice(0, LISTED_MAX) },
  );
}

/** Creates the function that adds later sessions to a synthetic market. */
function createExtension(context: StoreContext) {
  const { markets, activations, loading, folders, files, calendars, calendarsInUse, versions, timestamp } = context;

  /** Generates the same market with more sessions at the end. The earlier bars do not change. */
  async function extendSynthetic(
    document: DatasetDocument,
    { store_id: datasetId, until, dry_run: isTrial, fail_on: failOn }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const request = document.synthetic!['request'] as GenerateRequest; // this engine wrote the request, for the synthetic generator
    const lastDay = until ?? timestamp().slice(0, 10);
    const end = lastDay > document.end! ? lastDay : document.end!;
    const currentMarket = markets.served();
    const isServed = currentMarket?.handle.datasetId === datasetId;
    const servedMarket = isServed ? currentMarket : (await createUnchangedVersion(document, attempt)).served!;
    const folder = await folders.create(datasetId);
    try {
      const outcome = await readGenerated(document, { ...request, end }, { folder, attempt });
      const { report, warnings, newWarnings } = await attempt.compute(
        'refresh-market',
        {
          held: servedMarket.handle,
          fresh: outcome.handle!,
          options: { until: null, full: true, isWhole: true },
          calendars: await calendarsInUse(datasetId),
        },
        0.2,
      );
      const findings = sortFindings([...report.findings, ...newWarnings]);
      assertAccepted(findings, failOn);
      const result = { value: { store_id: datasetId, dry_run: isTrial, ...report, findings } };
      if (isTrial) {
        await folders.remove(folder, datasetId);
        return { result };
      }
      const currentTimestamp = timestamp();
      const changes: Partial<DatasetDocument> = {
        ...createLoadedFields({ ...outcome.summary, warnings }, currentTimestamp),
        last_refreshed_at: currentTimestamp,
        location: folder,
        ...(await files.keep(folder)),
        synthetic: { generator: GENERATOR, request: { ...request, end } },
      };
      const next = isServed ? await prepareServedMarket(outcome.handle!, currentTimestamp) : undefined;
      const version =
        next === undefined ? null : await versions.prepare(next, { source: 'synthetic', kind: 'synthetic' });
      const preservedContent = next === undefined ? await versions.preserve(datasetId, async () => servedMarket) : null;
      if (next !== undefined) await activations.prepare(next);
      return {
        result,
        async effect(tx) {
          const { document: storedDocument } = await requireDataset(tx, datasetId);
          await tx.put('store', datasetId, {
            ...storedDocument,
            ...changes,
            ...(next === undefined ? {} : summariseServed(next)),
          });
          if (preservedContent !== null) await recordCopy(tx, preservedContent);
          if (version !== null) {
            await recordDataVersion(tx, version, countRows({ rows: outcome.summary.rows }));
            await purgeDataVersions(tx, version.datasetId);
          }
          if (next !== undefined && storedDocument.active) await activations.activate(tx, next);
          if (document.location !== null)
            tx.publish({ type: 'folder-replaced', store_id: datasetId, folder: document.location });
        },
      };
    } catch (failure) {
      await folders.remove(folder, datasetId);
      throw failure;
    }
  }

  async function readGenerated(
    { store_id: datasetId, adjustment, currency }: DatasetDocument,
    request: GenerateRequest,
    { folder, attempt }: { readonly folder: string; readonly attempt: Attempt },
  ) {
    const result = await runMarketTask(
      'generate',
      { spec: createSyntheticSpec(request, calendars), folder },
      {
        load: { datasetId, adjustment, currency },
        onProgress: (fraction, message) => attempt.report(0.8 * fraction, message),
        signal: attempt.signal,
      },
    );
    if (result.kind === 'refused') throw recordFailure(result.findings, 'location');
    return result;
  }

  async function createUnchangedVersion(document: DatasetDocument, attempt: Attempt) {
    const loadOutcome = await loading.read(document, { serve: true, signal: attempt.signal });
    if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'location');
    return loadOutcome;
  }

  return extendSynthetic;
}

/**
 * Returns the dates of a store that no published close has used: those after the last close that was published on the
 * store. If none was, a refresh of a schedule counts those from its day on. On this day, the securities that only a
 * check holds back were not published either, although other indices may be.
 */
async function findUnpublishedDates(
  documents: Pick<DocumentReader, 'get' | 'ids'>,
  datasetId: string,
  day: RefreshPayload['day'],
): Promise<UnpublishedDates> {
  const publishedThrough = await findPublishedThrough(documents, datasetId);
  const dayFrom = day === undefined ? null : parseValidDay(day.date);
  return {
    from: publishedThrough === null ? dayFrom : parseValidDay(publishedThrough) + 1,
    held: day === undefined || dayFrom === null ? null : { identifiers: day.held, from: dayFrom },
  };
}

/** Creates the job that adds later sessions to a store, from its source or for a synthetic market. */
function createRefresh(context: StoreContext) {
  const { documents, markets, stores, activations, loading, calendarsInUse, versions, timestamp } = context;
  const extendSynthetic = createExtension(context);

  async function runRefresh(payload: RefreshPayload, attempt: Attempt): Promise<Completion> {
    await markets.settled();
    const { document } = await requireDataset(documents, payload.store_id);
    return document.kind === 'synthetic'
      ? extendSynthetic(document, payload, attempt)
      : refreshFromSource(document, payload, attempt);
  }

  async function refreshFromSource(
    document: DatasetDocument,
    { store_id: datasetId, until, full, dry_run: isTrial, fail_on: failOn, day }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const servedMarket = await stores.of(datasetId);
    const lossFindings = await findLoss(documents, document, servedMarket);
    const freshData = await readFreshData({ ...document, location: document.source }, servedMarket, full, attempt);
    const lastDay = until === null ? null : parseValidDay(until);
    const { changed_prices: changedPrices = [] } = document;
    const refreshOutput = await attempt.compute(
      'refresh-market',
      {
        held: isTrial ? removeSpareMemory(servedMarket.handle) : servedMarket.handle,
        fresh: freshData.handle,
        options: {
          until: lastDay,
          full,
          isWhole: freshData.isWhole,
          ...(changedPrices.length > 0 && { accepted: changedPrices }),
          unchangedTables: freshData.unchangedTables,
          dividendErrors: freshData.summary.dividendErrors ?? [],
          unpublished: await findUnpublishedDates(documents, datasetId, day),
        },
        calendars: await calendarsInUse(datasetId),
      },
      0.3,
    );
    const { handle, isSameTables, report, warnings, newWarnings } = refreshOutput;
    const { readWarnings = [] } = freshData.summary;
    const causedWarnings = mergeFindings(lossFindings, [
      ...findNewWarnings(readWarnings, document.findings),
      ...newWarnings,
    ]);
    assertAccepted([...report.findings, ...causedWarnings], failOn, lossFindings.length > 0);
    const fullReport = createReport(refreshOutput, causedWarnings, document, servedMarket);
    const value = { store_id: datasetId, dry_run: isTrial, ...fullReport };
    if (isTrial) return { result: { value } };
    const currentTimestamp = timestamp();
    const files = selectReusableFiles(freshData.files, report).filter((file) => lastDay === null || isOtherTable(file));
    const refreshedMarket = isSameTables
      ? prepareServedAgain(handle, servedMarket, currentTimestamp, files)
      : await prepareServedMarket(handle, currentTimestamp, files);
    const changes: Partial<DatasetDocument> = {
      ...createLoadedFields(
        { ...freshData.summary, warnings: sortFindings([...report.findings, ...readWarnings, ...warnings]) },
        currentTimestamp,
      ),
      last_refreshed_at: currentTimestamp,
      taken_at_start: null,
      location: document.source,
      ...createRefreshFields(refreshOutput),
      rows:
        full && lastDay === null
          ? { ...freshData.summary.rows }
          : countRowsAfter(document, freshData, report, refreshedMarket),
    };
    const version = await versions.prepare(refreshedMarket, { source: 'refresh', kind: document.kind });
    await activations.prepare(refreshedMarket);
    return {
      result: { value },
      async effect(tx) {
        const { document: storedDocument } = await requireDataset(tx, datasetId);
        const write = storedDocument.active ? activateDataset : replaceDataset;
        const after = { ...storedDocument, ...changes, ...findPendingPrices(storedDocument, document) };
        await write(tx, { document: after, served: refreshedMarket, activations, version });
      },
    };
  }

  /** Returns the data to refresh: the whole source, or its later days. */
  async function readFreshData(
    source: SourceTerms & Pick<DatasetDocument, 'changed_prices'>,
    servedMarket: ServedMarket,
    isFull: boolean,
    attempt: Attempt,
  ): Promise<FreshData> {
    const options = {
      onProgress: (fraction: number, message: string) => attempt.report(0.7 * fraction, message),
      signal: attempt.signal,
    };
    const after = servedMarket.market.dates.at(-1);
    const isChanged = (source.changed_prices ?? []).length > 0;
    if (isFull || isChanged || after === undefined) {
      const loadOutcome = await loading.read(source, { serve: true, ...options });
      if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'source');
      return {
        summary: loadOutcome.summary,
        handle: loadOutcome.served!.handle,
        isWhole: true,
        unchangedTables: [],
        files: loadOutcome.served!.files,
      };
    }
    const addition = await loading.readAddition(source, { lastDay: after, knownFiles: servedMarket.files, ...options });
    if (addition.kind === 'refused') throw recordFailure(addition.findings, 'source');
    return addition;
  }

  return runRefresh;
}

/** Number of dates before a refresh for which gaps are reported again. A later delivery may fill these gaps. */
const RECENT_DATES = 5;

/**
 * Returns the report of a refresh. Adds the changes that earlier starts accepted, the data warnings that the refresh
 * caused, and the partial dates and gaps among the last dates.
 */
function createReport(
  { report, warnings }: RefreshMarketOutput,
  causedWarnings: readonly Finding[],
  { taken_at_start: startImport }: DatasetDocument,
  { market: { dates } }: ServedMarket,
): RefreshReport {
  const recentFrom = dates.at(-Math.min(RECENT_DATES + (startImport?.dates_added ?? 0), dates.length))!;
  const refreshReport = addStartImport(report, startImport, warnings);
  const recentDates = selectRecentPartialDates(warnings, recentFrom);
  return {
    ...refreshReport,
    findings: sortFindings(mergeFindings(mergeFindings(refreshReport.findings, causedWarnings), recentDates)),
  };
}

/** Returns findings followed by those of others that have another code or path. */
const mergeFindings = (findings: readonly Finding[], others: readonly Finding[]): readonly Finding[] => [
  ...findings,
  ...others.filter(({ code, path }) => !findings.some((each) => each.code === code && each.path === path)),
];

/**
 * Returns the findings of a store whose stored content was lost, so that its source was read in its place: how the
 * source differs, and the data warnings that the stored content did not have. Returns none if the content is available.
 */
async function findLoss(
  documents: DocumentStore,
  stored: DatasetDocument,
  { identity }: ServedMarket,
): Promise<readonly Finding[]> {
  if (stored.content_hash === null || identity.contentHash === stored.content_hash) return [];
  const { document } = await requireDataset(documents, stored.store_id);
  const readFindings = document.findings as readonly Finding[]; // this engine wrote the findings
  const newFindings = new Set(findNewWarnings(readFindings, stored.findings));
  return readFindings.filter((finding) => isChange(finding.code) || newFindings.has(finding));
}

const selectRecentPartialDates = (warnings: readonly Finding[], from: Day): Finding[] =>
  warnings.filter(
    (warning) => (warning.code === 'PARTIAL_DATE' || isGap(warning)) && warning.path >= `market[${formatDay(from)}]`,
  );

/** Returns a market without the spare memory after its last day. The next refresh can then use that memory. */
function removeSpareMemory(handle: MarketHandle): MarketHandle {
  const { taken: _, ...rest } = handle;
  return rest;
}

type FreshData = Omit<AddedContent, 'kind'>;

function countRowsAfter(
  { rows }: DatasetDocument,
  { summary, unchangedTables }: FreshData,
  { datasets, rejected_total: rejectedCount }: RefreshReport,
  { market: { actions } }: ServedMarket,
): DatasetDocument['rows'] {
  const countEarlierRows = (table: TableKind) => rows?.[table] ?? 0;
  const countRows = (table: TableKind) => {
    if (unchangedTables.includes(table)) return countEarlierRows(table);
    return rejectedCount > 0 && table === 'corporate_actions' ? actions.length : (summary.rows[table] ?? 0);
  };
  return countRowsByTable((table) =>
    table === 'market'
      ? countEarlierRows('market') + datasets.market.added - datasets.market.removed
      : countRows(table),
  );
}

export interface DatasetJobs {
  readonly load: JobKind<LoadPayload>;
  readonly generate: JobKind<GeneratePayload>;
  readonly refresh: JobKind<RefreshPayload>;
  /** Job kind that refreshes the served store. Its name comes from its route. */
  readonly sync: JobKind<RefreshPayload>;
}

export function createDatasetJobs(context: StoreContext): DatasetJobs {
  const { documents, activations, loading, folders, files, calendars, calendarsInUse, versions, timestamp } = context;

  async function runLoad({ store_id: datasetId }: LoadPayload, attempt: Attempt): Promise<Completion> {
    const { document } = await requireDataset(documents, datasetId);
    try {
      const loadOutcome = await loading.read(document, {
        serve: true,
        willBeActive: true,
        onProgress: attempt.report,
        signal: attempt.signal,
      });
      if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'location');
      const { summary, served } = loadOutcome;
      const isGrown = await hasGrown(document, served!); // the read was requested with panels
      const version = await versions.prepare(served!, { source: 'reload', kind: document.kind });
      const counts = version?.rows ?? null;
      const fields = createReloadFields(document, { summary, served: served!, hasGrown: isGrown, counts }, timestamp());
      const after = { ...document, ...fields };
      await activations.prepare(served!);
      return {
        result: { value: toDataStore({ ...after, active: true }, { isServed: true, activity: undefined }) },
        async effect(tx) {
          const { document: storedDocument } = await requireDataset(tx, datasetId);
          const activatedDocument = { ...storedDocument, ...fields, ...findPendingPrices(storedDocument, document) };
          await activateDataset(tx, { document: activatedDocument, served: served!, activations, version });
        },
      };
    } catch (failure) {
      if (failure instanceof Refusal && !attempt.signal.aborted) await noteFailure(documents, datasetId, failure);
      throw failure;
    }
  }

  async function runGenerate(payload: GeneratePayload, attempt: Attempt): Promise<Completion> {
    const { store_id: datasetId, request } = payload;
    const folder = await folders.create(datasetId);
    try {
      const spec = createSyntheticSpec(request, calendars);
      const load = request.activate ? { datasetId, adjustment: 'none' as const, currency: request.currency } : null;
      const result = await runMarketTask(
        'generate',
        { spec, folder },
        {
          load,
          calendars: await calendarsInUse(datasetId, request.activate),
          onProgress: attempt.report,
          signal: attempt.signal,
        },
      );
      if (result.kind === 'refused') throw recordFailure(result.findings, 'location');
      const currentTimestamp = timestamp();
      const servedMarket =
        result.handle === null ? undefined : await prepareServedMarket(result.handle, currentTimestamp);
      if (servedMarket !== undefined) await activations.prepare(servedMarket);
      const after: DatasetDocument = {
        ...createWritingDataset(payload),
        ...createLoadedFields(result.summary, currentTimestamp),
        writing: false,
        location: folder,
        ...(await files.keep(folder)),
        active: servedMarket !== undefined,
      };
      const version =
        servedMarket === undefined
          ? null
          : await versions.prepare(servedMarket, { source: 'synthetic', kind: 'synthetic' });
      return {
        result: { value: toDataStore(after, { isServed: servedMarket !== undefined, activity: undefined }) },
        async effect(tx) {
          if (servedMarket === undefined) await tx.put('store', datasetId, after);
          else await activateDataset(tx, { document: after, served: servedMarket, activations, version });
        },
      };
    } catch (failure) {
      await folders.remove(folder, datasetId);
      await deleteUnwritten(documents, datasetId);
      throw failure;
    }
  }

  const runRefresh = createRefresh(context);
  return {
    load: createJobKind('load', runLoad),
    generate: createJobKind('generate', runGenerate),
    refresh: createJobKind('refresh', runRefresh),
    sync: createJobKind('sync', runRefresh),
  };
}

/** Stores the reason why a store could not be read. The document still describes the earlier content. */
async function noteFailure(documents: DocumentStore, datasetId: string, failure: Refusal): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const storedDocument = await tx.get('store', datasetId);
      const document = parseStored(storedDocument, DatasetDocument);
      if (document !== undefined)
        await tx.put('store', datasetId, {
          ...document,
          error: { code: failure.code, message: failure.message, detail: failure.detail },
        });
    },
    { reserve: true },
  );
}

/** Memory in bytes for reading a store, in addition to its panels: the reader process and its buffers. */
const READER_BYTES = 512 << 20;

export type RefreshedDay = NonNullable<RefreshPayload['day']>;

export interface DatasetSubmissions {
  /** Queues the activation of a store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  activate(datasetId: string, origin: JobOrigin | null): Promise<JobStatus>;
  /** Queues the generation of a synthetic store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_LOADING */
  generate(request: GenerateSyntheticRequest, origin: JobOrigin | null, by?: Authorship): Promise<JobStatus>;
  /**
   * Queues a refresh of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, NOTHING_TO_REFRESH, STORE_NOT_SERVED,
   *   STORE_LOADING, STORE_REFRESHING
   */
  refresh(datasetId: string, request: RefreshRequest, origin: JobOrigin | null, day?: RefreshedDay): Promise<JobStatus>;
  /** Refreshes the served store. @throws Refusal NO_DATA_SOURCE, and the refusals of `refresh` */
  sync(request: RefreshRequest, origin: JobOrigin | null, day?: RefreshedDay): Promise<JobStatus>;
}

export function createDatasetSubmissions(context: StoreWork, kinds: DatasetJobs): DatasetSubmissions {
  const { documents, activity, jobs, markets, calendars, timestamp } = context;
  const admitJob = createJobAdmission(context);

  async function activate(datasetId: string, origin: JobOrigin | null): Promise<JobStatus> {
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
    {
      request,
      origin,
      day,
    }: { readonly request: RefreshRequest; readonly origin: JobOrigin | null; readonly day: RefreshedDay | undefined },
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
    origin: JobOrigin | null,
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
    origin: JobOrigin | null,
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
function createJobAdmission({ documents, activity, jobs }: StoreWork) {
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

async function findLiveGeneration(jobs: Jobs, key: string): Promise<JobStatus | undefined> {
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
function assertRefreshable(document: DatasetDocument, { until }: RefreshRequest, calendars: Calendars): void {
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

interface GenerationTerms {
  readonly request: GenerateSyntheticRequest;
  readonly origin: JobOrigin | null;
  readonly by: Authorship | undefined;
}

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
