import { tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { service, requestErrorCode } from './set-up.js';

export function describePrices(): void {
  describe('prices', () => {
    const requestPrices = async (path: string) =>
      (
        await service.ok<{ prices: { index: string[]; columns: string[]; data: (number | null)[][] } }>(
          'GET',
          `/data/prices/${path}`,
        )
      ).prices;

    test('are all columns of the store, bars first, with null for missing values', async () => {
      expect(await requestPrices('A')).toEqual({
        index: ['2024-01-04', '2024-01-05', '2024-01-09'],
        columns: ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT', 'SCORE'],
        data: [
          [9, 12, 8, 10, 100, 50, 0.5, 1],
          [10, 13, 9, 12, 200, 50, 0.5, null],
          [12, 12, 11, 11, 300, 60, 0.5, 3],
        ],
      });
    });

    test('have the requested columns, window and interval', async () => {
      expect(await requestPrices('A?columns=VOLUME,CLOSE&start=2024-01-05')).toEqual({
        index: ['2024-01-05', '2024-01-09'],
        columns: ['VOLUME', 'CLOSE'],
        data: [
          [200, 12],
          [300, 11],
        ],
      });
      expect(
        await requestPrices(
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
      expect((await requestPrices('A?interval=monthly')).index).toEqual(['2024-01-09']);
    });

    test('are on the requested basis', async () => {
      expect((await requestPrices('B?adjust=splits&columns=OPEN,CLOSE,VOLUME,SHARES_OUTSTANDING')).data).toEqual([
        [100, 100, 20, 14],
        [100, 102, 40, 14],
        [101, 102, 30, 14],
      ]);
      const total = (await requestPrices('B?adjust=total&columns=CLOSE')).data.map(([close]) => close!);
      expect(total[1]! / total[0]!).toBeCloseTo((204 + 4) / 200, 14);
      expect(total[2]! / total[1]!).toBeCloseTo((2 * 102) / 204, 14);
    });

    test('of a window without data are an empty table', async () => {
      expect(await requestPrices('A?start=2030-01-01&columns=CLOSE')).toEqual({
        index: [],
        columns: ['CLOSE'],
        data: [],
      });
    });

    test('are sent as an Arrow stream together with the rest of the body', async () => {
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
      expect(await requestErrorCode(`/data/prices/${path}`)).toBe(expected);
    });
  });
}
