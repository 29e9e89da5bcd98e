import { describe, expect, test } from 'vitest';
import { createAttributionView } from '#views/attribution.js';
import { close, repeatPrice, listLevels, simulate, readWeights } from './event-case.js';
import { exportEvents } from './exported-events.js';
import { simulateSigned } from './signed-case.js';
import { listPortfolioTransactions } from './transactions.js';
import { createColumns } from './random-run.js';

/** For a share of A at 100, holders receive half a share of B at 150 and 25 in cash. A is a third of the index. */
const MERGER = { name: 'A', type: 'MERGER', value: 0.5, cash: 25, ex: '2024-03-06', related: 'B' } as const;
const CLOSES = { A: [100, 100, null, null, null, null], B: repeatPrice(150), C: repeatPrice(100) };

describe('a merger into shares and cash', () => {
  test('is worth both: the shares stay, the cash is spread over all that is held', () => {
    const run = simulate({ close: CLOSES, actions: [MERGER] });
    close(listLevels(run), repeatPrice(100));
    // The index is worth 100: B has 33.33 + 25 and C 33.33. The remaining cash of 8.33 buys both in proportion. The
    // costs reduce the divisor.
    expect(readWeights(run, 2)).toEqual({ B: expect.closeTo(7 / 11, 12), C: expect.closeTo(4 / 11, 12) });
    close(run.index.book.divisor, [1, 1, 11 / 12, 11 / 12, 11 / 12, 11 / 12]);
  });

  test('costs a portfolio only what the cash buys', () => {
    const run = simulate({ close: CLOSES, actions: [MERGER], costBps: 100 });
    const start = 1_000_000 / 1.01;
    const boughtShares = start / 12 / 1.01;
    close([run.portfolio.value[2]! / 1e6], [((start * 11) / 12 + boughtShares) / 1e6]);
    const rows = listPortfolioTransactions(run).filter(({ date }) => date === '2024-03-06');
    // A is sold at all that holders receive per share. B enters once by conversion and once by purchase.
    expect(rows.map(({ asset, side }) => [asset, side])).toEqual([
      ['A', 'sell'],
      ['B', 'buy'],
      ['B', 'buy'],
      ['C', 'buy'],
    ]);
    expect(rows[0]!.price).toBeCloseTo(100, 10);
    close([rows[0]!.notional / 1e6, rows[0]!.cost], [start / 3 / 1e6, 0]);
    expect(rows.reduce((sum, { cost }) => sum + cost, 0) / 1e4).toBeCloseTo((boughtShares * 0.01) / 1e4, 10);
  });

  test('is a contribution of the security, and one exit among the events that moves the divisor', () => {
    const run = simulate({ close: { ...CLOSES, B: [150, 150, 180, 180, 180, 180] }, actions: [MERGER], costBps: 20 });
    // Each security has a third. A yields 90 in shares and 25 in cash per 100. B rises from 150 to 180.
    close(listLevels(run), [100, 100, 335 / 3, 335 / 3, 335 / 3, 335 / 3]);
    const columns = createColumns(run);
    const { contributions, reconciles } = createAttributionView(columns, { start: null, end: null });
    expect(reconciles).toBe(true);
    expect(contributions.find(({ asset_id: id }) => id === 'A')!.contribution).toBeCloseTo(0.05, 3);
    expect(exportEvents(columns)).toMatchObject([
      {
        date: '2024-03-06',
        identifier: 'A',
        type: 'exit',
        effect: expect.closeTo(-25 / 335, 12),
        divisor_before: 1,
        divisor_after: expect.closeTo(1 - 25 / 335, 12),
      },
    ]);
  });

  test('on a rebalance date leaves exactly the targets', () => {
    const run = simulate({
      close: CLOSES,
      actions: [MERGER],
      rebalance: { frequency: 'custom', dates: ['2024-03-06'] },
    });
    close(listLevels(run), repeatPrice(100));
    expect(readWeights(run, 2)).toEqual({ B: expect.closeTo(0.5, 12), C: expect.closeTo(0.5, 12) });
  });

  test('of a short position is owed: shares of the other security short, and cash', () => {
    const run = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 50, null, null, null], C: repeatPrice(100) },
      actions: [{ name: 'B', type: 'MERGER', value: 0.3, cash: 25, ex: '2024-03-06', related: 'C' }],
      weights: { A: 1.5, B: -0.5 },
    });
    // For each 50 that were sold short, 30 in C and 25 in cash are owed.
    expect(run.index.book.value[2]).toBeCloseTo(95, 10);
    const { book } = run.index;
    const c = [...book.columns].map((column) => book.sm.identifiers[column]).indexOf('C');
    // Shares worth 30 and cash of 25 are owed. The index sells more C short to obtain the cash, so that both sides keep
    // their size.
    expect(book.weights[2 * book.columns.length + c]! * 95).toBeCloseTo(-55, 10);
  });

  test('without a price of the other security leaves at the last close', () => {
    const run = simulate({ close: CLOSES, actions: [{ ...MERGER, related: 'ABSENT' }] });
    close(listLevels(run), repeatPrice(100));
    expect(readWeights(run, 2)).toEqual({ B: expect.closeTo(0.5, 12), C: expect.closeTo(0.5, 12) });
  });
});

describe('endings of one security on one day', () => {
  const simulateEndings = (...actions: Parameters<typeof simulate>[0]['actions'] & object) =>
    listLevels(simulate({ close: CLOSES, actions })).at(-1)!;
  const endTerms = { name: 'A', ex: '2024-03-06' };

  test('are applied in the order of their consideration', () => {
    const bid = { ...endTerms, type: 'ACQUISITION', value: 130 } as const;
    // A delisting without a price does not replace another end: an acquisition with a price, or a merger without value.
    expect(simulateEndings(bid, { ...endTerms, type: 'DELISTING', value: 0, isUnpriced: true })).toBeCloseTo(110, 10);
    expect(simulateEndings(bid, { ...endTerms, type: 'MERGER', value: 2, related: 'ABSENT' })).toBeCloseTo(110, 10);
    expect(
      simulateEndings(
        { ...endTerms, type: 'ACQUISITION', value: 0, isUnpriced: true },
        { ...endTerms, type: 'DELISTING', value: 70 },
      ),
    ).toBeCloseTo(90, 10);
  });

  test('are paid once where one of them is a change of ticker', () => {
    const renameAction = { ...endTerms, type: 'TICKER_CHANGE', value: 1, related: 'B' } as const;
    expect(simulateEndings({ ...endTerms, type: 'ACQUISITION', value: 130 }, renameAction)).toBeCloseTo(110, 10);
  });
});
