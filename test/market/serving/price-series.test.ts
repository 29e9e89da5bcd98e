import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { computeAdjustmentFactors, computePriceSeries, type SecurityBars } from '#market/serve/price-series.js';

const createAction = (
  type: CorporateAction['type'],
  value: number,
  exDate: string,
  rest: Partial<CorporateAction> = {},
): CorporateAction => ({
  identifier: 'A',
  type,
  value,
  exDay: parseValidDay(exDate),
  payDay: null,
  status: 'paid',
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
  ...rest,
});

/** Returns the bars of a security. It is the only security in its store. */
function createBars(
  rows: readonly (readonly [string, Record<string, number>])[],
  actions: readonly CorporateAction[] = [],
  adjustment: SecurityBars['adjustment'] = 'none',
): SecurityBars {
  const names = [...new Set(rows.flatMap(([, row]) => Object.keys(row)))];
  return {
    dates: Int32Array.from(rows, ([day]) => parseValidDay(day)),
    fields: names.map((name) => ({ name, values: Float64Array.from(rows, ([, row]) => row[name] ?? Number.NaN) })),
    names: 1,
    position: 0,
    actions,
    adjustment,
  };
}

const listAdjustedCloses = (bars: SecurityBars, adjust: 'none' | 'splits' | 'total') => [
  ...computePriceSeries(bars, { start: null, end: null, interval: 'native', columns: ['CLOSE'], adjust }).columns[0]!
    .values,
];

describe('prices of one security', () => {
  const twoWeeks = createBars([
    ['2024-01-04', { OPEN: 9, HIGH: 12, LOW: 8, CLOSE: 10, VOLUME: 5 }],
    ['2024-01-05', { OPEN: 10, HIGH: 11, LOW: 7, CLOSE: 11, VOLUME: 6 }],
    ['2024-01-08', { OPEN: 11, HIGH: 15, LOW: 11, CLOSE: 14, VOLUME: 7 }],
    ['2024-02-01', { OPEN: 14, HIGH: 14, LOW: 13, CLOSE: 13, VOLUME: 8 }],
  ]);

  test.each([
    [
      'weekly',
      ['2024-01-05', '2024-01-08', '2024-02-01'],
      [
        [9, 12, 7, 11, 11],
        [11, 15, 11, 14, 7],
        [14, 14, 13, 13, 8],
      ],
    ],
    [
      'monthly',
      ['2024-01-08', '2024-02-01'],
      [
        [9, 15, 7, 14, 18],
        [14, 14, 13, 13, 8],
      ],
    ],
  ] as const)('%s: first, largest, smallest, last and sum under the last session with data', (interval, days, rows) => {
    const { days: held, columns } = computePriceSeries(twoWeeks, {
      start: null,
      end: null,
      interval,
      columns: ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'],
      adjust: 'none',
    });
    expect([...held].map(formatDay)).toEqual(days);
    expect(rows.map((_, i) => columns.map(({ values }) => values[i]))).toEqual(rows);
  });

  test('a window cuts before weeks are drawn together', () => {
    const { days, columns } = computePriceSeries(twoWeeks, {
      start: parseValidDay('2024-01-05'),
      end: parseValidDay('2024-01-31'),
      interval: 'weekly',
      columns: ['OPEN'],
      adjust: 'none',
    });
    expect([...days].map(formatDay)).toEqual(['2024-01-05', '2024-01-08']);
    expect([...columns[0]!.values]).toEqual([10, 11]);
  });

  test('splits put earlier prices and share counts on the basis of the last date', () => {
    const bars = createBars(
      [
        ['2024-01-02', { CLOSE: 200, VOLUME: 3 }],
        ['2024-01-03', { CLOSE: 204, VOLUME: 4 }],
        ['2024-01-04', { CLOSE: 101, VOLUME: 10 }],
      ],
      [createAction('SPLIT', 2, '2024-01-04'), createAction('SPLIT', 5, '2024-01-03', { status: 'cancelled' })],
    );
    const { columns } = computePriceSeries(bars, {
      start: null,
      end: null,
      interval: 'native',
      columns: ['CLOSE', 'VOLUME'],
      adjust: 'splits',
    });
    expect(columns.map(({ values }) => [...values])).toEqual([
      [100, 102, 101],
      [6, 8, 10],
    ]);
  });

  test('total lets the price grow as a holding with its cash reinvested', () => {
    const bars = createBars(
      [
        ['2024-01-02', { CLOSE: 100 }],
        ['2024-01-03', { CLOSE: 49 }],
        ['2024-01-04', { CLOSE: 50 }],
      ],
      [createAction('SPLIT', 2, '2024-01-03'), createAction('DIVIDEND', 1, '2024-01-03')],
    );
    const adjustedCloses = listAdjustedCloses(bars, 'total');
    expect(adjustedCloses[1]! / adjustedCloses[0]!).toBeCloseTo((2 * (49 + 1)) / 100, 14); // definition in section 3.2: s (p + cash) / previous p
    expect(adjustedCloses.slice(1)).toEqual([49, 50]);
  });

  test('an ex day without a session takes effect on the next one', () => {
    const bars = createBars(
      [
        ['2024-01-05', { CLOSE: 20 }],
        ['2024-01-08', { CLOSE: 10 }],
      ],
      [createAction('SPLIT', 2, '2024-01-06')],
    );
    expect(listAdjustedCloses(bars, 'splits')).toEqual([10, 10]);
  });

  test.each(['splits', 'total'] as const)(
    'a store that is adjusted for %s is not adjusted for splits again',
    (adjustment) => {
      const bars = createBars(
        [
          ['2024-01-05', { CLOSE: 20 }],
          ['2024-01-08', { CLOSE: 21 }],
        ],
        [createAction('SPLIT', 2, '2024-01-08')],
        adjustment,
      );
      expect(listAdjustedCloses(bars, 'splits')).toEqual([20, 21]);
      expect(listAdjustedCloses(bars, 'total')).toEqual([20, 21]);
    },
  );

  test('adjusted prices change as section 3.2 of the specification requires, with and without bars', () => {
    const price = fc.double({ min: 1, max: 500, noNaN: true });
    const event = fc.record({
      type: fc.constantFrom('SPLIT', 'DIVIDEND', 'SPECIAL_DIVIDEND', 'BONUS_ISSUE' as const),
      value: fc.double({ min: 0.1, max: 4, noNaN: true }),
      at: fc.nat(11),
    });
    fc.assert(
      fc.property(
        fc.array(fc.option(price, { freq: 5 }), { minLength: 12, maxLength: 12 }),
        fc.array(event, { maxLength: 6 }),
        (prices, events) => {
          const rows = prices.map(
            (close, t) => [formatDay(19_000 + t), close === null ? {} : { CLOSE: close }] as const,
          );
          const actions = events.map(({ type, value, at }) =>
            createAction(type as CorporateAction['type'], value, formatDay(19_000 + at)),
          );
          const bars = createBars(rows, actions);
          if (bars.fields.length === 0) return;
          const close = bars.fields[0]!.values;
          const { price: factor } = computeAdjustmentFactors(bars, close, 'total');
          // Computes the growth of each session by definition. The last price replaces a missing price.
          let growth = Number.NaN;
          let carriedClose = Number.NaN;
          let first = -1;
          prices.forEach((bar, t) => {
            const dayActions = actions.filter(({ exDay }) => exDay === 19_000 + t);
            const ratio = dayActions
              .filter(({ type }) => type === 'SPLIT' || type === 'BONUS_ISSUE')
              .reduce((product, { value }) => product * value, 1);
            const cash = dayActions
              .filter(({ type }) => type === 'DIVIDEND' || type === 'SPECIAL_DIVIDEND')
              .reduce((sum, { value }) => sum + value, 0);
            if (Number.isNaN(carriedClose)) {
              if (bar === null) return;
              [growth, carriedClose, first] = [1, bar, t];
              return;
            }
            const now = bar ?? carriedClose / ratio;
            growth *= (ratio * (now + cash)) / carriedClose;
            carriedClose = now;
            if (bar === null) return;
            expect((bar * factor[t]!) / (close[first]! * factor[first]!)).toBeCloseTo(
              growth,
              10 - Math.ceil(Math.log10(Math.max(growth, 1))),
            );
          });
        },
      ),
    );
  });
});
