import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExportView } from '#contract/exports.js';
import { EXPORT_NAMES, EXPORTS, exportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import { EXPORT_FORMATS, type ExportFormat } from '#domain/exports/formats.js';
import { formatDay } from '#domain/days.js';
import { liveService, type LiveService } from '../../real/live.js';
import { readWorkbook } from '../../views/exports/read-workbook.js';

const IDS = ['CAPPED', 'HEDGED', 'LAZY'] as const;
type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

let service: LiveService;
let connection: DuckDBConnection;
const folder = mkdtempSync(join(tmpdir(), 'divisor-exports-'));

beforeAll(async () => {
  connection = await (await DuckDBInstance.create()).connect();
  service = await liveService();
  await service.job('/data/synthetic', {
    store_id: 'market',
    seed: 11,
    assets: 40,
    start: '2019-01-02',
    end: '2022-12-30',
    splits_per_year: 0.4,
    delistings_per_year: 0.06,
  });
  await service.ok('POST', '/indices', {
    id: 'CAPPED',
    name: 'Capped',
    calendar: 'XNYS',
    base_date: '2019-07-01',
    universe: { kind: 'named', id: 'SYNTH' },
    rebalance: { frequency: 'quarterly', anchor: 'third_friday', effective_lag: 5 },
    pipeline: {
      selection: [{ id: 'top', type: 'TopN', params: { count: 15 } }],
      treatment: { dividends: 'total' },
      weighting: { type: 'MarketCapWeight', cap: 0.12 },
    },
  });
  await service.job('/analytics/CAPPED/backtest', { transaction_cost_bps: 7 });
  const { weights } = await service.ok<{ weights: { identifier: string }[] }>('GET', '/analytics/CAPPED/weights');
  await service.ok('POST', '/indices/CAPPED/optimise', {
    id: 'HEDGED',
    name: 'Hedged',
    constraints: [
      {
        type: 'PositionBounds',
        params: { lower: -0.08, upper: -0.04, identifiers: weights.slice(0, 2).map(({ identifier }) => identifier) },
      },
      { type: 'WeightSum', params: { lower: 0.5, upper: 0.9 } },
    ],
  });
  await service.job('/analytics/HEDGED/backtest', { start: '2020-02-03', transaction_cost_bps: 7 });
  await service.ok('POST', '/strategies', {
    id: 'LAZY',
    name: 'Lazy',
    index_id: 'CAPPED',
    transaction_cost_bps: 20,
    rebalance: { frequency: 'annual', anchor: 'last_session' },
    exposure: 0.95,
  });
  await service.job('/analytics/LAZY/backtest');
  await service.ok('POST', '/indices', {
    id: 'WIDE',
    name: 'Wide',
    calendar: 'XNYS',
    base_date: '2019-01-02',
    universe: { kind: 'named', id: 'SYNTH' },
    rebalance: { frequency: 'monthly' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  await service.job('/analytics/WIDE/backtest');
});
afterAll(async () => {
  connection.closeSync();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly id: string;
  readonly table: ExportTableName;
  readonly query?: string;
}

const pathOf = ({ id, table, query = '' }: Asked, format: ExportFormat): string =>
  `/analytics/${id}/exports/${table}?format=${format}${query}`;

async function bytesOf(asked: Asked, format: ExportFormat): Promise<Buffer> {
  const response = await fetch(`${service.url}${pathOf(asked, format)}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain(EXPORT_FORMATS[format].media);
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="${asked.id}-${asked.table}.${EXPORT_FORMATS[format].extension}"`,
  );
  return Buffer.from(await response.arrayBuffer());
}

async function jsonOf(asked: Asked): Promise<Row[]> {
  const { columns, data } = await service.ok<ExportView>('GET', pathOf(asked, 'json'));
  expect(columns).toEqual(Object.keys(exportTable(asked.table).columns));
  return data.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]!])));
}

/** Types that a reader gets, as DuckDB names them. */
const DUCK_TYPES = { date: 'VARCHAR', text: 'VARCHAR', number: 'DOUBLE', count: 'INTEGER' } as const;

async function csvByDuckDb(asked: Asked): Promise<Row[]> {
  const { columns } = exportTable(asked.table);
  const path = join(folder, `${asked.id}-${asked.table}.csv`);
  writeFileSync(path, await bytesOf(asked, 'csv'));
  const types = Object.entries(columns).map(([name, { type }]) => `'${name}': '${DUCK_TYPES[type]}'`);
  const rows = await connection.runAndReadAll(
    `SELECT * FROM read_csv('${path}', header = true, delim = ',', quote = '"', escape = '"', nullstr = '', columns = {${types.join(', ')}})`,
  );
  return rows.getRowObjectsJS() as unknown as Row[];
}

async function rowsByArrow(asked: Asked): Promise<Row[]> {
  const { columns } = exportTable(asked.table);
  const table = tableFromIPC(await bytesOf(asked, 'arrow'));
  expect(table.schema.metadata.get('table')).toBe(asked.table);
  for (const field of table.schema.fields) {
    expect(field.metadata.get('meaning')).toBe(columns[field.name]!.meaning);
    expect(field.metadata.get('unit') ?? null).toBe(columns[field.name]!.unit);
  }
  return table.toArray().map((row) => {
    const values = row!.toJSON() as Record<string, Cell>;
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        columns[name]!.type === 'date' && value !== null ? formatDay(Math.round(Number(value) / 86_400_000)) : value,
      ]),
    );
  });
}

async function rowsByWorkbook(asked: Asked): Promise<Row[]> {
  const [sheet, ...others] = await readWorkbook(await bytesOf(asked, 'xlsx'));
  expect(others).toEqual([]);
  const [header, ...rows] = sheet!.rows;
  expect(header).toEqual(Object.keys(exportTable(asked.table).columns));
  return rows.map((row) => Object.fromEntries(header!.map((column, i) => [String(column), row[i]!])));
}

describe.each(IDS)('every table of %s', (id) => {
  test.each(EXPORT_NAMES)('%s comes back from CSV, Arrow and Excel as from JSON, bit for bit', async (table) => {
    const rows = await jsonOf({ id, table });
    expect(rows.length).toBeGreaterThan(0);
    expect(await csvByDuckDb({ id, table })).toEqual(rows);
    expect(await rowsByArrow({ id, table })).toEqual(rows);
    expect(await rowsByWorkbook({ id, table })).toEqual(rows);
  });

  test.each(EXPORT_NAMES)('%s is in the order of date and identifier, each once', async (table) => {
    const rows = await jsonOf({ id, table });
    const keyOf = (row: Row): string =>
      `${row['date'] ?? ''} ${row['identifier'] ?? ''} ${row['type'] ?? row['reason'] ?? ''}`;
    const keys = rows.map((row) => `${row['date'] ?? ''} ${row['identifier'] ?? ''}`);
    expect(keys).toEqual(keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    expect(new Set(rows.map(keyOf)).size).toBe(rows.length);
  });

  test.each(EXPORT_NAMES.filter((table) => 'date' in EXPORTS[table].columns))(
    '%s of a window has the rows of its dates',
    async (table) => {
      const [start, end] = ['2020-11-02', '2021-06-30'];
      const all = await jsonOf({ id, table });
      const within = all.filter(({ date }) => String(date) >= start && String(date) <= end);
      expect(await jsonOf({ id, table, query: `&start=${start}&end=${end}` })).toEqual(within);
      expect(await jsonOf({ id, table, query: '&start=2031-01-01' })).toEqual([]);
    },
  );
});

const frame = ({ index, columns, data }: { index: string[]; columns: string[]; data: Cell[][] }): Row[] =>
  data.map((row, i) => ({ date: index[i]!, ...Object.fromEntries(columns.map((column, c) => [column, row[c]!])) }));

describe.each(IDS)('the rows of %s are those of its views', (id) => {
  test('levels', async () => {
    const rows = await jsonOf({ id, table: 'levels' });
    const { result } = await service.job<Record<string, { index: string[]; data: number[] }>>(
      `/analytics/${id}/backtest`,
      id === 'LAZY' ? {} : { transaction_cost_bps: 7, ...(id === 'HEDGED' ? { start: '2020-02-03' } : {}) },
    );
    const column = (name: string): Cell[] => rows.map((row) => row[name]!);
    expect(column('date')).toEqual(result['level']!.index);
    expect(column('level')).toEqual(result['level']!.data);
    expect(column('index_level')).toEqual(result['index_level']!.data);
    expect(column('return')).toEqual([null, ...result['returns']!.data]);
    expect(column('drawdown')).toEqual(result['drawdown']!.data);
    const first = String(rows[0]!['date']);
    for (const variant of ['price', 'total', 'net']) {
      const view = await service.ok<{ levels: { data: number[] }; divisor: { data: number[] } }>(
        'GET',
        `/analytics/${id}/levels?variant=${variant}&start=${first}`,
      );
      expect(column(variant)).toEqual(view.levels.data);
      if (variant === 'total') expect(column('divisor')).toEqual(view.divisor.data);
    }
    const costs = column('costs').reduce((sum: number, cost) => sum + Number(cost), 0);
    expect(costs).toBeCloseTo(result['total_costs'] as unknown as number, 6);
  });

  test('weights', async () => {
    const rows = await jsonOf({ id, table: 'weights' });
    const { portfolio } = await service.ok<{ portfolio: { weights: Parameters<typeof frame>[0] } }>(
      'GET',
      `/analytics/${id}/record`,
    );
    const listed = frame(portfolio.weights).flatMap(({ date, ...weights }) =>
      Object.entries(weights).flatMap(([identifier, weight]) => (weight === 0 ? [] : [{ date, identifier, weight }])),
    );
    const since = portfolio.weights.index[0]!;
    const held = rows
      .filter((row) => String(row['date']) >= since && row['weight'] !== 0)
      .map(({ date, identifier, weight }) => ({ date, identifier, weight }));
    expect(held).toEqual(
      listed.toSorted((a, b) => (`${a.date} ${a.identifier}` < `${b.date} ${b.identifier}` ? -1 : 1)),
    );
    const early = String(rows[0]!['date']);
    expect(early < since).toBe(id !== 'HEDGED');
    for (const date of [early, '2020-06-19', '2021-03-19']) {
      const view = await service.ok<{ weights: { identifier: string; weight: number }[] }>(
        'GET',
        `/analytics/${id}/weights?as_of=${date}`,
      );
      const shown = rows.flatMap((row) => {
        const weight = row[id === 'LAZY' ? 'weight' : 'index_weight']!;
        return row['date'] === date && weight !== 0 ? [[row['identifier'], weight]] : [];
      });
      expect(new Map(shown as [string, number][])).toEqual(
        new Map(view.weights.map(({ identifier, weight }) => [identifier, weight])),
      );
    }
    expect(rows.every((row) => (row['index_weight'] === null) === (id === 'LAZY'))).toBe(true);
  });

  test('constituents', async () => {
    const rows = await jsonOf({ id, table: 'constituents' });
    const { weights } = await service.ok<{ weights: { identifier: string; weight: number; raw_weight: number }[] }>(
      'GET',
      `/analytics/${id}/weights`,
    );
    const byName = new Map(weights.map((row) => [row.identifier, row]));
    expect(rows.map((row) => row['identifier'])).toEqual([...byName.keys()].toSorted());
    const { portfolio } = await service.ok<{ portfolio: { positions: Parameters<typeof frame>[0] } }>(
      'GET',
      `/analytics/${id}/record`,
    );
    const { columns, data } = portfolio.positions;
    const last = data.at(-1)![columns.indexOf('date')];
    const positions = data.filter((row) => row[columns.indexOf('date')] === last);
    const { entries } = await service.ok<{ entries: { identifier: string; fields: Record<string, Cell> }[] }>(
      'GET',
      `/data/reference?identifiers=${[...byName.keys()].join(',')}&fields=NAME,SECTOR,COUNTRY,CURRENCY`,
    );
    for (const row of rows) {
      const view = byName.get(String(row['identifier']))!;
      expect([row['weight'], row['uncapped_weight']]).toEqual([view.weight, view.raw_weight]);
      const position = positions.find((one) => one[columns.indexOf('asset_id')] === row['identifier'])!;
      expect([row['shares'], row['price'], row['value']]).toEqual(
        ['units', 'price', 'value'].map((name) => position[columns.indexOf(name)]),
      );
      const { fields } = entries.find(({ identifier }) => identifier === row['identifier'])!;
      expect([row['name'], row['sector'], row['country'], row['currency']]).toEqual([
        fields['NAME'],
        fields['SECTOR'],
        fields['COUNTRY'],
        fields['CURRENCY'],
      ]);
    }
    expect(
      (await service.ask('GET', pathOf({ id, table: 'constituents', query: '&end=2018-01-01' }, 'csv'))).status,
    ).toBe(422);
  });

  test('trades and rebalances', async () => {
    const { portfolio, index } = await service.ok<{
      portfolio: { transactions: Parameters<typeof frame>[0]; nav: { index: string[]; data: number[] } };
      index: Record<
        'target' | 'optimised',
        { rebalances: { date: string; announced: string | null; weights: Row }[] } | null
      >;
    }>('GET', `/analytics/${id}/record`);
    const { columns, data } = portfolio.transactions;
    const listed = data.map((row) => Object.fromEntries(columns.map((column, c) => [column, row[c]!])));
    const trades = await jsonOf({ id, table: 'trades' });
    expect(
      trades.map(({ date, identifier, side, value, cost, reason }) => ({
        date,
        identifier,
        side,
        value,
        cost,
        reason,
      })),
    ).toEqual(
      listed.map(({ date, asset_id, side, notional, cost, reason }) => ({
        date,
        identifier: asset_id,
        side,
        value: notional,
        cost,
        reason,
      })),
    );
    const weights = new Map(
      (await jsonOf({ id, table: 'weights' })).map((row) => [`${row['date']} ${row['identifier']}`, row['weight']]),
    );
    const navs = new Map(portfolio.nav.index.map((date, i) => [date, portfolio.nav.data[i]!]));
    const paid = new Map(
      (await jsonOf({ id, table: 'levels' })).map((row) => [String(row['date']), Number(row['costs'])]),
    );
    for (const trade of trades) {
      expect(trade['weight_after']).toBe(weights.get(`${trade['date']} ${trade['identifier']}`) ?? 0);
      const rows = trades.filter((one) => one['date'] === trade['date'] && one['identifier'] === trade['identifier']);
      if (rows.length > 1) continue; // It left and was received on the same day.
      // Before the trades the portfolio is worth their costs more.
      const after = navs.get(String(trade['date']))!;
      const before = after + paid.get(String(trade['date']))!;
      const money = Number(trade['weight_after']) * after - Number(trade['weight_before']) * before;
      expect(trade['side'] === 'buy' ? money : -money).toBeCloseTo(Number(trade['value']), 5);
    }
    const snapshots = new Map(
      (index.optimised ?? index.target!).rebalances.map((snapshot) => [snapshot.date, snapshot]),
    );
    const rebalances = await jsonOf({ id, table: 'rebalances' });
    expect(rebalances.length).toBeGreaterThan(2);
    for (const [i, row] of rebalances.entries()) {
      const snapshot = snapshots.get(String(row['date']));
      const costs = listed.filter(({ date }) => date === row['date']).reduce((sum, { cost }) => sum + Number(cost), 0);
      if (row['cost'] !== null) expect(row['cost']).toBeCloseTo(costs, 6);
      if (id === 'LAZY') continue;
      const held = Object.entries(snapshot!.weights).filter(([, weight]) => weight !== 0);
      expect(row['constituents']).toBe(held.length);
      expect(row['decision_date']).toBe(snapshot!.announced ?? row['date']);
      const before = i === 0 ? undefined : snapshots.get(String(rebalances[i - 1]!['date']));
      const came = before && held.filter(([name]) => !(name in before.weights)).length;
      expect(row['added']).toBe(came ?? null);
    }
  });

  test('attribution and risk', async () => {
    const query = '&start=2020-11-02&end=2021-10-29';
    const rows = await jsonOf({ id, table: 'attribution', query });
    const view = await service.ok<{ contributions: Row[]; total_return: number }>(
      'GET',
      `/analytics/${id}/attribution?${query.slice(1)}`,
    );
    const listed = view.contributions.map(({ asset_id, ...row }) => ({ identifier: asset_id, ...row }) as Row);
    expect(rows).toEqual(listed.toSorted((a, b) => (String(a['identifier']) < String(b['identifier']) ? -1 : 1)));
    expect(rows.reduce((sum, { contribution }) => sum + Number(contribution), 0)).toBeCloseTo(view.total_return, 10);
    const rolling = await service.ok<{ risk: Parameters<typeof frame>[0] }>('GET', `/analytics/${id}/rolling`);
    expect(await jsonOf({ id, table: 'risk' })).toEqual(frame(rolling.risk));
  });
});

describe('events', () => {
  test('of a long index add up to every change of its divisor', async () => {
    const levels = await jsonOf({ id: 'CAPPED', table: 'levels' });
    const events = await jsonOf({ id: 'CAPPED', table: 'events' });
    const types = new Set(events.map(({ type }) => type));
    expect(types).toContain('cash');
    expect(types).toContain('split');
    expect(types).toContain('exit');
    let changes = 0;
    for (const [i, { date, divisor }] of levels.entries()) {
      if (i === 0) continue;
      const change = Number(divisor) / Number(levels[i - 1]!['divisor']) - 1;
      const rows = events.filter((event) => event['date'] === date);
      if (change !== 0) changes++;
      expect(rows.reduce((sum, { effect }) => sum + Number(effect), 0)).toBeCloseTo(change, 12);
      for (const row of rows) {
        expect(row['divisor_before']).toBe(levels[i - 1]!['divisor']);
        expect(row['divisor_after']).toBe(divisor);
      }
    }
    expect(changes).toBeGreaterThan(20);
  });

  test('are the actions on what was held, as the store has them', async () => {
    const events = await jsonOf({ id: 'CAPPED', table: 'events' });
    const held = new Set((await jsonOf({ id: 'CAPPED', table: 'weights' })).map((row) => row['identifier']));
    for (const identifier of held) {
      const { actions } = await service.ok<{ actions: { type: string; value: number; ex_date: string }[] }>(
        'GET',
        `/data/corporate-actions/${identifier}?start=2019-07-02&end=2022-12-30`,
      );
      for (const event of events.filter((row) => row['identifier'] === identifier && row['type'] !== 'exit')) {
        const same = actions.filter(({ ex_date }) => ex_date === event['date']);
        expect(same.map(({ value }) => value)).toContain(event['value']);
      }
    }
  });

  test('of a strategy have no effect on the divisor', async () => {
    const events = await jsonOf({ id: 'LAZY', table: 'events' });
    expect(events.filter(({ type, effect }) => type !== 'split' && effect !== null)).toEqual([]);
  });
});

describe('what is answered', () => {
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${service.url}/analytics/CAPPED/exports/${path}`, { headers });

  test.each([
    ['text/csv', 'text/csv; charset=utf-8'],
    ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.stream'],
    ['*/*', 'application/json; charset=utf-8'],
    ['text/*, application/json;q=0.5', 'text/csv; charset=utf-8'],
    [
      'application/json;q=0.2, application/vnd.apache.arrow.stream;q=0.9, text/csv;q=0',
      'application/vnd.apache.arrow.stream',
    ],
  ])('Accept %s is met by %s', async (accept, type) => {
    const response = await ask('levels', { accept });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('vary')).toBe('Accept');
    await response.arrayBuffer();
  });

  test('an Accept that cannot be met is 406 with what can, unless a format is given', async () => {
    const response = await ask('levels', { accept: 'image/png, text/csv;q=0' });
    expect(response.status).toBe(406);
    const { error } = (await response.json()) as { error: { code: string; detail: { accepted: string[] } } };
    expect(error.code).toBe('NOT_ACCEPTABLE');
    expect(error.detail.accepted).toEqual(Object.values(EXPORT_FORMATS).map(({ media }) => media));
    const given = await ask('levels?format=csv', { accept: 'image/png' });
    expect(given.status).toBe(200);
    await given.arrayBuffer();
  });

  test('an unknown table, format or parameter is refused', async () => {
    for (const path of ['prices', 'levels?format=xml', 'levels?limit=3', 'levels?start=yesterday'])
      expect((await ask(path)).status).toBe(422);
    const { status, body } = await service.ask<{ error: { code: string } }>(
      'GET',
      pathOf({ id: 'CAPPED', table: 'levels', query: '&start=2021-01-04&end=2020-01-03' }, 'csv'),
    );
    expect([status, body.error.code]).toEqual([422, 'INVALID_RANGE']);
    expect((await service.ask('GET', '/analytics/NONE/exports/levels')).status).toBe(404);
  });

  test('what the client has already is not sent again', async () => {
    const first = await ask('weights?format=csv');
    const etag = first.headers.get('etag')!;
    await first.arrayBuffer();
    expect((await ask('weights?format=csv', { 'if-none-match': etag })).status).toBe(304);
    const other = await ask('weights?format=csv&start=2021-01-04', { 'if-none-match': etag });
    expect(other.status).toBe(200);
    await other.arrayBuffer();
  });

  test('an export of a run that is no longer current says so, in JSON as every view does', async () => {
    expect((await ask('levels?format=csv')).headers.get('x-run-stale')).toBeNull();
    const document = await service.ok<Record<string, unknown>>('GET', '/indices/CAPPED');
    await service.ok('PUT', '/indices/CAPPED', { ...document, base_value: 250 });
    expect((await ask('levels?format=csv')).headers.get('x-run-stale')).toBe('definition');
    const view = await service.ok<ExportView>('GET', pathOf({ id: 'CAPPED', table: 'levels' }, 'json'));
    expect(view.stale).toMatchObject({ definition: true, data: false });
    await service.ok('PUT', '/indices/CAPPED', document);
  });

  test('an export that is being read is not disturbed by a newer run', async () => {
    const path = pathOf({ id: 'WIDE', table: 'weights' }, 'csv');
    const whole = await (await fetch(`${service.url}${path}`)).text();
    expect(whole.length).toBeGreaterThan(2 * 2 ** 20); // Parts are about a megabyte.
    const reader = (await fetch(`${service.url}${path}`)).body!.getReader();
    const parts = [(await reader.read()).value!];
    await service.job('/analytics/WIDE/backtest', { end: '2021-12-31' });
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    expect(Buffer.concat(parts).toString()).toBe(whole);
    expect(await (await fetch(`${service.url}${path}`)).text()).not.toBe(whole);
  });
});
