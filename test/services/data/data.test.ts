import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  BatchReferenceResponse,
  CorporateActionsResponse,
  CoverageResponse,
  IdentifierSearch,
  ReferenceResponse,
} from '#contract/data.js';
import type { Watchlist, WatchlistCollection } from '#contract/watchlists.js';
import { liveService, type LiveService } from '../../real/live.js';

/** Every answer is checked against the document the service publishes. */
let service: LiveService;
beforeAll(async () => {
  service = await liveService();
});
afterAll(() => service.close());

const frame = (columns: readonly string[], data: readonly (readonly unknown[])[]) => ({
  index: data.map((_, i) => i),
  columns,
  data,
});

/** Two names over seven days: B splits 2 for 1 on the fourth, A pays a dividend before the split's day and lacks a bar. */
const TABLES = {
  market: frame(
    ['identifier', 'date', 'OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT', 'SCORE'],
    [
      ['A', '2024-01-04', 9, 12, 8, 10, 100, 50, 0.5, 1],
      ['A', '2024-01-05', 10, 13, 9, 12, 200, 50, 0.5, null],
      ['A', '2024-01-09', 12, 12, 11, 11, 300, 60, 0.5, 3],
      ['B', '2024-01-04', 200, 210, 190, 200, 10, 7, null, null],
      ['B', '2024-01-05', 200, 204, 199, 204, 20, 7, null, null],
      ['B', '2024-01-08', 101, 103, 100, 102, 30, 14, null, null],
    ],
  ),
  reference: frame(
    ['identifier', 'valid_from', 'NAME', 'SECTOR', 'RATING'],
    [
      ['A', null, 'Alpha', 'Tech', 5],
      ['A', '2024-01-05', 'Alpha', 'Energy', 6],
      ['B', null, 'Beta', 'Tech', null],
      ['Z', null, 'Zeta', 'Tech', 1],
    ],
  ),
  corporate_actions: frame(
    ['identifier', 'type', 'value', 'ex_date', 'status'],
    [
      ['B', 'DIVIDEND', 4, '2024-01-05', 'paid'],
      ['B', 'SPLIT', 2, '2024-01-08', 'paid'],
      ['B', 'DIVIDEND', 1, '2024-01-08', 'cancelled'],
      ['A', 'SPECIAL_DIVIDEND', 1, '2024-01-05', null],
    ],
  ),
  universes: frame(
    ['universe', 'identifier', 'start', 'end'],
    [
      ['ALL', 'A', '2024-01-01', '2024-01-09'],
      ['ALL', 'B', null, null],
    ],
  ),
};

describe('without a store', () => {
  test('reads are told to come back, and what is held is nothing', async () => {
    for (const path of [
      '/data/prices/A',
      '/data/reference/A',
      '/data/reference?identifiers=A',
      '/data/corporate-actions/A',
      '/data/identifiers',
    ]) {
      const { status, headers, body } = await service.ask<{ error: { code: string } }>('GET', path);
      expect([status, body.error.code, headers.has('retry-after')]).toEqual([503, 'NO_DATA_SOURCE', true]);
    }
    expect(await service.ok('GET', '/data/source')).toEqual({ configured: false, identifiers: 0 });
    expect(await service.ok<CoverageResponse>('GET', '/data/coverage')).toMatchObject({
      identifiers_union: 0,
      cache_size_bytes: null,
    });
  });
});

describe('with a store', () => {
  beforeAll(() =>
    service.ok('POST', '/data/import', { store_id: 'reads', name: 'Reads', tables: TABLES, activate: true }),
  );

  const code = async (path: string) => {
    const { status, body } = await service.ask<{ error: { code: string } }>('GET', path);
    return `${status} ${body.error.code}`;
  };

  describe('prices', () => {
    const prices = async (path: string) =>
      (
        await service.ok<{ prices: { index: string[]; columns: string[]; data: (number | null)[][] } }>(
          'GET',
          `/data/prices/${path}`,
        )
      ).prices;

    test('are every column the store holds, bars first, null where there is no value', async () => {
      expect(await prices('A')).toEqual({
        index: ['2024-01-04', '2024-01-05', '2024-01-09'],
        columns: ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT', 'SCORE'],
        data: [
          [9, 12, 8, 10, 100, 50, 0.5, 1],
          [10, 13, 9, 12, 200, 50, 0.5, null],
          [12, 12, 11, 11, 300, 60, 0.5, 3],
        ],
      });
    });

    test('come in the columns, the window and the interval asked for', async () => {
      expect(await prices('A?columns=VOLUME,CLOSE&start=2024-01-05')).toEqual({
        index: ['2024-01-05', '2024-01-09'],
        columns: ['VOLUME', 'CLOSE'],
        data: [
          [200, 12],
          [300, 11],
        ],
      });
      expect(
        await prices(
          'A?interval=weekly&columns=OPEN&columns=HIGH&columns=LOW&columns=CLOSE&columns=VOLUME&columns=SCORE',
        ),
      ).toEqual({
        index: ['2024-01-05', '2024-01-09'],
        columns: ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SCORE'],
        data: [
          [9, 13, 8, 12, 300, 1],
          [12, 12, 11, 11, 300, 3],
        ],
      });
      expect((await prices('A?interval=monthly')).index).toEqual(['2024-01-09']);
    });

    test('are on the basis asked for', async () => {
      expect((await prices('B?adjust=splits&columns=OPEN,CLOSE,VOLUME,SHARES_OUTSTANDING')).data).toEqual([
        [100, 100, 20, 14],
        [100, 102, 40, 14],
        [101, 102, 30, 14],
      ]);
      const total = (await prices('B?adjust=total&columns=CLOSE')).data.map(([close]) => close!);
      expect(total[1]! / total[0]!).toBeCloseTo((204 + 4) / 200, 14);
      expect(total[2]! / total[1]!).toBeCloseTo((2 * 102) / 204, 14);
    });

    test('of a window without data are an empty table', async () => {
      expect(await prices('A?start=2030-01-01&columns=CLOSE')).toEqual({ index: [], columns: ['CLOSE'], data: [] });
    });

    test('travel as an Arrow stream with the rest of the body beside them', async () => {
      const response = await fetch(`${service.url}/data/prices/A?columns=CLOSE,SCORE`, {
        headers: { accept: 'application/vnd.apache.arrow.stream' },
      });
      expect(response.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
      const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
      expect(JSON.parse(table.schema.metadata.get('body')!)).toEqual({ identifier: 'A', interval: 'native' });
      expect(table.toArray().map((row) => row?.toJSON())).toEqual([
        { date: Date.UTC(2024, 0, 4), CLOSE: 10, SCORE: 1 },
        { date: Date.UTC(2024, 0, 5), CLOSE: 12, SCORE: null },
        { date: Date.UTC(2024, 0, 9), CLOSE: 11, SCORE: 3 },
      ]);
    });

    test.each([
      ['NONE', '404 IDENTIFIER_NOT_FOUND'],
      ['A?start=2024-02-01&end=2024-01-01', '422 INVALID_RANGE'],
      ['A?start=2024-02-30', '422 VALIDATION_FAILED'],
      ['A?columns=PRICE', '422 VALIDATION_FAILED'],
      ['A?interval=hourly', '422 VALIDATION_FAILED'],
      ['A?colour=red', '422 VALIDATION_FAILED'],
      [`${'x'.repeat(65)}`, '422 INVALID_IDENTIFIER'],
    ])('%s is refused: %s', async (path, expected) => {
      expect(await code(`/data/prices/${path}`)).toBe(expected);
    });
  });

  describe('reference data', () => {
    test('is what was known on the day', async () => {
      expect((await service.ok<ReferenceResponse>('GET', '/data/reference/A?as_of=2024-01-04')).fields).toEqual({
        NAME: 'Alpha',
        SECTOR: 'Tech',
        RATING: 5,
      });
      const { fields, universes } = await service.ok<ReferenceResponse>('GET', '/data/reference/A');
      expect(fields).toEqual({ NAME: 'Alpha', SECTOR: 'Energy', RATING: 6 });
      expect(universes).toEqual([
        { universe: 'ALL', name: null, start: '2024-01-01', end: '2024-01-09', current: false },
      ]);
      expect(
        (await service.ok<ReferenceResponse>('GET', '/data/reference/A?as_of=2024-01-08')).universes[0]?.current,
      ).toBe(true);
      expect(await code('/data/reference/NONE')).toBe('404 IDENTIFIER_NOT_FOUND');
    });

    test('of a batch keeps the order asked for, removes duplicates and marks unknown names', async () => {
      const { entries, as_of } = await service.ok<BatchReferenceResponse>(
        'GET',
        '/data/reference?identifiers=Z,NONE,A&identifiers=A&fields=SECTOR,RATING&as_of=2024-01-04',
      );
      expect(as_of).toBe('2024-01-04');
      expect(entries).toEqual([
        { identifier: 'Z', found: true, fields: { SECTOR: 'Tech', RATING: 1 } },
        { identifier: 'NONE', found: false, fields: {} },
        { identifier: 'A', found: true, fields: { SECTOR: 'Tech', RATING: 5 } },
      ]);
    });

    test('has figures derived from the market', async () => {
      const { entries } = await service.ok<BatchReferenceResponse>(
        'GET',
        '/data/reference?identifiers=A,B,Z&fields=MARKET_CAP,FREE_FLOAT_MARKET_CAP,VALUE_TRADED,DIVIDEND_YIELD&as_of=2024-01-08',
      );
      expect(entries.map(({ fields }) => fields)).toEqual([
        { MARKET_CAP: 600, FREE_FLOAT_MARKET_CAP: 300, VALUE_TRADED: 2400, DIVIDEND_YIELD: 0 },
        // The dividend of 4 is on the basis before the split; a missing free float is 1.
        { MARKET_CAP: 1428, FREE_FLOAT_MARKET_CAP: 1428, VALUE_TRADED: 3060, DIVIDEND_YIELD: 2 / 102 },
        { MARKET_CAP: null, FREE_FLOAT_MARKET_CAP: null, VALUE_TRADED: null, DIVIDEND_YIELD: null },
      ]);
    });

    test('needs identifiers and known fields', async () => {
      expect(await code('/data/reference')).toBe('422 VALIDATION_FAILED');
      expect(await code('/data/reference?identifiers=A&fields=COLOUR')).toBe('422 VALIDATION_FAILED');
      expect(
        await code(`/data/reference?identifiers=${Array.from({ length: 1001 }, (_, i) => `N${i}`).join(',')}`),
      ).toBe('422 VALIDATION_FAILED');
    });
  });

  test('corporate actions compound, add up and leave out what was cancelled', async () => {
    const all = await service.ok<CorporateActionsResponse>('GET', '/data/corporate-actions/B');
    expect(all.actions.map(({ type, kind, ex_date, status }) => [type, kind, ex_date, status])).toEqual([
      ['DIVIDEND', 'cash', '2024-01-05', 'paid'],
      ['DIVIDEND', 'cash', '2024-01-08', 'cancelled'],
      ['SPLIT', 'ratio', '2024-01-08', 'paid'],
    ]);
    expect(all).toMatchObject({ cumulative_split_ratio: 2, trailing_dividend: 2, trailing_dividend_yield: 2 / 102 });
    expect(await service.ok('GET', '/data/corporate-actions/B?end=2024-01-05&as_of=2024-01-05')).toMatchObject({
      actions: [{ type: 'DIVIDEND' }],
      cumulative_split_ratio: 1,
      trailing_dividend: 4,
      trailing_dividend_yield: 4 / 204,
    });
    expect(await service.ok('GET', '/data/corporate-actions/B?as_of=2020-01-01')).toMatchObject({
      trailing_dividend: 0,
      trailing_dividend_yield: null,
    });
    expect(await service.ok('GET', '/data/corporate-actions/Z')).toMatchObject({
      actions: [],
      cumulative_split_ratio: 1,
      trailing_dividend: 0,
      trailing_dividend_yield: null,
    });
    expect(await code('/data/corporate-actions/NONE')).toBe('404 IDENTIFIER_NOT_FOUND');
  });

  test('a name that any dataset holds is known: without bars its prices are an empty table', async () => {
    expect(await service.ok('GET', '/data/prices/Z')).toMatchObject({
      prices: {
        index: [],
        columns: ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT', 'SCORE'],
        data: [],
      },
    });
    expect(await service.ok('GET', '/data/prices/Z?columns=CLOSE&adjust=total&interval=weekly')).toMatchObject({
      prices: { index: [], columns: ['CLOSE'], data: [] },
    });
    await service.ok('POST', '/data/import', {
      store_id: 'reads',
      name: 'Reads',
      on_exists: 'append',
      tables: {
        market: frame(['identifier', 'date', 'CLOSE'], [['A', '2024-01-09', 11]]),
        corporate_actions: frame(['identifier', 'type', 'value', 'ex_date'], [['PAID', 'DIVIDEND', 1, '2024-01-08']]),
        universes: frame(['universe', 'identifier', 'start', 'end'], [['ALL', 'MEMBER', null, null]]),
      },
    });
    expect(await service.ok('GET', '/data/reference/MEMBER')).toMatchObject({
      fields: { NAME: null },
      universes: [{ universe: 'ALL', current: true }],
    });
    expect(await service.ok('GET', '/data/corporate-actions/PAID')).toMatchObject({
      actions: [{ value: 1 }],
      trailing_dividend: 1,
      trailing_dividend_yield: null,
    });
    expect(await service.ok('GET', '/data/reference?identifiers=PAID,NONE')).toMatchObject({
      entries: [
        { found: true, fields: { NAME: null } },
        { found: false, fields: {} },
      ],
    });
    expect(
      (
        await service.ok<Watchlist>('PUT', '/data/watchlists/known', {
          name: 'Known',
          identifiers: ['A', 'Z', 'PAID', 'MEMBER', 'NONE'],
        })
      ).unknown,
    ).toEqual(['NONE']);
    expect((await service.ask('DELETE', '/data/watchlists/known')).status).toBe(204);
    await service.ok('POST', '/data/import', {
      store_id: 'reads',
      name: 'Reads',
      on_exists: 'replace',
      tables: TABLES,
    });
  });

  test('coverage counts names once and says how old and how large', async () => {
    const coverage = await service.ok<CoverageResponse>('GET', '/data/coverage');
    expect(coverage.identifiers_union).toBe(3);
    expect(coverage.cache_size_bytes).toBeGreaterThan(0);
    expect(coverage.datasets).toMatchObject([
      {
        dataset: 'market',
        configured: true,
        identifiers: 2,
        start: '2024-01-04',
        end: '2024-01-09',
        field_count: 8,
        frequency: 'daily',
        stale_after_seconds: 345_600,
        source: 'imported',
      },
      {
        dataset: 'reference',
        configured: true,
        identifiers: 3,
        start: '2024-01-05',
        end: '2024-01-05',
        field_count: 3,
        frequency: 'static',
        stale_after_seconds: null,
      },
    ]);
    expect(coverage.datasets[0]!.cache_age).toBeLessThan(60);
    const { stores } = await service.ok<{ stores: { active: boolean; store_id: string }[] }>('GET', '/data/stores');
    const { files } = await service.ok<{ files: { label: string; bytes: number }[] }>(
      'GET',
      `/data/stores/${stores.find(({ active }) => active)!.store_id}`,
    );
    for (const { dataset, cache_size_bytes: bytes } of coverage.datasets)
      expect(bytes).toBe(files.find(({ label }) => label === dataset)!.bytes);
    expect(coverage.cache_size_bytes).toBe(files.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  test('identifiers are found by a part of their name, page by page', async () => {
    expect(await service.ok<IdentifierSearch>('GET', '/data/identifiers?q=ETA')).toEqual({
      identifiers: [
        { identifier: 'B', name: 'Beta', start: '2024-01-04', end: '2024-01-08' },
        { identifier: 'Z', name: 'Zeta', start: null, end: null },
      ],
      next: null,
    });
    const first = await service.ok<IdentifierSearch>('GET', '/data/identifiers?limit=2');
    expect([first.identifiers.map(({ identifier }) => identifier), first.next]).toEqual([['A', 'B'], 'B']);
    expect(
      (await service.ok<IdentifierSearch>('GET', `/data/identifiers?limit=2&after=${first.next}`)).identifiers,
    ).toHaveLength(1);
  });

  test('watchlists keep the order given, each name once, and know what the store lacks', async () => {
    const put = await service.ok<Watchlist>('PUT', '/data/watchlists/mine', {
      name: 'Mine',
      identifiers: ['B', 'GONE', 'A', 'B'],
    });
    expect(put).toMatchObject({
      watchlist_id: 'mine',
      name: 'Mine',
      description: null,
      identifiers: ['B', 'GONE', 'A'],
      unknown: ['GONE'],
    });
    expect(await service.ok<Watchlist>('GET', '/data/watchlists/mine')).toEqual(put);
    await service.ok('PUT', '/data/watchlists/empty', { name: 'Empty' });
    expect(
      (await service.ok<WatchlistCollection>('GET', '/data/watchlists')).watchlists.map(
        ({ watchlist_id }) => watchlist_id,
      ),
    ).toEqual(['empty', 'mine']);
    expect((await service.ask('DELETE', '/data/watchlists/empty')).status).toBe(204);
    expect(await code('/data/watchlists/empty')).toBe('404 WATCHLIST_NOT_FOUND');
    expect((await service.ask('PUT', '/data/watchlists/bad', { name: '', identifiers: ['a/b'] })).status).toBe(422);
  });
});
