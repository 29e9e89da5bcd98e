import { describe, expect, test } from 'vitest';
import type { MarketData } from '#domain/market/market-data.js';
import { parseValidDay } from '#domain/base/time.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { readSharesOutstanding } from '#domain/books/index-run.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { expectNear, listIndexShares, listWeekdays, readLevels, runIndexCase, type IndexCase } from './index-case.js';
import { createDocument } from '../index-document.js';

const DAYS = listWeekdays(6);
const repeat = (price: number): number[] => DAYS.map(() => price);
const readAll = (run: ReturnType<typeof runIndexCase>): number[] => readLevels(run, 'price');

/** Returns a market in which a security is quoted in another currency from a day on. */
function redenominate(market: MarketData, name: string, { from, to, on }: Record<'from' | 'to' | 'on', string>) {
  const rows = new Map(market.reference.rows);
  rows.set(name, [
    { validFrom: null, values: [from] },
    { validFrom: parseValidDay(on), values: [to] },
  ]);
  return { ...market, reference: { columns: ['CURRENCY'], rows } };
}

describe('the payment of a security that ends', () => {
  const close = { A: [80, 80, null, null, null, null], B: repeat(50) };
  const runEnding = (actions: IndexCase['actions'], others: Partial<IndexCase> = {}) =>
    readAll(runIndexCase({ close, actions: actions!, ...others }));

  test('is what it pays after a special dividend of the same day or of an earlier day without a price', () => {
    const end = { name: 'A', type: 'ACQUISITION', value: 68 } as const;
    const special = { name: 'A', type: 'SPECIAL_DIVIDEND', value: 12, ex: DAYS[2]! } as const;
    // 80 are 12 and 68.
    for (const ex of [DAYS[2]!, DAYS[4]!])
      runEnding([special, { ...end, ex }]).forEach((level) => expectNear(level, 100));
    // A delisting at 34 loses half of the remaining 42.5 of 92.5.
    const levels = runEnding([special, { name: 'A', type: 'DELISTING', value: 34, ex: DAYS[3]! }]);
    expectNear(levels.at(-1)!, (100 * (21.25 + 50)) / 92.5);
  });

  test.each([
    ['subscribe', 1 + 0.5 * 0.25, (50 * (2 * 60)) / 80 + 50],
    ['price_only', 1 - 0.5 * 0.125 * 3, (50 * 60) / 80 + 50],
  ] as const)('is what each share pays after a rights issue (%s)', (rights, divisor, worth) => {
    // One new share for 20 and one share of 80 are two shares of 50; a share pays 60.
    const levels = runEnding(
      [
        { name: 'A', type: 'RIGHTS_ISSUE', value: 1, subscription: 20, ex: DAYS[2]! },
        { name: 'A', type: 'ACQUISITION', value: 60, ex: DAYS[3]! },
      ],
      { treatment: { rights } },
    );
    expectNear(levels[2]!, 100);
    expectNear(levels.at(-1)!, worth / divisor);
  });

  test('is added to the shares of a spin-off of the same day', () => {
    const levels = readAll(
      runIndexCase({
        close: { ...close, C: [null, null, 16, 16, 16, 16] },
        universe: ['A', 'B'],
        actions: [
          { name: 'A', type: 'SPIN_OFF', value: 1, related: 'C', ex: DAYS[2]! },
          { name: 'A', type: 'ACQUISITION', value: 64, ex: DAYS[2]! },
        ],
      }),
    );
    levels.forEach((level) => expectNear(level, 100));
  });
});

describe('mergers of one day', () => {
  const close = {
    A: [60, 60, null, null, null, null],
    B: [120, 120, null, null, null, null],
    C: [60, 60, 62, 64, 66, 60],
    Z: repeat(10),
  };
  const merge = (name: string, value: number, related: string, cash?: number) =>
    ({ name, type: 'MERGER', value, related, ex: DAYS[2]!, ...(cash === undefined ? {} : { cash }) }) as const;

  test('in a chain convert into the last security', () => {
    const run = runIndexCase({ close, universe: ['A', 'Z'], actions: [merge('A', 0.5, 'B'), merge('B', 2, 'C')] });
    [100, 100, 50 + (50 * 62) / 60, 50 + (50 * 64) / 60, 105, 100].forEach((level, t) =>
      expectNear(readAll(run)[t]!, level),
    );
  });

  test('in a chain add the cash of every step', () => {
    const actions = [merge('A', 0.5, 'B', 3), merge('B', 1, 'C', 40)];
    const levels = readAll(runIndexCase({ close, universe: ['A', 'Z'], actions }));
    // A share of A becomes half a share of C (62), and 3 and half of 40 in cash.
    expectNear(levels[2]!, 50 + (50 * (31 + 3 + 20)) / 60);
  });

  test('into a security that is acquired on that day pay its price', () => {
    const acquisition = { name: 'B', type: 'ACQUISITION', value: 150, ex: DAYS[2]! } as const;
    const levels = readAll(runIndexCase({ close, universe: ['A', 'Z'], actions: [merge('A', 0.5, 'B'), acquisition] }));
    expectNear(levels.at(-1)!, 50 + (50 * 75) / 60);
  });

  test('into each other pay the last closes', () => {
    const actions = [merge('A', 0.5, 'B'), merge('B', 2, 'A')];
    readAll(runIndexCase({ close, universe: ['A', 'Z'], actions })).forEach((level) => expectNear(level, 100));
  });
});

describe('a change of the currency of a security', () => {
  const rates = [1.25, 1.25, 1.25, 1.5, 1.5, 1.5];
  const runRedenominated = (
    close: (number | null)[],
    actions: IndexCase['actions'],
    others: Partial<IndexCase> = {},
  ) => {
    const sketch = { dates: DAYS, close: { A: close, B: repeat(100), EURUSD: rates }, actions: actions! };
    const market = redenominate(buildMarket(sketch), 'A', { from: 'EUR', to: 'USD', on: DAYS[2]! });
    return runIndexCase({ close: sketch.close, market, ...others });
  };

  test('applies to a special dividend and to a subscription price of its day', () => {
    const special = { name: 'A', type: 'SPECIAL_DIVIDEND', value: 10, ex: DAYS[2]! } as const;
    // 80 EUR are 100 USD, and 90 after 10 USD.
    const levels = readAll(runRedenominated([80, 80, 90, 90, 90, 90], [special]));
    levels.forEach((level) => expectNear(level, 100));
    const rights = { name: 'A', type: 'RIGHTS_ISSUE', value: 1, subscription: 50, ex: DAYS[2]! } as const;
    // A share of 100 USD and one for 50 are two shares of 75.
    for (const treatment of ['subscribe', 'price_only', 'constituent'])
      readAll(runRedenominated([80, 80, 75, 75, 75, 75], [rights], { treatment: { rights: treatment } })).forEach(
        (level) => expectNear(level, 100),
      );
  });

  test('keeps the value of a security without a price, and later rates do not change it', () => {
    const run = runRedenominated([80, 80, null, null, 100, 110], []);
    [100, 100, 100, 100, 100, 105].forEach((level, t) => expectNear(readAll(run)[t]!, level));
  });

  test('applies to an ordinary dividend of its day', () => {
    const dividend = { name: 'A', type: 'DIVIDEND', value: 10, ex: DAYS[2]! } as const;
    const run = runRedenominated([80, 80, 90, 90, 90, 90], [dividend]);
    readLevels(run, 'total').forEach((level) => expectNear(level, 100));
  });
});

describe('rights and payments of one day', () => {
  const rights = { name: 'A', type: 'RIGHTS_ISSUE', value: 1, subscription: 50, ex: DAYS[2]! } as const;
  const close = { A: [100, 100, 75, 75, 75, 75], B: repeat(100) };
  const runPaying = (type: 'DIVIDEND' | 'SPECIAL_DIVIDEND', treatment: object) =>
    runIndexCase({ close, actions: [rights, { name: 'A', type, value: 10, ex: DAYS[2]! }], treatment });

  test.each([
    ['subscribe', 1.25, 1.2],
    ['price_only', 0.875, 0.85],
  ] as const)('are paid on the shares before the issue (%s)', (treatment, divisor, afterSpecial) => {
    // Half a share pays 10, which is 5 of a market value that the issue changes to the divisor.
    const { book } = runPaying('DIVIDEND', { rights: treatment, dividends: 'total' }).index;
    expectNear(book.reinvested!.points[2]!, 5 / divisor);
    const special = runPaying('SPECIAL_DIVIDEND', { rights: treatment }).index.book;
    const adjusted = treatment === 'subscribe' ? (90 + 50) / 100 : 70 / 100;
    expectNear(special.divisor[2]!, 0.5 * adjusted + 0.5);
    expectNear(special.divisor[2]!, afterSpecial);
  });

  test('are paid on the shares before the issue, if the security reinvests both', () => {
    const run = runPaying('DIVIDEND', { rights: 'constituent', reinvestment: 'constituent', dividends: 'total' });
    // Half a share is 100/75 of half a share at 75 and receives 5.
    expectNear(run.index.book.value[2]!, 50 + 50 + 5);
  });
});

describe('a parent without a price on the ex-date of a spin-off', () => {
  const spinOff = { name: 'A', type: 'SPIN_OFF', value: 0.5, related: 'C', ex: DAYS[2]! } as const;
  const runSuspended = (sketch: Partial<IndexCase> & Pick<IndexCase, 'close'>) =>
    runIndexCase({ universe: ['A', 'B'], actions: [spinOff], ...sketch });
  const priced = { B: repeat(100), C: [null, null, 40, 40, 40, 40] };

  test.each(['index', 'constituent'])('falls by the value of the shares (reinvestment %s)', (reinvestment) => {
    const treatment = { reinvestment };
    const suspended = runSuspended({ close: { ...priced, A: [80, 80, null, null, null, null] }, treatment });
    readAll(suspended).forEach((level) => expectNear(level, 100));
    const resumed = runSuspended({ close: { ...priced, A: [80, 80, null, 60, 60, 90] }, treatment });
    // 50 of A at 80 are 37.5 at 60, then 56.25 at 90; its spun-off shares are 12.5.
    [100, 100, 100, 100, 100, 118.75].forEach((level, t) => expectNear(readAll(resumed)[t]!, level));
  });

  test('keeps this price when the shares move', () => {
    const close = { ...priced, A: [80, 80, null, null, null, null], C: [40, 40, 40, 48, 48, 48] };
    [100, 100, 100, 102.5].forEach((level, t) => expectNear(readAll(runSuspended({ close }))[t]!, level));
  });

  test('falls on the day of the first price of the shares, after splits of both', () => {
    const close = { ...priced, A: [80, 80, null, null, null, null], C: [null, null, null, null, 20, 20] };
    const splits = [
      { name: 'A', type: 'SPLIT', value: 4, ex: DAYS[3]! },
      { name: 'C', type: 'SPLIT', value: 2, ex: DAYS[4]! },
    ] as const;
    readAll(runSuspended({ close, actions: [spinOff, ...splits] })).forEach((level) => expectNear(level, 100));
  });

  test('falls by the shares in the currency of the parent', () => {
    const run = runSuspended({
      close: { ...priced, A: [80, 80, null, null, null, null], C: [null, null, 32, 32, 32, 32], EURUSD: repeat(1.25) },
      reference: { A: { CURRENCY: 'USD' }, B: { CURRENCY: 'USD' }, C: { CURRENCY: 'EUR' } },
    });
    readAll(run).forEach((level) => expectNear(level, 100));
  });

  test.each([
    ['ACQUISITION', 60, 100],
    ['DELISTING', 30, 50 * (30 / 80) + 12.5 + 50],
  ] as const)('is paid at a %s of the same day by the price after it', (type, value, level) => {
    const close = { ...priced, A: [80, 80, null, null, null, null] };
    const end = { name: 'A', type, ex: DAYS[2]! } as const;
    const unpriced = readAll(runSuspended({ close, actions: [spinOff, { ...end, value: 0, isUnpriced: true }] }));
    unpriced.forEach((one) => expectNear(one, 100));
    expectNear(readAll(runSuspended({ close, actions: [spinOff, { ...end, value }] }))[2]!, level);
  });

  test('is valued in a review by the price after it', () => {
    const close = { ...priced, A: [80, 80, null, null, null, null] };
    const run = runSuspended({ close, rebalance: { frequency: 'custom', dates: [DAYS[3]!] } });
    const [a, b] = listIndexShares(run, 1);
    expectNear(a!, 50 / 60);
    expectNear(b!, 50 / 100);
  });

  test('is older than its bar between two sessions', () => {
    // The index calendar has no session on 6 March.
    const calendars = createWeekdayCalendars({
      MAIN: { from: '2024-01-01', to: '2024-12-31', holidays: ['2024-03-06'] },
      OTHER: { from: '2024-01-01', to: '2024-12-31', holidays: [] },
    });
    const market = buildMarket({
      dates: ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07'],
      close: { A: [80, 80, 80, null], B: [100, 100, null, 100], C: [null, null, null, 40] },
      actions: [{ ...spinOff, ex: '2024-03-07' }],
      reference: { A: { EXCHANGE: 'OTHER' }, B: { EXCHANGE: 'MAIN' }, C: { EXCHANGE: 'MAIN' } },
    });
    const document = createDocument({
      base_date: '2024-03-04',
      currency: 'USD',
      universe: { kind: 'list', identifiers: ['A', 'B'] },
      rebalance: { frequency: 'none' },
    });
    const run = runOn(calendars, market, document, { createDecider: indexDecider });
    readAll(run).forEach((level) => expectNear(level, 100));
  });
});

describe('a spun-off security without a price', () => {
  const close = { A: [100, 100, 84, 84, 84, 84], B: repeat(100), C: [null, null, null, null, 16, 24] };
  const actions = [{ name: 'A', type: 'SPIN_OFF', value: 1, related: 'C', ex: DAYS[2]! }] as const;

  test('stays through a review and joins the index at its first price', () => {
    const rebalance = { frequency: 'custom', dates: [DAYS[3]!] };
    const run = runIndexCase({ close, universe: ['A', 'B'], actions, rebalance });
    [100, 100, 92, 92, 100, 104].forEach((level, t) => expectNear(readAll(run)[t]!, level));
    expect(run.findings.map(({ code }) => code)).not.toContain('SILENT_DELISTING');
  });

  test('stays through a review whose shares were fixed before the spin-off', () => {
    const rebalance = { frequency: 'custom', dates: [DAYS[3]!], effective_lag: 2 };
    const run = runIndexCase({ close, universe: ['A', 'B'], actions, rebalance });
    [100, 100, 92, 92, 100, 104].forEach((level, t) => expectNear(readAll(run)[t]!, level));
  });

  // A share of A at 80 is one at 20 and one of C, which ends at 60 without a price.
  const ending = (end: object, others: Partial<IndexCase> = {}) =>
    readAll(
      runIndexCase({
        close: { A: [80, 80, 20, 20, 20, 20], B: repeat(100), C: DAYS.map(() => null), ...others.close },
        universe: ['A', 'B'],
        actions: [{ ...actions[0] }, { name: 'C', ex: DAYS[3]!, ...end } as never],
      }),
    );

  test.each(['ACQUISITION', 'DELISTING'])('pays what an %s before its first price states', (type) => {
    [100, 100, 62.5, 100, 100, 100].forEach((level, t) => expectNear(ending({ type, value: 60 })[t]!, level));
  });

  test('converts into its acquirer before its first price', () => {
    const close = { X: [20, 20, 20, 20, 40, 40] };
    // Each of the 50/80 shares of C is two shares at 20, and 20 in cash, which buy 12.5 / 87.5 of the others.
    const merger = { type: 'MERGER', value: 2, cash: 20, related: 'X' };
    [100, 100, 62.5, 100].forEach((level, t) => expectNear(ending(merger, { close })[t]!, level));
    expectNear(ending(merger, { close })[4]!, 100 * (1 + 25 / 87.5));
  });

  test('is valued under its new ticker', () => {
    const levels = ending(
      { type: 'TICKER_CHANGE', value: 0, related: 'N' },
      { close: { N: [null, null, null, null, 60, 60] } },
    );
    [100, 100, 62.5, 62.5, 100, 100].forEach((level, t) => expectNear(levels[t]!, level));
  });

  test('is written off with a finding that names it after the longest gap', () => {
    const run = runIndexCase({ close, universe: ['A', 'B'], actions, treatment: { max_stale_sessions: 1 } });
    expectNear(readAll(run).at(-1)!, 92);
    expect(run.findings).toContainEqual(
      expect.objectContaining({
        code: 'SILENT_DELISTING',
        message: `C, which was spun off from A on ${DAYS[2]!}, was written off on ${DAYS[3]!}, because it had no first price by then.`,
      }),
    );
  });
});

test('pending shares of an index whose constituents reinvest their dividends grow by a dividend of the notice period', () => {
  const run = runIndexCase({
    close: { A: [100, 100, 80, 80, 80, 80], B: repeat(100) },
    actions: [{ name: 'A', type: 'DIVIDEND', value: 20, ex: DAYS[2]! }],
    rebalance: { frequency: 'custom', dates: [DAYS[4]!], effective_lag: 3 },
    treatment: { dividends: 'total', reinvestment: 'constituent' },
  });
  const { weights } = run.rebalances.at(-1)!;
  expectNear(weights[0]!, 0.5);
  expectNear(weights[1]!, 0.5);
});

describe('values of a suspended security', () => {
  const close = { A: [100, 100, null, null, null, 100], B: repeat(100) };
  const fields = { SHARES_OUTSTANDING: { A: [10, 10, null, null, null, 10], B: repeat(10) } };
  const evaluate = (name: string, sketch: Partial<IndexCase>) => {
    const run = runIndexCase({ close, fields, ...sketch });
    const { sm } = run.index.book;
    const cross = createIndexCrossSections({
      market: sm,
      treatment: run.document.pipeline!.treatment as never,
      currency: 'USD',
    });
    const columns = Int32Array.of(sm.columnOf('A'));
    const field = { name, lag: 0, window: null, aggregate: 'last', transform: 'none', dataset: null } as const;
    return cross.at(4, columns).numbers(field as never, columns)[0]!;
  };

  test('follow special dividends, splits and rights issues of the suspension', () => {
    const special = [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 20, ex: DAYS[2]! }] as const;
    expectNear(evaluate('CLOSE', { actions: special }), 80);
    expectNear(evaluate('MARKET_CAP', { actions: special }), 800);
    const split = [{ name: 'A', type: 'SPLIT', value: 4, ex: DAYS[3]! }] as const;
    expectNear(evaluate('CLOSE', { actions: split }), 25);
    expectNear(evaluate('SHARES_OUTSTANDING', { actions: split }), 40);
    expectNear(evaluate('MARKET_CAP', { actions: split }), 1000);
    const rights = [{ name: 'A', type: 'RIGHTS_ISSUE', value: 1, subscription: 50, ex: DAYS[3]! }] as const;
    expectNear(evaluate('MARKET_CAP', { actions: rights }), 1500);
    expectNear(evaluate('FREE_FLOAT_MARKET_CAP', { actions: rights }), 1500);
  });

  test('use the exchange rate of the session', () => {
    const rates = { EURUSD: [1, 1, 1.25, 1.25, 1.25, 1.25] };
    const reference = { A: { CURRENCY: 'EUR' }, B: { CURRENCY: 'USD' } };
    expectNear(evaluate('MARKET_CAP', { close: { ...close, ...rates }, reference }), 1250);
  });

  test('divide the dividends of the year by the price after a special dividend', () => {
    const actions = [
      { name: 'A', type: 'DIVIDEND', value: 4, ex: DAYS[1]! },
      { name: 'A', type: 'SPECIAL_DIVIDEND', value: 20, ex: DAYS[2]! },
    ] as const;
    expectNear(evaluate('DIVIDEND_YIELD', { actions }), 4 / 80);
  });

  test('are the price that gives the index shares of a review', () => {
    const run = runIndexCase({
      close,
      actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 20, ex: DAYS[2]! }],
      rebalance: { frequency: 'custom', dates: [DAYS[3]!] },
    });
    // The divisor is 0.9; each half of 90 buys 45/80 and 45/100.
    const [a, b] = listIndexShares(run, 1);
    expectNear(a!, 45 / 80);
    expectNear(b!, 45 / 100);
  });
});

describe('a bar between two sessions of the index calendar', () => {
  // The index calendar is closed on 6 and 7 March; the exchange of A is closed on 7 and 8 March.
  const calendars = createWeekdayCalendars({
    MAIN: { from: '2024-01-01', to: '2024-12-31', holidays: ['2024-03-06', '2024-03-07'] },
    OTHER: { from: '2024-01-01', to: '2024-12-31', holidays: ['2024-03-07', '2024-03-08'] },
  });
  const dates = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-08', '2024-03-11'];
  const runBetween = (
    a: (number | null)[],
    exchange: string,
    actions: IndexCase['actions'] = [],
    fields: IndexCase['fields'] = {},
  ) => {
    const market = buildMarket({
      fields,
      dates,
      close: { A: a, B: [50, 50, null, 50, 50] },
      actions: actions!,
      reference: { A: { EXCHANGE: exchange }, B: { EXCHANGE: 'MAIN' } },
    });
    const document = createDocument({ base_date: dates[0], currency: 'USD', rebalance: { frequency: 'none' } });
    return runOn(calendars, market, document, { createDecider: indexDecider });
  };

  test('is the price of the later session', () => {
    const run = runBetween([100, 100, 110, null, 121], 'OTHER');
    [100, 100, 105, 110.5].forEach((level, t) => expectNear(readAll(run)[t]!, level));
    expect(run.gaps).toEqual([]);
  });

  test('is older than a session of the exchange without a bar, which is a gap', () => {
    const run = runBetween([100, 100, 110, null, 121], 'MAIN');
    [100, 100, 105, 110.5].forEach((level, t) => expectNear(readAll(run)[t]!, level));
    expect(run.gaps).toHaveLength(1);
    expect(run.gaps[0]!.session).toBe(2);
    expect(run.index.book.sm.barAge(2, 0)).toBe(1);
  });

  test('is adjusted by an event after it', () => {
    const split = { name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-08' } as const;
    const run = runBetween([100, 100, 110, null, 55], 'OTHER', [split]);
    [100, 100, 105, 105].forEach((level, t) => expectNear(readAll(run)[t]!, level));
    const special = { name: 'A', type: 'SPECIAL_DIVIDEND', value: 10, ex: '2024-03-08' } as const;
    // The divisor is 0.95, and A is 50 x 100/100 after the dividend.
    const paying = runBetween([100, 100, 110, null, 100], 'OTHER', [special]);
    [100, 100, 100 / 0.95, 100 / 0.95].forEach((level, t) => expectNear(readAll(paying)[t]!, level));
  });

  test.each([
    [
      { type: 'SPECIAL_DIVIDEND', value: 50 },
      { CLOSE: 60, SHARES_OUTSTANDING: 10, MARKET_CAP: 600, DIVIDEND_YIELD: 2 / 60 },
    ],
    [
      { type: 'SPLIT', value: 2 },
      { CLOSE: 55, SHARES_OUTSTANDING: 20, MARKET_CAP: 1100, DIVIDEND_YIELD: 1 / 55 },
    ],
    // One new share at 90 for a share at 110: two shares at 100.
    [
      { type: 'RIGHTS_ISSUE', value: 1, subscription: 90 },
      { CLOSE: 100, SHARES_OUTSTANDING: 20, MARKET_CAP: 2000, DIVIDEND_YIELD: 2 / 100 },
    ],
  ] as const)('has datapoints after an event after it: %o', (event, expected) => {
    const dividend = { name: 'A', type: 'DIVIDEND', value: 2, ex: '2024-03-05' } as const;
    const a = [100, 100, 110, null, 60];
    const fields = {
      SHARES_OUTSTANDING: { A: [10, 10, 10, null, 10], B: [10, 10, null, 10, 10] },
      VOLUME: { A: [1, 1, 3, null, 1], B: [1, 1, null, 1, 1] },
    };
    const run = runBetween(a, 'OTHER', [dividend, { name: 'A', ...event, ex: '2024-03-08' }], fields);
    const { sm } = run.index.book;
    const treatment = run.document.pipeline!.treatment as never;
    const cross = createIndexCrossSections({ market: sm, treatment, currency: 'USD' });
    const columns = Int32Array.of(sm.columnOf('A'));
    for (const [name, value] of Object.entries({ ...expected, VALUE_TRADED: 330 })) {
      const field = { name, lag: 0, window: null, aggregate: 'last', transform: 'none', dataset: null };
      expectNear(cross.at(2, columns).numbers(field as never, columns)[0]!, value);
    }
    const bytes = createRunColumns(run, { contentHash: '' });
    const file = openColumns((start, end) => bytes.slice(start, end));
    const H = file.header.names.length;
    expectNear(file.f64('price', 2 * H, 2 * H + 1)[0]!, expected.CLOSE);
    expect(readSharesOutstanding(sm.market, sm.sessions[2]!)('A').shares).toBe(expected.SHARES_OUTSTANDING);
  });

  test('already contains an event before it', () => {
    const split = { name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-06' } as const;
    const run = runBetween([100, 100, 55, null, 55], 'OTHER', [split]);
    [100, 100, 105, 105].forEach((level, t) => expectNear(readAll(run)[t]!, level));
  });
});
