import { countStaleSessions } from '../documents/stale-sessions.js';
import { hasLeftMarket } from '../market/left-securities.js';
import { findCompositionInForce, type Composition } from './compositions.js';
import type { ConstituentSwap } from './constituent-swap.js';
import type { RankedSecurities } from './decider.js';
import {
  readClosingHoldings,
  weighEntrants,
  isReviewSession,
  type MemberChange,
  type WatchPosition,
  type ClosingHoldings,
  type MemberWatch,
} from './member-watch.js';
import { ENTRY_SESSIONS, composeEntering, type EnteringSecurity } from './replacements.js';

/** Replaces each constituent that ranks too low by the best-ranked security that is not a constituent. */
export const applyFastExit: MemberChange = (watch, watchPosition) => {
  const { events, exits, pool, composer, indexId, known, sm } = watch;
  const { fast_exit: exit } = events;
  const due = exits.find(({ session }) => session === watchPosition.session);
  if (exit === undefined || due === undefined || isReviewSession(watch, watchPosition.session)) return undefined;
  const { decision } = due;
  const members = findCompositionInForce(known, decision)?.columns;
  if (members === undefined) return undefined;
  const universe = composer.universe(indexId, decision);
  const staleMax = countStaleSessions(composer.treatment(indexId));
  // A constituent that left after its review is not ranked.
  const constituents = members.filter((column) => !hasLeftMarket(sm, decision, column, staleMax));
  const order = pool.ranked(decision, exit.field, createRankedSecurities(constituents, universe));
  const ends = readClosingHoldings(watch, watchPosition);
  const isMember = (column: number): boolean => ends.held.held.includes(column);
  const low = [...order].slice(exit.rank).filter(isMember).toReversed();
  const stayingColumns = ends.held.held.filter((column) => !low.includes(column));
  const isAvailable = (column: number): boolean =>
    universe.includes(column) && sm.isPriceable(watchPosition.session, column, ENTRY_SESSIONS);
  const best: number[] = [];
  for (const column of order) {
    if (best.length === low.length) break;
    if (!isMember(column) && isAvailable(column) && pool.passes(decision, stayingColumns, column)) best.push(column);
  }
  // A constituent stays if its replacement ranks lower.
  const pairs = low.map((column, k) => [column, best[k]] as const);
  const swaps = pairs.filter(([column, other]) => other !== undefined && order.indexOf(other) < order.indexOf(column));
  return composeSwaps(watch, watchPosition, {
    ends,
    cause: 'fast_exit',
    decision,
    order: [...order],
    swaps: swaps as [number, number][],
  });
};

/** Adds new securities that rank high enough. Each replaces the constituent with the lowest rank. */
export const applyFastEntry: MemberChange = (watch, watchPosition) => {
  const { events, entries, pool, composer, indexId } = watch;
  const { fast_entry: entry } = events;
  const newSecurities = entries.get(watchPosition.session);
  if (entry === undefined || newSecurities === undefined) return undefined;
  if (isReviewSession(watch, watchPosition.session)) {
    const isPhase = findCompositionInForce(watch.known, watchPosition.session)?.phase !== undefined;
    if (isPhase)
      entries.set(watchPosition.session + 1, [...newSecurities, ...(entries.get(watchPosition.session + 1) ?? [])]);
    return undefined;
  }
  const ends = readClosingHoldings(watch, watchPosition);
  const { held } = ends.held;
  const universe = composer.universe(indexId, watchPosition.session);
  const order = [...pool.ranked(watchPosition.session, entry.field, createRankedSecurities(held, universe))];
  const qualifyingColumns = newSecurities.filter(
    (column) => order.slice(0, entry.rank).includes(column) && !held.includes(column),
  );
  const best = qualifyingColumns
    .filter((column) => universe.includes(column) && pool.passes(watchPosition.session, held, column))
    .toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  const columnsFromWorst = [...held].toSorted((a, b) => findRank(order, b) - findRank(order, a));
  const swaps = best.flatMap((column, k): [number, number][] =>
    columnsFromWorst[k] === undefined || findRank(order, columnsFromWorst[k]) < findRank(order, column)
      ? []
      : [[columnsFromWorst[k], column]],
  );
  return composeSwaps(watch, watchPosition, {
    ends,
    cause: 'fast_entry',
    decision: watchPosition.session,
    order,
    swaps,
  });
};

const createRankedSecurities = (constituents: Int32Array, universe: Int32Array): RankedSecurities => ({
  columns: Int32Array.from(new Set([...constituents, ...universe])).toSorted(),
  constituents,
});

/** Returns the rank of a security. Returns Infinity if it has no value. */
function findRank(order: readonly number[], column: number): number {
  const position = order.indexOf(column);
  return position < 0 ? Infinity : position + 1;
}

interface FastChangesInput {
  readonly ends: ClosingHoldings;
  readonly cause: 'fast_exit' | 'fast_entry';
  readonly decision: number;
  /** Columns in rank order. */
  readonly order: readonly number[];
  /** Pairs of the leaving and the entering column. */
  readonly swaps: readonly (readonly [number, number])[];
}

function composeSwaps(
  watch: MemberWatch,
  watchPosition: WatchPosition,
  { ends, cause, decision, order, swaps }: FastChangesInput,
): Composition | undefined {
  if (swaps.length === 0) return undefined;
  const { held, weights } = ends.held;
  const leavingColumns = swaps.map(([column]) => column);
  const entries = swaps.map(([column, other]): EnteringSecurity => ({
    column: other,
    replaced: weights[held.indexOf(column)]!,
  }));
  const earlier = findCompositionInForce(watch.known, watchPosition.session);
  const results = swaps.map(([left, entered]): ConstituentSwap => {
    const leaverRank = findRank(order, left);
    return {
      rule: cause,
      entered,
      left,
      decision,
      ranked: decision,
      rank: findRank(order, entered),
      leftRank: Number.isFinite(leaverRank) ? leaverRank : null,
    };
  });
  const composition = composeEntering({
    ...weighEntrants(watch, watchPosition, ends),
    cause,
    decision,
    leaving: leavingColumns,
    entries,
    swaps: earlier?.session === watchPosition.session ? [...(earlier.swaps ?? []), ...results] : results,
  });
  // Only one composition can take effect at a close, so it includes earlier entries at this close.
  if (earlier?.session !== watchPosition.session) return composition;
  return { ...composition, entered: composition.entered! * (earlier.entered ?? 1) };
}
