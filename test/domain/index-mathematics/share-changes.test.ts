import { describe, expect, test } from 'vitest';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { openExtended } from '../backtest/extend/extended.js';
import { exportEvents } from '../backtest/exported-events.js';
import { CALENDARS, expectNear, runIndexCase, listShareChanges, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(12);
const CAP_WEIGHTED_RULES = {
  weighting: { type: 'MarketCapWeight' },
  events: { share_changes: 'effective' },
};
const repeatPrice = (price: number, sessions = 6): number[] => Array.from({ length: sessions }, () => price);

/** Runs an index of A and B, each at 100 with 100 shares. `shares` lists the share counts of A by session. */
function runShareChanges(shares: readonly (number | null)[], members: object = {}) {
  return runIndexCase({
    close: { A: repeatPrice(100, shares.length), B: repeatPrice(100, shares.length) },
    fields: { SHARES_OUTSTANDING: { A: shares, B: repeatPrice(100, shares.length) } },
    ...CAP_WEIGHTED_RULES,
    ...members,
  });
}

const readWeight = ({ index: { book } }: ReturnType<typeof runShareChanges>, row: number, name = 'A'): number =>
  book.weights[row * book.columns.length + book.columns.indexOf(book.sm.columnOf(name))]!;

describe('a change of share counts', () => {
  test('applies after the close before its date: shares scale, the divisor adjusts, the level is continuous', () => {
    const run = runShareChanges([100, 100, 150, 150]);
    const { book } = run.index;
    expect([...book.value]).toEqual([100, 100, 100, 100]);
    expectNear(book.divisor[1]!, 1);
    expectNear(book.divisor[2]!, 1.25);
    expectNear(readWeight(run, 1), 0.5);
    expectNear(readWeight(run, 2), 0.6);
    expect(listShareChanges(run)).toEqual([{ session: 2, column: 0, before: 100, after: 150 }]);
  });

  test('is earned from its date on: A has 60 % of the index over the session on which it rises by 10 %', () => {
    const run = runShareChanges([100, 150, 150], { close: { A: [100, 110, 110], B: repeatPrice(100, 3) } });
    expectNear(run.index.book.value[1]!, 106);
  });

  test('waits for the review below the threshold, which is measured from the counts last adopted', () => {
    const run = runShareChanges([100, 104, 106, 110, 111.4]);
    // The count first changes by 4 %, then by 6 % from 100. Later it changes by 3.8 % and 5.1 % from 106.
    expect(listShareChanges(run).map(({ session, before, after }) => [session, before, after])).toEqual([
      [2, 100, 106],
      [4, 106, 111.4],
    ]);
    expect(
      runShareChanges([100, 110], { events: { share_changes: 'effective', threshold: 0.2 } }).index.book.divisor[1],
    ).toBe(1);
  });

  test('below the threshold is not lost if another constituent is replaced in between', () => {
    // A changes by 4 % on the session of the replacement, and by 6 % in total on the next one. B leaves with 10,000 of
    // 20,000, and C enters with 5,000: 15,000 / 20,000. Then A has 10,600 of 15,600.
    const run = runIndexCase({
      close: { A: repeatPrice(100, 4), B: [100, 100, null, null], C: repeatPrice(100, 4) },
      fields: { SHARES_OUTSTANDING: { A: [100, 104, 106, 106], B: repeatPrice(100, 4), C: repeatPrice(50, 4) } },
      weighting: { type: 'MarketCapWeight' },
      selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }],
      actions: [{ name: 'B', type: 'ACQUISITION', value: 100, ex: DAYS[1]! }],
      events: { share_changes: 'effective', replacement: 'next_ranked' },
    });
    run.index.book.divisor.forEach((divisor, t) => expectNear(divisor, [1, 0.75, 0.78, 0.78][t]!));
    run.index.book.value.forEach((level) => expectNear(level, 100));
    expect(listShareChanges(run)).toEqual([{ session: 2, column: 0, before: 100, after: 106 }]);
  });

  test('is left to the review unless it is effective', () => {
    expect([...runShareChanges([100, 150, 150], { events: {} }).index.book.divisor]).toEqual([1, 1, 1]);
    expect([...runShareChanges([100, 150, 150], { events: undefined }).index.book.divisor]).toEqual([1, 1, 1]);
  });

  test('of free float counts where the weights do', () => {
    const float = { FREE_FLOAT: { A: [0.5, 0.5, 0.75], B: repeatPrice(1, 3) } };
    const shares = { SHARES_OUTSTANDING: { A: repeatPrice(200, 3), B: repeatPrice(100, 3) } };
    const run = runShareChanges(repeatPrice(1, 3), { fields: { ...shares, ...float } });
    expectNear(run.index.book.divisor[2]!, 1.25);
    const full = runShareChanges(repeatPrice(1, 3), {
      fields: { ...shares, ...float },
      weighting: { type: 'MarketCapWeight', params: { free_float: false } },
    });
    expect(full.index.book.divisor[2]).toBe(1);
  });

  test('of a free float by expression counts in bands, with caps in stages', () => {
    // A band of 25 % rounded up: 0.5 stays at 0.52 (0.75) or 0.7 (0.75) and becomes 1 at 0.8. A and B have 100 shares in
    // free float each, then A has 150 and 200. The caps of 60 % bind from the second review on: they keep their factor.
    const fields = {
      SHARES_OUTSTANDING: { A: repeatPrice(200, 5), B: repeatPrice(100, 5) },
      FREE_FLOAT: { A: [0.5, 0.52, 0.7, 0.8, 0.8], B: repeatPrice(1, 5) },
    };
    const float_field = parseExpression('ceil(FREE_FLOAT, 0.25)').tree;
    const run = runShareChanges(repeatPrice(1, 5), {
      fields,
      weighting: {
        type: 'MarketCapWeight',
        params: { float_field },
        ladder_caps: { single: { above: 0.6, to: 0.6 } },
      },
    });
    expect(listShareChanges(run).map(({ session, before, after }) => [session, before, after])).toEqual([
      [1, 100, 150],
      [3, 150, 200],
    ]);
    [0.5, 0.6, 0.6, 2 / 3, 2 / 3].forEach((weight, t) => expectNear(readWeight(run, t), weight));
    [1, 1.25, 1.25, 1.5, 1.5].forEach((divisor, t) => expectNear(run.index.book.divisor[t]!, divisor));
    expect([...run.index.book.value]).toEqual(repeatPrice(100, 5));
  });

  test('of a free float that compares securities or reads several sessions is refused at its field', () => {
    const body = {
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: DAYS[0],
      events: CAP_WEIGHTED_RULES.events,
      datapoints: { RANKED: 'rank(FREE_FLOAT)' },
    };
    const validate = (float_field: string, free_float = true) =>
      validateIndex(
        { ...body, pipeline: { weighting: { type: 'MarketCapWeight', params: { float_field, free_float } } } },
        { calendars: CALENDARS.list(), indexOf: () => undefined },
      );
    const listFindings = (float_field: string, free_float = true) =>
      validate(float_field, free_float)
        .findings.filter(({ path }) => path === 'pipeline.weighting.params.float_field')
        .map(({ code, severity }) => [severity, code]);
    expect(listFindings('ladder(FREE_FLOAT, [0.15, 0.5], [0.15, 0.5, 1])')).toEqual([]);
    expect(listFindings('if(COUNTRY == "FR", ceil(FREE_FLOAT, 0.05), coalesce(FREE_FLOAT, 1))')).toEqual([]);
    for (const text of [
      'RANKED',
      'zscore(FREE_FLOAT)',
      'mean(FREE_FLOAT, window=20)',
      'VOLATILITY',
      'is_constituent()',
    ])
      expect([listFindings(text), validate(text).document]).toEqual([[['error', 'BAD_EXPRESSION']], undefined]);
    expect(listFindings('ceil(FREE_FLOAT, 0.05)', false)).toEqual([['warning', 'NO_EFFECT']]);
    expect(listFindings('ceil(FREE_FLOAT, 0)')).toEqual([['error', 'OUT_OF_RANGE']]);
  });

  test('is none if a split or a subscribed rights issue caused it, whenever the data reports it', () => {
    const split = { name: 'A', type: 'SPLIT', value: 4, ex: DAYS[1]! };
    const halvedCase = { close: { A: [100, 25, 25, 25], B: repeatPrice(100, 4) }, actions: [split] };
    for (const shares of [
      [100, 400, 400, 400],
      [100, 100, 400, 400],
      [100, null, null, 400],
    ])
      expect([...runShareChanges(shares, halvedCase).index.book.divisor]).toEqual([1, 1, 1, 1]);
    const rights = { name: 'A', type: 'RIGHTS_ISSUE', value: 0.5, subscription: 40, ex: DAYS[1]! };
    const run = runShareChanges([100, 100, 150], {
      close: { A: [100, 80, 80], B: repeatPrice(100, 3) },
      actions: [rights],
    });
    // Half a share of each security at 100 becomes 0.75 at 80. So the market value is 110.
    expectNear(run.index.book.divisor[1]!, 1.1);
    expectNear(run.index.book.divisor[2]!, 1.1);
  });

  test('that a merger makes is none: the shares of the other security have turned into it', () => {
    const run = runIndexCase({
      close: { A: [100, 100, 100, 100], B: [100, 100, null, null], C: repeatPrice(100, 4) },
      fields: { SHARES_OUTSTANDING: { A: [100, 200, 200, 230], B: repeatPrice(100, 4), C: repeatPrice(100, 4) } },
      actions: [{ name: 'B', type: 'MERGER', value: 1, related: 'A', ex: DAYS[1]! }],
      ...CAP_WEIGHTED_RULES,
    });
    expectNear(run.index.book.divisor[1]!, 1);
    expectNear(run.index.book.divisor[2]!, 1);
    // An increase from 200 to 230 shares adds 15 % of two thirds.
    expectNear(run.index.book.divisor[3]!, 1.1);
  });

  test('changes pending shares as it changes held ones', () => {
    const otherCase = {
      rebalance: { frequency: 'custom', dates: [DAYS[4]], effective_lag: 3 },
      weighting: { type: 'MarketCapWeight', cap: 0.5 },
    };
    // The decision on the second session gives half to each security. A doubles its shares between the decision and the
    // effective session.
    const run = runShareChanges([100, 100, 200, 200, 200, 200], otherCase);
    const { weights, counts, targets } = run.rebalances.at(-1)!;
    expectNear(targets!.weights[0]!, 0.5);
    expectNear(weights[0]!, 2 / 3);
    expect([...counts!.adopted]).toEqual([200, 100]);
    // The index has adopted the doubled shares as well, so nothing is traded.
    expectNear(readWeight(run, 3), 2 / 3);
    expectNear(readWeight(run, 5), 2 / 3);
  });

  test('that a review has seen is not applied again', () => {
    const run = runShareChanges([100, 103, 107, 107], { rebalance: { frequency: 'custom', dates: [DAYS[1]] } });
    expectNear(readWeight(run, 1), 103 / 203);
    expect(listShareChanges(run)).toEqual([]);
  });

  test('is one event of the run, with its effect on the divisor', () => {
    const run = runShareChanges([100, 100, 150, 150]);
    const rows = exportEvents(openExtended(createRunColumns(run, { contentHash: 's' })));
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ date: DAYS[2], identifier: 'A', type: 'share_change', per_share: 1.5 });
    expectNear(rows[0]!['effect'] as number, 0.25);
    expectNear(rows[0]!['divisor_after'] as number, 1.25);
  });

  test('leaves a portfolio with the returns of its index', () => {
    const run = runShareChanges([100, 150, 150, 80], {
      close: { A: [100, 110, 120, 90], B: repeatPrice(100, 4) },
      request: { transaction_cost_bps: 10, start: DAYS[1] },
    });
    const { portfolio, index } = run;
    for (let t = 1; t < portfolio.length; t++)
      expectNear(portfolio.value[t]! / portfolio.value[0]!, index.book.value[t + 1]! / index.book.value[1]!);
  });
});
