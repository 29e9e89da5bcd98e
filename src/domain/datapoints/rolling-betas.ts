import { addSessions, createRollingFolds, type Folding } from './rolling-folds.js';
import type { Series } from './series.js';
import type { Window } from './windows.js';

/** Window whose securities are given by their positions among all securities for which sums are kept. */
export interface PositionedWindow extends Window {
  /** [n] */
  readonly places: Int32Array;
  /**
   * Positions of the equally weighted securities to which BETA is relative. While they do not change, the caller must
   * pass the identical array.
   */
  readonly universe: Int32Array;
}

/** Function that computes the slopes of returns on market returns over a window, [n]. */
export type RollingBetas = (window: PositionedWindow) => Float64Array;

/** Variance of the market return below which it counts as constant. */
const CONSTANT_SQUARES = 1e-18;

/**
 * Minimum fraction of the market's sum of squares that must remain after the sessions that a security lacks are
 * subtracted. If less remains, the sums are computed again. The subtraction therefore loses at most four bits.
 */
const REMAINDER_MIN = 1 / 16;

/**
 * Number of sessions between cached sums of products. A universe lasts for about a month, while windows advance by one
 * day.
 */
const CACHE_STEP = 16;

/**
 * Creates rolling betas. They are computed from sums of the returns of each security, and of the products of these
 * returns with market returns. All securities without missing sessions share the market sums; for other securities the
 * sums are corrected.
 * @param followed securities, ascending
 * @param length length of every window
 * @cost per session one pass over the securities; if the universe changes, one pass over all windows
 */
export function createRollingBetas(returns: Series, followed: Int32Array, length: number): RollingBetas {
  const readRow = createRows(returns, followed, length);
  const market = createMarket(readRow, length);
  const absences = createAbsences({ rows: readRow, market, names: followed.length, length });
  const left = new Float64Array(3);
  const returnFolds = createRollingFolds();
  const productFolds = createRollingFolds(CACHE_STEP);
  const returnFolding: Folding = {
    empty: [0],
    join: addSessions,
    add(sums, session) {
      if (!Number.isNaN(market.on(session))) addTimes(sums, readRow(session), 1);
    },
  };
  const products: Folding = {
    empty: [0],
    join: addSessions,
    add(sums, session) {
      const move = market.on(session);
      if (move === move) addTimes(sums, readRow(session), move);
    },
    addRun(sums, first, last) {
      const step = first <= last ? 1 : -1;
      let session = first;
      for (; (last - session) * step >= 3; session += 4 * step) addFour(sums, session, step);
      for (; (last - session) * step >= 0; session += step) products.add(sums, session, followed);
    },
  };
  /** Adds four consecutive sessions at a time, to read and write the sums only once. */
  const addFour = (sums: Float64Array, session: number, step: number): void => {
    const [a, b, c, d] = [session, session + step, session + 2 * step, session + 3 * step];
    const [moveA, moveB, moveC, moveD] = [market.on(a), market.on(b), market.on(c), market.on(d)];
    const all = moveA + moveB + moveC + moveD;
    if (all !== all) {
      for (const product of [a, b, c, d]) products.add(sums, product, followed);
      return;
    }
    const [valuesA, valuesB, valuesC, valuesD] = [readRow(a), readRow(b), readRow(c), readRow(d)];
    for (let i = 0; i < sums.length; i++) {
      const before = sums[i]!;
      const sum = before + valuesA[i]! * moveA + valuesB[i]! * moveB + valuesC[i]! * moveC + valuesD[i]! * moveD;
      if (sum === sum) sums[i] = sum;
      else {
        let updatedSum = before;
        if (!Number.isNaN(valuesA[i]!)) updatedSum += valuesA[i]! * moveA;
        if (!Number.isNaN(valuesB[i]!)) updatedSum += valuesB[i]! * moveB;
        if (!Number.isNaN(valuesC[i]!)) updatedSum += valuesC[i]! * moveC;
        if (!Number.isNaN(valuesD[i]!)) updatedSum += valuesD[i]! * moveD;
        sums[i] = updatedSum;
      }
    }
  };
  return ({ end, observationsMin, places, universe }) => {
    const from = Math.max(0, end - length + 1);
    market.follow(universe);
    const marketSums = market.over(from, end);
    const window = { from, end, length, columns: followed };
    // Returns are summed even if the universe changes, except on sessions without a universe.
    const sums = returnFolds.over(
      { ...window, version: marketSums[COUNT] === end - from + 1 ? null : universe },
      returnFolding,
    );
    const crossSums = productFolds.over({ ...window, version: universe }, products);
    absences.over(from, end);
    const observationsRequired = Math.max(2, observationsMin);
    const mean = marketSums[SUM]! / marketSums[COUNT]!;
    const marketSquares = computeMarketSquares(marketSums);
    const share = marketSums[COUNT]! < observationsRequired || marketSquares === 0 ? NaN : 1 / marketSquares;
    const { latest } = absences;
    const slopes = new Float64Array(places.length);
    for (let i = 0; i < slopes.length; i++) {
      const position = places[i]!;
      if (latest[position]! < from) slopes[i] = (crossSums[position]! - sums[position]! * mean) * share;
      else {
        absences.without(position, marketSums, left);
        slopes[i] =
          left[COUNT]! < observationsRequired ? NaN : computeSlope(sums[position]!, crossSums[position]!, left);
      }
    }
    return slopes;
  };
}

/** Sums of a market over sessions with returns: count, sum and sum of squares, [3]. */
type MarketSums = Float64Array;
const [COUNT, SUM, SQUARES] = [0, 1, 2] as const;

/** Returns the sum of squares of a market about its mean. Returns 0 if it is constant. */
function computeMarketSquares(market: MarketSums): number {
  const count = market[COUNT]!;
  const squares = market[SQUARES]! - (market[SUM]! * market[SUM]!) / count;
  return squares / (count - 1) >= CONSTANT_SQUARES ? squares : 0;
}

/**
 * Computes the slope of returns on market returns. @param returnSum sum of the returns of a security @param products
 * sum of the products of these returns with market returns
 */
function computeSlope(returnSum: number, products: number, market: MarketSums): number {
  const marketSquares = computeMarketSquares(market);
  return marketSquares === 0 ? NaN : (products - (returnSum * market[SUM]!) / market[COUNT]!) / marketSquares;
}

/** Adds the returns of a session, multiplied by a number. */
function addTimes(sums: Float64Array, values: Float64Array, times: number): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === value) sums[i]! += value * times;
  }
}

/** Function that returns the returns of the securities on a session. The sessions of the last window are cached. */
type Rows = (session: number) => Float64Array;

function createRows(returns: Series, followed: Int32Array, length: number): Rows {
  const rows = Array.from({ length }, () => new Float64Array(followed.length));
  const sessions = new Int32Array(length).fill(-1);
  return (session) => {
    const position = session % length;
    const row = rows[position]!;
    if (sessions[position] !== session) returns.fill(session, followed, row);
    sessions[position] = session;
    return row;
  };
}

/** Returns of an equally weighted universe. */
interface Market {
  follow(universe: Int32Array): void;
  /**
   * Returns the market return on a session. Returns NaN if no security has a return. @cost each session is averaged
   * once for all windows that contain it
   */
  on(session: number): number;
  /** Returns the sums over a window; valid until the next call. */
  over(from: number, end: number): MarketSums;
  /** Returns the sums from a session to the end of the last window. */
  since(session: number, out: MarketSums): void;
}

function createMarket(rows: Rows, length: number): Market {
  const moves = new Float64Array(length);
  const sessions = new Int32Array(length).fill(-1);
  const sums = new Float64Array(3);
  /** Sums from each session of the window to its end, followed by an empty sum, [length + 1][3]. */
  const tails = new Float64Array(3 * (length + 1));
  let first = 0;
  let followedUniverse: Int32Array = new Int32Array(0);
  const computeMove = (session: number): number => {
    const position = session % length;
    if (sessions[position] !== session) moves[position] = computeMean(rows(session), followedUniverse);
    sessions[position] = session;
    return moves[position]!;
  };
  const copySums = (session: number, out: MarketSums): void => {
    const position = 3 * (session - first);
    for (let k = 0; k < out.length; k++) out[k] = tails[position + k]!;
  };
  return {
    follow(universe) {
      if (universe !== followedUniverse) sessions.fill(-1);
      followedUniverse = universe;
    },
    on: computeMove,
    since: copySums,
    over(from, end) {
      first = from;
      const tailEnd = 3 * (end - from + 1);
      tails.fill(0, tailEnd, tailEnd + 3);
      for (let session = end, position = tailEnd - 3; session >= from; session--, position -= 3) {
        const move = computeMove(session);
        const isMove = move === move;
        tails[position + COUNT] = tails[position + 3 + COUNT]! + (isMove ? 1 : 0);
        tails[position + SUM] = tails[position + 3 + SUM]! + (isMove ? move : 0);
        tails[position + SQUARES] = tails[position + 3 + SQUARES]! + (isMove ? move * move : 0);
      }
      copySums(from, sums);
      return sums;
    },
  };
}

/**
 * Returns the mean of the values at some positions, NaN if there are none. Two sums run in parallel to overlap the
 * latency of additions.
 */
function computeMean(values: Float64Array, places: Int32Array): number {
  let evenSum = 0;
  let oddSum = 0;
  let count = 0;
  const pairs = places.length & ~1;
  for (let k = 0; k < pairs; k += 2) {
    const first = values[places[k]!]!;
    const second = values[places[k + 1]!]!;
    if (first === first) {
      evenSum += first;
      count++;
    }
    if (second === second) {
      oddSum += second;
      count++;
    }
  }
  const last = pairs < places.length ? values[places[pairs]!]! : Number.NaN;
  if (last === last) {
    evenSum += last;
    count++;
  }
  return count > 0 ? (evenSum + oddSum) / count : NaN;
}

/** Sessions of a window on which followed securities have no return. */
interface MissingSessions {
  /** Latest session that each security lacks, -1 if none, [names]. */
  readonly latest: Int32Array;
  /** Advances to a window. @cost one session if the window follows the previous one */
  over(from: number, end: number): void;
  /** Returns the market sums without the sessions that a security lacks. */
  without(place: number, whole: MarketSums, out: MarketSums): void;
}

interface AbsencesInput {
  readonly rows: Rows;
  readonly market: Pick<Market, 'on' | 'since'>;
  readonly names: number;
  readonly length: number;
}

function createAbsences({ rows, market, names, length }: AbsencesInput): MissingSessions {
  /**
   * Ring buffer of the latest missing sessions of each security, with their total number and the number before the
   * window, [names].
   */
  const sessions = new Int32Array(names * length);
  const missingCounts = new Int32Array(names);
  const removedCounts = new Int32Array(names);
  const latestMissing = new Int32Array(names).fill(-1);
  let [first, last] = [0, -1];

  /** Removes the sessions before the window. Returns the index of the first remaining session of a security. */
  const removeBeforeWindow = (place: number): number => {
    let position = Math.max(removedCounts[place]!, missingCounts[place]! - length);
    while (position !== missingCounts[place] && sessions[place * length + (position % length)]! < first) position++;
    removedCounts[place] = position;
    return position;
  };
  const recomputeSums = (place: number, out: MarketSums): void => {
    out.fill(0);
    for (let session = first; session <= last; session++) {
      if (Number.isNaN(rows(session)[place]!)) continue;
      addMove(out, market.on(session), 1);
    }
  };
  return {
    latest: latestMissing,
    over(from, end) {
      if (from === first && end === last) return;
      const isNext = from >= first && end > last && from <= last + 1;
      if (!isNext) {
        removedCounts.set(missingCounts);
        latestMissing.fill(-1);
      }
      for (let session = isNext ? last + 1 : from; session <= end; session++) {
        const values = rows(session);
        for (let i = 0; i < names; i++) {
          const value = values[i]!;
          if (value === value) continue;
          sessions[i * length + (missingCounts[i]!++ % length)] = session;
          latestMissing[i] = session;
        }
      }
      [first, last] = [from, end];
    },
    without(place, marketSums, out) {
      const firstMissing = removeBeforeWindow(place);
      const missingInWindow = missingCounts[place]! - firstMissing;
      const latest = latestMissing[place]!;
      // Most securities with missing sessions were first listed within the window, so they lack its beginning.
      if (latest === first + missingInWindow - 1) {
        market.since(latest + 1, out);
        return;
      }
      for (let k = 0; k < out.length; k++) out[k] = marketSums[k]!;
      for (let position = firstMissing; position < missingCounts[place]!; position++)
        addMove(out, market.on(sessions[place * length + (position % length)]!), -1);
      if (out[SQUARES]! < REMAINDER_MIN * marketSums[SQUARES]!) recomputeSums(place, out);
    },
  };
}

/** Adds the sums of a session (`sign` 1) or subtracts them (-1). */
function addMove(sums: MarketSums, move: number, sign: 1 | -1): void {
  if (move !== move) return;
  sums[COUNT]! += sign;
  sums[SUM]! += sign * move;
  sums[SQUARES]! += sign * move * move;
}
