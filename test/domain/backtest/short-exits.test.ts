import { expect, test } from 'vitest';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { createAttributionView } from '#views/attribution.js';
import { exportEvents } from './exported-events.js';
import { buildMarket, type ActionSketch } from './market-builder.js';
import { runOn, createColumns } from './random-run.js';
import { close } from './shorts-case.js';
import { CALENDARS, createHolding, WEEK } from './signed-case.js';
import { createDocument } from '../index-document.js';

const createDecider = createHolding(() => ({ A: 0.8, B: 0.4, C: -0.2 }));

/** Returns the exits in the exported events of a run. B or C ends on the fourth day. */
function listExits(
  leaver: 'B' | 'C',
  action: Omit<ActionSketch, 'name' | 'ex'>,
  otherCloses: Record<string, number[]> = {},
) {
  const close = {
    A: [100, 101, 102, 100, 99, 103],
    B: [50, 51, 50, 52, 53, 50],
    C: [10, 10, 11, 10, 9, 10],
    ...otherCloses,
  };
  const market = buildMarket({
    dates: WEEK,
    close: { ...close, [leaver]: close[leaver].map((price, t) => (t < 3 ? price : null)) },
    actions: [{ ...action, name: leaver, ex: WEEK[3]! }],
  });
  const document = createDocument({ base_date: WEEK[0], rebalance: { frequency: 'none' } });
  const rows = exportEvents(createColumns(runOn(CALENDARS, market, document, { createDecider })));
  return rows.map(({ date, identifier, type }) => [date, identifier, type]);
}

test.each([
  ['is merged into a name held long', { type: 'MERGER', value: 0.1, related: 'A' }],
  ['is delisted', { type: 'DELISTING', value: 12 }],
  ['is acquired', { type: 'ACQUISITION', value: 11 }],
] as const)('the events list a short position that %s, and no other security', (_how, action) => {
  expect(listExits('C', action)).toEqual([[WEEK[3], 'C', 'exit']]);
});

test('and a long one merged into a security held short', () => {
  expect(listExits('B', { type: 'MERGER', value: 5, related: 'C' })).toEqual([[WEEK[3], 'B', 'exit']]);
});

test('a short position is sold to replace one that left and covered by an earlier order at one close: both are paid', () => {
  const flatPrices = WEEK.map(() => 100);
  const run = runOn(
    CALENDARS,
    buildMarket({
      dates: WEEK,
      close: {
        A: flatPrices,
        B: flatPrices.map((price, t) => (t === 2 ? null : price)),
        C: flatPrices.map((price, t) => (t < 3 ? price : null)),
      },
      actions: [{ name: 'C', ex: WEEK[3]!, type: 'DELISTING', value: 100 }],
    }),
    createDocument({
      base_date: WEEK[0],
      rebalance: { frequency: 'custom', dates: [WEEK[2]] },
      pipeline: { treatment: { stale_targets: 'defer' }, weighting: { type: 'EqualWeight' } },
    }),
    {
      createDecider: createHolding((session) =>
        session < 2 ? { A: 1.3, B: -0.1, C: -0.2 } : { A: 1.12, B: -0.02, C: -0.2 },
      ),
      transaction_cost_bps: 250,
    },
  );
  const { portfolio, trades } = run;
  const rate = 0.025;
  const value = portfolio.value[2]!;
  const order = portfolio.unfilled[0]!;
  expect([order.slot, order.side, order.filledAt]).toEqual([1, 'buy', 3]);
  const exit = [...trades.at.keys()].filter((i) => trades.at[i] === 3);
  expect(
    exit.map((i) => [portfolio.columns[trades.slot[i]!], TRADE_REASONS[trades.reason[i]!], trades.isFree[i]]),
  ).toEqual([
    [1, 'retry', 0],
    [1, 'delisting', 0],
    [2, 'delisting', 1],
  ]);
  // Prices are constant. The order uses the cash, and the sale of B pays for covering C.
  close(
    exit.map((i) => trades.notional[i]! / value),
    [order.notional / (1 + rate) / value, -0.2 / (1 - rate), 0.2],
  );
  const paidCosts = exit.reduce(
    (sum, i) => sum + (trades.isFree[i] === 1 ? 0 : rate * Math.abs(trades.notional[i]!)),
    0,
  );
  expect(1 - portfolio.value[3]! / value).toBeCloseTo(paidCosts / value, 12);
  const view = createAttributionView(createColumns(run), { start: WEEK[2]!, end: WEEK[3]! });
  const contributions = view.contributions.reduce((sum, { contribution }) => sum + contribution, 0);
  expect(contributions).toBeCloseTo(-paidCosts / value, 12);
  expect(view.reconciles).toBe(true);
});
