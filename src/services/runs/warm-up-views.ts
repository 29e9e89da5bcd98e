import type { RunDocument } from '#domain/documents/run-document.js';
import { SINGLE_GROUPS } from '#domain/market/market-groups.js';
import { createHashCells } from '#jobs/hash-cells.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { DEFAULT_COMPONENTS } from './factor-measure.js';
import { resolveReached } from '../indices/reached-documents.js';
import { resolveColumnsFile } from '../stored/run-documents.js';
import { findUniverse } from './run-universe.js';
import {
  EXPOSURES,
  findGroupColumn,
  THREAD_PREFIX,
  createRange,
  type RequestStep,
  type WarmUpRequest,
} from './warm-up-requests.js';
import type { WarmUpRuns } from './warm-up-runs.js';

/** Number of returns in the window of rolling risk. It is small, because the request only loads code. */
const ROLLING_WINDOW = 63;

interface WarmUpViewsDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'ids'>;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read'>;
  readonly runs: WarmUpRuns;
  readonly query: RequestStep;
}

/**
 * Yields the requests for views of a run. A view that does not depend on the market is requested once to load its code.
 * Other views are requested once per market, calendar and benchmark.
 */
export async function* prepareViews(
  run: RunDocument,
  { handle, market }: ServedMarket,
  { documents, artifacts, runs, query }: WarmUpViewsDependencies,
): AsyncGenerator<WarmUpRequest> {
  const columns = await resolveColumnsFile(artifacts, run);
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
    universe: await findUniverse({ documents, artifacts }, run, weekly.fields),
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
    documents: await resolveReached(documents, comparedIndex),
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
