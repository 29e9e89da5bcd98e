import { expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createAttributionView } from '#views/attribution.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run, createColumns } from '../backtest/random-run.js';
import { createOverlayIndex } from './overlay-case.js';

const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09'];
const closes = [100, 104, 99, 106, 96, 101];
const market = buildMarket({ dates, close: { A: closes, B: [50, 50, 51, 49, 52, 50] } });
const createConvertedIndex = (id: string, name: string) =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'MAIN',
    base_date: dates[0],
    universe: { kind: 'list', identifiers: [name] },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
const documents = { X: createConvertedIndex('X', 'A'), Y: createConvertedIndex('Y', 'B') };
const runOf = (overlay: { readonly type: string } & Readonly<Record<string, unknown>>) =>
  run(market, createOverlayIndex(overlay, { base_date: dates[0] }), { documents });

/**
 * Returns the value of an account of indices and cash. At each close it trades to its targets and pays for the trades.
 */
function computeAccount(
  indices: readonly (readonly number[])[],
  { targetsAt, cost }: { readonly targetsAt: (t: number) => readonly number[] | null; readonly cost: number },
): number[] {
  let amounts = targetsAt(0)!.map((target) => 100 * target);
  let cash = 100 - amounts.reduce((sum, amount) => sum + amount, 0);
  const levels = [100];
  for (let t = 1; t < dates.length; t++) {
    amounts = amounts.map((amount, k) => (amount * indices[k]![t]!) / indices[k]![t - 1]!);
    const value = cash + amounts.reduce((sum, amount) => sum + amount, 0);
    const targets = targetsAt(t);
    const wantedAmounts = targets === null ? amounts : targets.map((target) => target * value);
    const paidCost = cost * wantedAmounts.reduce((sum, amount, k) => sum + Math.abs(amount - amounts[k]!), 0);
    const after = value - paidCost;
    levels.push(after);
    amounts = wantedAmounts.map((amount) => (amount * after) / value);
    cash = after - amounts.reduce((sum, amount) => sum + amount, 0);
  }
  return levels;
}

function expectClose(actual: Float64Array, expected: readonly number[]): void {
  actual.forEach((level, t) => expect(Math.abs(level / expected[t]! - 1)).toBeLessThan(1e-12));
}

test('a leveraged index pays for the trades that bring its exposure back every session', () => {
  for (const factor of [3, -1]) {
    const result = runOf({ type: 'leverage', factor, cost_bps: 25 });
    expectClose(result.index.book.value, computeAccount([closes], { targetsAt: () => [factor], cost: 0.0025 }));
    const view = createAttributionView(createColumns(result), { start: null, end: null });
    const [costs] = view.overlay_parts!.filter(({ part }) => part === 'costs');
    expect(costs!.contribution).toBeLessThan(0);
    expect(Math.abs(view.residual)).toBeLessThan(1e-12);
  }
  expectClose(
    runOf({ type: 'leverage', factor: 1, cost_bps: 500 }).index.book.value,
    closes.map((close) => close),
  );
});

test('a blend pays only for its own rebalances, and lists them', () => {
  const other = [50, 50, 51, 49, 52, 50];
  const parts = [
    { index_id: 'X', weight: 0.5 },
    { index_id: 'Y', weight: 0.5 },
  ];
  const blend = { type: 'blend', parts, rebalance: { frequency: 'weekly' }, cost_bps: 40 };
  // The fourth date ends the week.
  const findTargetsAt = (t: number) => (t === 0 || t === 3 ? [0.5, 0.5] : null);
  const wholeAccount = computeAccount([closes, other], { targetsAt: findTargetsAt, cost: 0.004 });
  const { index, rebalances } = runOf(blend);
  expectClose(index.book.value.subarray(0, 5), wholeAccount.slice(0, 5));
  const list = rebalances.map(({ session, weights }) => [session - index.book.from, ...weights]);
  expect(list.slice(0, 2)).toEqual([0, 3].map((t) => [t, expect.closeTo(0.5, 12), expect.closeTo(0.5, 12)]));
});

test('risk control pays a spread for borrowed money, and costs for changes of its exposure', () => {
  const spec = { type: 'risk_control', target: 1, sessions: 2, max_leverage: 3, lag: 0 };
  const returns = closes.map((close, t) => (t === 0 ? 0 : Math.log(close / closes[t - 1]!) ** 2));
  const computeExposure = (t: number): number => {
    if (t === 0) return 1;
    const mean = t === 1 ? returns[1]! : (returns[t - 1]! + returns[t]!) / 2;
    return Math.min(3, 1 / Math.sqrt(252 * mean));
  };
  expect(Math.max(...dates.map((_, t) => computeExposure(t)))).toBeGreaterThan(1);
  const findTargetsAt = (t: number) => [computeExposure(t)];
  expectClose(
    runOf({ ...spec, cost_bps: 30 }).index.book.value,
    computeAccount([closes], { targetsAt: findTargetsAt, cost: 0.003 }),
  );
  const plainAccount = computeAccount([closes], { targetsAt: findTargetsAt, cost: 0 });
  const days = [0, 1, 1, 1, 3, 1];
  let level = 100;
  const expected = plainAccount.map((growthLevel, t) => {
    if (t === 0) return level;
    level *= growthLevel / plainAccount[t - 1]! - (Math.max(0, computeExposure(t - 1) - 1) * 0.02 * days[t]!) / 360;
    return level;
  });
  expectClose(runOf({ ...spec, spread_bps: 200 }).index.book.value, expected);
});
