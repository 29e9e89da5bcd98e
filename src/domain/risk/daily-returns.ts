import type { Day } from '../days.js';
import { actionsByColumn } from '../market/actions-by-column.js';
import { growthStep } from '../market/growth.js';
import type { GrowthTerms } from '../market/growth-terms.js';
import type { MarketData } from '../market/market-data.js';
import { rowsWithBar } from '../market/narrow-market.js';
import { effectOf, together, type SessionEffect } from '../market/session-effects.js';
import { firstAtLeast } from '../search.js';
import { historyBy, type BarGaps } from './bar-history.js';
import { coverageBy, type ReturnSource } from './return-panel.js';

/** Names of a market over a window of days. */
export interface DailyNames {
  /** Columns of the market, each once, in the order the matrix is to have. */
  readonly columns: ArrayLike<number>;
  /** First and last day; null is open. */
  readonly from: Day | null;
  readonly to: Day | null;
}

/** Where their closes lie. */
interface Closes {
  readonly close: Float64Array;
  /** Columns of the market. */
  readonly width: number;
  /** Row of each session. */
  readonly rows: Int32Array;
  readonly columns: Int32Array;
}

/**
 * Returns of names on an axis of their own, the days on which one of them has a bar, each in the currency of its prices:
 * straight from the closes, with the bits that growth over the aligned market has. The columns of the source are places
 * among the names asked for.
 * @cost one pass over the closes of the window for the gaps, one for the returns, and the actions of the names
 */
export function dailyReturns(market: MarketData, names: DailyNames, terms: GrowthTerms): ReturnSource {
  const columns = Int32Array.from(names.columns);
  const rows = rowsWithBar(market, { ...names, columns });
  const closes = { close: market.fields.get('CLOSE')!, width: market.identifiers.length, rows, columns };
  const sessions = rows.map((row) => market.dates[row]!);
  const coverage = coverageBy(
    historyBy(gapsOf(closes)),
    columns.map((_, place) => place),
    {
      from: 0,
      to: rows.length - 1,
    },
  );
  return {
    sm: { identifiers: Array.from(columns, (column) => market.identifiers[column]!), sessions },
    coverage,
    read(out) {
      divideCloses(closes, coverage, out);
      placeEffects({ market, terms, closes, sessions, coverage }, out);
    },
  };
}

/** Sessions without a bar, of each place. @cost one pass over the closes */
function gapsOf({ close, width, rows, columns }: Closes): BarGaps {
  const n = columns.length;
  const first = new Int32Array(n);
  const missing: number[][] = [];
  for (let s = 0; s < rows.length; s++) {
    const row = rows[s]! * width;
    for (let k = 0; k < n; k++) {
      const price = close[row + columns[k]!]!;
      if (price === price) continue;
      if (first[k] === s) first[k] = s + 1;
      else (missing[k] ??= []).push(s);
    }
  }
  const last = new Int32Array(n).fill(rows.length - 1);
  const barless = Array.from(last, (_, k) => {
    const own = missing[k] ?? [];
    if (first[k] === rows.length) last[k] = -1;
    while (own.at(-1) === last[k] && own.length > 0) {
      own.pop();
      last[k]!--;
    }
    return Int32Array.from(own);
  });
  return { first, last, barless, returnless: barless.map(withNext) };
}

/** A session without a bar loses its return and that of the next one. */
function withNext(barless: Int32Array): Int32Array {
  const lost: number[] = [];
  for (const session of barless) {
    if (lost.at(-1) !== session) lost.push(session);
    lost.push(session + 1);
  }
  return Int32Array.from(lost);
}

type Covered = Pick<ReturnSource['coverage'], 'columns' | 'sessions'>;

/** Closes over those of the session before, less 1. @param out [T x n], overwritten */
function divideCloses({ close, width, rows, columns }: Closes, covered: Covered, out: Float64Array): void {
  const { sessions } = covered;
  const at = covered.columns.map((place) => columns[place]!);
  for (let t = 0, to = 0; t < sessions.length; t++) {
    const row = rows[sessions[t]!]! * width;
    const before = rows[sessions[t]! - 1]! * width;
    for (let k = 0; k < at.length; k++) {
      const column = at[k]!;
      out[to++] = close[row + column]! / close[before + column]! - 1;
    }
  }
}

interface Effects {
  readonly market: MarketData;
  readonly terms: GrowthTerms;
  readonly closes: Closes;
  /** Days. */
  readonly sessions: Int32Array;
  readonly coverage: Covered;
}

/** Returns of the sessions on which something happened to a name. @param out [T x n], of closes alone */
function placeEffects({ market, terms, closes, sessions, coverage }: Effects, out: Float64Array): void {
  const { close, width, rows, columns } = closes;
  const n = coverage.columns.length;
  const rowOf = new Int32Array(sessions.length).fill(-1);
  coverage.sessions.forEach((session, t) => (rowOf[session] = t));
  const { starts, order } = actionsByColumn(market);
  for (let k = 0; k < n; k++) {
    const column = columns[coverage.columns[k]!]!;
    let session = -1;
    let effect: SessionEffect | undefined;
    const place = (): void => {
      if (effect === undefined || rowOf[session]! < 0) return;
      const before = close[rows[session - 1]! * width + column]!;
      const bar = close[rows[session]! * width + column]!;
      out[rowOf[session]! * n + k] = growthStep(effect, before, bar).factor - 1;
    };
    for (let a = starts[column]!; a < starts[column + 1]!; a++) {
      const action = market.actions[order[a]!]!;
      if (action.status === 'cancelled' || action.exDay < sessions[0]! || action.exDay > sessions.at(-1)!) continue;
      const change = effectOf(action, market.adjustment, terms);
      if (change === undefined) continue;
      const on = firstAtLeast(sessions, action.exDay);
      if (on !== session) place();
      effect = on === session && effect !== undefined ? together(effect, change) : change;
      session = on;
    }
    place();
  }
}
