import type { EventsSpec } from '../documents/events-spec.js';
import type { EventCause } from '../schedule/rebalance-causes.js';
import type { BookEnd } from './book.js';
import type { Composer, Composition } from './compositions.js';
import type { Candidate, ConstituentSwap } from './constituent-swap.js';
import type { ReviewPool } from './decider.js';
import { findSelection } from './decide-index.js';
import { readCounts, createShareChangeTerms } from './share-changes.js';

/** Maximum age in sessions of the price of a security that enters. */
export const ENTRY_SESSIONS = 5;

/** Security that enters between reviews. */
export interface EnteringSecurity {
  readonly column: number;
  /** Weight of the replaced constituent, relative to the holdings before the entry. 0 if no constituent is replaced. */
  readonly replaced: number;
}

export interface CandidateInput {
  readonly composer: Composer;
  readonly indexId: string;
  readonly pool: ReviewPool;
  readonly session: number;
  readonly staying: Int32Array;
  readonly ranking: Int32Array;
  readonly wanted: number;
}

/** Returns the securities that replace constituents that left, best first. */
export function listReplacementCandidates(input: CandidateInput, events: EventsSpec): Candidate[] {
  const { composer, indexId, pool, session, ranking, wanted } = input;
  const sm = composer.market(indexId);
  const isReserve = events.replacement === 'reserve';
  const order = isReserve ? (events.reserve ?? []).map((id) => sm.columnOf(id)) : [...ranking];
  const members = new Set(isReserve ? [] : composer.universe(indexId, session));
  const results: Candidate[] = [];
  const remainingColumns = [...input.staying];
  for (const [position, column] of order.entries()) {
    if (results.length === wanted) break;
    if (column < 0 || remainingColumns.includes(column)) continue;
    const isThere = isReserve
      ? sm.isPriceable(session, column, ENTRY_SESSIONS)
      : members.has(column) && pool.passes(session, Int32Array.from(remainingColumns), column);
    if (!isThere) continue;
    results.push({ column, rank: position + 1 });
    remainingColumns.push(column);
  }
  return results;
}

interface ReplacementInput {
  readonly rule: 'next_ranked' | 'reserve';
  /** Composition with the ranking of its review. */
  readonly before: Composition;
  readonly decision: number;
  readonly found: readonly Candidate[];
  /** Columns of the constituents that left, in the order of replacement. */
  readonly left: readonly number[];
}

/** Pairs each constituent that left with the candidate that replaces it. */
export function chooseReplacements({ rule, before, decision, found, left }: ReplacementInput): ConstituentSwap[] {
  const rankingSession = rule === 'reserve' ? null : findSelection(before).decision;
  return found.map(({ column, rank }, k) => ({
    rule,
    entered: column,
    left: left[k]!, // there are never more candidates than constituents that left
    decision,
    ranked: rankingSession,
    rank,
    leftRank: null,
  }));
}

export interface EnteringSecuritiesInput {
  readonly composer: Composer;
  readonly indexId: string;
  readonly pool: ReviewPool;
  readonly session: number;
  readonly decision: number;
  readonly cause: EventCause;
  /** Composition in force before the change. */
  readonly before: Composition;
  /**
   * Holdings and weights at the close, without securities that left. `held` is for the index, `uncapped` for the index
   * without caps.
   */
  readonly held: Pick<BookEnd, 'held' | 'weights' | 'units' | 'counts'>;
  readonly uncapped: Pick<BookEnd, 'held' | 'weights'>;
  /** Columns of the constituents that entering securities replace. */
  readonly leaving: readonly number[];
  readonly entries: readonly EnteringSecurity[];
  readonly swaps: readonly ConstituentSwap[];
  /**
   * Money amount that converts a market value into a weight at the close. Null if an entering security takes the weight
   * of the security that left.
   */
  readonly worth: number | null;
}

/**
 * Returns the composition of an index after a close at which securities enter between reviews. Other constituents keep
 * their index shares. A security enters with its market value, or with the weight of the security that it replaces.
 */
export function composeEntering(input: EnteringSecuritiesInput): Composition {
  const { composer, indexId, session, decision, cause, before, held, uncapped, worth, swaps } = input;
  const { columns, weights, grown } = computeEnteredWeights(input, { ...held, worth, cap: before.cap });
  const uncappedEntrants =
    before.uncapped === before.weights
      ? null
      : computeEnteredWeights(input, { ...uncapped, worth: findUncappedWorth(input), cap: null });
  const sm = composer.market(indexId);
  const shareChangeTerms = createShareChangeTerms({
    sm,
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
  });
  const counts = shareChangeTerms && readCounts(shareChangeTerms, session, columns);
  if (counts && held.counts) {
    const { columns: adoptedColumns, adopted, latest } = held.counts;
    counts.adopted.forEach((_, k) => {
      const position = adoptedColumns.indexOf(columns[k]!);
      if (position >= 0) {
        counts.adopted[k] = adopted[position]!;
        (counts.latest as Float64Array)[k] = latest[position]!;
      }
    });
  }
  return {
    date: sm.sessions[session]!,
    also: [],
    session,
    decision,
    announced: decision < session ? sm.sessions[decision]! : null,
    columns,
    weights,
    uncapped: uncappedEntrants?.weights ?? weights,
    cap: before.cap,
    capped: before.capped.filter((column) => columns.includes(column)),
    redistributed: before.redistributed,
    cause,
    swaps,
    entered: grown,
    ...(worth === null ? {} : { worth: worth * grown }),
    ...(before.basket === undefined || worth === null ? {} : { basket: worth * grown }),
    ...(worth === null ? {} : findFixedShares(input, columns)),
    ...(before.ranking === undefined ? {} : { ranking: before.ranking }),
    selected: findSelection(before),
    ...(counts === undefined ? {} : { counts }),
  };
}

/** Returns the fixed numbers of shares of constituents: those held, and those of securities that enter. */
function findFixedShares(
  { before, held, pool, session }: EnteringSecuritiesInput,
  columns: Int32Array,
): Pick<Composition, 'fixedShares'> {
  const shares = before.fixedShares === undefined ? undefined : pool.fixedShares(session, columns);
  if (shares === undefined) return {};
  return {
    fixedShares: shares.map((entering, k) => {
      const position = held.held.indexOf(columns[k]!);
      return position < 0 ? entering : held.units[position]!;
    }),
  };
}

/** Returns the money amount that converts a market value into a weight of the index without caps. */
function findUncappedWorth({
  pool,
  session,
  uncapped,
  leaving,
  entries,
  worth,
}: EnteringSecuritiesInput): number | null {
  if (worth === null || entries.length === 0) return null;
  return computePoolValue(pool, session, { ...uncapped, without: leaving });
}

/**
 * Returns the ratio of the constituents' market value to their weight at a close. Returns null if no constituent has a
 * market value.
 */
export function computePoolValue(
  pool: ReviewPool,
  session: number,
  { held, weights, without }: Pick<BookEnd, 'held' | 'weights'> & { readonly without: ArrayLike<number> },
): number | null {
  const excludedColumns = new Set(Array.from(without));
  const values = pool.values(
    session,
    held.filter((column) => !excludedColumns.has(column)),
  );
  const includedWeights = weights.filter((_, k) => !excludedColumns.has(held[k]!));
  const isValued = (_: number, k: number): boolean => values[k]! > 0;
  const weight = sumValues(includedWeights.filter(isValued));
  return weight > 0 ? sumValues(values.filter(isValued)) / weight : null;
}

interface EnteredHoldings extends Pick<BookEnd, 'held' | 'weights'> {
  readonly worth: number | null;
  readonly cap: number | null;
}

function computeEnteredWeights(
  { pool, session, leaving, entries }: EnteringSecuritiesInput,
  { worth, cap, ...held }: EnteredHoldings,
): Pick<Composition, 'columns' | 'weights'> & { readonly grown: number } {
  const largestMultiple = cap === null || cap >= 1 ? Infinity : cap / (1 - cap);
  const weightByColumn = new Map<number, number>();
  held.held.forEach((column, k) => {
    if (!leaving.includes(column)) weightByColumn.set(column, held.weights[k]!);
  });
  const values =
    worth === null
      ? null
      : pool.values(
          session,
          Int32Array.from(entries, ({ column }) => column),
        );
  entries.forEach(({ column, replaced }, k) => {
    const poolWeight = values === null ? Number.NaN : values[k]! / worth!;
    weightByColumn.set(column, Math.min(poolWeight > 0 ? poolWeight : replaced, largestMultiple));
  });
  const all = [...weightByColumn].toSorted(([a], [b]) => a - b);
  const weightSum = sumValues(all.map(([, weight]) => weight));
  return {
    columns: Int32Array.from(all, ([column]) => column),
    weights: Float64Array.from(all, ([, weight]) => weight / weightSum),
    grown: weightSum,
  };
}

function sumValues(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
