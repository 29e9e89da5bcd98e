import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { formatDay } from '#domain/base/time.js';
import { parseAcceptedIndex, readIndex } from '#domain/definition/index-validation.js';
import type { MarketData } from '#domain/market/market-data.js';
import { computeRebalanceFigures, createWeightsReader } from '#views/rebalances.js';
import { buildMarket } from '../backtest/market-builder.js';
import { randomMarket } from '../backtest/extend/random-definitions.js';
import { runOn, tryRun, createColumns } from '../backtest/random-run.js';
import { CALENDARS, WEEK } from '../backtest/signed-case.js';
import { fc } from '../../fast-check.js';
import { IS_SOAK } from '../../soak.js';

/**
 * Returns the one-way turnover of each rebalance in the form that responses have. It is measured from the holdings just
 * before the rebalance.
 */
function listTurnover(run: Run) {
  const columns = createColumns(run);
  const readWeights = createWeightsReader(columns);
  return columns.header.rebalances.map((row, r) => {
    const { before, target } = readWeights(r);
    const { turnover, date } = computeRebalanceFigures(readWeights(r), row);
    const soldWeight = before === null ? 0 : before.reduce((sum, weight, i) => sum + (target[i] === 0 ? weight : 0), 0);
    return { date, turnover, sold: soldWeight };
  });
}

/**
 * Returns the turnover and the sales of the index itself. The portfolio that follows the index waits while a price is
 * more than five sessions old.
 */
function listIndexTurnover({ index: { book } }: Run): ReturnType<typeof listTurnover> {
  const width = book.columns.length;
  return book.events
    .filter(({ rebalanced }) => rebalanced)
    .map(({ at, before }) => {
      const after = book.weights.subarray(at * width, (at + 1) * width);
      return {
        date: formatDay(book.sm.sessions[book.from + at]!),
        turnover: before.reduce((sum, weight, slot) => sum + Math.abs(after[slot]! - weight), 0) / 2,
        sold: before.reduce((sum, weight, slot) => sum + (after[slot] === 0 ? weight : 0), 0),
      };
    });
}

function isRelaxedOn(run: Run, date: string): boolean {
  return run.findings.some(({ code, message }) => code === 'CONSTRAINT_RELAXED' && message.startsWith(`On ${date} `));
}

const commonFields = { calendar: 'MAIN', rebalance: { frequency: 'weekly' } };

function deriveIndex(constraints: object[], more: object = {}): IndexDocument {
  const derivation = { source_index_id: 'P', objective: 'min_tracking_error', constraints, ...more };
  return IndexDocument.parse({ ...commonFields, id: 'D', name: 'D', base_date: '2024-01-08', derivation });
}

const LIMIT = 0.04;

describe('a limit on turnover from the held weights', () => {
  test('bounds the reported turnover of every rebalance but for the sales of securities that left', () => {
    const seenCounts = { rebalances: 0, bound: 0, forced: 0 };
    const shapes = fc.record({
      selection: fc.constantFrom([], [{ id: 'dear', type: 'TopN', params: { field: 'CLOSE', count: 4 } }]),
      dividends: fc.constantFrom('price', 'total'),
      objective: fc.constantFrom('min_tracking_error', 'min_variance'),
      // The index may rebalance more often than its parent.
      frequency: fc.constantFrom('weekly', 'monthly'),
      stale: fc.constantFrom(5, null),
    });
    fc.assert(
      fc.property(randomMarket, shapes, ({ market }, { selection, dividends, objective, frequency, stale }) => {
        const parent = IndexDocument.parse({
          ...commonFields,
          rebalance: { frequency },
          id: 'P',
          name: 'P',
          base_date: '2024-01-08',
          pipeline: {
            selection,
            treatment: { dividends, max_stale_sessions: stale },
            weighting: { type: 'EqualWeight' },
          },
        });
        const document = deriveIndex([{ id: 'turn', type: 'Turnover', params: { limit: LIMIT, reference: 'held' } }], {
          objective,
        });
        const run = tryRun(market, document, { documents: { P: parent }, createDecider: indexDecider });
        if (run === undefined) return;
        const { list, sm } = run.index.compositions;
        for (const { decision, columns } of list)
          expect(columns.filter((column) => sm.hasEnded(decision, column))).toEqual(new Int32Array());
        for (const { date, turnover, sold } of [
          ...listIndexTurnover(run).slice(1),
          ...(stale === null ? [] : listTurnover(run).slice(1)),
        ]) {
          seenCounts.rebalances++;
          const isRelaxed = isRelaxedOn(run, date);
          if (isRelaxed) seenCounts.forced++;
          if (turnover! > LIMIT - 1e-6) seenCounts.bound++;
          expect(turnover).toBeLessThan((isRelaxed ? Math.max(LIMIT, sold) : LIMIT) + 1e-8);
        }
      }),
      { numRuns: IS_SOAK ? 300 : 40 },
    );
    // The test is about rebalances at which the limit binds and a security leaves.
    expect(seenCounts.bound).toBeGreaterThan(20);
    expect(seenCounts.forced).toBeGreaterThan(5);
    expect(seenCounts.rebalances).toBeGreaterThan(seenCounts.bound);
  });

  const dates = WEEK;
  const parent = IndexDocument.parse({
    ...commonFields,
    id: 'P',
    name: 'P',
    base_date: dates[0],
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const runHeld = (close: Record<string, number[]>, rows: object[], market: Partial<MarketData> = {}) =>
    runOn(
      CALENDARS,
      { ...buildMarket({ dates, close }), ...market },
      { ...deriveIndex(rows), base_date: dates[0]! },
      {
        documents: { P: parent },
        createDecider: indexDecider,
      },
    );

  test('leaves the first portfolio unrestricted', () => {
    const close = { A: [10, 10, 10, 10, 10, 10], B: [10, 10, 10, 10, 10, 10] };
    const rows = [
      { id: 'much', type: 'PositionBounds', params: { lower: 0.9, identifiers: ['A'] } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.01, reference: 'held' } },
    ];
    const { columns, weights, sm } = runHeld(close, rows).index.book;
    expect(weights[[...columns].indexOf(sm.identifiers.indexOf('A'))]).toBeCloseTo(0.9, 9);
  });

  test('counts from drifted weights: A doubles, and 10 % of the value goes back to B', () => {
    // After A doubles, equal weights become 2/3 and 1/3. To restore equal weights, as the parent does, a one-way
    // turnover of 1/6 is needed.
    const close = { A: [10, 20, 20, 20, 20, 20], B: [10, 10, 10, 10, 10, 10] };
    const run = runHeld(close, [{ id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'held' } }]);
    const [, second] = listTurnover(run);
    expect(second!.turnover).toBeCloseTo(0.1, 9);
    const { book } = run.index;
    const { at } = createColumns(run).header.rebalances[1]!;
    expect(book.weights[at * book.columns.length]).toBeCloseTo(2 / 3 - 0.1, 9);
  });
});

describe('the reference of a turnover row that states none', () => {
  const row = { id: 'turn', type: 'Turnover', params: { limit: 0.1 } };
  const body = { ...deriveIndex([row]) };
  const readReference = (document: IndexDocument | undefined) =>
    document?.derivation?.constraints[0]?.params['reference'];

  test('is held in a derived index that is accepted, and the index in one that an earlier version stored', () => {
    expect(readReference(parseAcceptedIndex(body))).toBe('held');
    expect(readReference(readIndex(body))).toBe('index');
    expect(readReference(readIndex(parseAcceptedIndex(body)))).toBe('held');
  });
});
