import { afterEach, expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { Refusal } from '#domain/base/refusals.js';
import { TaskStopped, WorkerLost } from '#jobs/port/compute-pool.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import { runService, type RunningService } from '../running-service.js';
import { createIndex, createServedMarket, run, warmUp, WORKERS } from './warming.js';
import { waitUntil } from '../../waiting.js';

let service: RunningService | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

const CODE_AND_MARKET = ['light warm-up code', 'light warm-up market', 'heavy warm-up code'];
const RUN = 'heavy warm-up run';
const PRACTICE_COUNT = 12;
/** Requests of a thread for practice runs: a fixed number after each start of the thread. */
const RUNS = Array.from({ length: PRACTICE_COUNT }, () => RUN);
const ALL_WARMED = [...CODE_AND_MARKET, ...RUNS];

test('without a served market nothing is warmed up; with one each thread loads its code and a light thread opens it, once', async () => {
  const { serve, tick, timers, wake } = warmUp();
  serve(undefined);
  expect(await tick()).toEqual([]);
  expect(timers.size).toBe(0);
  serve(createServedMarket('a'));
  expect(await tick()).toEqual(ALL_WARMED);
  wake();
  expect(await tick()).toEqual([]);
  serve(createServedMarket('b'));
  expect(await tick()).toEqual(['light warm-up market', RUN]);
});

test('a stored run pauses the warm-up until none has been stored for a while', async () => {
  const result = warmUp({
    fails(_task, asked) {
      if (asked === 2) {
        result.wake('FIRST');
        result.wake('SECOND');
      }
      return undefined;
    },
  });
  result.serve(createServedMarket('a'));
  expect(await result.tick()).toEqual(CODE_AND_MARKET.slice(0, 2));
  expect(result.timers.size).toBe(1);
  expect(await result.tick()).toEqual(ALL_WARMED.slice(2));
});

test('the wait after a stored run begins again while the next run is computed', async () => {
  const { serve, tick, wake, load, timers } = warmUp();
  serve(createServedMarket('a'));
  wake('FIRST');
  load.heavy = 1; // one of two threads is busy: without a stored run, light requests would be sent now
  expect(await tick()).toEqual([]);
  expect(timers.size).toBe(1);
  expect(await tick()).toEqual([]);
  load.heavy = 0;
  expect(await tick()).toEqual(ALL_WARMED);
});

test('the views of the latest run and the preview of its index are computed on the served market, with its benchmark if that is stored', async () => {
  const storedDocuments = {
    'index OLD': createIndex('OLD'),
    'index CORE': createIndex('CORE'),
    'run OLD': run('OLD', { run_at: '2023-01-01' }),
    'run CORE': run('CORE', { run_at: '2024-01-01', benchmark: 'OLD' }),
  };
  const { serve, tick, inputs } = warmUp({ stored: storedDocuments });
  const market = createServedMarket('a');
  serve(market);
  expect(await tick()).toEqual([
    'light warm-up code',
    'light warm-up market',
    'heavy warm-up code',
    RUN,
    'light view-run weights',
    'light view-run attribution',
    'light view-run levels',
    'light view-run rolling-risk',
    'light view-run compare',
    'light view-run reconcile',
    'light view-run groups',
    'light view-run exposures',
    'light view-run exposures',
    'light view-run limits',
    'light view-run weights',
    'light view-run factor-risk',
    'light view-run factor-risk',
    'light preview',
    ...RUNS.slice(1),
  ]);
  const views = inputs.filter(({ task }) => task === 'view-run').map(({ input }) => input);
  expect(views[0]).toEqual({
    view: 'weights',
    columns: '/home/columns of CORE',
    risk: true,
    market: market.handle,
    isMarketOfRun: false,
    benchmark: null,
  });
  expect(views[1]).toEqual({ view: 'attribution', columns: '/home/columns of CORE', start: '2019-12-01' });
  expect(views[7]).toMatchObject({ view: 'exposures', by: 'SECTOR', market: market.handle });
  expect(views[7]).not.toHaveProperty('start');
  expect(views[10]).toMatchObject({ view: 'weights', risk: true, benchmark: { indexId: 'OLD' } });
});

test('a stored run is warmed up with the figures that no other run on the same terms has', async () => {
  const storedDocuments: Record<string, object> = {
    'index CORE': createIndex('CORE'),
    'index TWIN': createIndex('TWIN'),
    'run CORE': run('CORE'),
    'index LONDON': createIndex('LONDON', 'XLON'),
  };
  const { serve, tick, wake } = warmUp({ stored: storedDocuments });
  serve(createServedMarket('a'));
  await tick();
  storedDocuments['run TWIN'] = run('TWIN');
  wake('TWIN');
  expect(await tick()).toEqual([]);
  storedDocuments['run LONDON'] = run('LONDON');
  wake('LONDON');
  expect(await tick()).toEqual(['light view-run weights']);
});

test('exposures of the latest runs on the served store are precomputed, one datapoint at a time', async () => {
  const storedDocuments: Record<string, object> = { 'index CAP': createIndex('CAP') };
  for (let k = 0; k < 10; k++)
    storedDocuments[`run CAP${k}`] = {
      ...run(`CAP${k}`, { store_id: 'store', run_at: `202${k}-01-01` }),
      index_id: 'CAP',
    };
  const { serve, tick, inputs, wake } = warmUp({ stored: storedDocuments });
  serve(createServedMarket('a'));
  await tick();
  const listViewInputs = () =>
    inputs
      .flatMap(({ task, input }) => (task === 'view-run' ? [input as TaskInput<'view-run'>] : []))
      .flatMap((input) => (input.view === 'exposures' ? [`${input.columns} ${input.fields.join()}`] : []));
  const formatRunViews = (k: number) =>
    ['DIVIDEND_YIELD', 'MARKET_CAP'].map((field) => `/home/columns of CAP${k} ${field}`);
  expect(listViewInputs().slice(-16)).toEqual([9, 8, 7, 6, 5, 4, 3, 2].flatMap(formatRunViews));
  const listInputsFor = async (id: string) => {
    const before = listViewInputs().length;
    wake(id);
    await tick();
    return listViewInputs().slice(before);
  };
  expect(await listInputsFor('CAP0')).toEqual(formatRunViews(0));
  storedDocuments['index WHOLE'] = createIndex('WHOLE');
  storedDocuments['run WHOLE'] = run('WHOLE');
  storedDocuments['run RELATIVE'] = { ...run('RELATIVE', { store_id: 'store', benchmark: 'WHOLE' }), index_id: 'CAP' };
  const fieldLists = ['DIVIDEND_YIELD', 'MARKET_CAP', 'DIVIDEND_YIELD,MARKET_CAP'];
  expect(await listInputsFor('RELATIVE')).toEqual(fieldLists.map((fields) => `/home/columns of RELATIVE ${fields}`));
  expect(inputs.at(-1)!.input).toMatchObject({
    benchmark: { indexId: 'WHOLE' },
    benchmarkColumns: '/home/columns of WHOLE',
  });
});

test('a worker loads only the code of heavy tasks', async () => {
  const { serve, tick, wake } = warmUp({
    stored: { 'index CORE': createIndex('CORE'), 'run CORE': run('CORE') },
    answers: false,
  });
  serve(createServedMarket('a'));
  expect(await tick()).toEqual(['heavy warm-up code']);
  wake('CORE');
  expect(await tick()).toEqual([]);
});

test('a warm-up that was stopped for a request is repeated', async () => {
  let stops = 3;
  const { serve, tick, faults } = warmUp({
    stored: { 'index CORE': createIndex('CORE'), 'run CORE': run('CORE') },
    fails: (task) => (task === 'view-run' && stops-- > 0 ? new TaskStopped('for another') : undefined),
  });
  serve(createServedMarket('a'));
  const STOPPED = 'light view-run weights';
  expect(await tick()).toEqual([...CODE_AND_MARKET, RUN, STOPPED]);
  expect([await tick(), await tick()]).toEqual([[STOPPED], [STOPPED]]);
  const otherSteps = await tick();
  expect([otherSteps[0], otherSteps.length]).toEqual([STOPPED, 10 + PRACTICE_COUNT]);
  expect(faults).toEqual([]);
});

test('accepted work comes first: no warm-up starts while a light task waits or runs or every core is in use, and a timer checks again', async () => {
  const { serve, tick, load, timers } = warmUp();
  serve(createServedMarket('a'));
  load.light = 1;
  expect(await tick()).toEqual([]);
  expect(timers.size).toBe(1);
  load.light = 0;
  load.heavy = WORKERS;
  expect(await tick()).toEqual([]);
  load.heavy = 1;
  expect(await tick()).toEqual(['light warm-up code', 'light warm-up market']);
  load.heavy = 0;
  expect(await tick()).toEqual(['heavy warm-up code', ...RUNS]);
  expect(timers.size).toBe(0);
});

test('work that arrives between two warm-up tasks stops the warm-up', async () => {
  const warming = warmUp({
    stored: { 'index CORE': createIndex('CORE'), 'run CORE': run('CORE') },
    fails: (_task, asked) => void (asked === 3 && (warming.load.light = 1)),
  });
  warming.serve(createServedMarket('a'));
  expect(await warming.tick()).toHaveLength(3);
  warming.load.light = 0;
  expect(await warming.tick()).toHaveLength(11 + PRACTICE_COUNT);
});

test('a refused warm-up task is skipped, a defect is reported, and both run once', async () => {
  const failures: Record<string, Error> = {
    'view-run': new Refusal('RISK_INSUFFICIENT_DATA', 'too little'),
    preview: new Error('defect'),
  };
  const { serve, tick, faults, wake } = warmUp({
    stored: { 'index CORE': createIndex('CORE'), 'run CORE': run('CORE') },
    fails: (task) => failures[task],
  });
  serve(createServedMarket('a'));
  expect(await tick()).toHaveLength(14 + PRACTICE_COUNT);
  expect(faults).toEqual([failures['preview']]);
  wake();
  expect(await tick()).toEqual([]);
});

test('after a lost thread the next one is warmed up, unless a warm-up task caused the loss: then not until another market is served', async () => {
  let isLost = false;
  const { serve, tick, forget } = warmUp({ fails: () => (isLost ? new WorkerLost('gone') : undefined) });
  serve(createServedMarket('a'));
  expect(await tick()).toEqual(ALL_WARMED);
  forget();
  expect(await tick()).toEqual(ALL_WARMED);
  isLost = true;
  forget();
  expect(await tick()).toEqual(['light warm-up code']);
  forget();
  expect(await tick()).toEqual([]);
  isLost = false;
  serve(createServedMarket('b'));
  expect(await tick()).toEqual(ALL_WARMED);
});

test('discarded warm-up runs use the last index, or a plain index if none is stored or the index needs a solve', async () => {
  const parent = { id: 'CORE', name: 'CORE', calendar: 'XNYS', base_date: '2010-01-04' };
  const solvedDocument = IndexDocument.parse({
    ...parent,
    id: 'CHILD',
    derivation: { source_index_id: 'CORE' },
  });
  const rebuildRunIndex = async (storedDocuments: Record<string, object>): Promise<unknown[]> => {
    const { serve, tick, inputs } = warmUp({ stored: storedDocuments });
    serve(createServedMarket('a', { firstDay: 14_613 }));
    await tick();
    const plans = inputs.flatMap(({ input }) => ('plan' in (input as object) ? [input as TaskInput<'warm-up'>] : []));
    return plans.flatMap(({ plan }) => (plan ? [[plan.indexId, plan.documents[plan.indexId]?.base_date]] : []));
  };
  expect(await rebuildRunIndex({})).toEqual(Array.from({ length: PRACTICE_COUNT }, () => ['PLAIN', '2010-01-04']));
  expect(await rebuildRunIndex({ 'index CORE': createIndex('CORE') })).toEqual(
    Array.from({ length: PRACTICE_COUNT }, () => ['CORE', '2010-01-04']),
  );
  expect(await rebuildRunIndex({ 'index CHILD': solvedDocument })).toEqual(
    Array.from({ length: PRACTICE_COUNT }, () => ['PLAIN', '2010-01-04']),
  );
});

test('on a market too large for a warm-up only the code is loaded and the market opened', async () => {
  const { serve, tick } = warmUp({ stored: { 'index CORE': createIndex('CORE'), 'run CORE': run('CORE') } });
  serve(createServedMarket('a', { dates: 10_000_001 }));
  expect(await tick()).toEqual([...CODE_AND_MARKET]);
});

test('after it is closed, it starts nothing and waits for nothing', async () => {
  const { serve, tick, close, timers, wake } = warmUp();
  serve(createServedMarket('a'));
  close();
  expect(timers.size).toBe(0);
  wake();
  expect(await tick()).toEqual([]);
});

const EXPOSURES = '/analytics/EQ/exposures?fields=AGE,BETA,MOMENTUM,RETURN,VALUE_TRADED,VOLATILITY,VOLUME';
/** Ranges of dates of the run. They are not in the order of time. */
const RANGES = [
  'start=2020-09-01',
  'start=2019-11-15&end=2020-02-03',
  'start=2020-02-04&end=2020-08-31',
  'end=2019-11-14&start=2019-02-01',
];

test('answers have equal bytes from warm and from cold threads', async () => {
  const texts: string[] = [];
  for (const word of ['off', 'on']) {
    service = await runService(['--warm-up', word]);
    const market = { store_id: 'market', seed: 3, assets: 20, start: '2019-01-02', end: '2021-12-31' };
    await service.ask('POST', '/data/synthetic', market);
    await service.waitForJob('generate:market');
    const base = { calendar: 'XNYS', base_date: '2019-02-01', rebalance: { frequency: 'monthly' } };
    const selection = [{ id: 'top', type: 'TopN', params: { count: 12 } }];
    const pipeline = { selection, weighting: { type: 'EqualWeight' } };
    await service.ask('POST', '/indices', { id: 'EQ', name: 'EQ', ...base, pipeline });
    await service.ask('POST', '/analytics/EQ/backtest', {});
    expect((await service.waitForJob('backtest:EQ')).status).toBe('succeeded');
    await service.restart(undefined, 'new');
    for (const path of [
      '/analytics/EQ/weights?risk=true',
      '/analytics/EQ/weights?risk=true&as_of=2020-06-30',
      '/analytics/EQ/attribution',
      ...(word === 'on' ? RANGES.map((range) => `${EXPOSURES}&${range}`) : []),
      EXPOSURES,
    ]) {
      const answer = await waitUntil(async () => {
        const download = await service!.download(path);
        return download.status !== 503 && download; // the market is still loading
      });
      expect(answer.status).toBe(200);
      const text = await answer.text();
      if (!path.includes('&start')) texts.push(text);
    }
    await service.close();
  }
  service = undefined;
  expect(texts.slice(4)).toEqual(texts.slice(0, 4));
});
