import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { type IndexDocument, isRuleDocument } from '#domain/documents/index-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { OWN_GROUPS } from '#domain/market/market-groups.js';
import { requestLatest } from '#domain/datapoints/field-request.js';
import { resolve } from '#domain/datapoints/resolution.js';
import type { Lane, ComputePool } from '#jobs/compute-pool.js';
import { newHashCells } from '#jobs/hash-cells.js';
import type { TaskInput, TaskName } from '#jobs/tasks.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { DEFAULT_COMPONENTS } from './factor-measure.js';
import { reachedBy } from '../indices/index-questions.js';
import { practicePlan } from './practice-plan.js';
import { columnsFile, findRun, isWholeHistory, listEarlierFiles } from '../stored/run-documents.js';
import { universeOfRun } from './run-universe.js';
import { styleQuestions } from './style-questions.js';
import { findIndex } from '../stored/stored-indices.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';

/** Prefix of the keys of steps that a thread performs once, regardless of the served market. */
export const OF_THREAD = 'thread: ';

/** Dates x securities of a market above which panels of 160 MB each would be prepared that may never be used. */
const CELLS_MAX = 20_000_000;
/** Number of runs searched after a start for the latest one. */
const RUNS_READ_MAX = 200;

/** Number of returns in the window of rolling risk, small because only its code is to be loaded. */
const ROLLING_WINDOW = 63;

/** Number of groups of the requested exposures. */
const SHOWN_GROUPS = 20;

/** Tasks whose code a thread of a lane loads. Omitted tasks are rare, or take longer than loading their code. */
const CODE: Readonly<Record<Lane, readonly TaskName[]>> = {
  light: ['view-run', 'preview', 'explain', 'whatIf', 'run-levels', 'write-run-text'],
  heavy: ['backtest', 'hash-files'],
};

/**
 * Further practice turns of a thread, each a run, a risk model and an optimisation: three seconds in all. After four, V8
 * still compiles during the first optimisation, which then takes twice as long as later ones.
 */
const PRACTICE_TURNS = Array.from({ length: 11 }, (_, turn) => `${OF_THREAD}run ${turn + 2}`);

/** Maximum number of latest runs whose exposures are prepared: a run takes one or two megabytes of a thread's cache. */
const READY_RUNS_MAX = 8;

/** Prepared datapoints, one question each: size and yield, which clients read of every index. */
const READY_FIELDS = ['DIVIDEND_YIELD', 'MARKET_CAP'];

/** Request made once in the life of a thread, or once per market. */
export interface Step {
  readonly key: string;
  readonly lane: Lane;
  ask(): Promise<unknown>;
}

/** Steps that warm up a market, the most valuable first. */
export interface WarmUpSteps {
  /** Returns the steps for a market. Requests about a run refer to the latest stored run. */
  on(served: ServedMarket): AsyncIterable<Step>;
  /** A run was stored. */
  stored(runId: string): void;
  /** Records that a run was asked for its exposures. @returns true if it is another run than before */
  asked(runId: string): boolean;
}

export interface StepsDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'ids'>;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read'>;
  readonly pool: Pick<ComputePool, 'run'>;
  /** True for a single service. Several services would all prepare the same runs. */
  readonly isAlone: boolean;
  /** True if this process answers requests: a worker process runs only heavy tasks. */
  readonly answers: boolean;
}

export function createWarmUpSteps({ documents, artifacts, pool, isAlone, answers }: StepsDependencies): WarmUpSteps {
  /** Stored runs, latest first, and the runs found first after the start. */
  let stored: readonly string[] = [];
  let found: readonly string[] | undefined;
  /** Run whose exposures were requested last. */
  let asked: string | undefined;

  async function* stepsOn(served: ServedMarket): AsyncGenerator<Step> {
    const { handle, market } = served;
    if (!answers) return yield code('heavy');
    yield code('light');
    yield query('market', 'warm-up', () => ({ names: [], market: handle, plan: null }));
    if (market.dates.length * market.identifiers.length <= CELLS_MAX) yield* questionsOn(served);
    yield code('heavy');
    if (market.dates.length * market.identifiers.length > CELLS_MAX) return;
    yield* practiceOn(served);
    yield* exposuresOn(served);
    yield* stylesOn(served);
  }

  /** Practice runs whose results are discarded: one per new market, and as many per thread as make its code fast. */
  async function* practiceOn({ handle, market }: ServedMarket): AsyncGenerator<Step> {
    const run = await readLatestRun();
    const stored = (run && (await indexOf(run.index_id))) ?? (await firstIndex());
    const plan = await practicePlan(documents, stored, market);
    const storedPrices = run ? listEarlierFiles(run) : [];
    for (const key of ['run', ...PRACTICE_TURNS])
      yield query(key, 'warm-up', () => ({ names: [], market: handle, plan, storedPrices }), 'heavy');
  }

  /** Other datapoints of the run that was requested last, and of the latest run if nobody else prepares it. */
  async function* stylesOn({ handle, market }: ServedMarket): AsyncGenerator<Step> {
    const by = groupColumnOf(market);
    const [latestRun, askedRun] = [await readLatestRun(), asked === undefined ? undefined : await runOf(asked)];
    for (const run of isAlone ? [askedRun, latestRun] : [askedRun]) {
      if (run?.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const { field, start, end } of styleQuestions(market, run, READY_FIELDS))
        yield exposed(`${name} ${field} ${start ?? ''} ${end ?? ''}`, async () => {
          const columns = await columnsFile(artifacts, run);
          const universe = await universeOfRun({ documents, artifacts }, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, ...rangeOf(start, end), fields: [field] };
        });
    }
  }

  /**
   * Prepares figures of exposures that depend on no window, for the first request about a run; also relative to its
   * benchmark, if the benchmark has a run over the whole history.
   */
  async function* exposuresOn({ handle, market }: ServedMarket): AsyncGenerator<Step> {
    const by = groupColumnOf(market);
    const fields = READY_FIELDS.filter((name) => !('missing' in resolve(market, requestLatest(name))));
    for (const run of await readLatestRuns()) {
      if (run.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const field of fields)
        yield exposed(`${name} ${field}`, async () => {
          const columns = await columnsFile(artifacts, run);
          const universe = await universeOfRun({ documents, artifacts }, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, fields: [field] };
        });
      const other = await benchmarkOf(run);
      const compared = other && (await runOf(other.id));
      if (!compared || !isWholeHistory(compared)) continue;
      yield exposed(`${name} relative to ${compared.artifacts.columns.name}`, async () => {
        const columns = await columnsFile(artifacts, run);
        const benchmark = { indexId: other.id, documents: await reachedBy(documents, other) };
        const beside = { benchmark, benchmarkColumns: await columnsFile(artifacts, compared) };
        const universe = await universeOfRun({ documents, artifacts }, run, fields);
        return { ...EXPOSURES, universe, ...beside, columns, by, market: handle, fields };
      });
    }
  }

  async function* questionsOn(served: ServedMarket): AsyncGenerator<Step> {
    const run = await readLatestRun();
    if (run) yield* viewsOf(run, served);
    const index = (run && (await indexOf(run.index_id))) ?? (await firstIndex());
    if (!index || !isRuleDocument(index)) return; // A derived one is solved for.
    yield query('preview', 'preview', async () => ({
      market: served.handle,
      documents: await reachedBy(documents, index),
      indexId: index.id,
      asOf: run?.end ?? index.base_date,
    }));
  }

  /**
   * Views of a run. Views that do not depend on the market are requested once to load their code, the others once per
   * market, calendar and benchmark.
   */
  async function* viewsOf(run: RunDocument, { handle, market }: ServedMarket): AsyncGenerator<Step> {
    const columns = await columnsFile(artifacts, run);
    const lastYear = `${Number(run.end.slice(0, 4)) - 1}-12-01`;
    const window = rangeOf(lastYear < run.start ? null : lastYear, null);
    const by = market.reference.columns.length > 0 ? groupColumnOf(market) : undefined;
    const isMarketOfRun = handle.contentHash === run.store_content_hash;
    const weights = { view: 'weights', columns, risk: true, market: handle, isMarketOfRun } as const;
    const view = (key: string, input: () => RunViewInput | Promise<RunViewInput>): Step =>
      query(key, 'view-run', input);
    const returns = await returnsKey(run);
    yield view(`risk ${returns}`, () => ({ ...weights, benchmark: null }));
    yield view(`${OF_THREAD}attribution`, () => ({ view: 'attribution', columns, ...window }));
    yield view(`${OF_THREAD}levels`, () => ({ view: 'levels', columns }));
    yield view(`${OF_THREAD}rolling risk`, () => ({
      view: 'rolling-risk',
      columns,
      runId: run.run_id,
      memory: { window: ROLLING_WINDOW },
      benchmark: null,
      against: 'index',
      market: null,
    }));
    yield view(`${OF_THREAD}compare`, () => ({
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
    yield view(`${OF_THREAD}reconciliation`, () => ({
      view: 'reconcile',
      columns,
      files: [],
      cells: newHashCells(0),
      market: null,
      benchmark: null,
    }));
    if (by !== undefined)
      yield view('groups', () => ({ view: 'groups', columns, ...window, by, benchmark: null, market: handle }));
    // Prepared by date, all its figures stay in the thread; uses a datapoint that every market has.
    const exposures = { ...EXPOSURES, columns, by: groupColumnOf(market), market: handle } as const;
    const whole = { ...exposures, fields: ['DIVIDEND_YIELD'] };
    yield query('exposures', 'view-run', () => whole);
    const weekly = { ...exposures, ...window, interval: 'weekly', fields: ['BETA'] } as const;
    yield query('datapoints', 'view-run', async () => ({
      ...weekly,
      universe: await universeOfRun({ documents, artifacts }, run, weekly.fields),
    }));
    yield view(`${OF_THREAD}limits`, () => ({
      view: 'limits',
      columns,
      ...window,
      limits: { rule: null },
      by: OWN_GROUPS,
      findings: [],
      market: null,
    }));
    const compared = await benchmarkOf(run);
    if (compared === undefined) return;
    const key = `${returns} ${compared.id}`;
    const benchmark = async () => ({ indexId: compared.id, documents: await reachedBy(documents, compared) });
    yield view(`active risk ${key}`, async () => ({ ...weights, benchmark: await benchmark() }));
    yield view(`factor risk ${key}`, async () => ({
      view: 'factor-risk',
      columns,
      benchmark: await benchmark(),
      market: handle,
      measure: { model: 'market_sector', factors: DEFAULT_COMPONENTS, estimator: null, findings: [] },
    }));
    yield view(`statistical risk ${key}`, async () => ({
      view: 'factor-risk',
      columns,
      benchmark: await benchmark(),
      market: handle,
      measure: { model: 'statistical', factors: DEFAULT_COMPONENTS, estimator: null, findings: [] },
    }));
  }

  /** Returns the key of the returns of a run's securities. Runs with the same key share them. */
  async function returnsKey({ run_id: runId, index_id: indexId }: RunDocument): Promise<string> {
    const document = await indexOf(indexId);
    return document?.pipeline
      ? JSON.stringify([document.calendar, document.currency, document.pipeline.treatment])
      : runId;
  }

  const indexOf = (indexId: string): Promise<IndexDocument | undefined> => findIndex(documents, indexId);
  const runOf = (id: string): Promise<RunDocument | undefined> => findRun(documents, id);

  async function firstIndex(): Promise<IndexDocument | undefined> {
    const [id] = await documents.ids('index');
    return id === undefined ? undefined : await indexOf(id);
  }

  /** Returns the latest stored run, as far as is known. */
  const readLatestRun = async (): Promise<RunDocument | undefined> => (await readLatestRuns())[0];

  /** Reads the latest stored runs, the latest first. */
  async function readLatestRuns(): Promise<RunDocument[]> {
    found ??= await latestIds();
    const runs = await Promise.all([...new Set([...stored, ...found])].slice(0, READY_RUNS_MAX).map(runOf));
    return runs.filter((run) => run !== undefined);
  }

  async function latestIds(): Promise<string[]> {
    const ids = (await documents.ids('run')).slice(0, RUNS_READ_MAX);
    const runs = (await Promise.all(ids.map(runOf))).filter((run) => run !== undefined);
    return runs.toSorted((a, b) => ((a.run_at ?? '') < (b.run_at ?? '') ? 1 : -1)).map(({ run_id }) => run_id);
  }

  /** Returns the index to which a run was compared; undefined if it was deleted. */
  async function benchmarkOf({ request }: RunDocument): Promise<IndexDocument | undefined> {
    const benchmark = BacktestFields.safeParse(request).data?.benchmark;
    return benchmark?.kind === 'index' ? await indexOf(benchmark.id) : undefined;
  }

  const code = (lane: Lane): Step =>
    query(`${OF_THREAD}code ${lane}`, 'warm-up', () => ({ names: CODE[lane], market: null, plan: null }), lane);
  /** Makes a request that yields to others. The thread caches its partial results. */
  const query = <N extends TaskName>(
    key: string,
    task: N,
    input: () => TaskInput<N> | Promise<TaskInput<N>>,
    lane: Lane = 'light',
  ): Step => ({
    key,
    lane,
    ask: async () => pool.run({ lane, task, input: await input(), yields: true }).output,
  });
  /** Makes a request about exposures, which resumes where it yielded. */
  const exposed = (key: string, input: () => Promise<RunViewInput>): Step =>
    query(`exposures ${key}`, 'view-run', input);

  return {
    on: stepsOn,
    stored(runId) {
      stored = [...new Set([runId, ...stored])].slice(0, READY_RUNS_MAX);
    },
    asked(runId) {
      if (asked === runId) return false;
      asked = runId;
      return true;
    },
  };
}

/** Parameters of a range that may be open. */
const rangeOf = (start: string | null, end: string | null) => ({
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

/** Returns the column by which securities are grouped, if a market has one. */
function groupColumnOf({ reference: { columns } }: MarketData): string {
  return columns.find((column) => column === 'SECTOR') ?? columns[0] ?? OWN_GROUPS;
}
