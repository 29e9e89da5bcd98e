import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeriesCollection } from '#contract/data.js';
import type { DataStore } from '#contract/stores.js';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { describeCompared } from './series/compared.js';
import { createFrame } from '../../table-frame.js';

const DAYS = [...openCalendars().get('XNYS')!.sessions]
  .map(formatDay)
  .filter((day) => day >= '2024-01-02' && day <= '2024-06-28');
const NAMES = ['A', 'B', 'C', 'D'];
const EXTERNAL = ['DAX', 'EURUSD', 'SPX'];

/** Session on which the overlay begins. */
const FEE_FROM = 30;

/** Returns a price of a security on a session. Each security has a different path. */
const computePrice = (name: string, t: number): number => {
  const seed = name.charCodeAt(0) + name.length;
  return (
    Math.round(
      1e4 *
        (name === 'EURUSD' ? 1.08 : 50 + seed) *
        Math.exp(0.01 * Math.sin(seed * (t + 1)) + 0.0005 * t * (1 + (seed % 3))),
    ) / 1e4
  );
};
const createRows = (names: readonly string[], more: (name: string) => readonly (string | null)[] = () => []) =>
  DAYS.flatMap((day, t) => names.map((name) => [name, day, computePrice(name, t), ...more(name)]));
const BARS = ['identifier', 'date', 'CLOSE'];
const REFERENCE = createFrame(
  ['identifier', 'CURRENCY', 'SECTOR'],
  [...NAMES.map((name, n) => [name, 'USD', n < 2 ? 'Energy' : 'Health']), ['SPX', 'USD', null], ['DAX', 'EUR', null]],
);
const SERIES = createFrame(
  [...BARS, 'CURRENCY', 'NAME'],
  createRows(EXTERNAL, (name) => [name === 'SPX' ? 'USD' : name === 'DAX' ? 'EUR' : null, `The ${name}`]),
);

/**
 * Stores with equal prices. In one store, benchmarks and rates are series. In the other, they are securities of the
 * market.
 */
const STORES = {
  apart: {
    market: createFrame(BARS, createRows(NAMES)),
    series: SERIES,
    reference: createFrame(REFERENCE.columns, REFERENCE.data.slice(0, NAMES.length)),
  },
  among: { market: createFrame(BARS, createRows([...NAMES, ...EXTERNAL])), reference: REFERENCE },
};

let service: RunningService;

beforeAll(async () => {
  service = await runService();
  for (const [id, tables] of Object.entries(STORES)) {
    const { status, body } = await service.ask('POST', '/data/import', {
      store_id: id,
      name: id,
      tables,
      activate: id === 'apart',
    });
    expect(status, JSON.stringify(body)).toBe(201);
  }
  const index = {
    calendar: 'XNYS',
    base_date: '2024-01-02',
    rebalance: { frequency: 'monthly' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  };
  await service.ask('PUT', '/indices/LISTED', {
    ...index,
    id: 'LISTED',
    name: 'Listed',
    currency: 'USD',
    universe: { kind: 'list', identifiers: NAMES },
  });
  await service.ask('PUT', '/indices/EURO', {
    ...index,
    id: 'EURO',
    name: 'In euros',
    currency: 'EUR',
    universe: { kind: 'list', identifiers: NAMES },
  });
  await service.ask('PUT', '/indices/ALL', { ...index, id: 'ALL', name: 'All', currency: 'USD' });
  const { status, body } = await service.ask('PUT', '/indices/FEE', {
    id: 'FEE',
    name: 'After a fee',
    calendar: 'XNYS',
    base_date: DAYS[FEE_FROM],
    currency: 'USD',
    kind: 'overlay',
    source_index_id: 'LISTED',
    overlay: { type: 'fee', percent: 1 },
  });
  expect(status, JSON.stringify(body)).toBe(200);
});
afterAll(() => service.close());

async function runOnStore<T>(store: keyof typeof STORES, work: () => Promise<T>): Promise<T> {
  const { active } = (await service.ask<{ active: string }>('GET', '/data/stores')).body;
  if (active !== store) {
    await service.ask('POST', `/data/stores/${store}/activate`);
    expect((await service.waitForJob(`load:${store}`)).status).toBe('succeeded');
  }
  return work();
}

async function run(id: string, request: object = {}): Promise<Record<string, unknown>> {
  const { status, body } = await service.ask('POST', `/analytics/${id}/backtest`, request);
  expect(status, JSON.stringify(body)).toBe(202);
  const { error, result } = await service.waitForJob(`backtest:${id}`);
  expect(error).toBeNull();
  return result as Record<string, unknown>;
}

const get = async <T = Record<string, unknown>>(path: string): Promise<T> => {
  const { status, body } = await service.ask<T>('GET', path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

describe('series of the served store', () => {
  test('are listed, searched and paged, and their values are read like prices', () =>
    runOnStore('apart', async () => {
      const { series, next } = await get<SeriesCollection>('/data/series?limit=2');
      expect(series.map(({ identifier, currency, values }) => [identifier, currency, values])).toEqual([
        ['DAX', 'EUR', DAYS.length],
        ['EURUSD', null, DAYS.length],
      ]);
      expect((await get<SeriesCollection>(`/data/series?after=${next}`)).series).toEqual([
        { identifier: 'SPX', name: 'The SPX', currency: 'USD', start: DAYS[0], end: DAYS.at(-1), values: DAYS.length },
      ]);
      expect((await get<SeriesCollection>('/data/series?q=dax')).series).toHaveLength(1);
      const { prices } = await get<{ prices: { index: string[]; columns: string[]; data: number[][] } }>(
        '/data/prices/SPX?start=2024-01-03&end=2024-01-04',
      );
      expect(prices).toEqual({
        index: ['2024-01-03', '2024-01-04'],
        columns: ['CLOSE'],
        data: [[computePrice('SPX', 1)], [computePrice('SPX', 2)]],
      });
    }));

  test('are no constituents, no securities and not part of the coverage', () =>
    runOnStore('apart', async () => {
      const previewText = JSON.stringify(
        (await service.ask('POST', '/indices/ALL/preview', { as_of: '2024-03-01' })).body,
      );
      for (const name of NAMES) expect(previewText).toContain(`"${name}"`);
      for (const name of EXTERNAL) expect(previewText).not.toContain(`"${name}"`);
      expect(await get('/data/coverage')).toMatchObject({ identifiers_union: NAMES.length });
      expect(await get('/data/source')).toEqual({ configured: true, identifiers: NAMES.length });
      expect((await get<{ identifiers: unknown[] }>('/data/identifiers')).identifiers).toHaveLength(NAMES.length);
      expect(await service.refusal('GET', '/data/reference/SPX')).toMatchObject({
        status: 404,
        code: 'IDENTIFIER_NOT_FOUND',
      });
    }));
});

test('a run compared with a series equals one compared with the same prices as a security of the market', async () => {
  const request = { benchmark: { kind: 'identifier', id: 'SPX' } };
  const [separateAnswers, jointAnswers] = [
    await runOnStore('apart', () => run('LISTED', request)),
    await runOnStore('among', () => run('LISTED', request)),
  ];
  const readComparison = ({ benchmark }: Record<string, unknown>) =>
    Object.entries((benchmark as { metrics?: object } | null) ?? {});
  expect(readComparison(separateAnswers).length).toBeGreaterThan(0);
  const [ours, theirs] = [JSON.stringify(separateAnswers['benchmark']), JSON.stringify(jointAnswers['benchmark'])].map(
    (text) => [...text.matchAll(/-?\d+\.\d+(?:e-?\d+)?/g)].map(([number]) => Number(number)),
  );
  expect(ours!.length).toBe(theirs!.length);
  ours!.forEach((value, i) => expect(value).toBeCloseTo(theirs![i]!, 9));
});

test('a benchmark in another currency is converted, by hand', () =>
  runOnStore('apart', async () => {
    const { benchmark } = (await run('LISTED', { benchmark: { kind: 'identifier', id: 'DAX' } })) as {
      benchmark: { total_return?: number } & Record<string, unknown>;
    };
    const last = DAYS.length - 1;
    const byHand =
      (computePrice('DAX', last) * computePrice('EURUSD', last)) /
        (computePrice('DAX', 0) * computePrice('EURUSD', 0)) -
      1;
    const numbers = [...JSON.stringify(benchmark).matchAll(/-?\d+\.\d+(?:e-?\d+)?/g)].map(([number]) => Number(number));
    expect(numbers.some((value) => Math.abs(value - byHand) < 1e-10)).toBe(true);
  }));

test('an exchange rate from a series gives the same levels as one from the market, bit for bit', async () => {
  const readLevels = async () => {
    await run('EURO');
    return get<{ levels: unknown }>('/analytics/EURO/levels');
  };
  const [separateLevels, jointLevels] = [await runOnStore('apart', readLevels), await runOnStore('among', readLevels)];
  expect(separateLevels.levels).toEqual(jointLevels.levels);
  const plainView = await runOnStore('apart', async () => {
    await run('LISTED');
    return get<{ levels: unknown }>('/analytics/LISTED/levels');
  });
  expect(separateLevels.levels).not.toEqual(plainView.levels);
});

describeCompared({
  days: DAYS,
  computePrice,
  on: runOnStore,
  run,
  get,
  refusal: (path, body) => service.refusal(body === undefined ? 'GET' : 'POST', path, body),
  remove: (path) => service.ask('DELETE', path),
});

test('an overlay is refused for errors that would fail its job, and not for data before its start', async () => {
  const readSeries = (name: string, currency: string, t: number) =>
    DAYS.map((day, i) => [name, day, i === t ? -1 : computePrice('SPX', i), currency, name]);
  const tables = {
    market: createFrame(BARS, createRows(NAMES)),
    series: createFrame(SERIES.columns, [
      ...readSeries('EARLIER', 'USD', FEE_FROM - 1),
      ...readSeries('WITHIN', 'USD', FEE_FROM),
      ...readSeries('POUNDS', 'GBP', -1),
    ]),
  };
  const { status } = await service.ask('POST', '/data/import', {
    store_id: 'refused',
    name: 'x',
    tables,
    activate: true,
  });
  expect(status).toBe(201);
  const createBenchmarkQuery = (id: string) => ({ benchmark: { kind: 'identifier', id } });
  const requestRefusal = (id: string) => service.refusal('POST', '/analytics/FEE/backtest', createBenchmarkQuery(id));
  expect(await requestRefusal('WITHIN')).toMatchObject({ status: 422, code: 'NUMERIC_FAILURE' });
  expect(await requestRefusal('POUNDS')).toMatchObject({ status: 422, code: 'FX_MISSING' });
  const { benchmark } = await run('FEE', createBenchmarkQuery('EARLIER'));
  const feeGrowth = computePrice('SPX', DAYS.length - 1) / computePrice('SPX', FEE_FROM) - 1;
  expect((benchmark as { benchmark_return: number }).benchmark_return).toBeCloseTo(feeGrowth, 12);
});

test('a run is extended with its series bit-identically to a whole run, and runs whole if the history of the series changed', async () => {
  const folder = join(service.root, 'growing');
  await mkdir(folder);
  const write = (days: number, change = 0) => {
    const listRows = (names: readonly string[]) =>
      DAYS.slice(0, days).flatMap((day, t) =>
        names.map((name) => `${name},${day},${computePrice(name, t) + (name === 'SPX' && t === 5 ? change : 0)}`),
      );
    return Promise.all([
      writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${listRows(NAMES).join('\n')}\n`),
      writeFile(join(folder, 'series.csv'), `identifier,date,CLOSE\n${listRows(['SPX']).join('\n')}\n`),
    ]);
  };
  const refresh = async () => {
    await service.ask('POST', '/data/stores/growing/refresh');
    const { error, result } = await service.waitForJob('refresh:growing');
    expect(error).toBeNull();
    return result as { findings: { code: string; path: string }[]; datasets: { series: object } };
  };
  const request = { benchmark: { kind: 'identifier', id: 'SPX' } };
  await write(100);
  expect(
    (
      await service.ask('POST', '/data/stores', {
        store_id: 'growing',
        name: 'x',
        kind: 'folder',
        location: folder,
        activate: true,
      })
    ).status,
  ).toBe(201);
  await run('LISTED', request);
  await write(110);
  expect(await refresh()).toMatchObject({ datasets: { series: { added: 10, changed: 0, removed: 0 } }, findings: [] });
  const extendedRun = await run('LISTED', request);
  expect(extendedRun['extended_from']).not.toBeNull();
  await service.ask('DELETE', '/analytics/LISTED/record');
  const wholeRun = await run('LISTED', request);
  expect(wholeRun['extended_from']).toBeNull();
  expect(extendedRun['benchmark']).toEqual(wholeRun['benchmark']);
  expect(extendedRun['metrics']).toEqual(wholeRun['metrics']);

  await write(112, 1);
  expect((await refresh()).findings).toMatchObject([{ code: 'HISTORY_CHANGED', path: 'series' }]);
  const restatedRun = await run('LISTED', request);
  expect(restatedRun['extended_from']).toBeNull();
  expect(restatedRun['benchmark']).not.toEqual(wholeRun['benchmark']);
});

test('a separate store keeps its series across a restart and an append', async () => {
  const heldSeries = await runOnStore('apart', () => get<SeriesCollection>('/data/series'));
  const before = await get<DataStore>('/data/stores/apart');
  expect(before.rows).toMatchObject({ series: EXTERNAL.length * DAYS.length });
  await service.restart();
  await service.resumed();
  expect(await get('/data/series')).toEqual(heldSeries);
  expect((await get<DataStore>('/data/stores/apart')).content_hash).toBe(before.content_hash);
  const laterSeries = {
    market: createFrame(BARS, [['A', '2024-07-01', 60]]),
    series: createFrame(BARS, [
      ['SPX', '2024-07-01', 99],
      ['VIX', '2024-07-01', 13],
    ]),
  };
  expect(
    (
      await service.ask('POST', '/data/import', {
        store_id: 'apart',
        name: 'apart',
        tables: laterSeries,
        on_exists: 'append',
      })
    ).status,
  ).toBe(201);
  const after = (await get<SeriesCollection>('/data/series')).series;
  expect(after.map(({ identifier, end }) => [identifier, end])).toEqual([
    ['DAX', DAYS.at(-1)],
    ['EURUSD', DAYS.at(-1)],
    ['SPX', '2024-07-01'],
    ['VIX', '2024-07-01'],
  ]);
});

test('an import in which a security is in both market and series is refused', async () => {
  const tables = {
    market: createFrame(BARS, [['A', '2024-01-02', 10]]),
    series: createFrame(BARS, [['A', '2024-01-02', 10]]),
  };
  const { status, detail } = await service.refusal('POST', '/data/import', { store_id: 'both', name: 'both', tables });
  expect([status, detail]).toMatchObject([422, { findings: [{ code: 'DUPLICATE_KEY', path: 'series[A]' }] }]);
});

test('a month-end value on a day without a session counts for the session before, and a later one ends the extension', async () => {
  const folder = join(service.root, 'monthly');
  await mkdir(folder);
  // 31 March 2024 is Easter Sunday; the last session of March is the 28th.
  const values: Readonly<Record<string, number>> = {
    '2024-01-31': 100,
    '2024-02-29': 104,
    '2024-03-31': 102,
    '2024-04-30': 105,
  };
  const write = async (last: string, lastValue: string) => {
    const days = DAYS.filter((day) => day <= last);
    const rows = days.flatMap((day, t) => NAMES.map((name) => `${name},${day},${computePrice(name, t)}`));
    const series = Object.entries(values).flatMap(([day, value]) => (day <= lastValue ? [`MON,${day},${value}`] : []));
    await Promise.all([
      writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`),
      writeFile(join(folder, 'series.csv'), `identifier,date,CLOSE\n${series.join('\n')}\n`),
    ]);
  };
  const refresh = async () => {
    await service.ask('POST', '/data/stores/monthly/refresh');
    expect((await service.waitForJob('refresh:monthly')).error).toBeNull();
  };
  const request = { benchmark: { kind: 'identifier', id: 'MON' } };
  const readLevels = ({ benchmark }: Record<string, unknown>) => {
    const { index: dates, data } = (benchmark as { level: { index: string[]; data: number[] } }).level;
    return dates.map((date, k) => [date.slice(0, 10), Number(data[k]!.toFixed(9))]);
  };
  await write('2024-03-28', '2024-02-29');
  const body = { store_id: 'monthly', name: 'x', kind: 'folder', location: folder, activate: true };
  expect((await service.ask('POST', '/data/stores', body)).status).toBe(201);
  expect(readLevels(await run('LISTED', request))).toEqual([
    ['2024-01-31', 100],
    ['2024-02-29', 104],
  ]);
  await write('2024-04-30', '2024-04-30');
  await refresh();
  const later = await run('LISTED', request);
  expect(readLevels(later)).toEqual([
    ['2024-01-31', 100],
    ['2024-02-29', 104],
    ['2024-03-28', 102],
    ['2024-04-30', 105],
  ]);
  expect(later['extended_from']).toBeNull();
  const findings = later['findings'] as { code: string; message: string }[];
  expect(findings.find(({ code }) => code === 'NOT_A_SESSION')?.message).toMatch(
    /^1 values .* MON .*: 2024-03-31 for 2024-03-28\.$/,
  );
});
