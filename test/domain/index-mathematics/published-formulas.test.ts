import { describe, expect, test } from 'vitest';
import { expectNear, readLevels, runIndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(70); // weekdays from Monday 4 March to Friday 7 June 2024

describe('total return of a capitalisation-weighted index', () => {
  // S&P DJI, Index Mathematics Methodology, total return: TR[t] = TR[t-1] (PR[t] + ID[t]) / PR[t-1]. ID is the sum of
  // the dividends of all index shares, divided by the divisor.
  const shares = { A: 1_000, B: 2_500, C: 700, D: 4_000 };
  type Name = keyof typeof shares;
  const names = Object.keys(shares) as Name[]; // Object.keys is typed as returning any strings
  const computePrice = (name: Name, t: number): number =>
    40 + 25 * names.indexOf(name) + 6 * Math.sin(t / (3 + names.indexOf(name)));
  const dividends: Readonly<Record<Name, Readonly<Record<number, number>>>> = {
    A: { 5: 0.4, 33: 0.5 },
    B: { 12: 1.1 },
    C: { 12: 0.9, 47: 1 },
    D: { 60: 2 },
  };
  const listRows = (compute: (t: number) => number): number[] => DAYS.map((_, t) => compute(t));
  const run = runIndexCase({
    close: Object.fromEntries(names.map((name) => [name, listRows((t) => computePrice(name, t))])),
    fields: { SHARES_OUTSTANDING: Object.fromEntries(names.map((name) => [name, listRows(() => shares[name])])) },
    weighting: { type: 'MarketCapWeight' },
    rebalance: { frequency: 'monthly' },
    actions: names.flatMap((name) =>
      Object.entries(dividends[name]).map(([t, value]) => ({ name, type: 'DIVIDEND', value, ex: DAYS[Number(t)]! })),
    ),
  });

  test('is that of the formula on shares, prices and dividends only, to 1e-12', () => {
    const computePortfolioValue = (t: number): number =>
      names.reduce((sum, name) => sum + shares[name] * computePrice(name, t), 0);
    const divisor = computePortfolioValue(0) / 100;
    const [pr, tr] = [readLevels(run, 'price'), readLevels(run, 'total')];
    let total = 100;
    for (let t = 1; t < DAYS.length; t++) {
      const points = names.reduce((sum, name) => sum + shares[name] * (dividends[name][t] ?? 0), 0) / divisor;
      total *= (computePortfolioValue(t) / divisor + points) / (computePortfolioValue(t - 1) / divisor);
      expectNear(pr[t]!, computePortfolioValue(t) / divisor);
      expectNear(tr[t]!, total);
    }
    expect(tr.at(-1)! / 100).toBeGreaterThan(pr.at(-1)! / 100);
  });
});

describe('a price average of one share each, reviewed quarterly', () => {
  // S&P DJI, Index Mathematics Methodology, price-weighted indices. The divisor changes on a split, a special dividend
  // or a replacement, so that the sum of prices over the divisor is equal before and after it. On other days the
  // divisor does not change.
  const [SPLIT, SPECIAL] = [10, 22];
  const REVIEW = DAYS.indexOf('2024-06-03');
  const drawOwnPrice = (name: string, t: number): number => {
    const drift = 1 + 0.01 * Math.sin(t * (1 + (name.charCodeAt(0) % 5)));
    if (name === 'A') return (t < SPLIT ? 400 : 100) * drift;
    if (name === 'B') return (t < SPECIAL ? 120 : 100) * drift;
    return (name === 'C' ? 60 : 90) * drift;
  };
  const close = Object.fromEntries(
    ['A', 'B', 'C', 'D'].map((name) => [name, DAYS.map((_, t) => drawOwnPrice(name, t))]),
  );
  // The average contains C until the review, and D after it.
  const size = { A: 4, B: 3, C: 2, D: 1 };
  const run = runIndexCase({
    close,
    fields: {
      RANK: Object.fromEntries(
        Object.entries(size).map(([name, rank]) => [
          name,
          DAYS.map((_, t) => (t < REVIEW || name === 'A' || name === 'B' ? rank : 3 - rank)),
        ]),
      ),
    },
    selection: [{ id: 'three', type: 'TopN', params: { field: 'RANK', count: 3 } }],
    weighting: { type: 'PriceWeight' },
    rebalance: { frequency: 'quarterly', anchor: 'first_session' },
    actions: [
      { name: 'A', type: 'SPLIT', value: 4, ex: DAYS[SPLIT]! },
      { name: 'B', type: 'SPECIAL_DIVIDEND', value: 18, ex: DAYS[SPECIAL]! },
    ],
  });

  test('has the divisor by hand on every session', () => {
    const { value, divisor } = run.index.book;
    let members = ['A', 'B', 'C'];
    const sum = (t: number): number => members.reduce((total, name) => total + drawOwnPrice(name, t), 0);
    let D = sum(0) / 100;
    const before = divisor[0]!;
    for (let t = 1; t < DAYS.length; t++) {
      // Closes of the previous session. They are adjusted for the split and reduced by the special dividend.
      if (t === SPLIT) D *= (sum(t - 1) - 0.75 * drawOwnPrice('A', t - 1)) / sum(t - 1);
      if (t === SPECIAL) D *= (sum(t - 1) - 18) / sum(t - 1);
      expectNear(value[t]!, sum(t) / D, 1e-11);
      if (t === REVIEW) {
        const leavingValue = sum(t);
        members = ['A', 'B', 'D'];
        D *= sum(t) / leavingValue;
      }
      expectNear(divisor[t]! / before, D / ((400 + 120 + 60) / 100), 1e-11);
    }
  });
});
