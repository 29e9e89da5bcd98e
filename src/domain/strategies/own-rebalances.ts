import { hasAnyBar, type Composition } from '../backtest/compositions.js';
import { heldAt } from '../backtest/index-run.js';
import type { IndexRun } from '../backtest/run.js';
import type { Day } from '../days.js';
import type { RebalanceSpec } from '../documents/index-document.js';
import { rebalanceDates } from '../schedule/schedule.js';
import { lastAtMost } from '../search.js';

export interface OwnSpan {
  /** First and last session of the strategy. */
  readonly from: number;
  readonly to: number;
}

/**
 * The rebalances of a strategy with a cadence of its own: what the index holds at the close of its first session and of every date
 * of the cadence. A date on which no name has a bar is priced from the latest session before it, as an index's is.
 * @cost O(R H)
 */
export function ownRebalances({ book }: Pick<IndexRun, 'book'>, cadence: RebalanceSpec, { from, to }: OwnSpan): Composition[] {
  const { sm } = book;
  const { sessions, calendar } = sm;
  const dates = rebalanceDates({ rebalance: cadence, calendar, baseDay: sessions[from]!, from: sessions[from]!, to: sessions[to]! });
  const bySession = new Map<number, Composition>();
  for (const { date, session } of [{ date: sessions[from]!, session: sessions[from]! }, ...dates]) {
    let position = lastAtMost(sessions, session);
    while (position > from && !hasAnyBar(sm, position)) position--;
    bySession.set(position, heldComposition(book, date, position));
  }
  return [...bySession.values()].toSorted((a, b) => a.session - b.session);
}

/** What a strategy holds at first: what its index does at that close. */
export function openingOf({ book }: Pick<IndexRun, 'book'>, from: number): Composition {
  return heldComposition(book, book.sm.sessions[from]!, from);
}

/** What a book holds, as a composition that nothing was capped in; without what it holds in cash. */
function heldComposition(book: IndexRun['book'], date: Day, session: number): Composition {
  const { columns, weights } = heldAt(book, session);
  return { date, session, decision: session, announced: null, columns, weights, uncapped: weights, cap: null, capped: new Int32Array(0), redistributed: 0 };
}
