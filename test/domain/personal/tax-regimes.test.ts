import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { createHistory } from '#domain/personal/account-backtest.js';
import { solveOutcome } from '#domain/personal/account-result.js';
import { Account, TaxRegime } from '#domain/personal/account.js';
import { readAccount } from '#domain/personal/read-account.js';
import { computeCarriedLosses, matchTransactions } from '#domain/personal/tax-regime.js';
import { verifyResult } from '#domain/personal/verification.js';
import { countDraws } from '../../draws.js';
import { seeded } from '../../seeded.js';
import { AS_OF, createLot, createSmallBatch, requireResult, sumShares } from './small-batch.js';

const UK = {
  name: 'United Kingdom',
  pots: [{ pot: 'gains', rate: 0.24 }],
  lots: 'pool',
  matching_days: [0, 30],
  allowance: 3000,
  carried_losses: 'after_allowance',
  year_begins: '04-06',
};
const GERMANY = {
  name: 'Germany',
  pots: [
    { pot: 'shares', rate: 0.25 },
    { pot: 'other', rate: 0.25, securities: ['B'], offsets: ['shares'] },
  ],
  surcharge: 0.055,
  lots: 'fifo',
  allowance: 1000,
  dividends: 'other',
};
/** 25 % and the solidarity surcharge of 5.5 % on it. */
const RATE = 0.26375;
const US = {
  pots: [
    { pot: 'short', rate: 0.37, offsets: ['long'] },
    { pot: 'long', rate: 0.2, held_years: 1, offsets: ['short'] },
  ],
  lots: 'specific',
  wash_sale: { days: 30 },
};

type Row = readonly [date: string, shares: number, price: number, identifier?: string];

const createAccount = (rows: readonly Row[], regime: object, tax: object = {}): Account =>
  Account.parse({
    account_id: 'X',
    transactions: rows.map(([date, shares, price, identifier = 'A']) => ({ identifier, date, shares, price })),
    tax: { regime, ...tax },
  });
const match = (rows: readonly Row[], regime: object = UK, asOf = AS_OF) =>
  matchTransactions(createAccount(rows, regime), parseValidDay(asOf));
const listGains = (rows: readonly Row[], regime: object = UK) =>
  match(rows, regime).disposals.map(({ date, shares, acquired, gain }) => [
    date,
    shares,
    acquired,
    Number(gain.toFixed(2)),
  ]);

describe('the matching of shares in the United Kingdom', () => {
  // HM Revenue & Customs, helpsheet HS284, example 3 (2024). Dealing costs of 150, 80, 100 and 105 are in the prices. The
  // helpsheet rounds to whole pounds: gains of 329 and 300, a pool of 400 shares at 1,674.
  test('sells at the average cost of the pool', () => {
    const { disposals, lots, balances } = match([
      ['2015-04-01', 1000, 4150 / 1000],
      ['2018-09-03', 500, 2130 / 500],
      ['2023-05-02', -700, (3360 - 100) / 700],
      ['2024-02-01', -400, (2080 - 105) / 400],
    ]);
    expect(disposals.map(({ gain }) => gain)).toEqual([
      expect.closeTo(3260 - (6280 * 700) / 1500, 9),
      expect.closeTo(1975 - (6280 * 400) / 1500, 9),
    ]);
    expect(disposals.map(({ gain }) => Math.floor(gain))).toEqual([329, 300]);
    expect(disposals.map(({ acquired, pot }) => [acquired, pot])).toEqual([
      [null, 'gains'],
      [null, 'gains'],
    ]);
    expect(lots).toEqual([
      { identifier: 'A', shares: 400, cost: expect.closeTo(6280 / 1500, 12) as number, acquired: '2015-04-01' },
    ]);
    // Both sales are in the tax year that began on 6 April 2023; the next one has no gains.
    expect(balances).toEqual({ realised: { short: 0, long: 0 }, carried: { short: 0, long: 0 } });
  });

  // HS284, example 2: 9,500 shares in the holding, 4,000 are sold for 6,000, and 500 are bought for 850 twelve days later. The
  // helpsheet has a loss of 100 on 500 shares, and 3,500 from the holding. Its cost, here 1 a share, is not part of it.
  test('matches shares bought within 30 days after the sale first', () => {
    const rows: Row[] = [
      ['2019-03-01', 9500, 1],
      ['2023-08-30', -4000, 1.5],
      ['2023-09-11', 500, 1.7],
    ];
    expect(listGains(rows)).toEqual([
      ['2023-08-30', 500, '2023-09-11', -100],
      ['2023-08-30', 3500, null, 1750],
    ]);
    expect(match(rows).lots).toEqual([{ identifier: 'A', shares: 6000, cost: 1, acquired: '2019-03-01' }]);
  });

  test('matches purchases of the day before those of the next 30 days, and the earliest of these first', () => {
    expect(
      listGains([
        ['2023-01-10', 100, 10],
        ['2023-06-01', -60, 12],
        ['2023-06-01', 40, 11],
        ['2023-06-20', 15, 9],
        ['2023-06-10', 3, 8],
      ]),
    ).toEqual([
      ['2023-06-01', 40, '2023-06-01', 40],
      ['2023-06-01', 3, '2023-06-10', 12],
      ['2023-06-01', 15, '2023-06-20', 45],
      ['2023-06-01', 2, null, 4],
    ]);
  });

  test('keeps shares for a sale of the same day from an earlier sale', () => {
    expect(
      listGains([
        ['2023-01-10', 100, 10],
        ['2023-06-01', -50, 12],
        ['2023-06-10', 50, 11],
        ['2023-06-10', -50, 13],
      ]),
    ).toEqual([
      ['2023-06-01', 50, null, 100],
      ['2023-06-10', 50, '2023-06-10', 100],
    ]);
  });

  test.each([
    ['2023-07-01', '2023-07-01'],
    ['2023-07-02', null],
  ])('a purchase on %s is matched with a sale of 1 June: %s', (bought, acquired) => {
    const disposals = match([
      ['2023-01-10', 10, 10],
      ['2023-06-01', -10, 12],
      [bought, 10, 11],
    ]).disposals;
    expect(disposals.map((disposal) => disposal.acquired)).toEqual([acquired]);
  });

  test('earlier losses reduce only gains above the exempt amount, in tax years from 6 April', () => {
    const rows: Row[] = [
      ['2019-01-10', 300, 100],
      ['2023-04-05', -100, 50], // a loss of 5,000 in the year from 6 April 2022
      ['2023-04-06', -100, 140], // a gain of 4,000: 1,000 above the exempt amount
      ['2024-05-01', -50, 130],
    ];
    expect(match(rows).balances).toEqual({ realised: { short: 1500, long: 0 }, carried: { short: 4000, long: 0 } });
    expect(match(rows, { ...UK, carried_losses: 'before_allowance' }).balances.carried.short).toBe(1000);
    expect(match(rows.slice(0, 3), UK, '2024-04-05').balances).toEqual({
      realised: { short: 4000, long: 0 },
      carried: { short: 5000, long: 0 },
    });
  });
});

describe('the taxes of Germany', () => {
  test('sells the oldest shares first, with gains by pot', () => {
    const { disposals, lots, balances } = match(
      [
        ['2024-01-10', 100, 10],
        ['2024-01-11', 100, 20],
        ['2024-02-01', -150, 15],
        ['2024-01-10', 10, 50, 'B'],
        ['2024-03-01', -10, 45, 'B'],
      ],
      GERMANY,
    );
    expect(disposals.map(({ acquired, shares, gain, pot }) => [acquired, shares, gain, pot])).toEqual([
      ['2024-01-10', 100, 500, 'shares'],
      ['2024-01-11', 50, -250, 'shares'],
      ['2024-01-10', 10, -50, 'other'],
    ]);
    expect(lots).toEqual([{ identifier: 'A', shares: 50, cost: 20, acquired: '2024-01-11' }]);
    expect(balances.realised).toEqual({ short: 250, long: -50 });
  });

  // Gains and losses of shares, and of other securities. Losses of shares reduce only gains of shares.
  test.each([
    { shares: 2000, other: 500, carried: {}, taxed: 2500 - 1000 },
    { shares: 2000, other: -500, carried: {}, taxed: 1500 - 1000 },
    { shares: -2000, other: 3000, carried: {}, taxed: 3000 - 1000 },
    { shares: -2000, other: 900, carried: {}, taxed: 0 },
    { shares: 500, other: 400, carried: {}, taxed: 0 },
    { shares: 2000, other: 500, carried: { shares: 700 }, taxed: 1300 + 500 - 1000 },
    { shares: 2000, other: 500, carried: { other: 700 }, taxed: 2000 - 200 - 1000 },
    { shares: 2000, other: 1500, carried: { shares: 3000 }, taxed: 1500 - 1000 },
  ])('gains of $shares and $other with $carried carried forward leave $taxed', ({ shares, other, carried, taxed }) => {
    const common = createSmallBatch([0, 0, 1]);
    const account = Account.parse({
      account_id: 'X',
      cash: 1000,
      lots: [createLot('A', 20, 100 - shares / 20), createLot('B', 40, 100 - other / 40)],
      exclusions: ['A', 'B'],
      tax: { regime: GERMANY, carried_by_pot: carried },
    });
    const result = requireResult(common, account);
    expect(result.tax).toBeCloseTo(RATE * taxed, 8);
    expect([result.short_gain, result.long_gain]).toEqual([expect.closeTo(shares, 8), expect.closeTo(other, 8)]);
    expect(result.trades.flatMap(({ term = [] }) => term)).toEqual(['shares', 'other']);
    expect(verifyResult(common, account, solve(common, account))).toEqual([]);
  });

  test.each([
    { gains: [-2000, 3000], carried: [0, 0], left: [2000, 0] },
    { gains: [2000, -500], carried: [0, 0], left: [0, 0] },
    { gains: [300, -500], carried: [0, 0], left: [0, 200] },
    { gains: [-100, -50], carried: [10, 20], left: [110, 70] },
    { gains: [400, 0], carried: [300, 600], left: [0, 500] },
  ])('after gains of $gains with $carried, $left are carried forward', ({ gains, carried, left }) => {
    const pair = ([short, long]: readonly number[]) => ({ short: short!, long: long! });
    expect(computeCarriedLosses(TaxRegime.parse(GERMANY), pair(gains), pair(carried))).toEqual(pair(left));
  });

  test('dividends belong to the pot of other securities in the history of an account', () => {
    const account = Account.parse({ account_id: 'X', lots: [createLot('A', 100, 120)], tax: { regime: GERMANY } });
    const history = createHistory(account, { start: parseValidDay('2024-01-02'), dividendRate: 0.2 });
    const day = parseValidDay('2024-03-01');
    history.act(day, 'A', { lots: history.lots, cash: 0, dividends: 3000, gains: [] });
    history.trade(day, [{ identifier: 'A', side: 'sell', shares: 100, price: 100, lot: 0 }], 0);
    expect(history.accrued()).toBeCloseTo(RATE * (3000 - 1000), 9); // the loss of 2,000 belongs to the pot of shares
    history.payTaxes(parseValidDay('2025-01-02'));
    expect(history.accountOn(account, parseValidDay('2025-01-02')).tax.carried_by_pot).toEqual({
      shares: 2000,
      other: 0,
    });
    expect(history.entries.at(-1)).toMatchObject({ kind: 'tax', amount: expect.closeTo(-527.5, 9) as number });
  });
});

const solve = (common: ReturnType<typeof createSmallBatch>, account: object) => {
  const outcome = solveOutcome(common, account, 'accounts[0]');
  if (outcome.status === 'refused') throw new Error(JSON.stringify(outcome.findings));
  return outcome;
};

describe('an account with a pool', () => {
  const lots = [createLot('A', 60, 40), createLot('A', 40, 130, 'short')];

  test('sells at the average cost, and pays tax on gains above the exempt amount and earlier losses', () => {
    const common = createSmallBatch([0, 1, 0]);
    const account = Account.parse({
      account_id: 'X',
      lots,
      exclusions: ['A'],
      tax: { regime: { ...UK, allowance: 1000 }, carried_by_pot: { gains: 400 } },
    });
    const result = solve(common, account);
    // The pool has a cost of (60 x 40 + 40 x 130) / 100 = 76: a gain of 2,400, of which 1,000 are taxed.
    expect(result.trades[0]).toMatchObject({ shares: 100, cost: 76, gain: expect.closeTo(2400, 9) as number });
    expect(result.tax).toBeCloseTo(0.24 * 1000, 8);
    expect(verifyResult(common, account, result)).toEqual([]);
  });

  test('keeps the average cost of the rest, and sells shares of the day first', () => {
    const common = createSmallBatch([0.8, 0.2, 0], { objective: { risk_aversion: 1000, cash_maximum: 0 } });
    const account = Account.parse({ account_id: 'X', lots, tax: { regime: UK } });
    const result = solve(common, account);
    expect(sumShares(result, 'sell', 'A')).toBeCloseTo(20, 2);
    expect(result.lots_after![0]).toMatchObject({ identifier: 'A', cost: 76 });
    const bought = { ...account, lots: [createLot('A', 95, 76), { ...createLot('A', 5, 98), acquired: AS_OF }] };
    expect(solve(common, bought).trades.filter(({ side }) => side === 'sell')).toMatchObject([
      { cost: 98, shares: expect.closeTo(5, 6) as number },
      { cost: 76, shares: expect.closeTo(15, 2) as number },
    ]);
    expect(verifyResult(common, account, result)).toEqual([]);
  });

  test.each([
    ['2024-05-29', true],
    ['2024-05-28', false],
  ])('sold on %s is bought again after 30 days (barred: %s)', (date, isBarred) => {
    const common = createSmallBatch([0.5, 0.5, 0], { objective: { risk_aversion: 1000, cash_maximum: 1 } });
    const recent = [{ identifier: 'A', date, shares: -10, price: 100, cost: 50 }];
    const result = requireResult(common, { cash: 1000, lots: [createLot('B', 10, 50)], recent, tax: { regime: UK } });
    expect(sumShares(result, 'buy', 'A') > 0).toBe(!isBarred);
    expect(result.avoided_wash_sales).toEqual(
      isBarred ? [{ identifier: 'A', prevented: 'purchase', shares: null, until: '2024-06-28' }] : [],
    );
  });

  test('starts from its transactions, and states how their sales are matched', () => {
    const common = createSmallBatch([0.5, 0.5, 0]);
    const account = createAccount(
      [
        ['2022-03-01', 60, 40],
        ['2023-03-01', 40, 130],
        ['2024-05-01', -10, 90],
      ],
      UK,
    );
    const result = solve(common, account);
    expect(result.disposals).toEqual([
      { identifier: 'A', date: '2024-05-01', shares: 10, price: 90, cost: 76, gain: 140, pot: 'gains', acquired: null },
    ]);
    const gain = result.trades.reduce((sum, trade) => sum + (trade.gain ?? 0), 0);
    expect(gain).toBeGreaterThan(0);
    expect(result.tax).toBeCloseTo(0.24 * Math.max(0, 140 + gain - 3000), 8);
    const { account: read } = readAccount(common, account, { path: 'account', line: null });
    expect(verifyResult(common, read!, result)).toEqual([]);
    expect(verifyResult(common, read!, { ...result, disposals: [] })).not.toEqual([]);
  });

  test('is joined day by day in the history of an account, and its tax year ends on 5 April', () => {
    const account = Account.parse({ account_id: 'X', cash: 10_000, lots, tax: { regime: UK } });
    const history = createHistory(account, { start: parseValidDay('2023-01-03'), dividendRate: 0 });
    const [first, second] = [parseValidDay('2023-02-01'), parseValidDay('2023-04-05')];
    history.joinLots(first);
    history.trade(first, [{ identifier: 'A', side: 'buy', shares: 100, price: 96 }], 0);
    history.joinLots(first);
    expect(history.lots.map(({ shares, cost }) => [shares, cost])).toEqual([
      [100, 76],
      [100, 96],
    ]);
    history.payTaxes(second);
    history.joinLots(second);
    expect(history.lots.map(({ shares, cost }) => [shares, cost])).toEqual([[200, 86]]);
    history.trade(second, [{ identifier: 'A', side: 'sell', shares: 150, price: 126, lot: 0 }], 0);
    expect(history.accrued()).toBeCloseTo(0.24 * (150 * 40 - 3000), 9);
    expect(history.accountOn(account, parseValidDay('2023-04-20')).recent).toMatchObject([{ shares: -150 }]);
    history.payTaxes(parseValidDay('2023-04-06'));
    expect(history.years.map(({ year, is_paid }) => [year, is_paid])).toEqual([
      [2022, true],
      [2023, false],
    ]);
  });
});

test('the rules of the United States as a document give the bits of the default', () => {
  const random = seeded(83);
  for (let draw = 0; draw < countDraws(60); draw++) {
    const lots = Array.from({ length: 5 }, () => ({
      identifier: ['A', 'B', 'C'][Math.floor(random() * 3)]!,
      shares: 1 + Math.floor(random() * 30),
      cost: 60 + 80 * random(),
      acquired: ['2022-03-01', '2024-06-10', '2024-03-28'][Math.floor(random() * 3)]!,
    }));
    const common = createSmallBatch([0.2, 0.3, 0.5], { objective: { cash_maximum: 0.1 } });
    const [short, long, carried] = [500 * random() - 250, 500 * random() - 250, 100 * random()];
    const shown = (tax: object) => JSON.stringify(solve(common, { account_id: 'X', cash: 100, lots, tax }));
    expect(shown({ regime: US, realised_by_pot: { short, long }, carried_by_pot: { short: carried } })).toBe(
      shown({ realised: { short, long }, carry_forward: carried }),
    );
  }
});

/** Enumerates whole shares of three securities at a price of 100, with the taxes computed by their definition. */
describe.each([
  ['Germany', { ...GERMANY, allowance: 100 }],
  ['the United Kingdom', { ...UK, allowance: 100 }],
])('the trades of random accounts under the taxes of %s', (name, regime) => {
  const computeTax = (a: number, b: number): number =>
    name === 'Germany' ? RATE * Math.max(0, Math.max(0, a) + b - 100) : 0.24 * Math.max(0, a + b - 100);

  test('have the lowest objective, and are verified', () => {
    for (let seed = 0; seed < countDraws(40); seed++) {
      const random = seeded(700 + seed);
      const lots = Array.from({ length: 4 }, (_, position) => ({
        identifier: position % 2 === 0 ? 'A' : 'B',
        shares: 1 + Math.floor(random() * 3),
        cost: 30 + Math.floor(random() * 130),
        acquired: `2023-0${position + 1}-02`,
      }));
      const parts = [random(), random(), random()];
      const weights = parts.map((part) => part / (parts[0]! + parts[1]! + parts[2]!));
      const common = createSmallBatch(weights, {
        whole_shares: true,
        search_nodes: 200,
        objective: { risk_aversion: [0.3, 1, 3][seed % 3], cash_maximum: 1 },
      });
      const account = Account.parse({ account_id: 'X', lots, tax: { regime } });
      const result = solve(common, account);
      expect(verifyResult(common, account, result)).toEqual([]);
      expect(result.certificate.objective).toBeCloseTo(findLeast(lots, weights, [0.3, 1, 3][seed % 3]!), 9);
    }
  });

  function findLeast(
    lots: readonly { readonly identifier: string; readonly shares: number; readonly cost: number }[],
    weights: readonly number[],
    aversion: number,
  ): number {
    const held = ['A', 'B', 'C'].map((own) =>
      lots.reduce((sum, { identifier, shares }) => (identifier === own ? sum + shares : sum), 0),
    );
    const total = held.reduce((sum, shares) => sum + shares, 0);
    const computeGain = (own: string, sold: number): number => {
      const ownLots = lots.filter(({ identifier }) => identifier === own);
      const paid = ownLots.reduce((sum, { shares, cost }) => sum + shares * cost, 0);
      const count = ownLots.reduce((sum, { shares }) => sum + shares, 0);
      if (name !== 'Germany') return sold * (100 - paid / count);
      let [left, gain] = [sold, 0];
      for (const { shares, cost } of ownLots) {
        gain += Math.min(left, shares) * (100 - cost);
        left -= Math.min(left, shares);
      }
      return gain;
    };
    let least = Infinity;
    for (let a = 0; a <= total; a++)
      for (let b = 0; a + b <= total; b++)
        for (let c = 0; a + b + c <= total; c++) {
          const after = [a, b, c];
          const isPermitted = after.every(
            (shares, i) => shares <= held[i]! || shares / total <= weights[i]! + 0.05 + 1e-12,
          );
          if (!isPermitted) continue;
          const variance = after.reduce((sum, shares, i) => sum + 0.04 * (shares / total - weights[i]!) ** 2, 0);
          const gains = [0, 1].map((i) => computeGain(['A', 'B'][i]!, Math.max(0, held[i]! - after[i]!)));
          least = Math.min(least, aversion * variance + computeTax(gains[0]!, gains[1]!) / (100 * total));
        }
    return least;
  }
});

describe('a tax regime', () => {
  const common = createSmallBatch([0.5, 0.5, 0]);
  const bought = [{ identifier: 'A', date: '2023-01-10', shares: 10, price: 50 }];
  test.each([
    ['tax.short_rate', { tax: { regime: UK, short_rate: 0.4 } }, '0.4'],
    ['tax.lot_method', { tax: { regime: UK, lot_method: 'hifo' } }, 'hifo'],
    ['tax.realised', { tax: { regime: UK, realised: { short: 1, long: 0 } } }, 'realised_by_pot'],
    ['tax.carried_by_pot.long', { tax: { regime: UK, carried_by_pot: { long: 1 } } }, 'gains'],
    ['tax.carried_by_pot.gains', { tax: { carried_by_pot: { gains: 1 } } }, 'short, long'],
    ['tax.realised', { tax: { carry_forward: 7, carried_by_pot: { long: 1 } } }, '(7)'],
    ['tax.regime.pots[0].offsets', { tax: { regime: { ...UK, pots: [{ ...UK.pots[0], offsets: ['x'] }] } } }, 'x'],
    [
      'tax.regime.pots',
      { tax: { regime: { ...US, pots: US.pots.map(({ pot, rate, offsets }) => ({ pot, rate, offsets })) } } },
      '0 of 2',
    ],
    [
      'tax.regime.pots[1].rate',
      { tax: { regime: { ...US, pots: [{ ...US.pots[0], rate: 0.1 }, US.pots[1]] } } },
      '0.1',
    ],
    ['tax.regime.allowance', { tax: { regime: { ...US, allowance: 5 } } }, '0.37 and 0.2'],
    ['tax.regime.carried_losses', { tax: { regime: { ...GERMANY, carried_losses: 'after_allowance' } } }, 'single pot'],
    ['tax.regime.wash_sale', { tax: { regime: { ...UK, wash_sale: { days: 30 } } } }, '30'],
    ['tax.regime.lots', { tax: { regime: { ...US, wash_sale: null, lots: 'pool' } } }, 'held_years'],
    ['tax.regime.matching_days', { tax: { regime: { ...UK, matching_days: [30, 0] } } }, '30, 0'],
    ['tax.regime.dividends', { tax: { regime: { ...UK, dividends: 'other' } } }, 'gains'],
    [
      'tax.regime.surcharge',
      { tax: { regime: { ...GERMANY, pots: GERMANY.pots.map((pot) => ({ ...pot, rate: 0.99 })) } } },
      '0.99',
    ],
    ['tax.loss_value', { tax: { regime: UK, loss_value: 0.1 } }, '3000'],
    ['substitutes', { substitutes: [['A', 'B']], tax: { regime: UK } }, 'wash_sale'],
    ['transactions', { transactions: bought }, 'tax.regime'],
    ['transactions', { transactions: bought, tax: { regime: UK } }, 'lots'],
    ['transactions', { lots: [], transactions: [{ ...bought[0], shares: -4 }], tax: { regime: UK } }, '4 shares of A'],
  ])('is refused at %s', (path, account, text) => {
    const { findings } = readAccount(
      common,
      { account_id: 'X', cash: 100, lots: [createLot('A', 10, 50)], ...account },
      { path: 'accounts[0]', line: null },
    );
    expect(findings.map((finding) => finding.path)).toEqual([`accounts[0].${path}`]);
    expect(findings[0]!.message).toContain(text);
  });

  test('is a default of all accounts of a batch', () => {
    const terms = { defaults: { tax: { regime: UK } }, objective: { cash_maximum: 1 } };
    const own = createSmallBatch([0, 1, 0], terms);
    const result = requireResult(own, { lots: [createLot('A', 100, 50)], exclusions: ['A'] });
    expect(result.tax).toBeCloseTo(0.24 * (5000 - 3000), 8);
  });
});
