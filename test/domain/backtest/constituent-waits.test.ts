import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { createComposer } from '#domain/books/composer.js';
import { findComposition, findHolding } from '#domain/decide/explanation.js';
import { randomMarket } from './random-market.js';
import { CALENDARS as RANDOM_CALENDARS, randomDecider, randomDocument, tryRun } from './random-run.js';
import { type Case, explainCase, parseDay } from './constituent-case.js';

describe('an index that waits for a bar', () => {
  const case_: Case = {
    close: { A: [60, 60, 40, 40, 40, 40], B: [50, 50, null, 55, 55, 55] },
    dates: ['2024-03-06'],
    selection: [{ id: 'dear', type: 'TopN', params: { field: 'CLOSE', count: 1 } }],
  };
  const explainExpensiveSecurity = (stale_targets: 'carry' | 'defer', rest: Partial<Case> = {}) =>
    explainCase({ ...case_, ...rest, treatment: { stale_targets } });

  test('does not hold a security that is decided before its order is filled', () => {
    const ask = explainExpensiveSecurity('defer');
    const order = { date: parseDay('2024-03-06'), side: 'buy', target: 1, reason: 'stale_price' };
    expect(ask('B', '2024-03-06')).toMatchObject({ weight: 1, excludedBy: null, held: null, entered: null, order });
    expect(ask('B', '2024-03-07')).toMatchObject({
      weight: 1,
      held: 1,
      order: null,
      drift: { held: 1, change: 0 },
      entered: {
        date: parseDay('2024-03-07'),
        event: 'order',
        orderedOn: parseDay('2024-03-06'),
        price: 55,
        weight: 1,
      },
    });
    // A was sold at once. The proceeds remain cash until B trades.
    expect(ask('A', '2024-03-06')).toMatchObject({
      weight: null,
      held: null,
      order: null,
      left: { event: 'rebalance' },
    });
    // An index that keeps the last price of a security without trades holds B at this price.
    expect(explainExpensiveSecurity('carry')('B', '2024-03-06')).toMatchObject({
      held: 1,
      order: null,
      entered: { date: parseDay('2024-03-06'), event: 'rebalance', price: 50, lastBar: parseDay('2024-03-05') },
    });
  });

  test('holds a security that is sold by decision until its order is filled', () => {
    // B enters on the 4th because it is more expensive. It leaves when A becomes more expensive, but it has no price
    // until the 8th.
    const ask = explainCase({
      close: { A: [60, 60, 80, 80, 80, 80], B: [70, 70, null, null, 30, 30] },
      dates: ['2024-03-06'],
      selection: case_.selection!,
      treatment: { stale_targets: 'defer' },
    });
    for (const asOf of ['2024-03-06', '2024-03-07'])
      expect(ask('B', asOf)).toMatchObject({
        weight: null,
        excludedBy: 'dear',
        held: 1,
        left: null,
        entered: { date: parseDay('2024-03-04'), event: 'rebalance' },
        order: { date: parseDay('2024-03-06'), side: 'sell', target: 0, reason: 'stale_price' },
      });
    expect(ask('B', '2024-03-08')).toMatchObject({
      held: null,
      order: null,
      left: { date: parseDay('2024-03-08'), event: 'order', orderedOn: parseDay('2024-03-06'), price: 30, weight: 1 },
    });
  });

  test('has no order for a security that left before it could be sold', () => {
    const ask = explainCase({
      close: { A: [60, 60, 80, 80, 80, 80], B: [70, 70, null, null, null, null] },
      dates: ['2024-03-06'],
      selection: case_.selection!,
      actions: [{ name: 'B', type: 'ACQUISITION', value: 75, ex: '2024-03-08' }],
      treatment: { stale_targets: 'defer' },
    });
    expect(ask('B', '2024-03-07')).toMatchObject({ held: 1, order: { side: 'sell' } });
    expect(ask('B', '2024-03-08')).toMatchObject({
      held: null,
      order: null,
      left: { event: 'acquisition', price: 75 },
    });
  });
});

test('the report of a day equals the holdings of a run at its close, whatever came later', () => {
  fc.assert(
    fc.property(
      randomMarket,
      randomDocument,
      randomDecider,
      fc.nat(),
      fc.nat(),
      (drawn, document, createDecider, nth, which) => {
        const { market } = drawn;
        const run = tryRun(market, document, { createDecider });
        if (run === undefined) return;
        const { book } = run.index;
        const { sm, from, length, columns, weights } = book;
        const position = nth % length;
        const slot = which % columns.length;
        const column = columns[slot]!;
        const until = sm.sessions[from + position]!;
        const composer = createComposer({
          market,
          calendars: RANDOM_CALENDARS,
          documents: { X: document },
          until,
          createDecider,
        });
        const {
          asOf: resolved,
          held,
          entered,
          left,
        } = findHolding(findComposition(composer, 'X', until), column, undefined);
        const path = Array.from({ length: position + 1 }, (_, t) => weights[t * columns.length + slot]!);
        const resolvedPosition = sm.sessionAt(resolved) - from;
        expect(held).toBe(path[resolvedPosition] === 0 ? null : path[resolvedPosition]);
        const findLastChange = (isChange: (t: number) => boolean) =>
          path.findLastIndex((_, t) => t <= resolvedPosition && isChange(t));
        const came = findLastChange((t) => path[t] !== 0 && (path[t - 1] ?? 0) === 0);
        const went = findLastChange((t) => path[t] === 0 && (path[t - 1] ?? 0) !== 0);
        // A security that was spun off may be sold at the close of its first price. Then no row of weights contains it.
        if (came >= 0) expect(entered!.date).toBeGreaterThanOrEqual(sm.sessions[from + came]!);
        if (went >= 0) expect(left!.date).toBeGreaterThanOrEqual(sm.sessions[from + went]!);
        if (came < 0) expect(entered === null || entered.event === 'spin_off').toBe(true);
        if (held === null && entered !== null) expect(left!.date).toBeGreaterThanOrEqual(entered.date);
        if (held !== null && left !== null) expect(entered!.date).toBeGreaterThanOrEqual(left.date);
      },
    ),
    { numRuns: 60 },
  );
});
