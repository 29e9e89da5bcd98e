import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { VerifiedText } from '#domain/outputs/receipts.js';
import { runHere } from '../cli/process.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { openAgent, type Agent } from './mcp/agent.js';

let service: LiveService;
let agent: Agent;

const createIndex = (id: string, count: number) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2021-01-04',
  currency: 'USD',
  rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'FREE_FLOAT_MARKET_CAP', count } }],
    weighting: { type: 'EqualWeight' },
  },
});

interface Overview {
  readonly metrics: { readonly total_return: number };
}

beforeAll(async () => {
  service = await openLiveService();
  agent = await openAgent(service.url);
  await service.job('/data/synthetic', {
    store_id: 'market',
    seed: 3,
    assets: 12,
    start: '2020-01-02',
    end: '2023-06-30',
  });
  for (const [id, count] of [
    ['CORE', 5],
    ['EVEN', 8],
  ] as const) {
    await service.ok('PUT', `/indices/${id}`, createIndex(id, count));
    await service.job(`/analytics/${id}/backtest`, {});
  }
});
afterAll(async () => {
  await agent?.close();
  await service?.close();
});

const verify = (text: string) => service.ok<VerifiedText>('POST', '/receipts/verify', { text });

/** Reads a result and its address. */
async function read<T>(path: string): Promise<{ readonly body: T; readonly source: string }> {
  const { body, headers } = await service.ask<T>('GET', path);
  return { body, source: headers.get('x-source') ?? '' };
}

/** Writes a fraction as percent with a sign, as toFixed rounds it. */
const formatPercent = (value: number) => `${(100 * value).toFixed(4)} %`;

test('an address pins the run, and its number stays proven after another run', async () => {
  const { body, source } = await read<Overview>('/analytics/CORE/overview');
  expect(source).toMatch(/^divisor:\/analytics\/CORE\/overview\?run_id=\w+$/);
  const text = `CORE returned ${formatPercent(body.metrics.total_return)}[^1].\n\n[^1]: ${source}#/metrics/total_return\n`;
  expect(await verify(text)).toMatchObject({
    proven: 1,
    numbers: [{ status: 'proven', true: body.metrics.total_return, rounding: '4 decimals', reason: null }],
  });
  expect((await verify(text.replace('CORE returned', 'EVEN returned'))).numbers[0]).toMatchObject({
    status: 'different',
    reason: 'subject',
  });
  await service.ok('PUT', '/indices/CORE', createIndex('CORE', 6));
  await service.job('/analytics/CORE/backtest', {});
  expect((await read('/analytics/CORE/overview')).source).not.toBe(source);
  expect((await verify(text)).proven).toBe(1);
});

test('an address that is not pinned is unreadable, and the pinned one is named', async () => {
  const { source } = await read('/analytics/EVEN/overview');
  const { numbers } = await verify('It is 5 %[^1].\n\n[^1]: divisor:/analytics/EVEN/overview#/metrics/total_return\n');
  expect(numbers[0]).toMatchObject({ status: 'unreadable', source: `${source}#/metrics/total_return` });
});

test('addresses pin the version of a document, the version of the data, the runs of a comparison and a job', async () => {
  const document = await read<{ base_date: string }>('/indices/CORE');
  expect(document.source).toMatch(/^divisor:\/indices\/CORE\/versions\/\d+$/);
  const count = `The index has 6 securities[^1].\n\n[^1]: ${document.source}#/pipeline/selection/0/params/count\n`;
  expect((await verify(count)).proven).toBe(1);
  await service.ok('PUT', '/indices/CORE', createIndex('CORE', 7));
  expect((await verify(count)).proven).toBe(1);

  const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>(
    'GET',
    '/data/identifiers?limit=1',
  );
  const prices = await read(`/data/prices/${identifiers[0]!.identifier}?start=2023-06-01&columns=CLOSE`);
  expect(prices.source).toMatch(/\?start=2023-06-01&columns=CLOSE&store_id=market&as_known_on=1$/);

  const compared = await read<{ index_ids: string[] }>('/analytics/compare?ids=CORE,EVEN');
  expect(compared.source).toMatch(/^divisor:\/analytics\/compare\?ids=CORE@\w+,EVEN@\w+$/);

  const job = await read<{ result: Overview }>('/jobs/backtest:EVEN');
  expect(job.source).toMatch(/^divisor:\/jobs\/backtest:EVEN\?created_at=/);
  const { total_return: total } = job.body.result.metrics;
  const text = `EVEN: ${formatPercent(total)}[^1]\n\n[^1]: ${job.source}#/result/metrics/total_return\n`;
  expect((await verify(text)).numbers).toMatchObject([{ status: 'proven', true: total }]);
  await service.job('/analytics/EVEN/backtest', { start: '2022-01-03' });
  expect((await verify(text)).numbers[0]).toMatchObject({ status: 'unreadable' });
});

test('a listing is pinned by its content: a later change makes its numbers unreadable, not different', async () => {
  const { source } = await read('/data/coverage');
  const listing = await read<{ skipped: number }>('/indices');
  expect([source, listing.source]).toEqual([expect.stringMatching(/sha256=/), expect.stringMatching(/sha256=/)]);
  const text = `There are 0 documents[^1].\n\n[^1]: ${listing.source}#/skipped\n`;
  expect((await verify(text)).proven).toBe(1);
  await service.ok('PUT', '/indices/LATER', createIndex('LATER', 3));
  expect((await verify(text)).numbers[0]).toMatchObject({
    status: 'unreadable',
    reason: 'The result has changed since.',
  });
});

/** Sends a read by POST, and returns its result and address. */
async function ask<T>(path: string, body: unknown): Promise<{ readonly body: T; readonly source: string }> {
  const { status, body: result, headers } = await service.ask<T>('POST', path, body);
  expect([path, status]).toEqual([path, 200]);
  return { body: result, source: headers.get('x-source') ?? '' };
}

test('the address of a read by POST contains its request: a verification repeats it', async () => {
  const document = createIndex('DRAFT', 4);
  const { source } = await ask('/indices/preview', { document, as_of: '2023-06-30' });
  expect(source).toMatch(/^divisor:\/indices\/preview\?body=[\w-]+&sha256=[0-9a-f]{16}$/);
  const query = 'SELECT 42 AS n';
  const counted = await ask<{ data: unknown[][] }>('/sql', { query });
  const rows = Number(counted.body.data[0]![0]);
  const text = `On that day there were ${rows} rows[^1].\n\n[^1]: ${counted.source}#/data/0/0\n`;
  expect((await verify(text)).numbers).toMatchObject([{ status: 'proven', true: rows }]);
  expect((await verify(text.replace(`${rows} rows`, `${rows + 1} rows`))).numbers).toMatchObject([{ reason: 'value' }]);
  const other = text.replace(/sha256=\w/, (found) => (found.endsWith('0') ? 'sha256=1' : 'sha256=0'));
  expect((await verify(other)).numbers).toMatchObject([
    { status: 'unreadable', reason: 'The result has changed since.' },
  ]);
  const { contents } = await agent.client.readResource({ uri: counted.source });
  expect(JSON.parse((contents[0] as { text: string }).text)).toEqual(counted.body);
  const viaTool = await agent.call('callOperation', { name: 'runSql', arguments: { body: { query } } });
  expect(viaTool._meta).toMatchObject({ source: expect.stringMatching(/^divisor:\/sql\?body=/) });
});

test('each read by POST has the same address twice', async () => {
  const document = createIndex('DRAFT', 4);
  for (const [path, body] of [
    ['/indices/validate', document],
    ['/indices/preview', { document, as_of: '2023-06-30' }],
    ['/indices/level', { document }],
    ['/indices/whatif', { index_id: 'CORE', patch: { pipeline: { weighting: { cap: 0.3 } } } }],
    ['/indices/datapoints/evaluate', { expression: 'CLOSE * 2' }],
    [
      '/derivatives/futures/price',
      {
        spot: 4000,
        as_of: '2024-01-02',
        expiry: '2024-03-15',
        risk_free_rate: 0.05,
        dividend_yield: 0.015,
        borrow_rate: 0.002,
      },
    ],
    ['/indices/CORE/preview', {}],
    ['/sql', { query: 'SELECT 1 AS one' }],
    [
      '/analytics/CORE/scenarios',
      { scenarios: [{ name: 'Fall', window: { start: '2022-02-01', end: '2022-03-01' } }] },
    ],
  ] as const) {
    const { status, headers, body: answer } = await service.ask('POST', path, body);
    const again = await service.ask('POST', path, body);
    const source = headers.get('x-source');
    expect([path, status, status === 200 ? source : answer]).toEqual([path, 200, expect.stringMatching(/[?&]body=/)]);
    expect([path, again.headers.get('x-source')]).toEqual([path, source]);
  }
});

test('an address starts nothing: only reads by POST are repeated', async () => {
  const { source } = await ask('/sql', { query: 'SELECT 1 AS one' });
  const body = /body=[\w-]+/.exec(source)![0];
  for (const path of [
    '/indices/CORE/versions/1/restore',
    '/indices',
    '/analytics/CORE/backtest',
    '/indices/x%2F..%2FCORE/preview',
    '/receipts/verify',
    '/mcp',
  ]) {
    const { numbers } = await verify(`It is 1[^1].\n\n[^1]: divisor:${path}?${body}#/a\n`);
    expect([path, numbers[0]]).toMatchObject([
      path,
      { status: 'unreadable', reason: 'The address contains no read that can be repeated.' },
    ]);
  }
  const { numbers } = await verify('It is 1[^1].\n\n[^1]: divisor:/sql?body=__8#/a\n');
  expect(numbers[0]).toMatchObject({ status: 'unreadable' });
});

test('the address of a comparison with another index pins its content', async () => {
  await service.ok('PUT', '/indices/BENCH', createIndex('BENCH', 9));
  await service.job('/analytics/BENCH/backtest', {});
  const path = '/analytics/CORE/attribution/groups?by=SECTOR&benchmark=BENCH';
  const { source } = await read(path);
  expect(source).toMatch(/run_id=\w+&sha256=[0-9a-f]{16}$/);
  expect((await read(path)).source).toBe(source);
  await service.ok('PUT', '/indices/BENCH', createIndex('BENCH', 3));
  expect((await read(path)).source).not.toBe(source);
});

test('the log of publications has an address', async () => {
  await service.job('/analytics/CORE/backtest', {});
  await service.ok('POST', '/analytics/CORE/publish', { through: '2022-06-30' });
  const { source } = await read('/analytics/CORE/published');
  expect(source).toMatch(/^divisor:\/analytics\/CORE\/published\?sha256=[0-9a-f]{16}$/);
});

test('only reads of results are addresses', async () => {
  for (const address of [
    'divisor:/health',
    'divisor:/docs/guide',
    'divisor:/nowhere',
    'divisor:/jobs/events',
    'divisor:/jobs/backtest:CORE/events',
    'divisor://evil.example/indices',
    'divisor:/analytics/NONE/overview?run_id=1',
    'divisor:/receipts/verify',
  ]) {
    const { numbers } = await verify(`It is 5[^1].\n\n[^1]: ${address}#/a\n`);
    expect([address, numbers[0]!.status]).toEqual([address, 'unreadable']);
  }
});

test('a text with too many numbers or bytes is refused with both values', async () => {
  const many = await service.ask('POST', '/receipts/verify', { text: '7 '.repeat(2001) });
  expect([many.status, JSON.stringify(many.body)]).toEqual([422, expect.stringMatching(/2000/)]);
  const long = await service.ask('POST', '/receipts/verify', { text: 'é'.repeat(524_289) });
  expect([long.status, JSON.stringify(long.body)]).toEqual([422, expect.stringMatching(/1048578.*1048576/)]);
  expect(await verify('No number.')).toMatchObject({ numbers: [], proven: 0 });
});

test('a tool names the address of its result, and verifyText proves a text that cites it', async () => {
  const result = await agent.call('callOperation', { name: 'getOverview', arguments: { index_id: 'CORE' } });
  const { source } = result._meta as { source: string };
  expect(result.content.at(-1)).toEqual({ type: 'text', text: `Source: ${source}` });
  const { metrics } = JSON.parse((result.content[0] as { text: string }).text) as Overview;
  const text = `CORE: ${formatPercent(metrics.total_return)}[^1]\n\n[^1]: ${source}#/metrics/total_return\n`;
  expect(await agent.ok('verifyText', { text })).toMatchObject({ proven: 1, different: 0 });
  const { contents } = await agent.client.readResource({ uri: source });
  expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ metrics });
});

test('tools for whole tasks store, backtest, explain, compare and attribute', async () => {
  const backtest = await agent.ok<Overview>('backtestDocument', { document: createIndex('TASK', 4) });
  expect(backtest.metrics.total_return).toEqual(expect.any(Number));
  const level = await agent.call('explainLevel', { index_id: 'TASK', date: '2023-06-30' });
  expect(level.content.filter((part) => part.type === 'text' && part.text.startsWith('Source: '))).toHaveLength(2);
  expect(await agent.ok('compareIndices', { ids: ['TASK', 'EVEN'] })).toMatchObject({ index_ids: expect.any(Array) });
  expect(await agent.ok('attributeReturn', { index_id: 'TASK', by: 'SECTOR' })).toMatchObject({});
  expect((await agent.call('backtestDocument', { document: { id: 'BAD' } })).isError).toBe(true);
  expect((await agent.call('explainLevel', { index_id: 'TASK' })).isError).toBe(true);
});

const readLevels = async (id: string) => {
  const { levels } = await service.ok<{ levels: { index: string[]; data: number[] } }>(
    'GET',
    `/analytics/${id}/levels`,
  );
  return levels;
};
const readTexts = async (tool: string, toolArguments: Readonly<Record<string, unknown>>): Promise<unknown[]> => {
  const { content, isError } = await agent.call(tool, toolArguments);
  const texts = content.map((part) => (part.type === 'text' ? part.text : ''));
  expect([tool, isError ?? false, texts[0]]).toEqual([tool, false, expect.any(String)]);
  return texts.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as unknown);
};
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const objective = { type: 'min_variance' };

test('tools for levels return what the levels give: total returns, contributions that sum to them, common dates', async () => {
  await service.job('/analytics/EVEN/backtest', { start: '2022-01-03' });
  const [backtest] = await readTexts('backtestDocument', { document: createIndex('TEN', 3) });
  const ten = (await readLevels('TEN')).data;
  expect((backtest as Overview).metrics.total_return).toBeCloseTo(ten.at(-1)! / ten[0]! - 1, 12);

  const even = await readLevels('EVEN');
  const { data: evenLevels, index: dates } = even;
  const at = dates.indexOf('2022-06-01');
  const dayReturn = evenLevels[at]! / evenLevels[at - 1]! - 1;
  interface Attribution {
    readonly contributions: readonly { readonly contribution: number }[];
    readonly total_return: number;
  }
  const [level, day] = (await readTexts('explainLevel', { index_id: 'EVEN', date: '2022-06-01' })) as [
    { levels: { index: string[]; data: number[] } },
    Attribution,
  ];
  expect([level.levels.index.at(-1), level.levels.data.at(-1)]).toEqual(['2022-06-01', evenLevels[at]]);
  expect(sum(day.contributions.map(({ contribution }) => contribution))).toBeCloseTo(dayReturn, 12);

  const [attribution] = (await readTexts('attributeReturn', { index_id: 'EVEN', start: '2022-12-30' })) as [
    Attribution,
  ];
  const halfYear = evenLevels.at(-1)! / evenLevels[dates.indexOf('2022-12-30')]! - 1;
  expect(attribution.total_return).toBeCloseTo(halfYear, 12);
  expect(sum(attribution.contributions.map(({ contribution }) => contribution))).toBeCloseTo(halfYear, 12);

  const [compared] = (await readTexts('compareIndices', { ids: ['EVEN', 'TEN'] })) as [
    { entries: { index_id: string; total_return: number; level: { index: string[] } }[] },
  ];
  expect(compared.entries.map(({ level: { index } }) => index[0])).toEqual(['2022-01-03', '2022-01-03']);
  for (const { index_id: id, total_return: total } of compared.entries) {
    const { index, data } = await readLevels(id);
    expect(total).toBeCloseTo(data.at(-1)! / data[index.indexOf('2022-01-03')]! - 1, 12);
  }
}, 60_000);

test('tools for optimisation, risk, differences, reports and data return what their definitions give', async () => {
  for (const [id, upper] of [
    ['wide', 0.6],
    ['narrow', 0.05],
  ] as const)
    await service.ok('PUT', `/optimise/constraint-sets/${id}`, {
      id,
      name: id,
      constraints: [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper } }],
    });
  const { data: evenLevels, index: dates } = await readLevels('EVEN');

  const [optimisation] = (await readTexts('optimise', {
    body: { index_id: 'EVEN', constraint_set_id: 'wide', objective },
  })) as [
    { status: string; result: { weights: { weight: number }[]; volatility: number; before: { volatility: number } } },
  ];
  const { weights, volatility, before } = optimisation.result;
  expect(sum(weights.map(({ weight }) => weight))).toBeCloseTo(1, 9);
  expect(weights.every(({ weight }) => weight >= 0 && weight <= 0.6 + 1e-9)).toBe(true);
  expect(volatility).toBeLessThanOrEqual(before.volatility);

  const [infeasible] = (await readTexts('explainInfeasibility', {
    body: { index_id: 'EVEN', constraint_set_id: 'narrow', objective },
  })) as [
    { error: { code: string; detail: { relaxations: { id: string; from: number; to: number }[] } }; message: string },
  ];
  // One of the eight securities has no risk estimate. Seven of at most 5 % are 35 %: full investment needs a seventh each.
  expect(infeasible.error).toMatchObject({ code: 'INFEASIBLE', detail: { proven: true } });
  expect(infeasible.error.detail.relaxations).toEqual([
    expect.objectContaining({ id: 'pos', parameter: 'upper', from: 0.05, to: expect.closeTo(1 / 7, 8) }),
  ]);

  const [risk] = (await readTexts('estimateRisk', { index_id: 'EVEN' })) as [
    { contributions: Record<string, number>; factor_variance: number; specific_variance: number; volatility: number },
  ];
  expect(risk.volatility ** 2).toBeCloseTo(risk.factor_variance + risk.specific_variance, 12);
  expect(sum(Object.values(risk.contributions))).toBeCloseTo(1, 9);

  // From the twentieth of the last forty sessions on, the outside level is 1 % higher: one session explains all others.
  const outside = dates
    .slice(-40)
    .map((date, i) => ({ date, value: evenLevels[evenLevels.length - 40 + i]! * (i < 20 ? 1 : 1.01) }));
  const [difference] = (await readTexts('explainDifference', { index_id: 'EVEN', body: { levels: outside } })) as [
    { status: string; result: { first_difference: string | null } },
  ];
  expect([difference.status, JSON.stringify(difference.result)]).toEqual([
    'succeeded',
    expect.stringContaining(dates.at(-20)!),
  ]);

  const [report] = (await readTexts('report', { body: { template_id: 'FACTSHEET-A4', index_id: 'EVEN' } })) as [
    { result: { render_id: string; bytes: number } },
  ];
  const pdf = await fetch(`${service.url}/reports/renders/${report.result.render_id}`);
  const bytes = Buffer.from(await pdf.arrayBuffer());
  expect([bytes.subarray(0, 5).toString(), bytes.length]).toEqual(['%PDF-', report.result.bytes]);

  const table = {
    index: [0, 1],
    columns: ['identifier', 'date', 'CLOSE'],
    data: [
      ['A', '2024-01-02', 100],
      ['A', '2024-01-03', 101],
    ],
  };
  const [imported] = await readTexts('importData', {
    body: { name: 'Two', store_id: 'two', tables: { market: table } },
  });
  expect(imported).toMatchObject({
    store: { store_id: 'two', start: '2024-01-02', end: '2024-01-03' },
    rows: { market: 2 },
    identifiers: 1,
  });
}, 120_000);

test('an invalid call of a tool for a whole task names the fault', async () => {
  for (const [tool, invalidArguments, fault] of [
    ['backtestDocument', { document: { id: 'TEN', name: 'x' } }, 'calendar'],
    ['backtestDocument', {}, 'document must be an object'],
    ['explainLevel', { index_id: 'NONE', date: '2022-06-01' }, 'NONE'],
    ['explainLevel', { index_id: 'EVEN', date: 'soon' }, 'soon'],
    ['compareIndices', { ids: ['EVEN'] }, 'ids has 1 id'],
    ['attributeReturn', { index_id: 'EVEN', start: 'x' }, 'start'],
    ['optimise', { body: {} }, 'constraint_set_id'],
    ['explainInfeasibility', { body: { index_id: 'EVEN', constraint_set_id: 'none', objective } }, 'none'],
    ['estimateRisk', { index_id: 'EVEN', as_of: 'soon' }, 'as_of'],
    ['explainDifference', { index_id: 'EVEN', body: {} }, 'levels'],
    ['report', { body: { template_id: 5 } }, 'template_id'],
    ['importData', { body: { tables: {} } }, 'name'],
  ] as const) {
    const { content, isError } = await agent.call(tool, invalidArguments);
    expect([tool, isError, JSON.stringify(content)]).toEqual([tool, true, expect.stringContaining(fault)]);
  }
});

test('the command exits with 0 for proven texts and 1 otherwise, and writes addresses with --sources', async () => {
  const url = ['--url', service.url];
  const view = await runHere(['performance', 'CORE', '--sources', ...url]);
  const source = /source: (divisor:\S+)/.exec(view.err)![1]!;
  const { body } = await read<Overview>('/analytics/CORE/performance');
  const file = join(service.folder, 'report.md');
  const write = (number: string) =>
    writeFile(file, `CORE returned ${number}[^1].\n\n[^1]: ${source}#/metrics/total_return\n`);
  await write(formatPercent(body.metrics.total_return));
  const proven = await runHere(['verify-text', file, ...url]);
  expect([proven.status, proven.out]).toEqual([0, expect.stringContaining('proven')]);
  await write('99 %');
  const different = await runHere(['verify-text', file, ...url]);
  expect([different.status, different.out]).toEqual([1, expect.stringContaining('different')]);
  await writeFile(file, 'No number.\n');
  expect((await runHere(['verify-text', file, ...url])).status).toBe(0);
});

test('a text may cite 2,000 addresses without a warning of the process', async () => {
  const text = Array.from({ length: 2000 }, (_, i) => `It is 5[^${i}].\n\n[^${i}]: divisor:/indices/I${i}#/a\n`).join(
    '\n',
  );
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on('warning', onWarning);
  try {
    expect(await verify(text)).toMatchObject({ proven: 0, unreadable: 2000 });
    await new Promise((resolve) => setTimeout(resolve, 50)); // a warning is emitted on a later turn
  } finally {
    process.off('warning', onWarning);
  }
  expect(warnings).toEqual([]);
});

test('a sentence that names another store than the result is refused', async () => {
  const { body, source } = await read<Overview>('/analytics/CORE/overview');
  await service.job('/data/synthetic', {
    store_id: 'desk',
    seed: 5,
    assets: 4,
    start: '2022-01-03',
    end: '2022-06-30',
  });
  const write = (place: string) =>
    `${place}, CORE returned ${formatPercent(body.metrics.total_return)}[^1].\n\n[^1]: ${source}#/metrics/total_return\n`;
  expect((await verify(write('On the desk store'))).numbers[0]).toMatchObject({ reason: 'subject' });
  expect((await verify(write('On store `market`'))).proven).toBe(1);
  expect((await verify(write('On our desk'))).proven).toBe(1); // no store is named
});
