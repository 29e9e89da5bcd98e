import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type * as Api from '#engine/api.js';
import type { Finding } from '#domain/base/findings.js';
import { openEngine } from '#engine/main.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { createExampleMarket } from './example-market.js';
import { createEqualIndex } from '../equal-index.js';

const market = createExampleMarket({ names: 30, days: 400, seed: 7 });

const documents = [
  {
    id: 'CAPPED',
    name: 'Capped',
    calendar: 'XNYS',
    base_date: '2022-02-01',
    rebalance: { frequency: 'monthly' },
    pipeline: {
      selection: [{ id: 'top', type: 'TopN', params: { count: 12, field: { name: 'MOM', lag: 0 } } }],
      treatment: { dividends: 'total' },
      weighting: { type: 'InverseVolatilityWeight', cap: 0.15 },
    },
    datapoints: { MOM: 'CLOSE / mean(CLOSE, window=20) - 1' },
  },
  createEqualIndex('EQUAL', {
    name: 'Equal',
    base_date: '2021-02-01',
    amendments: [
      {
        effective_from: '2021-09-01',
        reason: 'Fewer names.',
        changes: { pipeline: { selection: [{ id: 'x', type: 'ExcludeList', params: { identifiers: ['N03'] } }] } },
      },
    ],
  }),
] as unknown as Parameters<Api.Engine['define']>[0][];

let service: LiveService;
let engine: Api.Engine;
beforeAll(async () => {
  service = await openLiveService();
  const tables = { market: market.table, corporate_actions: market.actions, reference: market.reference };
  await service.ok('POST', '/data/import', { store_id: 'm', name: 'm', tables, activate: true });
  for (const document of documents) await service.ok('PUT', `/indices/${document.id}`, document);
  engine = await openEngine({
    market: { prices: market.arrays, corporate_actions: market.actions, reference: market.reference },
  });
});
afterAll(() => service.close());

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('arrays, a table and Arrow are the same market, with the content hash of the service', async () => {
  const { stores } = await service.ok<{ readonly stores: readonly { readonly content_hash: string }[] }>(
    'GET',
    '/data/stores',
  );
  const tables = { corporate_actions: market.actions, reference: market.reference };
  const byTable = await openEngine({ market: { prices: market.table, ...tables } });
  const columns = market.table.columns.map((name, i) => [name, market.table.data.map((row) => row[i])] as const);
  const arrow = tableToIPC(tableFromArrays(Object.fromEntries(columns) as Record<string, number[]>), 'stream');
  const byArrow = await openEngine({ market: { prices: arrow, ...tables } });
  for (const openedEngine of [engine, byTable, byArrow])
    expect(openedEngine.content_hash).toBe(stores[0]!.content_hash);
});

test.each(documents.map(({ id }) => id))(
  '%s: define, run, preview and explain return the results of the service',
  async (id) => {
    const document = documents.find((each) => each.id === id)!;
    const request = { transaction_cost_bps: 7, benchmark: 'identifier:N05' };
    const { index } = engine.define(document);
    expect(index).toEqual(await service.ok('GET', `/indices/${id}`));
    const run = engine.backtest(id, request);
    await service.job(`/analytics/${id}/backtest`, request);
    const storedLevels = await service.ok<StoredLevels>('GET', `/analytics/${id}/levels`);
    const { dates, levels, divisor } = run.levels();
    expect([...levels]).toEqual(storedLevels.levels.data);
    expect([...divisor]).toEqual(storedLevels.divisor.data);
    expect(dates).toEqual(storedLevels.levels.index.map((day) => day.slice(0, 10)));
    const asOf = dates[70]!;
    const { weights } = await service.ok<Pick<Api.HeldWeights, 'weights'>>(
      'GET',
      `/analytics/${id}/weights?as_of=${asOf}`,
    );
    const computeBySelf = ({ identifier, weight, decided_weight: decided }: (typeof weights)[number]) => [
      identifier,
      weight,
      decided,
    ];
    expect(run.weights(asOf).weights.map(computeBySelf)).toEqual(weights.map(computeBySelf));
    const { metrics } = await service.ok<Pick<Api.Backtest, 'metrics'>>('GET', `/analytics/${id}/overview`);
    expect(run.metrics).toEqual(metrics);
    const preview = await service.ok<object>('POST', `/indices/${id}/preview`, { as_of: asOf });
    expect(engine.preview(id, asOf)).toEqual({ ...preview, index_version: null });
    const { index_version: _, ...why } = await service.ok<{ readonly index_version: number }>(
      'GET',
      `/indices/${id}/explain/N04?as_of=${asOf}`,
    );
    expect(engine.explain(id, 'N04', asOf)).toEqual(why);
  },
);

test('the whole result of a run has the bytes of the file that the service stores', async () => {
  for (const { id } of documents) {
    engine.define(documents.find((each) => each.id === id)!);
    await service.job(`/analytics/${id}/backtest`, {});
    const { hash } = engine.backtest(id);
    const files = readdirSync(service.folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const hashes = files.map((file) => sha256(readFileSync(join(file.parentPath, file.name))));
    expect(hashes).toContain(hash);
  }
});

const wrongDocuments = [
  {
    id: 'X Y',
    name: 'x',
    calendar: 'NOWHERE',
    base_date: '2021-02-30',
    pipeline: { weighting: { type: 'EqualWeigh' } },
  },
  { id: 'A', name: 'x', calendar: 'XNYS', base_date: '2021-02-01' },
  {
    id: 'A',
    name: 'x',
    calendar: 'XNYS',
    base_date: '2021-02-01',
    universe: { kind: 'index', index_id: 'ABSENT' },
    pipeline: {
      selection: [{ id: 's', type: 'TopN', params: { count: 0, field: { name: 'NOPE', lag: 0 } } }],
      weighting: { type: 'EqualWeight', cap: 2 },
    },
  },
] as unknown as Parameters<Api.Engine['define']>[0][];

test.each(wrongDocuments.map((document, i) => [i, document] as const))(
  'an invalid definition (%i) has the findings of the service',
  async (_, document) => {
    const { findings } = await service.ok<{ readonly findings: readonly Finding[] }>(
      'POST',
      '/indices/validate',
      document,
    );
    expect(findings.length).toBeGreaterThan(0);
    expect(engine.validate(document)).toEqual(findings);
    const refusal = await service.ask<{ readonly error: object }>('POST', '/indices', document);
    expect(catchCodeAndFindings(() => engine.define(document))).toEqual(shortenError(refusal.body.error));
  },
);

interface StoredLevels {
  readonly levels: { readonly index: readonly string[]; readonly data: readonly number[] };
  readonly divisor: { readonly data: readonly number[] };
}

function catchCodeAndFindings(work: () => unknown): object {
  try {
    work();
  } catch (thrown) {
    return shortenError(thrown as Api.EngineError);
  }
  throw new Error('nothing was refused');
}

const shortenError = (error: object): object => {
  const { code, message, detail } = error as Api.EngineError;
  return { code, message, findings: detail?.['findings'] };
};

test('a request that only a service can answer is refused by name', () => {
  engine.define(documents[1]!);
  const request = { as_known_on: 3 } as unknown as Parameters<Api.Engine['backtest']>[1];
  expect(catchCodeAndFindings(() => engine.backtest('EQUAL', request))).toMatchObject({
    code: 'VALIDATION_FAILED',
    findings: [{ path: 'as_known_on', code: 'NO_EFFECT' }],
  });
  expect(catchCodeAndFindings(() => engine.backtest('ABSENT'))).toMatchObject({ code: 'INDEX_NOT_FOUND' });
});

test.each([
  ['a date that repeats', { dates: ['2021-01-04', '2021-01-04'] }, 'prices.dates[1]', 'INVALID_RANGE'],
  ['a day that does not exist', { dates: ['2021-01-04', '2021-02-30'] }, 'prices.dates[1]', 'BAD_DATE'],
  ['an identifier that repeats', { identifiers: ['A', 'A'] }, 'prices.identifiers[1]', 'DUPLICATE_KEY'],
  ['too few values', { fields: { CLOSE: Float64Array.of(1, 2, 3) } }, 'prices.fields.CLOSE', 'OUT_OF_RANGE'],
  [
    'a price of zero',
    { fields: { CLOSE: Float64Array.of(1, 0, 3, 4) } },
    'prices.fields.CLOSE[1]',
    'NON_POSITIVE_PRICE',
  ],
  [
    'a number without end',
    { fields: { CLOSE: Float64Array.of(1, 2, Infinity, 4) } },
    'prices.fields.CLOSE[2]',
    'NOT_A_NUMBER',
  ],
  ['plain numbers', { fields: { CLOSE: [1, 2, 3, 4] } }, 'prices.fields.CLOSE', 'WRONG_TYPE'],
  ['no CLOSE', { fields: { PRICE: Float64Array.of(1, 2, 3, 4) } }, 'prices.CLOSE', 'MISSING_COLUMN'],
])('%s in the arrays is refused at its place', async (_, change, path, code) => {
  const right = {
    dates: ['2021-01-04', '2021-01-05'],
    identifiers: ['A', 'B'],
    fields: { CLOSE: Float64Array.of(1, 2, 3, 4) },
  };
  const prices = { ...right, ...change } as unknown as Api.PriceArrays;
  const refusal = await openEngine({ market: { prices } }).catch((thrown: unknown) => shortenError(thrown as object));
  expect(refusal).toMatchObject({ code: 'VALIDATION_FAILED', findings: [{ path, code }] });
});
