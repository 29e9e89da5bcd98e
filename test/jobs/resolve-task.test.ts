import { describe, expect, test } from 'vitest';
import type { MarketHandle, MarketIdentity } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { createNodePool } from '#jobs/job-system.js';
import type { ThreadPool } from '#jobs/port/compute-pool.js';
import { resolveTask, type TaskResources } from '#jobs/tasks/catalogue.js';
import type { PortableTaskName, TaskInput, ThreadInput } from '#jobs/tasks/catalogue.js';

const market: MarketIdentity = { datasetId: 'm', contentHash: 'c0ffee', adjustment: 'none', currency: null };
const handle = { ...market, dates: new SharedArrayBuffer(4) } as MarketHandle;
const columns = { artifact: 'columns', beside: ['earlier'] };
const resources = {
  file: async ({ artifact, beside = [] }: { readonly artifact: string; readonly beside?: readonly string[] }) =>
    [`/node/${artifact}`, ...beside].join('+'),
  market: async () => handle,
  destination: { kind: 'folder', folder: '/node', lowWaterMark: {} },
} as const;
/** Names of the artifacts that the task of a run writes. */
const outputs = { plan: 'p', columns: 'c', prices: 'h', checkpoint: 'k' };

/**
 * Task orders with every kind of reference. Each entry also has the values that a thread receives for the references,
 * and the destinations of the outputs.
 */
const ORDERS: { readonly [N in PortableTaskName]: { readonly order: object; readonly located: object } } = {
  backtest: {
    order: {
      market,
      plan: { runId: 'I' },
      engineVersion: '1',
      outputs,
      stored: {
        columns,
        checkpoint: { artifact: 'check', sha256: 'ab' },
        checked: [{ artifact: 'earlier', sha256: 'ef' }],
        fileNames: ['next'],
      },
    },
    located: {
      stored: {
        columns: '/node/columns+earlier',
        checkpoint: { path: '/node/check', sha256: 'ab' },
        checked: [{ path: '/node/earlier', sha256: 'ef' }],
        fileNames: ['next'],
      },
    },
  },
  replay: {
    order: { market, outputs: { view: 'v' }, definitionChanged: true, columns },
    located: { columns: '/node/columns+earlier' },
  },
  'account-backtest': { order: { market, outputs: { view: 'v' }, indexId: 'CORE' }, located: {} },
  'batch-part': {
    order: { market, outputs: { outcomes: 'o' }, lines: [{ text: '{}', position: 0, line: null }] },
    located: {},
  },
  'sum-batch': {
    order: {
      market,
      outputs: { view: 'v', rows: 'r' },
      files: [{ artifact: 'part', sha256: 'ab', parts: [0] }],
    },
    located: { files: [{ path: '/node/part', sha256: 'ab', parts: [0] }] },
  },
  'sweep-part': {
    order: {
      market,
      outputs: { outcomes: 'o' },
      patches: [{ '/request/start': { artifact: 'not a reference' } }],
      known: { knownOn: 9, earlier: [{ artifact: 'change', sha256: 'cd', knownOn: 8 }] },
    },
    located: { known: { knownOn: 9, earlier: [{ path: '/node/change', sha256: 'cd', knownOn: 8 }] } },
  },
  'sum-sweep': {
    order: {
      market,
      outputs: { view: 'v', rows: 'r' },
      sweepId: 's',
      files: Array.from({ length: 40 }, (_, i) => ({ artifact: `part${i}`, sha256: 'ab', parts: [i] })),
    },
    located: {
      files: Array.from({ length: 40 }, (_, i) => ({ path: `/node/part${i}`, sha256: 'ab', parts: [i] })),
    },
  },
  'sum-rows': {
    order: {
      outputs: { view: 'v', rows: 'r' },
      kind: 'rerun',
      id: 's',
      files: [{ artifact: 'part', sha256: 'ab', parts: [0, 2] }],
    },
    located: { files: [{ path: '/node/part', sha256: 'ab', parts: [0, 2] }] },
  },
  optimise: {
    order: {
      market,
      outputs: { result: 'r' },
      runId: 'o',
      models: { core: { artifacts: ['rows', 'more'], names: ['A'], observedEnd: '2024-01-02' } },
    },
    located: { models: { core: { paths: ['/node/rows', '/node/more'], names: ['A'], observedEnd: '2024-01-02' } } },
  },
  'simulate-part': {
    order: { market, columns, calendar: 'XNYS', parts: [0, 2], outputs: { tallies: 't' } },
    located: { columns: '/node/columns+earlier' },
  },
  'sum-simulation': {
    order: {
      market,
      columns,
      calendar: 'XNYS',
      outputs: { view: 'v' },
      files: [{ artifact: 'part', sha256: 'ab', parts: [0, 2] }],
    },
    located: { columns: '/node/columns+earlier', files: [{ path: '/node/part', sha256: 'ab', parts: [0, 2] }] },
  },
  'estimate-risk-model': {
    order: { market, outputs: { covariance: 'c', factors: 'f' }, universe: { kind: 'run', columns, calendar: 'XNYS' } },
    located: { universe: { kind: 'run', columns: '/node/columns+earlier', calendar: 'XNYS' } },
  },
  'risk-model-size': {
    order: { market, universe: { kind: 'run', columns, calendar: 'XNYS' } },
    located: { universe: { kind: 'run', columns: '/node/columns+earlier', calendar: 'XNYS' } },
  },
  'risk-model-parts': {
    order: {
      market,
      outputs: { figures: 'f', 'rows 0': 'r' },
      universe: { kind: 'names', identifiers: ['A'] },
      parts: [0, 64],
    },
    located: {},
  },
  'sum-risk-model': {
    order: {
      market,
      outputs: { factors: 'f' },
      universe: { kind: 'run', columns, calendar: 'XNYS' },
      covariance: { sha256: 'cd', files: [{ name: 'rows', bytes: 8, sha256: 'ef' }] },
      files: [{ artifact: 'part', sha256: 'ab', parts: [0, 2] }],
    },
    located: {
      universe: { kind: 'run', columns: '/node/columns+earlier', calendar: 'XNYS' },
      files: [{ path: '/node/part', sha256: 'ab', parts: [0, 2] }],
    },
  },
  'validate-risk-model': {
    order: { market, outputs: { view: 'v' }, modelId: 'm', run: { indexId: 'I', columns } },
    located: { run: { indexId: 'I', columns: '/node/columns+earlier' } },
  },
  render: {
    order: {
      outputs: { pdf: 'p' },
      runs: [
        { indexId: 'I', market, overview: { plan: { artifact: 'plan', sha256: 'ab' } }, columns },
        { indexId: 'J', market: null, overview: { stored: { artifact: 'overview', sha256: 'cd' } }, columns },
      ],
    },
    located: {
      runs: [
        {
          indexId: 'I',
          market: handle,
          overview: { plan: { path: '/node/plan', sha256: 'ab' } },
          columns: '/node/columns+earlier',
        },
        {
          indexId: 'J',
          market: null,
          overview: { stored: { path: '/node/overview', sha256: 'cd' } },
          columns: '/node/columns+earlier',
        },
      ],
    },
  },
};
const names = Object.keys(ORDERS) as PortableTaskName[];

describe.each(names)('an order of %s', (name) => {
  const { order, located } = ORDERS[name];

  test('is unchanged in another process, and resolved there', async () => {
    const arrivedInput = JSON.parse(JSON.stringify(order)) as TaskInput<typeof name>;
    expect(arrivedInput).toEqual(order);
    const input = await resolveTask(name, arrivedInput, resources);
    const writtenOutputs =
      'outputs' in order ? { outputs: { destination: resources.destination, names: order.outputs } } : {};
    expect(input).toEqual({ ...order, ...('market' in order && { market: handle }), ...located, ...writtenOutputs });
  });

  test.runIf('market' in order)('receives the memory of the market itself', async () => {
    const input = await resolveTask(name, order as TaskInput<typeof name>, resources);
    expect(input).toHaveProperty('market', handle);
    expect((input as { readonly market: unknown }).market).toBe(handle);
  });
});

const refuse = async () => Promise.reject(new Error('asked for a market'));

test('simulate-part without a market requests no market', async () => {
  const order = { ...ORDERS['simulate-part'].order, market: null } as TaskInput<'simulate-part'>;
  expect(await resolveTask('simulate-part', order, { ...resources, market: refuse })).toMatchObject({ market: null });
});

test('render requests the market of each run that has one', async () => {
  const { order } = ORDERS.render as { readonly order: TaskInput<'render'> };
  const { runs } = await resolveTask('render', order, resources);
  expect(runs.map(({ market: own }) => own)).toEqual([handle, null]);
  expect(runs[0]!.market).toBe(handle);
  const orderWithoutMarket = { ...order, runs: order.runs.map((run) => ({ ...run, market: null })) };
  expect(await resolveTask('render', orderWithoutMarket, { ...resources, market: refuse })).toMatchObject({
    runs: [{ market: null }, { market: null }],
  });
});

test('a task of one process is given its input unchanged', async () => {
  const order = { from: '/here/columns', to: '/here/others' };
  expect(await resolveTask('compare-levels', order, resources)).toEqual(order);
});

test('backtests of a process receive the files that it has written, if no other process writes', async () => {
  const order = { lane: 'heavy', task: 'backtest', input: ORDERS.backtest.order as TaskInput<'backtest'> } as const;
  const listInputs = async (destination: TaskResources['destination']) => {
    const inputs: unknown[] = [];
    const threads = {
      run({ input }: { readonly input: ThreadInput<'backtest'> }) {
        inputs.push(input.checkedFiles);
        return { output: Promise.resolve() };
      },
    } as unknown as ThreadPool;
    const node = createNodePool(threads, { ...resources, destination });
    await node.run(order).output;
    await node.run(order).output;
    return inputs;
  };
  const folder = { kind: 'folder', folder: '/node', lowWaterMark: {} } as const;
  const [files, secondFiles] = await listInputs(folder);
  expect(files).toBeInstanceOf(BigUint64Array);
  expect(secondFiles).toBe(files);
  expect(await listInputs({ ...folder, storeId: 'shared' })).toEqual([undefined, undefined]);
});

test('an order whose market a node lacks is refused and reaches no thread', async () => {
  const reachedRefs: string[] = [];
  const threads = { run: ({ task }: { task: string }) => reachedRefs.push(task) } as unknown as ThreadPool;
  const goneRefusal = new Refusal('NO_DATA_SOURCE', 'The market has been replaced.');
  const node = createNodePool(threads, { ...resources, market: async () => Promise.reject(goneRefusal) });
  const run = node.run({ lane: 'heavy', task: 'optimise', input: { market } as TaskInput<'optimise'> });
  await expect(run.output).rejects.toBe(goneRefusal);
  expect(reachedRefs).toEqual([]);
  expect(run.isAlive()).toBe(true);
});
