import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import {
  createLatestRequest,
  DEFAULT_WINDOW,
  type DerivedName,
  findReferenceKind,
  listFieldNames,
  resolveName,
} from '#domain/datapoints/fields.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { IndexDocument, isRuleDocument } from '#domain/definition/index-document.js';
import { BacktestFields, type RunDocument } from '#domain/definition/runs.js';
import { marketCapWeight } from '#domain/definition/weighting-classes.js';
import { createMarketKey, type MarketData, SINGLE_GROUPS } from '#domain/market/market-data.js';
import type { Clock } from '#jobs/port/clock.js';
import { type ComputePool, type Lane, TaskStopped, WorkerLost } from '#jobs/port/compute-pool.js';
import type { TaskInput, TaskName } from '#jobs/tasks/catalogue.js';
import { createHashCells } from '#jobs/tasks/messages.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { findIndex, resolveReached } from '../indices/documents.js';
import type { Context } from '../shared/context.js';
import { findRun, isWholeHistory, listEarlierFiles, resolveColumnsFile } from '../shared/run-documents.js';
import { DEFAULT_COMPONENTS, findRunUniverse } from './views.js';

/** Transaction costs of the practice run. With costs, the code for trades is compiled as well. */
const COST_BPS = 10;

/**
 * Returns the plan of a practice run. The run only warms up code and stores nothing. It uses a stored rule-based index,
 * or a plain index if none is stored.
 */
async function createPracticePlan(
  documents: Pick<DocumentStore, 'get'>,
  storedIndex: IndexDocument | undefined,
  market: Pick<MarketData, 'dates'>,
): Promise<BacktestPlan> {
  const isRun = storedIndex !== undefined && isRuleDocument(storedIndex);
  const index = isRun ? storedIndex : createPlainIndex(market);
  return {
    runId: index.id,
    name: index.name,
    indexId: index.id,
    documents: isRun ? await resolveReached(documents, index) : { [index.id]: index },
    request: BacktestFields.parse({ transaction_cost_bps: COST_BPS }),
  };
}

/** Returns a typical index: all securities of a market, weighted by capitalisation, total return. */
function createPlainIndex({ dates }: Pick<MarketData, 'dates'>): IndexDocument {
  return IndexDocument.parse({
    id: 'PLAIN',
    name: 'Plain',
    calendar: 'XNYS',
    base_date: formatDay(dates[0]!),
    pipeline: { treatment: { dividends: 'total' }, weighting: { ...marketCapWeight.example, cap: 0.05 } },
  });
}

/** Request for one datapoint of a run over a range of dates. Null means all dates. */
export interface StyleQuestion {
  readonly field: string;
  readonly start: string | null;
  readonly end: string | null;
}

/** Maximum memory in bytes of the prepared figures of a run: about a quarter of a thread's cache. */
const STYLE_BYTES_MAX = 12 * 2 ** 20;
/** Bytes that a datapoint needs per date: mean, coverage and five percentiles, and their texts. */
const BYTES_A_DATE = 180;

/** Maximum number of requests about one run. They take about ten seconds of idle time. */
const QUESTIONS_MAX = 96;

/** Size of a request that takes about 100 ms, as dates x securities. It depends on the inputs of the datapoint. */
const CELLS = { latest: 900_000, windows: 300_000, beta: 130_000 } as const;

/** Datapoints over one-year windows. They are computed after all other datapoints, in this order. */
const EXPENSIVE_STYLES = new Map<string, number>([
  ['MOMENTUM', CELLS.windows],
  ['VOLATILITY', CELLS.windows],
  ['BETA', CELLS.beta],
] satisfies [DerivedName, number][]);

/**
 * Returns the requests about a run that are made in idle time. They complement the datapoints that are prepared for
 * several runs. The cheapest datapoints come first, and datapoints derived from prices and volumes come before columns
 * of the store. Each datapoint is requested for ranges of dates and then for all dates, which writes the text of its
 * figures.
 */
export function listStyleQuestions(
  market: MarketData,
  run: RunDocument,
  otherFields: readonly string[],
): StyleQuestion[] {
  const { dates } = market;
  const span = {
    from: findFirstAtLeast(dates, parseValidDay(run.start)),
    to: findLastAtMost(dates, parseValidDay(run.end)),
  };
  const count = span.to - span.from + 1;
  if (count <= 0) return [];
  const fieldsMax = Math.floor(STYLE_BYTES_MAX / (BYTES_A_DATE * count));
  const fields = listStyleFields(market).filter(
    (name) => !otherFields.includes(name) && countWindowsAtOnce(market, name) > 0,
  );
  const chosenFields = fields.slice(0, fieldsMax).toSorted((a, b) => countCells(b) - countCells(a));
  return chosenFields.flatMap((field) => listQuestions(market, field, span)).slice(0, QUESTIONS_MAX);
}

/** Returns the numeric datapoints of a market. Derived datapoints come first. */
function listStyleFields(market: MarketData): string[] {
  const [derived, stored]: [string[], string[]] = [[], []];
  for (const name of listFieldNames(market)) {
    const result = resolveName(market, createLatestRequest(name));
    if ('missing' in result) continue;
    if (result.dataset === 'derived') derived.push(name);
    else if (result.dataset === 'market' || findReferenceKind(market, name) === 'number') stored.push(name);
  }
  return [...derived, ...stored];
}

const countCells = (field: string): number => EXPENSIVE_STYLES.get(field) ?? CELLS.latest;

/** Returns the number of one-year windows per request. Returns 0 if even one window takes much too long. */
function countWindowsAtOnce({ identifiers }: MarketData, field: string): number {
  return Math.round(countCells(field) / (DEFAULT_WINDOW * identifiers.length));
}

/**
 * Returns the requests for a datapoint. A range starts at a block of windows, because each range sums the data before
 * its first date again.
 */
function listQuestions(
  market: MarketData,
  field: string,
  { from, to }: { readonly from: number; readonly to: number },
): StyleQuestion[] {
  const { dates } = market;
  const length = DEFAULT_WINDOW * countWindowsAtOnce(market, field);
  const ranges: StyleQuestion[] = [];
  for (let firstPosition = from; firstPosition <= to;) {
    const next = (Math.floor(firstPosition / length) + 1) * length;
    const last = Math.min(to, next - 1);
    ranges.push({ field, start: formatDay(dates[firstPosition]!), end: formatDay(dates[last]!) });
    firstPosition = next;
  }
  return [...ranges, { field, start: null, end: null }];
}

/** Prefix of the keys of steps that a thread runs only once, whatever market is served. */
const THREAD_PREFIX = 'thread: ';

/** Number of groups in the requested exposures. */
const SHOWN_GROUPS = 20;

/** Request that is made once per thread or once per market. */
interface WarmUpRequest {
  readonly key: string;
  readonly lane: Lane;
  ask(): Promise<unknown>;
}

/**
 * Function that creates the step of a request. A step can be interrupted by other work; the thread caches its partial
 * results.
 */
type RequestStep = <N extends TaskName>(
  key: string,
  task: N,
  input: () => TaskInput<N> | Promise<TaskInput<N>>,
  lane?: Lane,
) => WarmUpRequest;

const createRequestStep =
  (pool: Pick<ComputePool, 'run'>): RequestStep =>
  (key, task, input, lane = 'light') => ({
    key,
    lane,
    ask: async () => pool.run({ lane, task, input: await input(), yields: true }).output,
  });

/** Returns the parameters of a range. Both ends may be open. */
const createRange = (start: string | null, end: string | null) => ({
  ...(start === null ? {} : { start }),
  ...(end === null ? {} : { end }),
});

/** Common parameters of all requests about exposures. */
const EXPOSURES = {
  view: 'exposures',
  groups: SHOWN_GROUPS,
  interval: 'native',
  universe: null,
  benchmark: null,
  benchmarkColumns: null,
} as const;

/** Returns the column that groups securities: SECTOR, otherwise the first reference column, otherwise IDENTIFIER. */
function findGroupColumn({ reference: { columns } }: MarketData): string {
  return columns.find((column) => column === 'SECTOR') ?? columns[0] ?? SINGLE_GROUPS;
}

/** Maximum number of runs that are searched for the latest run after a start of the service. */
const RUNS_READ_MAX = 200;

/** Maximum number of latest runs whose exposures are prepared. A run takes one or two megabytes of a thread's cache. */
const READY_RUNS_MAX = 8;

/** Runs that a warm-up prepares, and the indices of these runs. */
function createWarmUpRuns(documents: Pick<DocumentStore, 'get' | 'ids'>) {
  /** Ids of stored runs, latest first, and the runs that the first search after the start found. */
  let storedIds: readonly string[] = [];
  let indexIds: readonly string[] | undefined;

  const findWarmRun = (id: string): Promise<RunDocument | undefined> => findRun(documents, id);

  async function findFirstIndex(): Promise<IndexDocument | undefined> {
    const [id] = await documents.ids('index');
    return id === undefined ? undefined : await findIndex(documents, id);
  }

  /** Reads the latest stored runs, the latest first. */
  async function readLatestRuns(): Promise<RunDocument[]> {
    indexIds ??= await readLatestIds();
    const runs = await Promise.all([...new Set([...storedIds, ...indexIds])].slice(0, READY_RUNS_MAX).map(findWarmRun));
    return runs.filter((run) => run !== undefined);
  }

  async function readLatestIds(): Promise<string[]> {
    const ids = (await documents.ids('run')).slice(0, RUNS_READ_MAX);
    const runs = (await Promise.all(ids.map(findWarmRun))).filter((run) => run !== undefined);
    return runs.toSorted((a, b) => ((a.run_at ?? '') < (b.run_at ?? '') ? 1 : -1)).map(({ run_id }) => run_id);
  }

  return {
    readLatest: async (): Promise<RunDocument | undefined> => (await readLatestRuns())[0],
    readAll: readLatestRuns,
    find: findWarmRun,
    /** Returns the index of a run. If there is no such index, returns any stored index. */
    findSubjectIndex: async (run: RunDocument | undefined): Promise<IndexDocument | undefined> =>
      (run && (await findIndex(documents, run.index_id))) ?? (await findFirstIndex()),
    /** Returns the index to which a run was compared; undefined if it was deleted. */
    async findBenchmark({ request }: RunDocument): Promise<IndexDocument | undefined> {
      const benchmark = BacktestFields.safeParse(request).data?.benchmark;
      return benchmark?.kind === 'index' ? await findIndex(documents, benchmark.id) : undefined;
    },
    /** Returns a key for the returns of a run's securities. Runs with the same key share the returns. */
    async returnsKey({ run_id: runId, index_id: indexId }: RunDocument): Promise<string> {
      const document = await findIndex(documents, indexId);
      return document?.pipeline
        ? JSON.stringify([document.calendar, document.currency, document.pipeline.treatment])
        : runId;
    },
    /** Records that a run was stored. */
    stored(runId: string): void {
      storedIds = [...new Set([runId, ...storedIds])].slice(0, READY_RUNS_MAX);
    },
  };
}

type WarmUpRuns = ReturnType<typeof createWarmUpRuns>;

/** Members of the context that the warm-up reads. They are not limited to the documents of a client. */
type WarmUpContext = Pick<Context, 'documents' | 'artifacts' | 'markets' | 'workers'>;

/** Datapoints that are each prepared with one request: size and yield, which clients read for every index. */
const READY_FIELDS = ['DIVIDEND_YIELD', 'MARKET_CAP'];

/** Steps that prepare exposures of stored runs. */
function createWarmUpExposures(context: WarmUpContext, runs: WarmUpRuns, query: RequestStep) {
  const { documents, artifacts } = context;

  /** Prepares other datapoints of some runs. */
  async function* listStyleRequests(
    { handle, market }: ServedMarket,
    preparedRuns: readonly (RunDocument | undefined)[],
  ): AsyncGenerator<WarmUpRequest> {
    const by = findGroupColumn(market);
    for (const run of preparedRuns) {
      if (run?.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const { field, start, end } of listStyleQuestions(market, run, READY_FIELDS))
        yield createExposureRequest(`${name} ${field} ${start ?? ''} ${end ?? ''}`, async () => {
          const columns = await resolveColumnsFile(artifacts, run);
          const universe = await findRunUniverse(context, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, ...createRange(start, end), fields: [field] };
        });
    }
  }

  /**
   * Prepares exposure figures that do not depend on a window, for the first request about a run. If the run's benchmark
   * has a run over the whole history, figures relative to it are prepared as well.
   */
  async function* listExposureRequests({ handle, market }: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const by = findGroupColumn(market);
    const fields = READY_FIELDS.filter((name) => !('missing' in resolveName(market, createLatestRequest(name))));
    for (const run of await runs.readAll()) {
      if (run.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const field of fields)
        yield createExposureRequest(`${name} ${field}`, async () => {
          const columns = await resolveColumnsFile(artifacts, run);
          const universe = await findRunUniverse(context, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, fields: [field] };
        });
      const other = await runs.findBenchmark(run);
      const comparedRun = other && (await runs.find(other.id));
      if (!comparedRun || !isWholeHistory(comparedRun)) continue;
      yield createExposureRequest(`${name} relative to ${comparedRun.artifacts.columns.name}`, async () => {
        const columns = await resolveColumnsFile(artifacts, run);
        const benchmark = { indexId: other.id, documents: await resolveReached(documents, other) };
        const benchmarkTerms = { benchmark, benchmarkColumns: await resolveColumnsFile(artifacts, comparedRun) };
        const universe = await findRunUniverse(context, run, fields);
        return { ...EXPOSURES, universe, ...benchmarkTerms, columns, by, market: handle, fields };
      });
    }
  }

  /** Creates a request about exposures. If it is interrupted, it continues at the same place. */
  const createExposureRequest = (key: string, input: () => Promise<RunViewInput>): WarmUpRequest =>
    query(`exposures ${key}`, 'view-run', input);

  return { exposuresOn: listExposureRequests, stylesOn: listStyleRequests };
}

/** Number of returns in the window of rolling risk. It is small, because the request only loads code. */
const ROLLING_WINDOW = 63;

/**
 * Yields the requests for views of a run. A view that does not depend on the market is requested once to load its code.
 * Other views are requested once per market, calendar and benchmark.
 */
async function* prepareViews(
  run: RunDocument,
  { handle, market }: ServedMarket,
  context: WarmUpContext,
  runs: WarmUpRuns,
  query: RequestStep,
): AsyncGenerator<WarmUpRequest> {
  const columns = await resolveColumnsFile(context.artifacts, run);
  const lastYear = `${Number(run.end.slice(0, 4)) - 1}-12-01`;
  const window = createRange(lastYear < run.start ? null : lastYear, null);
  const by = market.reference.columns.length > 0 ? findGroupColumn(market) : undefined;
  const isMarketOfRun = handle.contentHash === run.store_content_hash;
  const weights = { view: 'weights', columns, risk: true, market: handle, isMarketOfRun } as const;
  const createViewRequest = (key: string, input: () => RunViewInput | Promise<RunViewInput>): WarmUpRequest =>
    query(key, 'view-run', input);
  const returnsKey = await runs.returnsKey(run);
  yield createViewRequest(`risk ${returnsKey}`, () => ({ ...weights, benchmark: null }));
  yield createViewRequest(`${THREAD_PREFIX}attribution`, () => ({ view: 'attribution', columns, ...window }));
  yield createViewRequest(`${THREAD_PREFIX}levels`, () => ({ view: 'levels', columns }));
  yield createViewRequest(`${THREAD_PREFIX}rolling risk`, () => ({
    view: 'rolling-risk',
    columns,
    runId: run.run_id,
    memory: { window: ROLLING_WINDOW },
    benchmark: null,
    against: 'index',
    market: null,
  }));
  yield createViewRequest(`${THREAD_PREFIX}compare`, () => ({
    view: 'compare',
    format: 'json',
    start: null,
    end: null,
    columns: [columns, columns],
    benchmark: null,
    market: null,
    names: ['', ''],
    states: [],
    findings: [],
  }));
  yield createViewRequest(`${THREAD_PREFIX}reconciliation`, () => ({
    view: 'reconcile',
    columns,
    files: [],
    cells: createHashCells(0),
    market: null,
    benchmark: null,
  }));
  if (by !== undefined)
    yield createViewRequest('groups', () => ({
      view: 'groups',
      columns,
      ...window,
      by,
      linking: 'arithmetic',
      currency: 'included',
      benchmark: null,
      market: handle,
    }));
  // The request is by date, so that all figures stay in the thread. It uses a datapoint that every market has.
  const exposures = { ...EXPOSURES, columns, by: findGroupColumn(market), market: handle } as const;
  const wholeRange = { ...exposures, fields: ['DIVIDEND_YIELD'] };
  yield query('exposures', 'view-run', () => wholeRange);
  const weekly = { ...exposures, ...window, interval: 'weekly', fields: ['BETA'] } as const;
  yield query('datapoints', 'view-run', async () => ({
    ...weekly,
    universe: await findRunUniverse(context, run, weekly.fields),
  }));
  yield createViewRequest(`${THREAD_PREFIX}limits`, () => ({
    view: 'limits',
    columns,
    ...window,
    limits: { rule: null },
    by: SINGLE_GROUPS,
    findings: [],
    market: null,
  }));
  const comparedIndex = await runs.findBenchmark(run);
  if (comparedIndex === undefined) return;
  const key = `${returnsKey} ${comparedIndex.id}`;
  const readBenchmark = async () => ({
    indexId: comparedIndex.id,
    documents: await resolveReached(context.documents, comparedIndex),
  });
  yield createViewRequest(`active risk ${key}`, async () => ({ ...weights, benchmark: await readBenchmark() }));
  yield createViewRequest(`factor risk ${key}`, async () => ({
    view: 'factor-risk',
    columns,
    benchmark: await readBenchmark(),
    market: handle,
    measure: { model: 'market_sector', factors: DEFAULT_COMPONENTS, estimator: null, findings: [] },
  }));
  yield createViewRequest(`statistical risk ${key}`, async () => ({
    view: 'factor-risk',
    columns,
    benchmark: await readBenchmark(),
    market: handle,
    measure: { model: 'statistical', factors: DEFAULT_COMPONENTS, estimator: null, findings: [] },
  }));
}

/**
 * Maximum number of cells (dates x securities) of a market for which panels are prepared. A panel has 160 MB and may
 * never be used.
 */
const CELLS_MAX = 20_000_000;

/**
 * Tasks whose code a thread of a lane loads. The other tasks are rare, or take longer than it takes to load their code.
 */
const CODE_TASKS: Readonly<Record<Lane, readonly TaskName[]>> = {
  light: ['view-run', 'preview', 'explain', 'whatIf', 'run-levels', 'run-closes', 'write-run-text'],
  heavy: ['backtest', 'hash-files'],
};

/**
 * Further practice turns of a thread. Each is a run, a risk model and an optimisation; together they take three
 * seconds. After only four turns, V8 still compiles during the first optimisation, which then takes twice as long as
 * later ones.
 */
const PRACTICE_TURNS = Array.from({ length: 11 }, (_, turn) => `${THREAD_PREFIX}run ${turn + 2}`);

/** Steps that warm up a market, the most useful first. */
function createWarmUpSteps(context: WarmUpContext, { pool, isAlone, answers }: WarmUpTerms) {
  const { documents } = context;
  const runs = createWarmUpRuns(documents);
  const query = createRequestStep(pool);
  const { exposuresOn, stylesOn } = createWarmUpExposures(context, runs, query);
  /** Run whose exposures were requested last. */
  let lastRunId: string | undefined;

  async function* listSteps(servedMarket: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const { handle, market } = servedMarket;
    if (!answers) return yield createCodeRequest('heavy');
    yield createCodeRequest('light');
    yield query('market', 'warm-up', () => ({ names: [], market: handle, plan: null }));
    yield createCodeRequest('heavy');
    if (market.dates.length * market.identifiers.length > CELLS_MAX) return;
    const createPracticeStep = createPractice(servedMarket);
    yield createPracticeStep('run'); // The first turn saves more time of a job than all later turns, and delays views by at most a second.
    yield* listQuestions(servedMarket);
    for (const key of PRACTICE_TURNS) yield createPracticeStep(key);
    yield* exposuresOn(servedMarket);
    const askedRun = lastRunId === undefined ? undefined : await runs.find(lastRunId);
    // If there are several services, only the service that received the request prepares the run.
    yield* stylesOn(servedMarket, isAlone ? [askedRun, await runs.readLatest()] : [askedRun]);
  }

  /**
   * Creates practice steps. Their results are discarded. There is one step per new market, and as many steps per thread
   * as its code needs to become fast.
   */
  function createPractice({ handle, market }: ServedMarket): (key: string) => WarmUpRequest {
    const findInput = async () => {
      const run = await runs.readLatest();
      const plan = await createPracticePlan(documents, await runs.findSubjectIndex(run), market);
      return { names: [], market: handle, plan, storedPrices: run ? listEarlierFiles(run) : [] };
    };
    let input: ReturnType<typeof findInput> | undefined;
    return (key) => query(key, 'warm-up', () => (input ??= findInput()), 'heavy');
  }

  async function* listQuestions(servedMarket: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const run = await runs.readLatest();
    if (run) yield* prepareViews(run, servedMarket, context, runs, query);
    const index = await runs.findSubjectIndex(run);
    if (!index || !isRuleDocument(index)) return; // A derived index needs an optimisation.
    yield query('preview', 'preview', async () => ({
      market: servedMarket.handle,
      documents: await resolveReached(documents, index),
      indexId: index.id,
      asOf: run?.end ?? index.base_date,
    }));
  }

  const createCodeRequest = (lane: Lane): WarmUpRequest =>
    query(
      `${THREAD_PREFIX}code ${lane}`,
      'warm-up',
      () => ({ names: CODE_TASKS[lane], market: null, plan: null }),
      lane,
    );

  return {
    /** Returns the steps for a market. Requests about a run use the latest stored run. */
    on: listSteps,
    /** Records that a run was stored. */
    stored: runs.stored,
    /** Records that a client read the exposures of a run. @returns true if the previous request was about another run */
    noteRequest(runId: string): boolean {
      if (lastRunId === runId) return false;
      lastRunId = runId;
      return true;
    },
  };
}

/**
 * Warm-up of the worker threads. In idle time it makes requests that clients are likely to make, one at a time, and
 * discards the results. Code is then compiled and markets are open before a client needs them. Results do not depend on
 * the warm-up.
 */
export interface WarmUp {
  /** Called when a market is served or a run has been stored. */
  wake(runId?: string): void;
  /** Called when the exposures of a run were requested. */
  noteRequest(runId: string): void;
  /** Called when a thread has ended and lost its caches. */
  forget(): void;
  /** Stops making requests. */
  close(): void;
}

export interface WarmUpTerms {
  readonly pool: Pick<ComputePool, 'run' | 'load'>;
  /** True for a single service. If there are several, each would prepare the same runs. */
  readonly isAlone: boolean;
  /** True if this process answers requests. A worker process runs only heavy tasks. */
  readonly answers: boolean;
  readonly clock: Pick<Clock, 'after'>;
  /** Called for defects. */
  readonly onFault: (fault: unknown) => void;
}

/** Time in ms between the end of other work and the next check for idle time. */
const IDLE_MS = 200;
/**
 * Idle time in ms before the warm-up continues after a stored run or a request. To prepare a run costs more than the
 * run itself, so the warm-up waits until no further run follows. A request that is stopped again and again would never
 * end.
 */
const CALM_MS = 1000;

export function createWarmUp(context: WarmUpContext, terms: WarmUpTerms): WarmUp {
  const { markets, workers } = context;
  const { pool, clock, onFault } = terms;
  const steps = createWarmUpSteps(context, terms);
  const requests = new Set<string>();
  /** Market for which the steps were created. */
  let warmKey: string | undefined;
  let cancelTimer: (() => void) | undefined;
  /** True if a run was stored very recently. */
  let isAwaiting = false;
  let isAsking = false;
  let isFinished = false;
  /** True after a request ended a thread. The warm-up then makes no more requests on this market. */
  let isHarmful = false;

  function checkIdle(afterMs = IDLE_MS): void {
    if (isFinished) return;
    cancelTimer ??= clock.after(afterMs, () => {
      cancelTimer = undefined;
      if (isAwaiting && pool.load('heavy') > 0) return checkIdle(CALM_MS); // a run takes longer than the wait
      isAwaiting = false;
      if (!isAsking) void sendRequests();
    });
  }

  function awaitCalm(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    isAwaiting = true;
    checkIdle(CALM_MS);
  }

  async function sendRequests(): Promise<void> {
    isAsking = true;
    try {
      const pause = await sendUntilBusy();
      if (pause !== 'done') checkIdle(pause);
    } catch (failure) {
      recordFailure(failure);
    } finally {
      isAsking = false;
    }
  }

  /** @returns ms until the next check */
  async function sendUntilBusy(): Promise<number | 'done'> {
    for (;;) {
      const step = isFinished ? undefined : await findNextStep();
      if (step === undefined) return 'done';
      if (isAwaiting || !isIdle(step.lane)) return IDLE_MS;
      requests.add(step.key);
      try {
        await step.ask();
      } catch (failure) {
        if (failure instanceof TaskStopped) {
          requests.delete(step.key); // the step yielded to a request and resumes after it
          return CALM_MS;
        }
        recordFailure(failure);
      }
    }
  }

  function recordFailure(failure: unknown): void {
    if (isFinished) return;
    if (failure instanceof WorkerLost || (failure instanceof Refusal && failure.code === 'WORKER_OUT_OF_MEMORY'))
      isHarmful = true;
    if (!(failure instanceof Refusal)) onFault(failure); // The request may be refused, like a client's request.
  }

  /**
   * Returns true if a lane may run a step. Accepted work has priority: a light step runs while a core is free, a heavy
   * step only if there is no other work.
   */
  function isIdle(lane: Lane): boolean {
    return pool.load('light') === 0 && pool.load('heavy') < (lane === 'light' ? workers : 1);
  }

  async function findNextStep(): Promise<WarmUpRequest | undefined> {
    const servedMarket = markets.served();
    if (servedMarket === undefined) return undefined;
    const key = createMarketKey(servedMarket.handle);
    if (key !== warmKey) {
      for (const step of requests) if (!step.startsWith(THREAD_PREFIX)) requests.delete(step);
      warmKey = key;
      isHarmful = false;
    }
    if (isHarmful) return undefined;
    for await (const step of steps.on(servedMarket)) if (!requests.has(step.key)) return step;
    return undefined;
  }

  return {
    wake(runId) {
      if (runId === undefined) return checkIdle();
      steps.stored(runId);
      awaitCalm();
    },
    noteRequest(runId) {
      if (steps.noteRequest(runId)) checkIdle();
    },
    forget() {
      requests.clear();
      checkIdle();
    },
    close() {
      isFinished = true;
      cancelTimer?.();
    },
  };
}
