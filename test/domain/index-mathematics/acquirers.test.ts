import { describe, expect, test } from 'vitest';
import { findPresence } from '#domain/books/constituent-changes.js';
import { expectNear, runIndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(6);

/** Runs an index with universe A and B. On the second session B merges into C, at 2 shares for one. */
function runMerger(events: object | undefined, members: object = {}) {
  return runIndexCase({
    close: { A: [100, 100, 110, 110], B: [100, 90, null, null], C: [40, 50, 60, 60] },
    universe: ['A', 'B'],
    actions: [{ name: 'B', type: 'MERGER', value: 2, related: 'C', ex: DAYS[1]! }],
    ...(events === undefined ? {} : { events }),
    ...members,
  });
}

const readHeldAt = ({ index: { book } }: ReturnType<typeof runMerger>, row: number): string[] =>
  Array.from(book.columns)
    .filter((_, slot) => book.weights[row * book.columns.length + slot] !== 0)
    .map((column) => book.sm.identifiers[column]!);

describe('a merger into a security outside the universe', () => {
  test('turns a holding into that security unless the document removes it', () => {
    for (const events of [undefined, {}, { acquirer: 'convert' }]) {
      const run = runMerger(events);
      expect(readHeldAt(run, 1)).toEqual(['A', 'C']);
      // The index holds half a share each of A and B at 100. B is worth two shares of C at 50.
      expectNear(run.index.book.value[1]!, 100);
      expectNear(run.index.book.value[2]!, 0.5 * 110 + 60);
    }
  });

  test('removes the security at its last price, and its weight goes to the others', () => {
    const run = runMerger({ acquirer: 'remove' });
    expect(readHeldAt(run, 1)).toEqual(['A']);
    expectNear(run.index.book.value[1]!, 95);
    expectNear(run.index.book.value[2]!, 95 * 1.1);
    expectNear(run.index.book.divisor[1]!, 50 / 95);
    const { sm } = run.index.book;
    const { left } = findPresence(run.index.book, run.index.compositions, sm.columnOf('B'));
    expect(left).toMatchObject({ event: 'merger', price: 90, related: null });
  });

  test('is one into a member where the acquirer is in the universe', () => {
    expect(readHeldAt(runMerger({ acquirer: 'remove' }, { universe: ['A', 'B', 'C'] }), 1)).toEqual(['A', 'C']);
  });

  test('leaves pending shares, too', () => {
    const run = runMerger(
      { acquirer: 'remove' },
      { rebalance: { frequency: 'custom', dates: [DAYS[2]], effective_lag: 2 } },
    );
    expect(readHeldAt(run, 2)).toEqual(['A']);
  });
});
