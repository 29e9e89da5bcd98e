import { LIMITS } from '../base/limits.js';
import type { Series, NamedSeries } from './series.js';
import type { Window } from './windows.js';

export interface RolledWindow {
  /** First session of the window, not negative, and its last session. */
  readonly from: number;
  readonly end: number;
  /** Number of requested sessions, including sessions before the first one of the data. */
  readonly length: number;
  /** Securities, ascending, [n]. While they do not change, the caller must pass the identical array. */
  readonly columns: Int32Array;
  /** Version of other inputs on which the values depend. It must change when these inputs change. */
  readonly version: unknown;
}

/** Way to combine the values of sessions into a fixed number of results per security, [n x width]. */
interface Folding {
  /** Results for an empty window, [width]. */
  readonly empty: readonly number[];
  /** Adds the values of a session to the results. @param columns [n] */
  add(sums: Float64Array, session: number, columns: Int32Array): void;
  /** Adds consecutive sessions. If `last` is before `first`, adds them in descending order. Default: repeated `add`. */
  addRun?(sums: Float64Array, first: number, last: number): void;
  /** Joins the results of two adjacent ranges of sessions. */
  join(out: Float64Array, sums: Float64Array, others: Float64Array): void;
}

/**
 * Creates combined values over rolling windows. Sessions form blocks as long as the window. The part of a window in its
 * last block is combined forwards, the part in the previous block backwards (van Herk 1992, Gil and Werman 1993). Each
 * session is added twice, and nothing is ever subtracted. Results are therefore bit-identical, whatever was computed
 * before.
 *
 * @param step number of sessions between cached backward results. Results between them are computed again when needed.
 * This is worthwhile if the securities or the version change often, so that most results would never be used.
 */
function createRollingFolds(step = 1) {
  let rolledWindow: RolledWindow | undefined;
  /** First session of the block in which the previous window ended. */
  let block = 0;
  /** Results from the first session of the block to the end of the window. */
  let forwards = new Float64Array(0);
  let backwards: BlockSuffixes | undefined;
  let out = new Float64Array(0);

  const restartBlock = ({ from, end, length, columns }: RolledWindow, folding: Folding): void => {
    const stride = columns.length * folding.empty.length;
    block = Math.floor(end / length) * length;
    if (out.length !== stride) [forwards, out] = [new Float64Array(stride), new Float64Array(stride)];
    if (backwards === undefined || backwards.stride !== stride || backwards.length < length)
      backwards = createSuffixes({ stride, length, step });
    backwards.sum({ from, block, columns }, folding);
    clearSums(forwards, folding.empty);
  };

  return {
    /**
     * Returns the results of a window, [n x width]. They are valid until the next call.
     * @cost one session of values if the window ends one session after the previous one, none if it ends on the same
     * session, otherwise all of its sessions
     */
    over(window: RolledWindow, folding: Folding): Float64Array {
      const { from, end, length, columns, version } = window;
      const isLike =
        rolledWindow !== undefined &&
        rolledWindow.columns === columns &&
        rolledWindow.version === version &&
        rolledWindow.length === length;
      if (isLike && end === rolledWindow!.end) return out;
      const isNext = isLike && end > rolledWindow!.end && end < block + length;
      const nextSession = isNext ? rolledWindow!.end + 1 : Math.max(from, Math.floor(end / length) * length);
      if (!isNext) restartBlock(window, folding);
      if (nextSession <= end) addRun(folding, forwards, { first: nextSession, last: end, columns });
      rolledWindow = window;
      if (from < block) folding.join(out, forwards, backwards!.after(from, folding));
      else out.set(forwards);
      return out;
    },
  };
}

/** Results from each session of a block to its end. */
interface BlockSuffixes {
  readonly stride: number;
  readonly length: number;
  /** Starts a block with the sessions before `block`, down to `from`. */
  sum(block: SummedBlock, folding: Folding): void;
  /** Returns the results from a session to the end of the block; valid until the next call. */
  after(session: number, folding: Folding): Float64Array;
}

interface SummedBlock {
  readonly from: number;
  readonly block: number;
  readonly columns: Int32Array;
}

function createSuffixes({
  stride,
  length,
  step,
}: Pick<BlockSuffixes, 'stride' | 'length'> & { readonly step: number }): BlockSuffixes {
  /** Results of the last `k * step` sessions of the block, [k]. */
  const cumulativeRows = new Float64Array(stride * (Math.floor(length / step) + 1));
  /** Results between two cached ones; each adds one session. */
  const partialRows = new Float64Array(stride * (step - 1));
  /** Number of sessions at which `partialRows` begins; negative if it is empty. */
  let partialStart = -1;
  let [block, first] = [0, 0];
  let columns: Int32Array = new Int32Array(0);
  const findRow = (sums: Float64Array, k: number): Float64Array => sums.subarray(k * stride, (k + 1) * stride);

  return {
    stride,
    length,
    sum(summedBlock, folding) {
      ({ block, from: first } = summedBlock);
      columns = summedBlock.columns;
      partialStart = -1;
      let sums = findRow(cumulativeRows, 0);
      clearSums(sums, folding.empty);
      for (let count = step; count <= block - first; count += step) {
        const cumulativeRow = findRow(cumulativeRows, count / step);
        cumulativeRow.set(sums);
        addRun(folding, cumulativeRow, { first: block - count + step - 1, last: block - count, columns });
        sums = cumulativeRow;
      }
    },
    after(session, folding) {
      const count = block - session;
      const cumulativeCount = Math.floor(count / step) * step;
      if (count === cumulativeCount) return findRow(cumulativeRows, count / step);
      if (partialStart !== cumulativeCount) {
        partialStart = cumulativeCount;
        let sums = findRow(cumulativeRows, cumulativeCount / step);
        const longest = Math.min(cumulativeCount + step - 1, block - first);
        for (let rowCount = cumulativeCount + 1; rowCount <= longest; rowCount++) {
          const next = findRow(partialRows, rowCount - cumulativeCount - 1);
          next.set(sums);
          folding.add(next, block - rowCount, columns);
          sums = next;
        }
      }
      return findRow(partialRows, count - cumulativeCount - 1);
    },
  };
}

function addRun(
  folding: Folding,
  sums: Float64Array,
  { first, last, columns }: { readonly first: number; readonly last: number; readonly columns: Int32Array },
): void {
  if (folding.addRun !== undefined) {
    folding.addRun(sums, first, last);
    return;
  }
  const step = first <= last ? 1 : -1;
  for (let session = first; session !== last + step; session += step) folding.add(sums, session, columns);
}

function clearSums(sums: Float64Array, empty: readonly number[]): void {
  const width = empty.length;
  for (let i = 0; i < sums.length; i += width) for (let k = 0; k < width; k++) sums[i + k] = empty[k]!;
}

/** Joins results by addition. */
function addSessions(out: Float64Array, sums: Float64Array, others: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = sums[i]! + others[i]!;
}

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
type RollingBetas = (window: PositionedWindow) => Float64Array;

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
function createRollingBetas(returns: Series, followed: Int32Array, length: number): RollingBetas {
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

interface AbsencesInput {
  readonly rows: Rows;
  readonly market: Pick<Market, 'on' | 'since'>;
  readonly names: number;
  readonly length: number;
}

/** Sessions of a window on which followed securities have no return. */
function createAbsences({ rows, market, names, length }: AbsencesInput) {
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
    /** Latest session that each security lacks, -1 if none, [names]. */
    latest: latestMissing,
    /** Advances to a window. @cost one session if the window follows the previous one */
    over(from: number, end: number): void {
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
    /** Returns the market sums without the sessions that a security lacks. */
    without(place: number, marketSums: MarketSums, out: MarketSums): void {
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

export interface StatisticWindow extends Window {
  /** Securities, ascending, [n]. While they do not change, the caller must pass the identical array. */
  readonly columns: Int32Array;
}

export interface MarketWindow extends StatisticWindow {
  /**
   * Equally weighted securities to which BETA is relative. While they do not change, the caller must pass the identical
   * array.
   */
  readonly universe: Int32Array;
}

/**
 * Statistics of consecutive sessions: BETA, VOLATILITY and the product behind MOMENTUM. A function returns null if
 * memory is insufficient or a security is not among those for which sums are kept.
 */
export interface RollingStatistics {
  volatilities(window: StatisticWindow): Float64Array | null;
  /** Returns the products of growth factors. */
  growth(window: StatisticWindow): Float64Array | null;
  betas(window: MarketWindow): Float64Array | null;
}

/** Maximum number of cells per statistic: a year for 6,000 securities. */
const CELLS_MAX = 8_000_000;

/** Number of cells per security and session of the BETA window: the return, two sums, and a missing session. */
const BETA_CELLS = 4;

/**
 * Ratio of a variance to the sum of squares below which the variance is a rounding error. The returns are then
 * constant.
 */
const CONSTANT_RATIO = 1e-12;

/**
 * Creates statistics of windows that roll from session to session.
 * @param followed all securities that may be requested, ascending
 * @param periodsPerYear number of sessions per year
 * @source definitions in `statistics.ts` and `beta.ts`; results agree up to rounding
 */
export function createRollingStatistics(
  table: Pick<NamedSeries, 'returns' | 'growth'>,
  followed: Int32Array,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): RollingStatistics {
  // If sums are kept for all securities that may enter, entries and exits cause no recomputation. Each of these
  // securities then costs as much per session as a held security costs per window.
  const findPositions = createPositionFinder(followed);
  const rollVolatility = createRolling(followed);
  const rollGrowth = createRolling(followed);
  const readReturns = createRowReader(() => table.returns('RETURN'));
  let squares: Folding | undefined;
  let factors: Folding | undefined;
  const betas = new Map<number, RollingBetas>();
  return {
    volatilities({ columns, ...window }) {
      const positions = findPositions(columns);
      const sums = positions && rollVolatility(window, null, (squares ??= foldSquares(readReturns)));
      return (
        sums &&
        computeVolatilities(sums, positions, { enough: Math.max(2, window.observationsMin), periods: periodsPerYear })
      );
    },
    growth({ columns, ...window }) {
      const positions = findPositions(columns);
      const folds =
        positions && rollGrowth(window, null, (factors ??= foldFactors(createRowReader(() => table.growth()))));
      return folds && computeProducts(folds, positions, Math.max(1, window.observationsMin));
    },
    betas({ columns, universe, ...window }) {
      const { length } = window;
      const positions = findPositions(columns);
      const universePositions = findPositions(universe);
      if (positions === null || universePositions === null || BETA_CELLS * followed.length * length > CELLS_MAX)
        return null;
      const rollBetas = betas.get(length) ?? createRollingBetas(table.returns('RETURN'), followed, length);
      betas.set(length, rollBetas);
      return rollBetas({ ...window, places: positions, universe: universePositions });
    },
  };
}

/**
 * Returns a function that returns the positions of securities among the followed securities. Returns null if one is not
 * followed.
 */
function createPositionFinder(followed: Int32Array): (columns: Int32Array) => Int32Array | null {
  const positionByColumn = new Map(Array.from(followed, (column, place) => [column, place]));
  const positionsByColumns = new WeakMap<Int32Array, Int32Array | null>();
  return (columns) => {
    let positions = positionsByColumns.get(columns);
    if (positions === undefined) {
      positions = columns.map((column) => positionByColumn.get(column) ?? -1);
      if (positions.includes(-1)) positions = null;
      positionsByColumns.set(columns, positions);
    }
    return positions;
  };
}

/** Computes annualised volatilities. @param sums count, sum and sum of squares of each security */
function computeVolatilities(
  sums: Float64Array,
  places: Int32Array,
  { enough, periods }: { readonly enough: number; readonly periods: number },
): Float64Array {
  const values = new Float64Array(places.length);
  const year = Math.sqrt(periods);
  for (let i = 0; i < values.length; i++) {
    const position = 3 * places[i]!;
    const count = sums[position]!;
    const square = sums[position + 2]!;
    const about = square - (sums[position + 1]! * sums[position + 1]!) / count;
    if (count < enough) values[i] = NaN;
    else values[i] = about <= CONSTANT_RATIO * square ? 0 : Math.sqrt(about / (count - 1)) * year;
  }
  return values;
}

/** Computes products; missing with too few values. @param folds count and product of each security */
function computeProducts(folds: Float64Array, places: Int32Array, enough: number): Float64Array {
  const values = new Float64Array(places.length);
  for (let i = 0; i < values.length; i++) {
    const position = 2 * places[i]!;
    values[i] = folds[position]! < enough ? NaN : folds[position + 1]!;
  }
  return values;
}

type RollingFold = (window: Window, version: unknown, folding: Folding) => Float64Array | null;

/** Creates the results over the windows of securities. Returns null if the windows are too wide for the memory. */
function createRolling(columns: Int32Array): RollingFold {
  const rollingFolds = createRollingFolds();
  return ({ end, length }, version, folding) => {
    if (columns.length * length * folding.empty.length > CELLS_MAX) return null;
    return rollingFolds.over({ from: Math.max(0, end - length + 1), end, length, columns, version }, folding);
  };
}

function foldSquares(valuesOn: ValueReader): Folding {
  return {
    empty: [0, 0, 0],
    add(sums, session, columns) {
      const values = valuesOn(session, columns);
      for (let i = 0, position = 0; i < values.length; i++, position += 3) {
        const value = values[i]!;
        if (value !== value) continue;
        sums[position]! += 1;
        sums[position + 1]! += value;
        sums[position + 2]! += value * value;
      }
    },
    join: addSessions,
  };
}

/** Creates the fold that counts and multiplies the growth factors. */
function foldFactors(valuesOn: ValueReader): Folding {
  return {
    empty: [0, 1],
    add(folds, session, columns) {
      const values = valuesOn(session, columns);
      for (let i = 0, position = 0; i < values.length; i++, position += 2) {
        const value = values[i]!;
        if (value !== value) continue;
        folds[position]! += 1;
        folds[position + 1]! *= value;
      }
    },
    join(out, folds, others) {
      for (let position = 0; position < out.length; position += 2) {
        out[position] = folds[position]! + others[position]!;
        out[position + 1] = folds[position + 1]! * others[position + 1]!;
      }
    },
  };
}

type ValueReader = (session: number, columns: Int32Array) => Float64Array;

/** Creates a function that returns the values of a series on a session, [n]; valid until the next call. */
function createRowReader(seriesOf: () => Series): ValueReader {
  let series: Series | undefined;
  let row = new Float64Array(0);
  return (session, columns) => {
    if (row.length !== columns.length) row = new Float64Array(columns.length);
    (series ??= seriesOf()).fill(session, columns, row);
    return row;
  };
}
