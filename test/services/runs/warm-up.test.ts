import { afterEach, expect, test } from 'vitest';
import { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import { WorkerLost, type ComputePool, type Lane } from '#jobs/compute-pool.js';
import type { TaskInput } from '#jobs/tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { createWarmUp } from '#services/runs/warm-up.js';
import type { WarmUpDependencies } from '#services/runs/warm-up.js';
import { runService, type RunningService } from '../running-service.js';

const WORKERS = 2;

let service: RunningService | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

function marketOf(contentHash: string, { dates = 10, sectors = true } = {}): ServedMarket {
  const handle = { datasetId: 'store', adjustment: 'none', contentHash } as MarketHandle; // What else a handle has, workers see.
  const market = {
    dates: new Int32Array(dates),
    identifiers: ['A', 'B'],
    fields: new Map([['SHARES_OUTSTANDING', new Float64Array(20)]]),
    reference: { columns: sectors ? ['NAME', 'SECTOR'] : [], rows: new Map() },
  } as unknown as MarketData;
  return { handle, identity: handle, market, loadedAt: '', files: [] };
}

const index = (id: string, calendar = 'XNYS') =>
  IndexDocument.parse({
    id,
    name: id,
    calendar,
    base_date: '2010-01-04',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });

const artifact = (name: string) => ({ name, bytes: 1, sha256: 'sha' });
function run(id: string, { run_at = '2024-01-01', benchmark = null as string | null, store_id = 'other' } = {}) {
  return {
    store_id,
    run_id: id,
    index_id: id,
    name: id,
    run_at,
    start: '2010-01-04',
    end: '2020-06-30',
    run_hash: 'h',
    store_content_hash: 's',
    engine_version: '0',
    request: { benchmark: benchmark && { kind: 'index', id: benchmark } },
    artifacts: { result: artifact('result'), overview: artifact('overview'), columns: artifact(`columns of ${id}`) },
  };
}

/** A warm-up on a pool that notes what it is asked, and a clock that is wound by hand. */
function warmUp({
  stored = {},
  fails = () => undefined,
}: {
  readonly stored?: Record<string, object>;
  readonly fails?: (task: string, asked: number) => Error | undefined;
} = {}) {
  const asked: string[] = [];
  const inputs: { readonly task: string; readonly lane: Lane; readonly input: unknown }[] = [];
  const load: Record<Lane, number> = { light: 0, heavy: 0 };
  const faults: unknown[] = [];
  const timers = new Set<() => void>();
  let served: ServedMarket | undefined;
  const pool = {
    load: (lane: Lane) => load[lane],
    run({ lane, task, input }: { lane: Lane; task: string; input: TaskInput<'view-run'> | TaskInput<'warm-up'> }) {
      inputs.push({ task, lane, input });
      asked.push(
        `${lane} ${task}${'view' in input ? ` ${input.view}` : 'names' in input ? ` ${input.market ? 'market' : 'code'}` : ''}`,
      );
      expect(load.light).toBe(0);
      const failure = fails(task, asked.length);
      return { output: failure ? Promise.reject(failure) : Promise.resolve(null) };
    },
  } as unknown as Pick<ComputePool, 'run' | 'load'>;
  const documents = {
    get: async (kind: string, id: string) =>
      stored[`${kind} ${id}`] ? { id, body: stored[`${kind} ${id}`], etag: '', updatedAt: '' } : undefined,
    ids: async (kind: string) =>
      Object.keys(stored)
        .filter((key) => key.startsWith(`${kind} `))
        .map((key) => key.slice(kind.length + 1)),
  } as WarmUpDependencies['documents'];
  const made = createWarmUp({
    documents,
    pool,
    artifacts: { file: async ({ name }) => `/home/${name}` },
    markets: { served: () => served },
    workers: WORKERS,
    clock: { after: (_ms, call) => (timers.add(call), () => void timers.delete(call)) },
    onFault: (fault) => void faults.push(fault),
  });
  return {
    ...made,
    asked,
    inputs,
    load,
    faults,
    timers,
    serve(market: ServedMarket | undefined) {
      served = market;
      made.wake();
    },
    /** What is asked when the clock goes off. */
    async tick(): Promise<string[]> {
      const before = asked.length;
      const due = [...timers];
      timers.clear();
      for (const call of due) call();
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
      return asked.slice(before);
    },
  };
}

const CODE_AND_MARKET = ['light warm-up code', 'light warm-up market', 'heavy warm-up code'];

test('without a served market nothing is asked, with one each thread loads its code and a light one opens it, once', async () => {
  const { serve, tick, timers, wake } = warmUp();
  serve(undefined);
  expect(await tick()).toEqual([]);
  expect(timers.size).toBe(0);
  serve(marketOf('a'));
  expect(await tick()).toEqual(CODE_AND_MARKET);
  wake();
  expect(await tick()).toEqual([]);
  serve(marketOf('b'));
  expect(await tick()).toEqual(['light warm-up market']);
});

test('a run that is stored calls off what is asked until none has been for a while', async () => {
  const made = warmUp({
    fails(_task, asked) {
      if (asked === 2) {
        made.wake('FIRST');
        made.wake('SECOND');
      }
      return undefined;
    },
  });
  made.serve(marketOf('a'));
  expect(await made.tick()).toEqual(CODE_AND_MARKET.slice(0, 2));
  expect(made.timers.size).toBe(1);
  expect(await made.tick()).toEqual(CODE_AND_MARKET.slice(2));
});

test('the views of the latest run and the preview of its index are asked of the served market, with its benchmark where that is stored', async () => {
  const stored = {
    'index OLD': index('OLD'),
    'index CORE': index('CORE'),
    'run OLD': run('OLD', { run_at: '2023-01-01' }),
    'run CORE': run('CORE', { run_at: '2024-01-01', benchmark: 'OLD' }),
  };
  const { serve, tick, inputs } = warmUp({ stored });
  const market = marketOf('a');
  serve(market);
  expect(await tick()).toEqual([
    'light warm-up code',
    'light warm-up market',
    'light view-run weights',
    'light view-run attribution',
    'light view-run levels',
    'light rolling-risk',
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
    'heavy warm-up code',
  ]);
  const views = inputs.filter(({ task }) => task === 'view-run').map(({ input }) => input);
  expect(views[0]).toEqual({
    view: 'weights',
    columns: '/home/columns of CORE',
    asOf: null,
    risk: true,
    market: market.handle,
    benchmark: null,
  });
  expect(views[1]).toEqual({ view: 'attribution', columns: '/home/columns of CORE', start: '2019-12-01', end: null });
  expect(views[6]).toMatchObject({ view: 'exposures', start: null, end: null, by: 'SECTOR', market: market.handle });
  expect(views[9]).toMatchObject({ view: 'weights', risk: true, benchmark: { indexId: 'OLD' } });
});

test('a run that has been stored is asked for what was not made for another one on the same terms', async () => {
  const stored: Record<string, object> = {
    'index CORE': index('CORE'),
    'index TWIN': index('TWIN'),
    'run CORE': run('CORE'),
    'index LONDON': index('LONDON', 'XLON'),
  };
  const { serve, tick, wake } = warmUp({ stored });
  serve(marketOf('a'));
  await tick();
  stored['run TWIN'] = run('TWIN');
  wake('TWIN');
  expect(await tick()).toEqual([]);
  stored['run LONDON'] = run('LONDON');
  wake('LONDON');
  expect(await tick()).toEqual(['light view-run weights']);
});

test('exposures of the latest runs on the served store are made ready, a datapoint at a time', async () => {
  const stored: Record<string, object> = { 'index CAP': index('CAP') };
  for (let k = 0; k < 10; k++)
    stored[`run CAP${k}`] = { ...run(`CAP${k}`, { store_id: 'store', run_at: `202${k}-01-01` }), index_id: 'CAP' };
  const { serve, tick, inputs, wake } = warmUp({ stored });
  serve(marketOf('a'));
  await tick();
  const made = () =>
    inputs
      .flatMap(({ task, input }) => (task === 'view-run' ? [input as TaskInput<'view-run'>] : []))
      .flatMap((input) => (input.view === 'exposures' ? [`${input.columns} ${input.fields.join()}`] : []));
  const ofRun = (k: number) => ['DIVIDEND_YIELD', 'MARKET_CAP'].map((field) => `/home/columns of CAP${k} ${field}`);
  expect(made().slice(-16)).toEqual([9, 8, 7, 6, 5, 4, 3, 2].flatMap(ofRun));
  const madeFor = async (id: string) => {
    const before = made().length;
    wake(id);
    await tick();
    return made().slice(before);
  };
  expect(await madeFor('CAP0')).toEqual(ofRun(0));
  stored['index WHOLE'] = index('WHOLE');
  stored['run WHOLE'] = run('WHOLE');
  stored['run BESIDE'] = { ...run('BESIDE', { store_id: 'store', benchmark: 'WHOLE' }), index_id: 'CAP' };
  const beside = ['DIVIDEND_YIELD', 'MARKET_CAP', 'DIVIDEND_YIELD,MARKET_CAP'];
  expect(await madeFor('BESIDE')).toEqual(beside.map((fields) => `/home/columns of BESIDE ${fields}`));
  expect(inputs.at(-1)!.input).toMatchObject({
    benchmark: { indexId: 'WHOLE' },
    benchmarkColumns: '/home/columns of WHOLE',
  });
});

test('what is accepted comes first: nothing is asked while a light task waits or runs or every core is taken, and it is looked again', async () => {
  const { serve, tick, load, timers } = warmUp();
  serve(marketOf('a'));
  load.light = 1;
  expect(await tick()).toEqual([]);
  expect(timers.size).toBe(1);
  load.light = 0;
  load.heavy = WORKERS;
  expect(await tick()).toEqual([]);
  load.heavy = 1;
  expect(await tick()).toEqual(['light warm-up code', 'light warm-up market']);
  load.heavy = 0;
  expect(await tick()).toEqual(['heavy warm-up code']);
  expect(timers.size).toBe(0);
});

test('work that comes between two questions stops the asking', async () => {
  const warming = warmUp({
    stored: { 'index CORE': index('CORE'), 'run CORE': run('CORE') },
    fails: (_task, asked) => void (asked === 3 && (warming.load.light = 1)),
  });
  warming.serve(marketOf('a'));
  expect(await warming.tick()).toHaveLength(3);
  warming.load.light = 0;
  expect(await warming.tick()).toHaveLength(11);
});

test('a refused question is passed over, a defect is told, and both are asked once', async () => {
  const failures: Record<string, Error> = {
    'view-run': new Refusal('RISK_INSUFFICIENT_DATA', 'too little'),
    preview: new Error('defect'),
  };
  const { serve, tick, faults, wake } = warmUp({
    stored: { 'index CORE': index('CORE'), 'run CORE': run('CORE') },
    fails: (task) => failures[task],
  });
  serve(marketOf('a'));
  expect(await tick()).toHaveLength(14);
  expect(faults).toEqual([failures['preview']]);
  wake();
  expect(await tick()).toEqual([]);
});

test('after a thread was lost the next one is made ready, unless it was lost by that: then not until another market is served', async () => {
  let isLost = false;
  const { serve, tick, forget } = warmUp({ fails: () => (isLost ? new WorkerLost('gone') : undefined) });
  serve(marketOf('a'));
  expect(await tick()).toEqual(CODE_AND_MARKET);
  forget();
  expect(await tick()).toEqual(CODE_AND_MARKET);
  isLost = true;
  forget();
  expect(await tick()).toEqual(['light warm-up code']);
  forget();
  expect(await tick()).toEqual([]);
  isLost = false;
  serve(marketOf('b'));
  expect(await tick()).toEqual(CODE_AND_MARKET);
});

test('on a market too large to align for nobody only the code is loaded and the market opened', async () => {
  const { serve, tick } = warmUp({ stored: { 'index CORE': index('CORE'), 'run CORE': run('CORE') } });
  serve(marketOf('a', { dates: 10_000_001 }));
  expect(await tick()).toEqual([...CODE_AND_MARKET]);
});

test('closed, it asks nothing and waits for nothing', async () => {
  const { serve, tick, close, timers, wake } = warmUp();
  serve(marketOf('a'));
  close();
  expect(timers.size).toBe(0);
  wake();
  expect(await tick()).toEqual([]);
});

test('answers have the same bytes from threads that were made ready and from threads that were not', async () => {
  const texts: string[] = [];
  for (const word of ['off', 'on']) {
    service = await runService(['--warm-up', word]);
    const market = { store_id: 'market', seed: 3, assets: 20, start: '2019-01-02', end: '2021-12-31' };
    await service.ask('POST', '/data/synthetic', market);
    await service.finished('generate:market');
    const base = { calendar: 'XNYS', base_date: '2019-02-01' };
    const pipeline = { weighting: { type: 'EqualWeight' } };
    await service.ask('POST', '/indices', { id: 'EQ', name: 'EQ', ...base, pipeline });
    await service.ask('POST', '/analytics/EQ/backtest', {});
    expect((await service.finished('backtest:EQ')).status).toBe('succeeded');
    await service.restart();
    for (const path of [
      '/analytics/EQ/weights?risk=true',
      '/analytics/EQ/weights?risk=true&as_of=2020-06-30',
      '/analytics/EQ/attribution',
    ]) {
      let answer = await service.download(path);
      while (answer.status === 503) answer = await service.download(path); // The market is on its way.
      expect(answer.status).toBe(200);
      texts.push(await answer.text());
    }
    await service.close();
  }
  service = undefined;
  expect(texts.slice(3)).toEqual(texts.slice(0, 3));
});
