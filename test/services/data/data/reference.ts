import { describe, expect, test } from 'vitest';
import type {
  BatchReferenceResponse,
  CorporateActionsResponse,
  CoverageHistoryResponse,
  CoverageResponse,
  IdentifierSearch,
  ReferenceResponse,
} from '#contract/data.js';
import type { Watchlist, WatchlistCollection } from '#contract/watchlists.js';
import { service, TABLES, requestErrorCode } from './set-up.js';
import { createFrame } from '../../../table-frame.js';

export function describeReference(): void {
  describe('reference data', () => {
    test('is that known on the day', async () => {
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
      expect(await requestErrorCode('/data/reference/NONE')).toBe('404 IDENTIFIER_NOT_FOUND');
    });

    test('of a batch keeps the requested order, removes duplicates and marks unknown identifiers', async () => {
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

    test('coverage through time counts the securities with a price and lists the missing prices', async () => {
      // A has no bar on the 8th, but earlier and later bars; B ends on the 8th
      expect(await service.ok<CoverageHistoryResponse>('GET', '/data/coverage/history')).toEqual({
        store_id: 'reads',
        dates: ['2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09'],
        priced: [2, 2, 1, 1],
        expected: [2, 2, 2, 1],
        gaps: [
          {
            identifier: 'A',
            start: '2024-01-04',
            end: '2024-01-09',
            missing: 1,
            longest: 1,
            first_missing: '2024-01-08',
            last_missing: '2024-01-08',
            dates: ['2024-01-08'],
          },
        ],
        gaps_total: 1,
        fields: expect.arrayContaining([
          {
            name: 'CLOSE',
            dataset: 'market',
            securities: 2,
            securities_at_end: 1,
            start: '2024-01-04',
            end: '2024-01-09',
          },
          {
            name: 'SCORE',
            dataset: 'market',
            securities: 1,
            securities_at_end: 1,
            start: '2024-01-04',
            end: '2024-01-09',
          },
          {
            name: 'SECTOR',
            dataset: 'reference',
            securities: 3,
            securities_at_end: 1,
            start: '2024-01-05',
            end: '2024-01-05',
          },
          {
            name: 'RATING',
            dataset: 'reference',
            securities: 2,
            securities_at_end: 1,
            start: '2024-01-05',
            end: '2024-01-05',
          },
        ]),
      });
    });

    test('has figures derived from the market', async () => {
      const { entries } = await service.ok<BatchReferenceResponse>(
        'GET',
        '/data/reference?identifiers=A,B,Z&fields=MARKET_CAP,FREE_FLOAT_MARKET_CAP,VALUE_TRADED,DIVIDEND_YIELD&as_of=2024-01-08',
      );
      expect(entries.map(({ fields }) => fields)).toEqual([
        { MARKET_CAP: 600, FREE_FLOAT_MARKET_CAP: 300, VALUE_TRADED: 2400, DIVIDEND_YIELD: 0 },
        // the dividend of 4 is on the share basis before the split; if the free float is missing, it counts as 1
        { MARKET_CAP: 1428, FREE_FLOAT_MARKET_CAP: 1428, VALUE_TRADED: 3060, DIVIDEND_YIELD: 2 / 102 },
        { MARKET_CAP: null, FREE_FLOAT_MARKET_CAP: null, VALUE_TRADED: null, DIVIDEND_YIELD: null },
      ]);
    });

    test('needs identifiers and known fields', async () => {
      expect(await requestErrorCode('/data/reference')).toBe('422 VALIDATION_FAILED');
      expect(await requestErrorCode('/data/reference?identifiers=A&fields=COLOUR')).toBe('422 VALIDATION_FAILED');
      expect(
        await requestErrorCode(
          `/data/reference?identifiers=${Array.from({ length: 1001 }, (_, i) => `N${i}`).join(',')}`,
        ),
      ).toBe('422 VALIDATION_FAILED');
    });
  });

  test('corporate actions compound, add up and omit cancelled ones', async () => {
    const all = await service.ok<CorporateActionsResponse>('GET', '/data/corporate-actions/B');
    expect(all.actions.map(({ type, kind, ex_date, status }) => [type, kind, ex_date, status])).toEqual([
      ['DIVIDEND', 'cash', '2024-01-05', 'paid'],
      ['DIVIDEND', 'cash', '2024-01-08', 'cancelled'],
      ['SPLIT', 'ratio', '2024-01-08', 'paid'],
    ]);
    // the last close of B is on the 8th, the last date of the store is the 9th
    expect(all).toMatchObject({
      as_of: '2024-01-08',
      cumulative_split_ratio: 2,
      trailing_dividend: 2,
      trailing_dividend_yield: 2 / 102,
    });
    expect(await service.ok('GET', '/data/corporate-actions/B?end=2024-01-05&as_of=2024-01-05')).toMatchObject({
      actions: [{ type: 'DIVIDEND' }],
      as_of: '2024-01-05',
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
    expect(await requestErrorCode('/data/corporate-actions/NONE')).toBe('404 IDENTIFIER_NOT_FOUND');
  });

  test('a security that any dataset holds is known: without bars its prices are an empty table', async () => {
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
        market: createFrame(['identifier', 'date', 'CLOSE'], [['A', '2024-01-09', 11]]),
        corporate_actions: createFrame(
          ['identifier', 'type', 'value', 'ex_date'],
          [['PAID', 'DIVIDEND', 1, '2024-01-08']],
        ),
        universes: createFrame(['universe', 'identifier', 'start', 'end'], [['ALL', 'MEMBER', null, null]]),
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

  test('coverage counts securities once and states age and size', async () => {
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
        {
          identifier: 'B',
          name: 'Beta',
          start: '2024-01-04',
          end: '2024-01-08',
          sector: 'Tech',
          currency: null,
          close: 102,
          market_cap: 102 * 14,
        },
        {
          identifier: 'Z',
          name: 'Zeta',
          start: null,
          end: null,
          sector: 'Tech',
          currency: null,
          close: null,
          market_cap: null,
        },
      ],
      next: null,
    });
    const first = await service.ok<IdentifierSearch>('GET', '/data/identifiers?limit=2');
    expect([first.identifiers.map(({ identifier }) => identifier), first.next]).toEqual([['A', 'B'], 'B']);
    expect(
      (await service.ok<IdentifierSearch>('GET', `/data/identifiers?limit=2&after=${first.next}`)).identifiers,
    ).toHaveLength(1);
  });

  test('watchlists keep the given order, each security once, and report missing securities', async () => {
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
    expect(await requestErrorCode('/data/watchlists/empty')).toBe('404 WATCHLIST_NOT_FOUND');
    expect((await service.ask('PUT', '/data/watchlists/bad', { name: '', identifiers: ['a/b'] })).status).toBe(422);
  });
}
