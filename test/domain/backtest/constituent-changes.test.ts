import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { type Case, explainCase, repeatPrice, parseDay, close } from './constituent-case.js';
import { WEEK } from './signed-case.js';

describe('a security that leaves between rebalances', () => {
  const explainLeaver = (
    action: { type: 'DELISTING' | 'ACQUISITION'; value: number; isUnpriced?: true },
    treatment: Case['treatment'] = {},
  ) =>
    explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50) },
      actions: [{ name: 'A', ...action, ex: '2024-03-07' }],
      treatment,
    });

  test.each([
    ['an acquisition at its price', explainLeaver({ type: 'ACQUISITION', value: 80 }), 'acquisition', 80],
    ['a delisting at its price', explainLeaver({ type: 'DELISTING', value: 80 }), 'delisting', 80],
    [
      'a delisting that says none, at the last close',
      explainLeaver({ type: 'DELISTING', value: 0, isUnpriced: true }),
      'delisting',
      90,
    ],
    ['a bankruptcy, written off', explainLeaver({ type: 'DELISTING', value: 0 }), 'delisting', 0],
  ] as const)('by %s', (_, ask, event, price) => {
    const before = ask('A', '2024-03-06');
    expect(before).toMatchObject({ weight: 0.5, left: null, held: close(0.45 / 0.95) });
    for (const asOf of ['2024-03-07', '2024-03-11']) {
      const after = ask('A', asOf);
      expect(after).toMatchObject({ weight: 0.5, excludedBy: null, held: null, order: null });
      // Half of the initial value of 1 was invested in A at 100, so the value of A is half of its price in percent. The
      // other half is B.
      expect(after.left).toEqual({
        date: parseDay('2024-03-07'),
        event,
        exDay: parseDay('2024-03-07'),
        related: null,
        ratio: null,
        weight: close(price / 200 / (price / 200 + 0.5)),
        price,
        currency: 'USD',
        lastBar: parseDay('2024-03-06'),
        orderedOn: null,
      });
      expect(after.entered).toMatchObject({
        date: parseDay('2024-03-04'),
        event: 'rebalance',
        price: 100,
        weight: 0.5,
      });
      expect(after.drift).toEqual({ held: null, change: -0.5 });
    }
    expect(ask('B', '2024-03-11')).toMatchObject({ held: 1, left: null });
  });

  test('by a merger turns into the other security, which comes in by it', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50), M: repeatPrice(40), EURUSD: repeatPrice(1.25) },
      reference: { A: { CURRENCY: 'EUR' }, B: { CURRENCY: 'USD' } },
      actions: [{ name: 'A', type: 'MERGER', value: 2, ex: '2024-03-07', related: 'M' }],
    });
    const merger = { date: parseDay('2024-03-07'), exDay: parseDay('2024-03-07'), event: 'merger', ratio: 2 };
    // Two shares at 40 dollars replace a share at 100. They are worth 64 euros, so 0.5 becomes 0.32. B has 0.5.
    const weight = close(0.32 / 0.82);
    expect(ask('A', '2024-03-11')).toMatchObject({
      held: null,
      left: { ...merger, related: 'M', price: close(64), currency: 'EUR', weight },
    });
    expect(ask('M', '2024-03-11')).toMatchObject({
      weight: null,
      held: weight,
      left: null,
      entered: { ...merger, related: 'A', price: 40, currency: 'USD', weight },
    });
  });

  test('by a merger into a security without a price is paid its last close', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50), M: WEEK.map(() => null) },
      actions: [{ name: 'A', type: 'MERGER', value: 2, ex: '2024-03-07', related: 'M' }],
    });
    expect(ask('A', '2024-03-08').left).toMatchObject({ event: 'merger', related: null, ratio: null, price: 90 });
    expect(ask('M', '2024-03-08')).toMatchObject({ held: null, entered: null, left: null });
  });

  test('by a change of ticker continues as the other security', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50), N: [null, null, null, 95, 96, 97] },
      actions: [{ name: 'A', type: 'TICKER_CHANGE', value: 1, ex: '2024-03-07', related: 'N' }],
    });
    const change = {
      date: parseDay('2024-03-07'),
      exDay: parseDay('2024-03-07'),
      event: 'ticker_change',
      ratio: 1,
      price: 95,
    };
    expect(ask('A', '2024-03-11')).toMatchObject({ held: null, left: { ...change, related: 'N' } });
    expect(ask('N', '2024-03-07')).toMatchObject({
      weight: null,
      held: close(0.475 / 0.975),
      entered: { ...change, related: 'A' },
    });
  });

  test('by missing bars is paid its last close after the maximum age of a price', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50) },
      treatment: { max_stale_sessions: 2 },
    });
    expect(ask('A', '2024-03-07')).toMatchObject({ held: close(0.45 / 0.95), left: null });
    expect(ask('A', '2024-03-11').left).toMatchObject({
      date: parseDay('2024-03-08'),
      event: 'silence',
      exDay: null,
      price: 90,
      lastBar: parseDay('2024-03-06'),
      weight: close(0.45 / 0.95),
    });
  });

  test('for a missing price leaves on that day', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, 80, 80], B: repeatPrice(50) },
      treatment: { missing_prices: 'exclude' },
    });
    expect(ask('A', '2024-03-11')).toMatchObject({
      held: null,
      left: { date: parseDay('2024-03-07'), event: 'missing_price', price: 90 },
    });
  });

  test('in an index that has nothing else is explained by its action', () => {
    const ask = explainCase({
      close: { A: [100, 100, 90, null, null, null], B: repeatPrice(50) },
      universe: ['A'],
      actions: [{ name: 'A', type: 'DELISTING', value: 0, ex: '2024-03-07' }],
      treatment: { delisting: 'zero' },
    });
    expect(ask('A', '2024-03-11')).toMatchObject({
      held: null,
      left: { date: parseDay('2024-03-07'), event: 'delisting', price: 0, weight: 0 },
    });
  });
});

describe('a security that joins between rebalances', () => {
  const explainSpinOff = (dates: readonly string[]) =>
    explainCase({
      close: { A: [100, 100, 80, 80, 80, 80], B: repeatPrice(50), KID: [null, null, null, 10, 10, 10] },
      actions: [{ name: 'A', type: 'SPIN_OFF', value: 2, ex: '2024-03-06', related: 'KID' }],
      dates,
    });

  test('by a spin-off is held from its first price on, though no composition has it', () => {
    const ask = explainSpinOff([]);
    expect(ask('KID', '2024-03-06')).toMatchObject({ weight: null, held: null, entered: null });
    // 0.5 was invested in A at 100. Each A yields two shares at 10, which are worth 0.1 in total. A itself has 0.4, and
    // B has 0.5.
    expect(ask('KID', '2024-03-08')).toMatchObject({
      inUniverse: false,
      weight: null,
      held: close(0.1),
      left: null,
      entered: {
        date: parseDay('2024-03-07'),
        event: 'spin_off',
        exDay: parseDay('2024-03-06'),
        related: 'A',
        ratio: 2,
        price: 10,
        weight: close(0.1),
      },
    });
  });

  test('is sold at the next rebalance unless that selects it', () => {
    const ask = explainSpinOff(['2024-03-08']);
    expect(ask('KID', '2024-03-08')).toMatchObject({
      held: null,
      drift: null,
      entered: { event: 'spin_off' },
      left: { date: parseDay('2024-03-08'), event: 'rebalance', price: 10, weight: close(0.1) },
    });
  });
});

describe('a security that left and returned', () => {
  // The index holds the more expensive security: A, then B, then A again.
  const ask = explainCase({
    close: { A: [60, 60, 40, 40, 70, 77], B: repeatPrice(50) },
    dates: ['2024-03-06', '2024-03-08'],
    selection: [{ id: 'dear', type: 'TopN', params: { field: 'CLOSE', count: 1 } }],
  });

  test('is reported each time as it is held', () => {
    const states = ['2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08', '2024-03-11'].map((asOf) => {
      const { held, weight, entered, left, excludedBy } = ask('A', asOf);
      return [held, weight, entered && formatDay(entered.date), left && formatDay(left.date), excludedBy];
    });
    expect(states).toEqual([
      [1, 1, '2024-03-04', null, null],
      [null, null, '2024-03-04', '2024-03-06', 'dear'],
      [null, null, '2024-03-04', '2024-03-06', 'dear'],
      [1, 1, '2024-03-08', '2024-03-06', null],
      [1, 1, '2024-03-08', '2024-03-06', null],
    ]);
    expect(ask('A', '2024-03-07').left).toMatchObject({ event: 'rebalance', price: 40, weight: 1, exDay: null });
  });

  test('and a security that was never in it has neither entry nor exit', () => {
    expect(ask('B', '2024-03-05')).toMatchObject({
      held: null,
      weight: null,
      entered: null,
      left: null,
      excludedBy: 'dear',
    });
  });

  test('is refused before the first rebalance', () => {
    expect(() => ask('A', '2024-03-01')).toThrow(
      expect.objectContaining({
        code: 'NO_DATA_AT_DATE',
        message: 'The index X has no rebalance on or before 2024-03-01: its base date is 2024-03-04.',
      }),
    );
  });
});
