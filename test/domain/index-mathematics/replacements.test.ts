import { describe, expect, test } from 'vitest';
import { expectNear, readHeldAt, runIndexCase, listWeekdays, type IndexCase } from './index-case.js';

const DAYS = listWeekdays(12);
const TOP_2 = [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }];
const repeatPrice = (price: number, sessions = 5): number[] => Array.from({ length: sessions }, () => price);

/**
 * Runs an index on A to D, which have market values 400, 300, 200 and 100. The index holds A and B. A is acquired on
 * the third session.
 */
function runReplacement(members: Partial<IndexCase> = {}) {
  const close = {
    A: [100, 100, 100, null, null],
    B: repeatPrice(100),
    C: [100, 100, 100, 110, 110],
    D: repeatPrice(100),
  };
  return runIndexCase({
    close,
    fields: { SHARES_OUTSTANDING: { A: repeatPrice(4), B: repeatPrice(3), C: repeatPrice(2), D: repeatPrice(1) } },
    selection: TOP_2,
    actions: [{ name: 'A', type: 'ACQUISITION', value: 100, ex: DAYS[2]! }],
    events: { replacement: 'next_ranked' },
    ...members,
  });
}

describe('a constituent that leaves between reviews', () => {
  test('is replaced by the best-ranked security that the last review left out, at its weight', () => {
    const run = runReplacement();
    expect(readHeldAt(run, 1)).toEqual({ A: 0.5, B: 0.5 });
    expect(readHeldAt(run, 2)).toEqual({ B: 0.5, C: 0.5 });
    // C has replaced A in the divisor. C rises by 10 %.
    expectNear(run.index.book.value[3]!, 105);
    expect([...run.index.book.divisor].map((d) => Math.round(d * 1e12) / 1e12)).toEqual([1, 1, 1, 1, 1]);
    expect(run.rebalances.map(({ session, cause }) => [session, cause])).toEqual([
      [0, undefined],
      [2, 'replacement'],
    ]);
  });

  test('is replaced by the weighting of the latest review, also one on the base date', () => {
    const run = runReplacement({
      reviews: [
        {
          id: 'value',
          scope: 'weights',
          schedule: { frequency: 'custom', dates: [DAYS[0]] },
          weighting: { type: 'MarketCapWeight' },
        },
      ],
    });
    const round = (weight: number) => Math.round(weight * 1e12) / 1e12;
    expect(run.rebalances.map(({ reviews, session }) => [session, reviews?.join()])).toEqual([
      [0, 'rebalance,value'],
      [2, undefined],
    ]);
    expect(readHeldAt(run, 0)).toEqual({ A: round(4 / 7), B: round(3 / 7) });
    // C enters with its market value of 200 next to the 300 of B.
    expect(readHeldAt(run, 2)).toEqual({ B: 0.6, C: 0.4 });
  });

  test('leaves a spun-off security of a price-weighted index at the shares that were distributed', () => {
    const run = runIndexCase({
      close: {
        A: [100, 90, 90, 90],
        K: [null, 20, 20, 20],
        B: [100, 100, 100, null],
        C: [50, 50, 50, 50],
      },
      universe: ['A', 'B', 'C'],
      fields: { SHARES_OUTSTANDING: { A: repeatPrice(4, 4), B: repeatPrice(3, 4), C: repeatPrice(2, 4) } },
      weighting: { type: 'PriceWeight' },
      selection: TOP_2,
      actions: [
        { name: 'A', type: 'SPIN_OFF', value: 0.5, related: 'K', ex: DAYS[1]! },
        { name: 'B', type: 'ACQUISITION', value: 100, ex: DAYS[2]! },
      ],
      events: { replacement: 'next_ranked' },
    });
    // One share each of A and B: 200 / 100 = 2. Then A 90, half a share of K at 20, and one share of C: 150 / 100 = 1.5.
    expect([...run.index.book.value]).toEqual([100, 100, 100, 100]);
    run.index.book.divisor.forEach((divisor, t) => expectNear(divisor, [2, 2, 1.5, 1.5][t]!));
    const fifteenths = (n: number): number => Math.round((n / 15) * 1e12) / 1e12;
    expect(readHeldAt(run, 2)).toEqual({ A: fifteenths(9), C: fifteenths(5), K: fifteenths(1) });
  });

  test('is replaced by the market value of the other where those are the weights', () => {
    const run = runReplacement({ weighting: { type: 'MarketCapWeight' } });
    expect(readHeldAt(run, 1)).toEqual({ A: Math.round((4 / 7) * 1e12) / 1e12, B: Math.round((3 / 7) * 1e12) / 1e12 });
    expect(readHeldAt(run, 2)).toEqual({ B: 0.6, C: 0.4 });
    // The market value falls from 700 to 300 and rises to 500.
    expectNear(run.index.book.divisor[2]!, 5 / 7);
    expectNear(run.index.book.value[3]!, 104);
  });

  test('is replaced by one share of the other where prices are the weights', () => {
    const run = runReplacement({
      weighting: { type: 'PriceWeight' },
      close: { A: [300, 300, 300, null, null], B: repeatPrice(100), C: [50, 50, 50, 60, 60], D: repeatPrice(1) },
      actions: [{ name: 'A', type: 'ACQUISITION', value: 300, ex: DAYS[2]! }],
    });
    expectNear(readHeldAt(run, 2)['C']!, 1 / 3);
    expectNear(run.index.book.value[3]!, (100 * 160) / 150);
    expectNear(run.index.book.divisor[3]! / run.index.book.divisor[1]!, 150 / 400);
  });

  test('is replaced within the cap', () => {
    const run = runReplacement({
      weighting: { type: 'MarketCapWeight', cap: 0.55 },
      selection: [{ ...TOP_2[0]!, params: { field: 'MARKET_CAP', count: 2 } }],
    });
    expectNear(readHeldAt(run, 1)['A']!, 0.55);
    // B has 300 of 545.45. So C is worth 200 of 545.45, which its cap allows.
    expectNear(readHeldAt(run, 2)['C']!, 0.4);
  });

  test('is not replaced by a security that no longer passes the rules', () => {
    const selection = [{ id: 'price', type: 'FieldFilter', params: { field: 'CLOSE', minimum: 50 } }, ...TOP_2];
    const price = selection[0]!;
    const rule = { ...price, type: 'PriceFilter', params: { minimum: 50 } };
    const run = runReplacement({
      selection: [rule, ...TOP_2],
      close: { A: [100, 100, 100, null, null], B: repeatPrice(100), C: [100, 40, 40, 40, 40], D: repeatPrice(100) },
    });
    expect(readHeldAt(run, 2)).toEqual({ B: 0.5, D: 0.5 });
  });

  test('is replaced by the first of a reserve that has a price and is no constituent', () => {
    const events = { replacement: 'reserve', reserve: ['B', 'X', 'D', 'C'] };
    expect(readHeldAt(runReplacement({ events }), 2)).toEqual({ B: 0.5, D: 0.5 });
  });

  test('is replaced only if the document requires it, and with a warning if no candidate is left', () => {
    expect(readHeldAt(runReplacement({ events: {} }), 2)).toEqual({ B: 1 });
    const run = runReplacement({ events: { replacement: 'reserve', reserve: ['B'] } });
    expect(readHeldAt(run, 2)).toEqual({ B: 1 });
    expect(run.findings.map(({ code }) => code)).toContain('NO_REPLACEMENT');
  });

  test('is replaced where it turned into another constituent, and not where it turned into what takes its place', () => {
    const close = { A: [100, 100, 100, null, null], B: repeatPrice(100), C: repeatPrice(100), D: repeatPrice(100) };
    const merger = { name: 'A', type: 'MERGER' as const, value: 1, related: 'B', ex: DAYS[2]! };
    const run = runReplacement({ close, actions: [merger] });
    // B is the whole index. C enters at half of the value of B, which was the share of A. This is a third of the new
    // total.
    expectNear(readHeldAt(run, 2)['C']!, 1 / 3);
    expectNear(run.index.book.divisor[2]!, 1.5);
    expect(readHeldAt(runReplacement({ close, actions: [{ ...merger, related: 'D' }] }), 2)).toEqual({
      B: 0.5,
      D: 0.5,
    });
  });

  test('is not a constituent of a later review of weights, but its replacement is', () => {
    const schedule = { frequency: 'weekly', weekday: 4, reference: { rule: 'sessions_before', sessions: 3 } };
    const run = runReplacement({ reviews: [{ id: 'weights', scope: 'weights', schedule }] });
    expect(run.index.compositions.list.map(({ session, decision, cause }) => [session, decision, cause])).toEqual([
      [0, 0, undefined],
      [2, 2, 'replacement'],
      [4, 1, undefined],
    ]);
    // The weights are equal at the closes of the reference date. C has risen by 10 % since.
    const held = readHeldAt(run, 4);
    expect(Object.keys(held)).toEqual(['B', 'C']);
    expectNear(held['C']!, 110 / 210, 1e-11);
  });

  test('is replaced while its shares are pending', () => {
    const run = runReplacement({
      rebalance: { frequency: 'custom', dates: [DAYS[4]], effective_lag: 3 },
    });
    expect(readHeldAt(run, 4)).toEqual({ B: 0.5, C: 0.5 });
  });

  test('changes nothing before its session: prices and actions of later sessions are not looked at', () => {
    const full = runReplacement({ weighting: { type: 'MarketCapWeight' } });
    const start = runReplacement({
      weighting: { type: 'MarketCapWeight' },
      close: { A: [100, 100, 100, null], B: [100, 100, 100, 7], C: [100, 100, 100, 1], D: repeatPrice(100, 4) },
    });
    expect(readHeldAt(start, 2)).toEqual(readHeldAt(full, 2));
    expect(start.index.book.value.slice(0, 3)).toEqual(full.index.book.value.slice(0, 3));
  });
});

describe('a ranking between reviews', () => {
  const growingCase = {
    close: { A: repeatPrice(100), B: [100, 100, 40, 40, 44], C: repeatPrice(100), D: repeatPrice(100) },
    actions: [],
  };

  test('takes out a constituent below the rank, for the best that is none', () => {
    const events = { fast_exit: { rank: 3, field: 'MARKET_CAP', schedule: { frequency: 'custom', dates: [DAYS[3]] } } };
    // B is worth 120 on the third session. It ranks third, after C at 200 and before D at 100.
    expect(readHeldAt(runReplacement({ ...growingCase, events }), 3)).toEqual({
      A: expect.any(Number),
      B: expect.any(Number),
    });
    const low = { ...events, fast_exit: { ...events.fast_exit, rank: 2 } };
    const run = runReplacement({ ...growingCase, events: low });
    expect(Object.keys(readHeldAt(run, 2))).toEqual(['A', 'B']);
    expect(Object.keys(readHeldAt(run, 3))).toEqual(['A', 'C']);
    expect(run.rebalances.at(-1)).toMatchObject({ cause: 'fast_exit', session: 3 });
    // The index holds half a share of each security at 100. B falls to 40, and C enters at the weight of B.
    expectNear(run.index.book.value[3]!, 70);
    expectNear(readHeldAt(run, 3)['C']!, 2 / 7);
  });

  test('counts no constituent that has left', () => {
    const schedule = { frequency: 'custom', dates: [DAYS[3]] };
    const events = { fast_exit: { rank: 2, field: 'MARKET_CAP', schedule } };
    // A has left. B is worth 300, C 220 and D 100. So B ranks first of three.
    expect(readHeldAt(runReplacement({ events }), 3)).toEqual({ B: 1 });
    const low = { fast_exit: { rank: 1, field: 'MARKET_CAP', schedule } };
    const close = {
      A: [100, 100, 100, null, null],
      B: [100, 100, 70, 70, 70],
      C: repeatPrice(110),
      D: repeatPrice(100),
    };
    // C at 220 ranks above B at 210. If A still counted, A would have rank 1.
    const run = runReplacement({ close, events: low });
    expect(readHeldAt(run, 3)).toEqual({ C: 1 });
    expect(run.rebalances.at(-1)!.swaps).toEqual([
      { rule: 'fast_exit', entered: 2, left: 1, decision: 3, ranked: 3, rank: 1, leftRank: 2 },
    ]);
  });

  test('takes in a new security at or above the rank some sessions after its first price, for the lowest constituent', () => {
    const close = { A: repeatPrice(100), B: repeatPrice(100), C: repeatPrice(100), D: [null, 100, 350, 350, 385] };
    const events = { fast_entry: { rank: 2, field: 'MARKET_CAP', after_sessions: 1 } };
    const run = runReplacement({ close, actions: [], events });
    expect(Object.keys(readHeldAt(run, 1))).toEqual(['A', 'B']);
    expect(readHeldAt(run, 2)).toEqual({ A: 0.5, D: 0.5 });
    expectNear(run.index.book.value[4]!, 105);
    expect(run.rebalances.at(-1)).toMatchObject({ cause: 'fast_entry', session: 2 });
    const laterEvents = { fast_entry: { ...events.fast_entry, rank: 1 } };
    expect(Object.keys(readHeldAt(runReplacement({ close, actions: [], events: laterEvents }), 4))).toEqual(['A', 'B']);
  });

  test('keeps the shares of the others, and takes in market value where that is the weight', () => {
    const close = { A: repeatPrice(100), B: repeatPrice(100), C: repeatPrice(100), D: [null, 100, 350, 350, 350] };
    const events = { fast_entry: { rank: 2, field: 'MARKET_CAP', after_sessions: 1 } };
    const run = runReplacement({ close, actions: [], events, weighting: { type: 'MarketCapWeight' } });
    expectNear(readHeldAt(run, 2)['D']!, 350 / 750);
    expectNear(run.index.book.divisor[2]!, 750 / 700);
  });
});
