import type { Composition } from '../books/compositions.js';
import { hasAnyBar } from '../books/due-rebalances.js';
import { findRequestedShares, type IndexRun } from '../books/index-run.js';
import type { Day } from '../time/days.js';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { listRebalanceDates, type RebalanceDate } from '../schedule/schedule.js';
import { findLastAtMost } from '../numbers/search.js';

export interface StrategySpan {
  /** First and last session of the strategy. */
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the rebalances of a strategy with its own cadence. They are the holdings of the index at the close of the
 * first session and of every date of the cadence. A date without any price bar uses the prices of the latest session
 * before it, as for an index.
 * @cost O(R H)
 */
export function decideStrategyRebalances(
  { book }: Pick<IndexRun, 'book'>,
  cadence: RebalanceSpec,
  { from, to }: StrategySpan,
): Composition[] {
  const { sessions, calendar } = book.sm;
  const dates = listRebalanceDates({
    rebalance: cadence,
    calendar,
    baseDay: sessions[from]!,
    from: sessions[from]!,
    to: sessions[to]!,
  });
  return listHoldings(book, [{ date: sessions[from]!, session: sessions[from]! }, ...dates], from);
}

export interface LaterSpan {
  /** First session of the strategy. */
  readonly first: number;
  /** Last simulated session, and the new last session. */
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the rebalances after a session, for a book that continues from that session. Returns undefined if a rebalance
 * uses prices of that session or an earlier one. Earlier results would then change.
 */
export function selectLaterRebalances(
  { book }: Pick<IndexRun, 'book'>,
  cadence: RebalanceSpec,
  { first, from, to }: LaterSpan,
): Composition[] | undefined {
  const { sessions, calendar } = book.sm;
  const dates = listRebalanceDates({
    rebalance: cadence,
    calendar,
    baseDay: sessions[first]!,
    from: sessions[from]! + 1,
    to: sessions[to]!,
  });
  const rebalances = listHoldings(book, dates, from);
  return rebalances.some(({ session }) => session <= from) ? undefined : rebalances;
}

/**
 * Returns the holdings of a book on dates, by pricing session: the latest session with a price bar, but no session
 * before `first`.
 */
function listHoldings(
  book: IndexRun['book'],
  dates: readonly Pick<RebalanceDate, 'date' | 'session' | 'also'>[],
  first: number,
): Composition[] {
  const { sm } = book;
  const bySession = new Map<number, Day[]>();
  for (const { date, also = [], session } of dates) {
    let position = findLastAtMost(sm.sessions, session);
    while (position > first && !hasAnyBar(sm, position)) position--;
    bySession.set(position, [...new Set([...(bySession.get(position) ?? []), date, ...also])]);
  }
  return Array.from(bySession, ([session, days]) => createHoldingsComposition(book, days, session)).toSorted(
    (a, b) => a.session - b.session,
  );
}

/** Returns the initial holdings of a strategy: the holdings of its index at the close of its first session. */
export function findOpening({ book }: Pick<IndexRun, 'book'>, from: number): Composition {
  return createHoldingsComposition(book, [book.sm.sessions[from]!], from);
}

/**
 * Returns the holdings of a book and its waiting purchases as a composition. The composition has no caps and no other
 * cash.
 */
function createHoldingsComposition(
  book: IndexRun['book'],
  [date, ...also]: readonly Day[],
  session: number,
): Composition {
  const { columns, weights } = findRequestedShares(book, session);
  return {
    date: date!,
    also,
    session,
    decision: session,
    announced: null,
    columns,
    weights,
    uncapped: weights,
    cap: null,
    capped: new Int32Array(0),
    redistributed: 0,
  };
}
