import { addAll, createRollingFolds, type Folding } from './rolling-folds.js';
import type { Series } from './series.js';
import type { Window } from './windows.js';

/** Names by their places among those that are followed. */
export interface PlacedWindow extends Window {
  /** [n] */
  readonly places: Int32Array;
  /** Those of the names that BETA is relative to, equally weighted: the same array as long as they do not change. */
  readonly universe: Int32Array;
}

/** Slopes of returns on those of a market, [n]. */
export type RollingBetas = (window: PlacedWindow) => Float64Array;

/** Variance of the market below which it counts as not having moved. */
const FLAT = 1e-18;

/**
 * Share of the squares of the market that has to be left without the sessions that a name lacks: with less they are summed
 * anew, so that at most four bits are lost.
 */
const LEFT_MIN = 1 / 16;

/**
 * Sums of the returns of each name, and of their products with those of the market, roll on; what the market comes to is the
 * same for all names that lack no session, and is corrected for the others.
 * @param followed names, ascending
 * @param length   of every window
 * @cost a session costs its names, and the windows of all of them where the universe changes
 */
export function createRollingBetas(returns: Series, followed: Int32Array, length: number): RollingBetas {
  const rows = createRows(returns, followed, length);
  const market = createMarket(rows, length);
  const absences = createAbsences({ rows, marketOn: market.on, names: followed.length, length });
  const left = new Float64Array(3);
  const rolling = createRollingFolds();
  const products: Folding = {
    empty: [0, 0],
    join: addAll,
    add: (sums, session) => addProducts(sums, rows(session), market.on(session)),
  };
  return ({ end, observationsMin, places, universe }) => {
    const from = Math.max(0, end - length + 1);
    market.follow(universe);
    const whole = market.over(from, end);
    const sums = rolling.over({ from, end, length, columns: followed, version: universe }, products);
    absences.over(from, end);
    const slopes = new Float64Array(places.length);
    for (let i = 0; i < slopes.length; i++) {
      const place = places[i]!;
      absences.without(place, whole, left);
      slopes[i] =
        left[COUNT]! < Math.max(2, observationsMin) ? NaN : slope(sums[2 * place]!, sums[2 * place + 1]!, left);
    }
    return slopes;
  };
}

/**
 * What a market comes to over sessions that it has returns on: their number, their sum and that of their squares, [3].
 */
type MarketSums = Float64Array;
const [COUNT, SUM, SQUARES] = [0, 1, 2] as const;

/** @param own sum of the returns of a name @param products of those and the market's */
function slope(own: number, products: number, market: MarketSums): number {
  const count = market[COUNT]!;
  const sum = market[SUM]!;
  const moved = market[SQUARES]! - (sum * sum) / count;
  return moved / (count - 1) >= FLAT ? (products - (own * sum) / count) / moved : NaN;
}

/** Return of each name, and its product with that of the market. */
function addProducts(sums: Float64Array, values: Float64Array, move: number): void {
  if (move !== move) return;
  for (let i = 0, at = 0; i < values.length; i++, at += 2) {
    const value = values[i]!;
    if (value !== value) continue;
    sums[at]! += value;
    sums[at + 1]! += value * move;
  }
}

/** Returns of the names on a session; those of the last window are kept. */
type Rows = (session: number) => Float64Array;

function createRows(returns: Series, followed: Int32Array, length: number): Rows {
  const kept = Array.from({ length }, () => new Float64Array(followed.length));
  const sessions = new Int32Array(length).fill(-1);
  return (session) => {
    const at = session % length;
    const row = kept[at]!;
    if (sessions[at] !== session) returns.fill(session, followed, row);
    sessions[at] = session;
    return row;
  };
}

/** Returns of an equally weighted universe. */
interface Market {
  follow(universe: Int32Array): void;
  /** NaN where none of the names has a return. @cost a session is averaged once for all windows that it is in */
  on(session: number): number;
  /** Valid until the next question. */
  over(from: number, end: number): MarketSums;
}

function createMarket(rows: Rows, length: number): Market {
  const moves = new Float64Array(length);
  const sessions = new Int32Array(length).fill(-1);
  const sums = new Float64Array(3);
  let followed: Int32Array = new Int32Array(0);
  const on = (session: number): number => {
    const at = session % length;
    if (sessions[at] !== session) moves[at] = meanOf(rows(session), followed);
    sessions[at] = session;
    return moves[at]!;
  };
  return {
    follow(universe) {
      if (universe !== followed) sessions.fill(-1);
      followed = universe;
    },
    on,
    over(from, end) {
      let count = 0;
      let sum = 0;
      let squares = 0;
      for (let session = from; session <= end; session++) {
        const move = on(session);
        if (move !== move) continue;
        count++;
        sum += move;
        squares += move * move;
      }
      sums[COUNT] = count;
      sums[SUM] = sum;
      sums[SQUARES] = squares;
      return sums;
    },
  };
}

function meanOf(values: Float64Array, places: Int32Array): number {
  let total = 0;
  let count = 0;
  for (let k = 0; k < places.length; k++) {
    const value = values[places[k]!]!;
    if (value !== value) continue;
    total += value;
    count++;
  }
  return count > 0 ? total / count : NaN;
}

/** The sessions of a window that names have no return on. */
interface Absences {
  /** From now on of this window. @cost its last session where it is the one after that of the window before */
  over(from: number, end: number): void;
  /** What the market comes to on the others. */
  without(place: number, whole: MarketSums, out: MarketSums): void;
}

interface AbsencesInput {
  readonly rows: Rows;
  readonly marketOn: (session: number) => number;
  readonly names: number;
  readonly length: number;
}

function createAbsences({ rows, marketOn, names, length }: AbsencesInput): Absences {
  /** The latest ones of each name, in turns; how many came in all, and how many of them are before the window, [names]. */
  const sessions = new Int32Array(names * length);
  const come = new Int32Array(names);
  const gone = new Int32Array(names);
  let [first, last] = [0, -1];

  /** The first of a name that is in the window. */
  const forget = (place: number): number => {
    let at = Math.max(gone[place]!, come[place]! - length);
    while (at !== come[place] && sessions[place * length + (at % length)]! < first) at++;
    gone[place] = at;
    return at;
  };
  const anew = (place: number, out: MarketSums): void => {
    out.fill(0);
    for (let session = first; session <= last; session++) {
      if (Number.isNaN(rows(session)[place]!)) continue;
      add(out, marketOn(session), 1);
    }
  };
  return {
    over(from, end) {
      if (from === first && end === last) return;
      const isNext = from >= first && end > last && from <= last + 1;
      if (!isNext) gone.set(come);
      for (let session = isNext ? last + 1 : from; session <= end; session++) {
        const values = rows(session);
        for (let i = 0; i < names; i++) {
          const value = values[i]!;
          if (value !== value) sessions[i * length + (come[i]!++ % length)] = session;
        }
      }
      [first, last] = [from, end];
    },
    without(place, whole, out) {
      for (let k = 0; k < out.length; k++) out[k] = whole[k]!;
      for (let at = forget(place); at < come[place]!; at++)
        add(out, marketOn(sessions[place * length + (at % length)]!), -1);
      if (out[SQUARES]! < LEFT_MIN * whole[SQUARES]!) anew(place, out);
    },
  };
}

/** @param sign of what is added */
function add(sums: MarketSums, move: number, sign: 1 | -1): void {
  if (move !== move) return;
  sums[COUNT]! += sign;
  sums[SUM]! += sign * move;
  sums[SQUARES]! += sign * move * move;
}
