import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { createHolding } from '../backtest/signed-case.js';
import { expectNear, readLevels, runIndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(12);

/** Returns the weights after a close, by security. */
function readHeldAt({ index: { book } }: Run, row: number): Record<string, number> {
  const H = book.columns.length;
  return Object.fromEntries(
    [...book.columns].flatMap((column, slot) => {
      const weight = book.weights[row * H + slot]!;
      return weight === 0 ? [] : [[book.sm.identifiers[column]!, weight]];
    }),
  );
}

describe('ordinary dividends', () => {
  const sketch = {
    close: { A: [100, 90, 180], B: [100, 100, 100] },
    actions: [{ name: 'A', type: 'DIVIDEND' as const, value: 10, ex: DAYS[1]! }],
  };

  test('are reinvested in the whole index: A pays 10 at 100, opens at 90, doubles, and the total return is 147.368', () => {
    const run = runIndexCase({ ...sketch, treatment: { dividends: 'total' } });
    // The price return index is at 100, 95, 140. The dividend on the second session is 5 points. So the total return
    // index is 100 x (95 + 5) / 100 x 140 / 95.
    expectNear(readLevels(run, 'total')[2]!, (100 * 140) / 95);
    expect((100 * 140) / 95).toBeCloseTo(147.3684, 4);
    expect(readLevels(run, 'price').map((level) => Math.round(level * 1e9) / 1e9)).toEqual([100, 95, 140]);
    expectNear(run.index.book.reinvested!.points[1]!, 5);
    expect([...run.index.book.divisor]).toEqual([1, 1, 1]);
  });

  test('buy more of the security that paid them if reinvestment is constituent: 150', () => {
    const run = runIndexCase({ ...sketch, treatment: { dividends: 'total', reinvestment: 'constituent' } });
    expectNear(run.index.book.value[2]!, 150);
  });

  test('leave price, total and net return with the same shares: the weights of all three are those of prices', () => {
    const runs = ['price', 'total', 'net'].map((dividends) =>
      runIndexCase({ ...sketch, treatment: { dividends, withholding_tax: 0.3 } }),
    );
    for (const run of runs) {
      expect([...run.index.book.weights]).toEqual([...runs[0]!.index.book.weights]);
      expectNear(readLevels(run, 'net')[2]!, (100 * (95 + 3.5)) / 100 / (95 / 140));
      expectNear(readLevels(run, 'total')[2]!, (100 * 140) / 95);
    }
  });

  test('are paid at the exchange rate of their ex-date', () => {
    const run = runIndexCase({
      close: { A: [100, 90], B: [100, 100], EURUSD: [1, 2] },
      reference: { A: { CURRENCY: 'EUR' } },
      actions: [{ name: 'A', type: 'DIVIDEND', value: 10, ex: DAYS[1]! }],
      treatment: { dividends: 'total' },
    });
    // The index holds half a share of each security at 100. The level is 0.5 x 90 x 2 + 0.5 x 100, and the points are
    // 0.5 x 10 x 2.
    expectNear(readLevels(run, 'price')[1]!, 140);
    expectNear(run.index.book.reinvested!.points[1]!, 10);
  });
});

describe('dividends that are reinvested at the previous close', () => {
  const EARLY = { dividends: 'total', reinvestment_at: 'previous_close' };
  const sketch = {
    close: { A: [100, 92, 184], B: [100, 100, 100] },
    actions: [{ name: 'A', type: 'DIVIDEND' as const, value: 10, ex: DAYS[1]! }],
  };

  test('buy the index at its previous level minus the dividend points: 100 x 96 / (100 - 5)', () => {
    const run = runIndexCase({ ...sketch, treatment: EARLY });
    expect(readLevels(run, 'price').map((level) => Math.round(level * 1e9) / 1e9)).toEqual([100, 96, 142]);
    expectNear(run.index.book.reinvested!.points[1]!, 5);
    expectNear(readLevels(run, 'total')[1]!, (100 * 96) / 95);
    expectNear(readLevels(run, 'total')[2]!, (100 * 96 * 142) / (95 * 96));
    expectNear(readLevels(runIndexCase({ ...sketch, treatment: { dividends: 'total' } }), 'total')[1]!, 101);
  });

  test('buy the security that pays them at 100 - 10, so that half of the index has 100 / 90 shares per share', () => {
    const treatment = { ...EARLY, reinvestment: 'constituent' };
    const run = runIndexCase({ ...sketch, treatment });
    expectNear(run.index.book.value[1]!, 50 * (92 / 90) + 50);
    expectNear(run.index.book.value[2]!, 50 * (184 / 90) + 50);
    const net = runIndexCase({ ...sketch, treatment: { ...treatment, dividends: 'net', withholding_tax: 0.3 } });
    expectNear(net.index.book.value[2]!, 50 * (184 / 93) + 50);
  });

  test('include special dividends of which the security keeps the cash, in every variant', () => {
    const special = { ...sketch.actions[0]!, type: 'SPECIAL_DIVIDEND' as const };
    for (const reinvestment of ['index', 'constituent']) {
      const treatment = { reinvestment, reinvestment_at: 'previous_close', special_dividends: 'constituent' };
      const run = runIndexCase({ ...sketch, actions: [special], treatment });
      expectNear(readLevels(run, 'price')[1]!, 50 * (92 / 90) + 50);
      expectNear(readLevels(run, 'price')[2]!, 50 * (184 / 90) + 50);
    }
  });

  test('are reinvested at the close if they are not smaller than the previous close', () => {
    const actions = [{ ...sketch.actions[0]!, value: 120 }];
    const run = runIndexCase({ ...sketch, actions, treatment: { ...EARLY, reinvestment: 'constituent' } });
    expectNear(run.index.book.value[1]!, 50 * (212 / 100) + 50);
  });

  test('follow the formulas of both families on every session, with splits, taxes and another currency', () => {
    const days = listWeekdays(90);
    const path = (seed: number): number[] => {
      const prices = [40 + 10 * seed];
      for (let t = 1; t < days.length; t++) prices.push(prices[t - 1]! * (1 + 0.02 * Math.sin(7 * seed + 1.7 * t * t)));
      return prices;
    };
    const close = { A: path(1), B: path(2).map((price, t) => (t < 30 ? price : price / 2)), C: path(3) };
    const rate = path(4).map((price) => price / 80);
    const dividends = [5, 17, 30, 31, 50, 66, 88].flatMap((t, k) => [
      { name: 'ABC'[k % 3]!, type: 'DIVIDEND' as const, value: 0.5 + 0.3 * k, ex: days[t]!, t },
      { name: 'ABC'[(k + 1) % 3]!, type: 'DIVIDEND' as const, value: 0.9, ex: days[t]!, t },
    ]);
    const sketched = {
      close: { ...close, EURUSD: rate },
      reference: { A: { CURRENCY: 'EUR' } },
      actions: [...dividends, { name: 'B', type: 'SPLIT' as const, value: 2, ex: days[30]! }],
    };
    const names = ['A', 'B', 'C'] as const;
    const split = (name: string, t: number): number => (name === 'B' && t === 30 ? 2 : 1);
    const money = (name: string, t: number): number => (name === 'A' ? rate[t]! : 1);
    for (const [variant, kept] of [
      ['total', 1],
      ['net', 0.75],
    ] as const) {
      const paid = (name: string, t: number): number =>
        kept * dividends.filter((one) => one.name === name && one.t === t).reduce((sum, { value }) => sum + value, 0);
      const treatment = { ...EARLY, dividends: variant, withholding_tax: 0.25 };
      const [index, constituent] = ['index', 'constituent'].map((reinvestment) =>
        readLevels(runIndexCase({ ...sketched, treatment: { ...treatment, reinvestment } }), variant),
      ) as [number[], number[]];
      const shares = names.map((name) => 100 / 3 / (close[name][0]! * money(name, 0)));
      const worth = names.map(() => 100 / 3);
      let [price, level] = [100, 100];
      for (let t = 1; t < days.length; t++) {
        let [next, points] = [0, 0];
        names.forEach((name, i) => {
          shares[i]! *= split(name, t);
          next += shares[i]! * close[name][t]! * money(name, t);
          points += shares[i]! * paid(name, t) * money(name, t);
          const before = close[name][t - 1]! / split(name, t) - paid(name, t);
          worth[i]! *= (close[name][t]! * money(name, t)) / (before * money(name, t - 1));
        });
        level *= next / (price - points);
        price = next;
        expectNear(index[t]!, level, 1e-11);
        expectNear(
          constituent[t]!,
          worth.reduce((sum, value) => sum + value, 0),
          1e-11,
        );
      }
    }
  });
});

test('a short position pays ordinary dividends whole, whatever is withheld from long ones', () => {
  const run = runIndexCase({
    close: { A: [100, 100], B: [100, 90] },
    actions: [{ name: 'B', type: 'DIVIDEND', value: 10, ex: DAYS[1]! }],
    treatment: { dividends: 'net', withholding_tax: 0.3 },
    request: { createDecider: createHolding(() => ({ A: 1.5, B: -0.5 })) },
  });
  // The short position gains the 5 points that it pays.
  expectNear(readLevels(run, 'price')[1]!, 105);
  expectNear(readLevels(run, 'net')[1]!, 100);
  expectNear(readLevels(run, 'total')[1]!, 100);
});

describe('special dividends', () => {
  const sketch = {
    close: { A: [100, 70, 77], B: [100, 100, 100] },
    actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND' as const, value: 30, ex: DAYS[1]! }],
  };

  test('adjust the previous close: A pays 30 at 100, rises 10 % from 70, and all variants are at 104.1176', () => {
    const run = runIndexCase(sketch);
    expect(100 * (1 + (0.1 * 70) / 170)).toBeCloseTo(104.1176, 4);
    for (const variant of ['price', 'total', 'net'] as const) {
      expectNear(readLevels(run, variant)[1]!, 100);
      expectNear(readLevels(run, variant)[2]!, 100 * (1 + (0.1 * 70) / 170));
    }
    // The market value before the session falls from 100 to 85. The divisor falls in proportion.
    expectNear(run.index.book.divisor[1]!, 0.85);
    expectNear(readHeldAt(run, 1)['A']!, 70 / 170);
  });

  test.each(['constituent', 'reinvest'])('buy more of the security that paid them: %s', (special_dividends) => {
    const run = runIndexCase({ ...sketch, treatment: { special_dividends } });
    expectNear(run.index.book.value[2]!, 105);
  });

  test('are lost where they are ignored', () => {
    expectNear(runIndexCase({ ...sketch, treatment: { special_dividends: 'ignore' } }).index.book.value[1]!, 85);
  });

  test('use the exchange rate of the session before', () => {
    const run = runIndexCase({
      close: { A: [100, 70], B: [100, 100], EURUSD: [1, 2] },
      reference: { A: { CURRENCY: 'EUR' } },
      actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 30, ex: DAYS[1]! }],
    });
    expectNear(run.index.book.divisor[1]!, 0.85);
    expectNear(run.index.book.value[1]!, (0.5 * 70 * 2 + 50) / 0.85);
  });
});

describe('rights issues', () => {
  // Holders may buy one new share per two at 40. So the price without the right is (100 + 0.5 x 40) / 1.5 = 80.
  const sketch = {
    close: { A: [100, 88], B: [100, 100] },
    actions: [{ name: 'A', type: 'RIGHTS_ISSUE' as const, value: 0.5, subscription: 40, ex: DAYS[1]! }],
  };

  test.each([
    // Index shares grow by half: the market value before the session is 0.5 x 1.5 x 80 + 50 = 110.
    ['subscribe', 1.1, (0.5 * 1.5 * 88 + 50) / 1.1],
    // Index shares do not change: 0.5 x 80 + 50 = 90.
    ['price_only', 0.9, (0.5 * 88 + 50) / 0.9],
  ])('%s', (rights, divisor, level) => {
    const run = runIndexCase({ ...sketch, treatment: { rights } });
    expectNear(run.index.book.divisor[1]!, divisor);
    expectNear(run.index.book.value[1]!, level);
  });

  test('keep the value of the holding where they are of the constituent: half rises by 10 %', () => {
    expectNear(runIndexCase({ ...sketch, treatment: { rights: 'constituent' } }).index.book.value[1]!, 105);
  });

  test('are subscribed for by an index of market values, and by no other unless its definition requires it', () => {
    const fields = { SHARES_OUTSTANDING: { A: [1, 1], B: [1, 1] } };
    const byValue = runIndexCase({ ...sketch, fields, weighting: { type: 'MarketCapWeight' } });
    expectNear(byValue.index.book.divisor[1]!, 1.1);
    expectNear(runIndexCase(sketch).index.book.divisor[1]!, 0.9);
  });
});

test('a spun-off security leaves at its first close if the treatment requires it, and the others take over its value', () => {
  const sketch = {
    close: { A: [100, 80, 80], B: [100, 100, 110], KID: [null, 20, 40] },
    universe: ['A', 'B'],
    actions: [{ name: 'A', type: 'SPIN_OFF' as const, value: 1, related: 'KID', ex: DAYS[1]! }],
  };
  const droppedRun = runIndexCase({ ...sketch, treatment: { spin_offs: 'drop_after_first_session' } });
  expect(Object.keys(readHeldAt(droppedRun, 1))).toEqual(['A', 'B']);
  expectNear(readHeldAt(droppedRun, 1)['A']!, 40 / 90);
  expectNear(droppedRun.index.book.value[1]!, 100);
  expectNear(droppedRun.index.book.divisor[1]!, 0.9);
  expectNear(droppedRun.index.book.value[2]!, (100 * (40 + 55)) / 90);
  expect(Object.keys(readHeldAt(runIndexCase(sketch), 1))).toEqual(['A', 'B', 'KID']);
});

describe('target weights', () => {
  const close = { A: [100, 100, 200, 200, 200, 200, 200, 200], B: Array.from({ length: 8 }, () => 100) };
  const sketch = {
    close,
    fields: { SHARES_OUTSTANDING: { A: close.A.map(() => 100), B: close.A.map(() => 100) } },
    weighting: { type: 'MarketCapWeight' },
    rebalance: { frequency: 'custom', dates: [DAYS[6]], effective_lag: 5 },
  };

  test('become index shares at the closes of the decision: A doubles in between, weights are 2/3 and 1/3, turnover is 0', () => {
    const run = runIndexCase(sketch);
    const rebalance = run.rebalances.at(-1)!;
    expect(rebalance.session - rebalance.decision).toBe(5);
    expect([...rebalance.weights].map((weight) => Math.round(weight * 1e12) / 1e12)).toEqual([
      0.666666666667, 0.333333333333,
    ]);
    expect([...rebalance.targets!.weights]).toEqual([0.5, 0.5]);
    const event = run.index.book.events.find(({ at }) => at === 6)!;
    const turnover = [...event.before].reduce(
      (sum, weight, slot) => sum + Math.abs(weight - rebalance.weights[slot]!),
      0,
    );
    expect(turnover).toBeLessThan(1e-15);
  });

  test('hold at the effective close where they are weights', () => {
    const run = runIndexCase({ ...sketch, rebalance: { ...sketch.rebalance, weights_as: 'weights' } });
    expect([...run.rebalances.at(-1)!.weights]).toEqual([0.5, 0.5]);
  });

  test('have the same bits in both ways without notice', () => {
    const [shares, weights] = ['shares', 'weights'].map((weights_as) =>
      runIndexCase({ ...sketch, rebalance: { frequency: 'daily', weights_as } }),
    );
    expect([...shares!.index.book.value]).toEqual([...weights!.index.book.value]);
    expect([...shares!.index.book.weights]).toEqual([...weights!.index.book.weights]);
  });

  test('go through corporate actions as held shares do', () => {
    // A is split 4 for 1. C is acquired at 120, and the other securities receive its weight.
    const run = runIndexCase({
      close: { A: [100, 100, 30, 30], B: [100, 100, 100, 90], C: [100, 100, null, null] },
      actions: [
        { name: 'A', type: 'SPLIT', value: 4, ex: DAYS[2]! },
        { name: 'C', type: 'ACQUISITION', value: 120, ex: DAYS[2]! },
      ],
      rebalance: { frequency: 'custom', dates: [DAYS[3]], effective_lag: 2 },
    });
    // Weights are equal at the second close. On the next session, A, B and C are worth 1.2, 1 and 1.2 times as much.
    // Then the value of C is in A and B, and B falls by 10 %.
    const { weights } = run.rebalances.at(-1)!;
    expectNear(weights[0]!, 1.2 / (1.2 + 0.9));
    expectNear(weights[1]!, 0.9 / (1.2 + 0.9));
  });
});

describe('a price-weighted index', () => {
  const split = {
    close: { A: [400, 100, 110], B: [100, 100, 100] },
    actions: [{ name: 'A', type: 'SPLIT' as const, value: 4, ex: DAYS[1]! }],
    weighting: { type: 'PriceWeight' },
  };

  test('keeps one share through a split: 400 and 100, a 4:1 split, 10 % up, 105', () => {
    const run = runIndexCase(split);
    expectNear(run.index.book.value[1]!, 100);
    expectNear(run.index.book.value[2]!, 105);
    // The divisor is the sum of the prices over the level 100: 500 / 100, and 200 / 100 after the split.
    expectNear(run.index.book.divisor[0]!, 5);
    expectNear(run.index.book.divisor[1]!, 2);
  });

  test('keeps the weight if its parameter requires it: 108', () => {
    const run = runIndexCase({ ...split, weighting: { type: 'PriceWeight', params: { splits: 'keep_weight' } } });
    expectNear(run.index.book.value[2]!, 108);
  });

  test('changes its divisor for entries and exits, and holds the shares of its factor', () => {
    const run = runIndexCase({
      close: { A: [100, 110, 120], B: [50, 50, 60], C: [null, 200, 210] },
      fields: { FACTOR: { A: [1, 1, 1], B: [3, 3, 3], C: [2, 2, 2] } },
      weighting: { type: 'PriceWeight', params: { factor_field: 'FACTOR' } },
      rebalance: { frequency: 'custom', dates: [DAYS[1]] },
    });
    // 100 + 3 x 50 = 250 corresponds to the level 100, and 110 + 150 = 260 to the level 104. With C at 2 x 200 the
    // market value is 660.
    const { value, divisor, weights } = run.index.book;
    expectNear(value[1]!, 104);
    expectNear(divisor[1]!, 660 / 104);
    expectNear(weights[3 + 2]!, 400 / 660);
    expectNear(value[2]!, (104 * (120 + 180 + 420)) / 660);
  });

  test('holds one share of a member that acquires another one, whose value the divisor spreads', () => {
    const run = runIndexCase({
      close: { A: [100, null, null], B: [50, 55, 55], C: [50, 50, 100] },
      actions: [{ name: 'A', type: 'MERGER' as const, value: 2, related: 'B', ex: DAYS[1]! }],
      weighting: { type: 'PriceWeight' },
    });
    // 200 corresponds to the level 100. On the ex-date A is worth two shares of B: (110 + 55 + 50) / 2 = 107.5. Then one
    // share of B and one of C are 105 for the level 107.5.
    const { value, divisor, weights } = run.index.book;
    expectNear(value[1]!, 107.5);
    expectNear(divisor[1]!, 105 / 107.5);
    expectNear(weights[3 + 1]!, 55 / 105);
    expectNear(value[2]!, (107.5 * 155) / 105);
  });

  test('is the same rebalanced every day and never', () => {
    const [dailyRun, unchangedRun] = ['daily', 'none'].map((frequency) =>
      runIndexCase({ ...split, rebalance: { frequency } }),
    );
    dailyRun!.index.book.value.forEach((level, t) => expectNear(unchangedRun!.index.book.value[t]!, level));
    dailyRun!.index.book.divisor.forEach((divisor, t) => expectNear(unchangedRun!.index.book.divisor[t]!, divisor));
  });
});
