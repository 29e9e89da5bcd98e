import type { DifferencesView } from '#contract/differences.js';
import type { RunsDifference } from '#contract/runs.js';
import type { DataDifferenceView } from '#contract/stores.js';
import { mayDifferInBits } from '#domain/backtest/plan.js';
import { roundToCommonGrid } from '#domain/backtest/run-file/compare.js';
import { type DocumentChange, listChanges, toCanonicalJson } from '#domain/base/json.js';
import type { Finding } from '#domain/base/findings.js';
import { assertNoErrors, Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import type { Calendar } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { isRateAvailable } from '#domain/market/rates.js';
import type { MarketData, MarketHandle } from '#domain/market/market-data.js';
import {
  createDifferenceRows,
  DIFFERENCE_TABLES,
  type DifferenceTable,
  type ExportFormat,
} from '#domain/outputs/exports.js';
import type { DifferencesPayload, ReplayPayload, RunDifferencePayload } from '#domain/outputs/jobs.js';
import { findRuleId } from '#domain/studies/difference-terms.js';
import type { DifferenceQuestion } from '#domain/studies/differences.js';
import { type Attempt, createJobKind, type JobKind, type JobSystem } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { ComparedDifference } from '#jobs/tasks/runs.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import { computeRunId } from '#store/port.js';
import { createRowTableFile } from '#views/exports/files.js';
import { limitJobs } from '../keys/access.js';
import type { Context } from '../shared/context.js';
import { assertNotDeleted } from '../shared/jobs.js';
import { createContent, createModelReferences, resolveMatrixPaths } from '../shared/model-documents.js';
import {
  assertHasRuns,
  assertUndamaged,
  createPayload,
  createProvenance,
  getColumns,
  readStoredPlan,
  type RequestedRun,
  requireRun,
  resolveColumnsFile,
} from '../shared/run-documents.js';
import { listVersionFilesBefore } from '../stores/data-versions.js';

/** Stored run with all its inputs. */
interface RunSide {
  readonly run: RunDocument;
  readonly plan: BacktestPlan;
  /** Version of the run's data; null if it is unknown. */
  readonly version: number | null;
  readonly market: MarketHandle | UnavailableValue;
}

/** Value that is unavailable, with the reason as a sentence. */
interface UnavailableValue {
  readonly reason: string;
}

/** Inputs of a replayed run. */
interface Inputs {
  readonly plan: BacktestPlan;
  /** Run that provides the data. */
  readonly data: RunSide;
}

interface Causes {
  readonly definition: DocumentChange[];
  readonly request: DocumentChange[];
  readonly isOtherData: boolean;
}

export interface RunEnds {
  readonly from: RunSide;
  readonly to: RunSide;
  /** Total returns of both runs as stored. */
  readonly totals: readonly number[];
  readonly engineVersion: string;
}

type Effects = Pick<RunsDifference, 'effects' | 'effects_reason' | 'total_return'>;

/**
 * Splits a difference into its causes. Definition, request and data are replaced one at a time on the current engine.
 * Any remaining difference between a replay and a stored result is due to the engine.
 * @param value total return of a replay
 */
async function attributeDifference(
  { definition, request, isOtherData }: Causes,
  { from, to, totals, engineVersion }: RunEnds,
  value: (inputs: Inputs) => Promise<number | UnavailableValue>,
): Promise<Effects> {
  const isOtherEngine = (side: RunSide): boolean => mayDifferInBits(side.run.engine_version, engineVersion);
  const [first, last] = [totals[0]!, totals[1]!];
  const start = isOtherEngine(from) ? await value({ plan: from.plan, data: from }) : first;
  const isEnd = { request: !isOtherData, definition: request.length === 0 && !isOtherData };
  const endValue = isOtherEngine(to) ? await value({ plan: to.plan, data: to }) : last;
  const exchangedPlan = {
    ...to.plan,
    documents: { ...from.plan.documents, ...to.plan.documents },
    request: from.plan.request,
  };
  const step = async (
    isChanged: boolean,
    previousValue: number | UnavailableValue,
    isLast: boolean,
    plan: BacktestPlan,
  ) => {
    if (!isChanged) return previousValue;
    return isLast ? endValue : value({ plan, data: from });
  };
  const afterDefinition = await step(definition.length > 0, start, isEnd.definition, exchangedPlan);
  const afterRequest = await step(request.length > 0, afterDefinition, isEnd.request, to.plan);
  const afterData = isOtherData ? endValue : afterRequest;
  const path = [first, start, afterDefinition, afterRequest, afterData, endValue, last];
  const unavailableValue = path.find((pathPart) => typeof pathPart === 'object');
  if (unavailableValue !== undefined) {
    const [low, high] = roundToCommonGrid([first, last]);
    return { effects: null, effects_reason: unavailableValue.reason, total_return: high! - low! };
  }
  const knownEffects = path.filter((pathPart) => typeof pathPart === 'number');
  const [a, b, c, d, e, f, g] = roundToCommonGrid(knownEffects) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    effects: [
      { cause: 'definition', total_return: c - b },
      { cause: 'request', total_return: d - c },
      { cause: 'data', total_return: e - d },
      { cause: 'engine', total_return: b - a + (f - e) + (g - f) },
    ],
    effects_reason: null,
    total_return: g - a,
  };
}

export interface Replays {
  /**
   * Checks that a run exists. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE; `replay` throws
   * these too
   */
  assertRun(name: RequestedRun): Promise<void>;
  /** Queues a replay. @throws Refusal NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
  replay(name: RequestedRun, origin: JobOrigin | null): Promise<JobStatus>;
}

/** Creates the kind of job that repeats a stored run and compares the results. */
export function createReplayJob({
  documents,
  artifacts,
  markets,
  states,
  dataVersions,
}: Context): JobKind<ReplayPayload> {
  return createJobKind('replay', async ({ run_id: runId, which_run: id, engine_version: engineVersion }, attempt) => {
    await markets.settled();
    const { identity } = markets.require();
    await assertNotDeleted(documents, runId, 'replay');
    const run = await requireRun(documents, { subject: runId, id });
    const plan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
    const { models = {} } = run.artifacts;
    const isAsKnown = plan.request.as_known !== undefined;
    const knownTerms = isAsKnown
      ? { known: await dataVersions.before((await dataVersions.at(undefined)).version) }
      : {};
    const { view } = await attempt.compute('replay', {
      market: identity,
      plan,
      ...createModelReferences(plan.models, models),
      ...knownTerms,
      engineVersion,
      definitionChanged: (await states.findStaleState(run))?.definition ?? false,
      stored: { ...createProvenance(run), runAt: run.run_at },
      columns: getColumns(run),
      outputs: attempt.outputs(['view']),
    });
    return { result: { artifact: view }, effect: (tx) => assertNotDeleted(tx, runId, 'replay') };
  });
}

/** @param estimatedBytes returns the maximum memory of a backtest on the served market, in bytes */
export function createReplays(
  { documents, jobs, states, stores, engineVersion }: Context,
  kind: JobKind<ReplayPayload>,
  estimatedBytes: () => number,
): Replays {
  /**
   * Returns the store of a run. If that store is unreadable, returns the active store; the replay then reports that the
   * data is different.
   */
  async function findReplayStore(run: RunDocument): Promise<string | undefined> {
    return (await states.findMarket(run)) === undefined ? undefined : states.findStore(run);
  }

  return {
    assertRun: async (name) => void (await requireRun(documents, name)),
    async replay(name, origin) {
      const run = await requireRun(documents, name);
      return stores.within(await findReplayStore(run), () =>
        jobs.submit({
          kind,
          payload: { ...createPayload(name), run_hash: run.run_hash, engine_version: engineVersion },
          request: {},
          estimatedBytes: estimatedBytes(),
          message: 'waiting for a worker',
          origin,
        }),
      );
    },
  };
}

/** Reads stored runs with their inputs. */
function createSideReader({ documents, artifacts, markets, dataVersions }: Context) {
  async function readSide(subject: string, id?: string): Promise<RunSide> {
    const run = await requireRun(documents, { subject, id });
    const plan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
    const version = await dataVersions.findVersion(run.store_id ?? '', run.store_content_hash);
    return { run, plan, version, market: await readMarket(run, version) };
  }

  /** Returns the market from which a run was computed, or the reason why it is unavailable. */
  async function readMarket(run: RunDocument, version: number | null): Promise<MarketHandle | UnavailableValue> {
    const servedHandle = markets.served()?.handle;
    if (servedHandle === undefined)
      return { reason: `A replay needs the data of ${describeRun(run)}: no data store is served.` };
    const declaredTerms = {
      adjustment: run.adjustment ?? servedHandle.adjustment,
      currency: run.declared_currency === undefined ? (servedHandle.currency ?? null) : run.declared_currency,
    };
    if (servedHandle.contentHash === run.store_content_hash) return { ...servedHandle, ...declaredTerms };
    if (servedHandle.datasetId !== run.store_id)
      return {
        reason: `A replay needs the data of ${describeRun(run)}, made on the store ${run.store_id ?? 'of before stores were named'}; ${servedHandle.datasetId} is served.`,
      };
    if (version === null)
      return {
        reason: `The data of ${describeRun(run)} cannot be had again: no version of ${servedHandle.datasetId} has it.`,
      };
    try {
      return { ...(await dataVersions.at(version)).served.handle, ...declaredTerms };
    } catch (refusal) {
      if (refusal instanceof Refusal && ['NO_DATA_KNOWN', 'DOCUMENT_UNREADABLE'].includes(refusal.code))
        return { reason: refusal.message };
      throw refusal;
    }
  }

  /** Returns the stored risk models that a plan uses. The files are those of the run that was made from the plan. */
  async function findModels(plan: BacktestPlan, sides: readonly RunSide[]): Promise<{ readonly models?: ModelFiles }> {
    if (plan.models === undefined) return {};
    const files: Record<string, ModelFiles[string]> = {};
    for (const [id, model] of Object.entries(plan.models)) {
      const side = sides.find(
        (runSide) => toCanonicalJson(runSide.plan.models?.[id] ?? null) === toCanonicalJson(plan.models![id]),
      );
      const file = side?.run.artifacts.models?.[id];
      if (file !== undefined) files[id] = { paths: await resolveMatrixPaths(artifacts, file), ...createContent(model) };
    }
    return { models: files };
  }

  return { readSide, findModels };
}

const CELLS_MAX = 100;

/** Creates the kind of job that explains the differences between two stored runs. */
export function createRunDifferenceJob(context: Context): JobKind<RunDifferencePayload> {
  const { documents, artifacts, markets, dataVersions } = context;
  const { readSide, findModels } = createSideReader(context);

  return createJobKind('diff', async (payload, attempt) => {
    await markets.settled();
    const { run_id: subject, engine_version: engineVersion } = payload;
    await assertNotDeleted(documents, subject, 'comparison');
    const [from, to] = [await readSide(subject, payload.from), await readSide(subject, payload.to)];
    for (const { run } of [from, to]) await assertUndamaged(artifacts, run);
    const levels = await attempt.compute(
      'compare-levels',
      { from: await resolveColumnsFile(artifacts, from.run), to: await resolveColumnsFile(artifacts, to.run) },
      0.1,
    );
    const causes = findCauses(from, to);
    const readValue = async ({ plan, data: { market, version } }: Inputs): Promise<number | UnavailableValue> => {
      if ('reason' in market) return market;
      try {
        const knownDifferences =
          plan.request.as_known === undefined ? {} : { known: await listVersionFilesBefore(context, version) };
        const input = { market, plan, ...(await findModels(plan, [from, to])), ...knownDifferences };
        return (await attempt.compute('total-return', input, 0.2)).totalReturn;
      } catch (refusal) {
        // the definition of one run may not work with the data of the other
        if (refusal instanceof Refusal) return { reason: `A replay was refused: ${refusal.message}` };
        throw refusal;
      }
    };
    const runEnds = { from, to, totals: levels.totalReturns, engineVersion };
    const effects = await attributeDifference(causes, runEnds, readValue);
    const result: RunsDifference = {
      same_levels: levels.firstDifference === null,
      first_difference: levels.firstDifference,
      largest: levels.largest,
      definition: causes.definition,
      request: causes.request,
      data: await compareData(from, to, attempt),
      engine: { from: from.run.engine_version, to: to.run.engine_version },
      ...effects,
    };
    return { result: { value: result }, effect: (tx) => assertNotDeleted(tx, subject, 'comparison') };
  });

  async function compareData(
    from: RunSide,
    to: RunSide,
    { signal }: Pick<Attempt, 'signal'>,
  ): Promise<RunsDifference['data']> {
    const stores = { from: from.run.store_id ?? null, to: to.run.store_id ?? null };
    if (isSameData(from.run, to.run))
      return { cells: 0, first: [], rows: NO_ROWS, appended: null, stores, reason: null };
    if (stores.from === null || stores.from !== stores.to)
      return { ...UNKNOWN_DATA, stores, reason: 'The runs were made on two data stores.' };
    for (const { market, version, run } of [from, to]) {
      if ('reason' in market) return { ...UNKNOWN_DATA, stores, reason: market.reason };
      if (version === null)
        return { ...UNKNOWN_DATA, stores, reason: `No version of ${stores.from} has the data of ${describeRun(run)}.` };
    }
    const versions = { from: from.version!, to: to.version!, limit: CELLS_MAX, appended: false }; // both versions are known, see above
    const bytes = await dataVersions.difference(stores.from, versions, signal);
    const dataDifference = JSON.parse(new TextDecoder().decode(bytes)) as DataDifferenceView; // the task wrote this JSON
    const { cells, changes, appended, rows_added, rows_changed, rows_removed } = dataDifference;
    const rows = { rows_added, rows_changed, rows_removed };
    return { cells, first: changes, rows, appended, stores, reason: null };
  }
}

const describeRun = (run: RunDocument): string => `the run ${computeRunId(run)}`;

/** Row counts of equal contents. */
const NO_ROWS = { rows_added: 0, rows_changed: 0, rows_removed: 0 };

const UNKNOWN_DATA = { cells: null, first: [], rows: null, appended: null };

function findCauses(from: RunSide, to: RunSide): Causes {
  return {
    definition: listDefinitionChanges(from.plan, to.plan),
    request: listChanges(from.plan.request, to.plan.request),
    isOtherData: !isSameData(from.run, to.run),
  };
}

/** Returns true if two runs used the same content and if the declarations of its store were the same. */
function isSameData(from: RunDocument, to: RunDocument): boolean {
  return (
    from.store_content_hash === to.store_content_hash &&
    from.adjustment === to.adjustment &&
    (from.declared_currency ?? null) === (to.declared_currency ?? null)
  );
}

/** Lists the changes of the definition, then of the documents that it refers to, then of the terms of a strategy. */
function listDefinitionChanges(from: BacktestPlan, to: BacktestPlan): DocumentChange[] {
  const { [from.indexId]: previousIndex, ...reachedBefore } = from.documents;
  const { [to.indexId]: after, ...reachedAfter } = to.documents;
  const selectOtherDocuments = (plan: BacktestPlan, documents: BacktestPlan['documents']) => ({
    documents: removeBenchmark(plan, documents),
    models: plan.models ?? {},
    strategy: plan.strategy ?? null,
    index_id: plan.indexId,
  });
  return [
    ...listChanges(previousIndex, after),
    ...listChanges(selectOtherDocuments(from, reachedBefore), selectOtherDocuments(to, reachedAfter)),
  ];
}

/** Removes the documents of the benchmark. The benchmark is part of the request. */
function removeBenchmark(
  { request: { benchmark } }: BacktestPlan,
  documents: BacktestPlan['documents'],
): BacktestPlan['documents'] {
  return Object.fromEntries(Object.entries(documents).filter(([id]) => id !== benchmark?.id));
}

export interface RunDifferences {
  /**
   * Queues a comparison. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_SOURCE,
   * STORE_MISMATCH, JOB_RUNNING
   */
  difference(subject: string, ids: () => RunIds, origin: JobOrigin | null): Promise<JobStatus>;
}

export interface RunIds {
  readonly from: string;
  readonly to: string;
}

export function createRunDifferences(
  { documents, jobs, states, stores, engineVersion }: Context,
  kind: JobKind<RunDifferencePayload>,
  estimatedBytes: () => number,
): RunDifferences {
  return {
    async difference(subject, ids, origin) {
      await assertHasRuns(documents, subject);
      const { from, to } = ids();
      const runs = [
        await requireRun(documents, { subject, id: from }),
        await requireRun(documents, { subject, id: to }),
      ];
      // A job has the market of only one store. Runs on two stores are therefore compared without their market.
      const isSameStore = runs[0]!.store_id === runs[1]!.store_id;
      if (isSameStore) for (const run of runs) await states.requireMarket(run);
      return stores.within(isSameStore ? await states.findStore(runs[0]!) : undefined, () =>
        jobs.submit({
          kind,
          payload: { run_id: subject, from, to, engine_version: engineVersion },
          request: { from, to },
          estimatedBytes: 2 * estimatedBytes(),
          message: 'waiting for a worker',
          origin,
        }),
      );
    },
  };
}

/** Creates the kind of job that explains why a level from outside differs from a stored run. */
export function createOutsideDifferenceJob(context: Context): JobKind<DifferencesPayload> {
  const { documents, artifacts, markets } = context;
  const { readSide, findModels } = createSideReader(context);
  return createJobKind('differences', async ({ run_id: subject, which_run: id, request }, attempt) => {
    await markets.settled();
    await assertNotDeleted(documents, subject, 'comparison');
    const side = await readSide(subject, id);
    const { run, plan, market } = side;
    await assertUndamaged(artifacts, run);
    if ('reason' in market) throw new Refusal('STORE_MISMATCH', market.reason);
    const models = await findModels(plan, [side]);
    const difference = await attempt.compute('differences', {
      market,
      plan,
      ...models,
      columns: await resolveColumnsFile(artifacts, run),
      question: request,
    });
    const result: DifferencesView = {
      index_id: plan.indexId,
      run_id: computeRunId(run),
      ...toMutable(difference),
    };
    return { result: { value: result }, effect: (tx) => assertNotDeleted(tx, subject, 'comparison') };
  });
}

/** Returns JSON data without the marks of constant data. */
const toMutable = (difference: ComparedDifference): Omit<DifferencesView, 'index_id' | 'run_id'> =>
  difference as Omit<DifferencesView, 'index_id' | 'run_id'>;

export interface OutsideDifferences {
  /** Checks that a run exists. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  assertRun(name: RequestedRun): Promise<void>;
  /**
   * Queues an explanation.
   * @throws Refusal VALIDATION_FAILED for unknown names, or if too few levels are on sessions of the run; NO_DATA_SOURCE,
   * STORE_MISMATCH, JOB_RUNNING
   */
  explain(name: RequestedRun, question: DifferenceQuestion, origin: JobOrigin | null): Promise<JobStatus>;
  /** Returns the last explanation of an index. @throws Refusal JOB_NOT_FOUND */
  last(subject: string): Promise<DifferencesView>;
  /** Returns a table of the last explanation as a file. @throws Refusal JOB_NOT_FOUND */
  table(subject: string, file: DifferenceFile): Promise<Uint8Array<ArrayBuffer>>;
}

interface DifferenceFile {
  readonly table: DifferenceTable;
  readonly format: Exclude<ExportFormat, 'json'>;
}

/** Explanation as a job stored it. One of release 0.11.0 has no steps. */
type StoredDifference = Omit<DifferencesView, 'steps'> & Partial<Pick<DifferencesView, 'steps'>>;

/**
 * Returns the last explanation of an index that succeeded; undefined if there is none. In one of release 0.11.0 each
 * cause is a step.
 */
export async function findLastDifference(
  jobs: Pick<JobSystem, 'find'>,
  subject: string,
): Promise<DifferencesView | undefined> {
  const job = await jobs.find(`differences:${subject}`);
  const stored = (job?.status.result ?? undefined) as StoredDifference | undefined; // the kind of the job determines its result
  if (stored === undefined) return undefined;
  const {
    steps = stored.causes.map(({ sentence, sessions, effect_bps }, k) => ({
      causes: [k],
      sentence,
      sessions,
      effect_bps,
    })),
  } = stored;
  return { ...stored, steps };
}

export function createOutsideDifferences(
  { documents, artifacts, calendars, jobs, states, stores, engineVersion }: Context,
  kind: JobKind<DifferencesPayload>,
  estimatedBytes: () => number,
): OutsideDifferences {
  async function requireLast(subject: string): Promise<DifferencesView> {
    await assertHasRuns(documents, subject);
    const last = await findLastDifference(limitJobs(jobs), subject);
    if (last !== undefined) return last;
    const id = `differences:${subject}`;
    throw new Refusal('JOB_NOT_FOUND', `No explanation of a level from outside is stored for ${subject}.`, {
      job_id: id,
    });
  }
  return {
    assertRun: async (name) => void (await requireRun(documents, name)),
    async explain(name, question, origin) {
      const run = await requireRun(documents, name);
      const { market } = await states.requireMarket(run);
      const { documents: defined, indexId } = addDefaultsToPlan(await readStoredPlan(artifacts, run));
      const calendar = calendars.get(defined[indexId]!.calendar);
      const { currency } = defined[findRuleId({ documents: defined, indexId })]!;
      assertNoErrors('request', listFindings(question, { run, market, calendar, currency }));
      return stores.within(await states.findStore(run), () =>
        jobs.submit({
          kind,
          payload: { ...createPayload(name), request: question, engine_version: engineVersion },
          request: { ...question, levels: undefined, count: question.levels?.length ?? null },
          estimatedBytes: 2 * estimatedBytes(),
          message: 'waiting for a worker',
          origin,
        }),
      );
    },
    last: requireLast,
    async table(subject, { table, format }) {
      const rows = createDifferenceRows(table, await requireLast(subject));
      const file = { runId: subject, name: table, columns: DIFFERENCE_TABLES[table], rows };
      return Uint8Array.from(await createRowTableFile(file, format));
    },
  };
}

interface QuestionTerms {
  readonly run: RunDocument;
  readonly market: MarketData;
  /** Undefined for a calendar that the service does not have. */
  readonly calendar: Calendar | undefined;
  /** Currency of the index whose rules decide the securities. */
  readonly currency: string;
}

/** Returns what cannot be compared with a run: unknown names, a currency that changes no level, and dates that are no sessions. */
function listFindings(
  { levels, series, currency, start, end, compositions = [] }: DifferenceQuestion,
  { run, market, calendar, currency: own }: QuestionTerms,
): Finding[] {
  const findings: Finding[] = [];
  const refuse = (code: Finding['code'], path: string, message: string, value?: unknown): void =>
    void findings.push({
      severity: 'error',
      code,
      path,
      message: `${message}.`,
      ...(value === undefined ? {} : { value }),
    });
  const identifiers = new Set(market.identifiers);
  const store = `the data store ${market.datasetId}`;
  if (series !== undefined && market.series?.has(series) !== true && !identifiers.has(series))
    refuse(
      'UNKNOWN_IDENTIFIER',
      'series',
      `series is ${series}; ${store} has no series and no security of this name`,
      series,
    );
  const isInRun = (date: string): boolean => date >= run.start && date <= run.end;
  const isSession = (date: string): boolean => calendar?.isSession(parseValidDay(date)) !== false;
  const covers = `the run covers ${run.start} to ${run.end}`;
  const hasPair = (pair: string): boolean => identifiers.has(pair) || market.series?.has(pair) === true;
  if (currency !== null && currency !== own && !isRateAvailable(hasPair, own, currency))
    refuse(
      'OUT_OF_RANGE',
      'currency',
      `currency is ${currency}, but the index is in ${own} and ${store} has no rate between them`,
      currency,
    );
  for (const [k, { date, weights, index_shares: shares }] of compositions.entries()) {
    const path = `compositions[${k}]`;
    if (!isInRun(date)) refuse('OUT_OF_RANGE', `${path}.date`, `${path}.date is ${date}; ${covers}`, date);
    else if (!isSession(date))
      refuse('OUT_OF_RANGE', `${path}.date`, `${path}.date is ${date}, which is no session of ${calendar!.code}`, date);
    const field = weights === undefined ? 'index_shares' : 'weights';
    for (const name of Object.keys(weights ?? shares ?? {}))
      if (!identifiers.has(name))
        refuse(
          'UNKNOWN_IDENTIFIER',
          `${path}.${field}.${name}`,
          `${path}.${field} contains ${name}; ${store} has no security of this name`,
          name,
        );
  }
  if (levels === undefined) return findings;
  const compared = [...levels.entries()].filter(
    ([, { date }]) => isInRun(date) && date >= (start ?? date) && date <= (end ?? date),
  );
  const count = compared.filter(([, { date }]) => isSession(date)).length;
  if (count >= 2) return findings;
  if (compared.length < 2) {
    refuse(
      'OUT_OF_RANGE',
      'levels',
      `${covers}; ${compared.length} of the ${levels.length} levels are on these dates, at least 2 are needed`,
    );
    return findings;
  }
  const [k, { date }] = compared.find(([, one]) => !isSession(one.date))!;
  refuse(
    'OUT_OF_RANGE',
    `levels[${k}].date`,
    `levels[${k}].date is ${date}, which is no session of ${calendar!.code}; ${count} of the ${compared.length} levels of the run are on its sessions, at least 2 are needed`,
    date,
  );
  return findings;
}
