import type { Series } from './series.js';
import { createPositions, type Statistic } from './statistics.js';

export interface WindowReader {
  /**
   * Calls `visit` for groups of consecutive columns whose windows are laid out. The window of `columns[k]` starts at
   * cell `starts[k]`.
   * @param from First session of the windows, not negative.
   * @param end Last session of the windows.
   * @param columns Ascending, [n].
   */
  windows(from: number, end: number, columns: Int32Array, visit: (laid: WindowLayout) => void): void;
}

/** Windows of some securities. The cells of each window are contiguous. Valid until the callback returns. */
interface WindowLayout {
  readonly cells: Float64Array;
  /** First cell of each window, [m]. */
  readonly starts: Int32Array;
  /** Position of the first laid-out security in the requested columns; the others follow. */
  readonly first: number;
}

interface WindowLayoutInput {
  readonly series: Series;
  readonly cells: Float64Array;
  /** Number of cells per security. */
  readonly stride: number;
  /** Session of the first cell of each slot. */
  readonly origin: number;
  /** Latest session laid out in each slot, updated to `end`, [places]. */
  readonly until: Int32Array;
  readonly end: number;
  readonly columns: Int32Array;
  /** Slot of each column, [n]. */
  readonly places: Int32Array;
}

/** Number of sessions read together. A cache line holds that many values, so each line is written only once. */
const ROWS = 8;

/** Memory for the sessions of series without a panel, shared by all readers of the thread. */
let filledCells = new Float64Array(0);

/** Lays out the sessions that the slots of some columns lack. @returns the first session that was laid out */
function layOutWindows({ series, cells, stride, origin, until, end, columns, places }: WindowLayoutInput): number {
  const n = columns.length;
  let oldest = end;
  let newest = -1;
  for (let k = 0; k < n; k++) {
    oldest = Math.min(oldest, until[places[k]!]!);
    newest = Math.max(newest, until[places[k]!]!);
  }
  const { panel } = series;
  if (panel === undefined && filledCells.length < ROWS * n) filledCells = new Float64Array(ROWS * n);
  const values = panel === undefined ? filledCells : panel.cells;
  const panelColumns = panel === undefined ? createPositions(columns) : columns;
  const rowOffset = panel === undefined ? 0 : panel.less;
  const rows = new Int32Array(ROWS);
  for (let session = oldest + 1; session <= end; session += ROWS) {
    const count = Math.min(ROWS, end - session + 1);
    for (let r = 0; r < count; r++) {
      rows[r] = panel === undefined ? r * n : panel.rowAt(session + r);
      if (panel === undefined) series.fill(session + r, columns, values.subarray(r * n, (r + 1) * n));
    }
    if (count === ROWS && newest < session && hasAllValues(rows)) {
      copyRows({ values, less: rowOffset, rows, at: panelColumns, cells, first: session - origin, stride, places });
      continue;
    }
    for (let k = 0; k < n; k++) {
      const position = places[k]!;
      const to = position * stride + session - origin;
      for (let r = Math.max(0, until[position]! - session + 1); r < count; r++) {
        const row = rows[r]!;
        if (row < 0) cells[to + r] = NaN;
        else cells[to + r] = values[row + panelColumns[k]!]! - rowOffset;
      }
    }
  }
  for (let k = 0; k < n; k++) if (until[places[k]!]! < end) until[places[k]!] = end;
  return oldest + 1;
}

function hasAllValues(rows: Int32Array): boolean {
  for (let r = 0; r < ROWS; r++) if (rows[r]! < 0) return false;
  return true;
}

interface CopyRows {
  readonly values: Float64Array;
  readonly less: number;
  /** Position of the first cell of each session, [ROWS]. */
  readonly rows: Int32Array;
  /** Column of each security in a session, [n]. */
  readonly at: Int32Array;
  readonly cells: Float64Array;
  /** Position of the first laid-out session in each slot. */
  readonly first: number;
  readonly stride: number;
  /** Slots of the securities, at least [n]. */
  readonly places: Int32Array;
}

/**
 * Copies sessions that every slot lacks and the series has. This is the usual case; without checks it is 4 times as
 * fast.
 */
function copyRows({ values, less, rows, at, cells, first, stride, places }: CopyRows): void {
  const [r0, r1, r2, r3, r4, r5, r6, r7] = [
    rows[0]!,
    rows[1]!,
    rows[2]!,
    rows[3]!,
    rows[4]!,
    rows[5]!,
    rows[6]!,
    rows[7]!,
  ];
  for (let k = 0; k < at.length; k++) {
    const column = at[k]!;
    const to = places[k]! * stride + first;
    cells[to] = values[r0 + column]! - less;
    cells[to + 1] = values[r1 + column]! - less;
    cells[to + 2] = values[r2 + column]! - less;
    cells[to + 3] = values[r3 + column]! - less;
    cells[to + 4] = values[r4 + column]! - less;
    cells[to + 5] = values[r5 + column]! - less;
    cells[to + 6] = values[r6 + column]! - less;
    cells[to + 7] = values[r7 + column]! - less;
  }
}

/** Number of cells laid out at a time: 256 KB, which stay in the cache of a core until they are read. */
const CELLS_PER_BATCH = 32_768;

/** Memory shared by all reads of the thread; results do not refer to it. */
let cellBuffer = new Float64Array(0);

/**
 * Creates a reader of windows for a single decision. It lays out a number of securities at a time, without caching.
 * @param cellsMax Maximum number of cells laid out at a time, unless one window is longer.
 */
export function createSampleReader(series: Series, cellsMax = CELLS_PER_BATCH): WindowReader {
  return {
    windows(from, end, columns, visit) {
      const gaps = series.panel?.gaps?.of(columns, { from, to: end });
      const stride = (end - from + 1) | 1; // odd, so that securities never share a cache set
      const step = Math.min(columns.length, Math.max(1, Math.floor(cellsMax / stride)));
      if (cellBuffer.length < step * stride) cellBuffer = new Float64Array(Math.max(CELLS_PER_BATCH, step * stride));
      const positions = createPositions({ length: step });
      const starts = positions.map((place) => place * stride);
      const latestSessions = new Int32Array(step);
      for (let first = 0; first < columns.length; first += step) {
        const request = columns.subarray(first, first + step);
        latestSessions.fill(from - 1);
        layOutWindows({
          series,
          cells: cellBuffer,
          stride,
          origin: from,
          until: latestSessions,
          end,
          columns: request,
          places: positions,
        });
        if (gaps !== undefined) {
          for (let k = 0; k < request.length; k++)
            for (let g = gaps.starts[first + k]!; g < gaps.starts[first + k + 1]!; g++)
              cellBuffer[k * stride + gaps.sessions[g]! - from] = NaN;
        }
        visit({ cells: cellBuffer, starts: starts.subarray(0, request.length), first });
      }
    },
  };
}

/**
 * Number of values of each security over a moving window. It is updated for the sessions that enter and leave the
 * window.
 */
export interface Tally {
  /**
   * Counts the values of every security between two sessions, inclusive. The result is valid until the next call.
   * @param from not negative.
   * @returns [N]
   * @cost N for each session that enters or leaves, or the whole window if that is less
   */
  counts(from: number, end: number): Int32Array;
}

/** Creates a tally. @param securityCount number of columns of the market */
export function createTally(series: Series, securityCount: number): Tally {
  const counts = new Int32Array(securityCount);
  const columns = createPositions(counts);
  const panel = series.panel?.gaps === null ? series.panel : undefined;
  const row = new Float64Array(panel === undefined ? securityCount : 0);
  let first = 0;
  let last = -1;

  const addSessions = (start: number, end: number, sign: 1 | -1): void => {
    for (let session = start; session <= end; session++) {
      const position = panel === undefined ? 0 : panel.rowAt(session);
      if (position < 0) continue;
      if (panel === undefined) series.fill(session, columns, row);
      addRow(counts, panel?.cells ?? row, position, sign);
    }
  };
  return {
    counts(from, end) {
      const distance = Math.abs(from - first) + Math.abs(end - last);
      if (from > last || end < first || distance > end - from) {
        counts.fill(0);
        addSessions(from, end, 1);
      } else {
        addSessions(from, first - 1, 1);
        addSessions(first, from - 1, -1);
        addSessions(last + 1, end, 1);
        addSessions(end + 1, last, -1);
      }
      first = from;
      last = end;
      return counts;
    },
  };
}

function addRow(counts: Int32Array, cells: Float64Array, from: number, sign: 1 | -1): void {
  for (let column = 0; column < counts.length; column++) {
    const value = cells[from + column]!;
    if (value === value) counts[column]! += sign;
  }
}

/**
 * Maximum number of cells in a cache: 64 MB, which suffices for a one-year window of 20,000 securities. Larger windows
 * are not cached.
 */
const CELLS_MAX = 8_000_000;

/**
 * Additional space of a cache, relative to the requested windows. With this space each value is moved only once or
 * twice in total.
 */
const EXTRA_SPACE_FRACTION = 0.5;

/**
 * Creates a reader that lays out the latest values of a series by security, so that the window of a security is
 * contiguous in memory. Decisions move forward in time, so each session is read only once for all windows that contain
 * it.
 * @param securityCount Number of columns of the market.
 * @param cellsMax Maximum number of cached cells.
 */
export function createTrail(series: Series, securityCount: number, cellsMax = CELLS_MAX): WindowReader {
  const sampleReader = createSampleReader(series);
  let cells = new Float64Array(0);
  /** Number of cells per security: odd, so that securities never share a cache set. */
  let stride = 0;
  /** Session of the first cell of each security. */
  let origin = 0;
  /** Latest session laid out for each security; before the origin if there is none, [N]. */
  const latestSessions = new Int32Array(securityCount).fill(-1);
  /** Longest look-back from the newest session of all windows so far. */
  let reach = 0;
  let newest = -1;

  /**
   * Makes space for windows that start on a session. Clears the cache if they start before its first session or do not
   * fit.
   */
  const reserveSpace = (from: number, end: number): void => {
    newest = Math.max(newest, end);
    const back = newest - from + 1;
    if (back > reach || from < origin) {
      reach = Math.max(reach, back);
      if (computeStride(reach) > stride) {
        stride = computeStride(reach);
        cells = new Float64Array(securityCount * stride);
      }
      newest = end;
      origin = from;
      latestSessions.fill(from - 1);
    } else if (end - origin >= stride) {
      moveTo(newest - reach + 1);
    }
  };
  const moveTo = (start: number): void => {
    const droppedCount = start - origin;
    for (let column = 0; column < securityCount; column++) {
      const position = column * stride;
      const retainedCount = latestSessions[column]! - start + 1;
      if (retainedCount > 0)
        cells.copyWithin(position, position + droppedCount, position + droppedCount + retainedCount);
      else latestSessions[column] = start - 1;
    }
    origin = start;
  };

  return {
    windows(from, end, columns, visit) {
      const back = Math.max(reach, Math.max(newest, end) - from + 1);
      if (securityCount * computeStride(back) > cellsMax) {
        sampleReader.windows(from, end, columns, visit);
        return;
      }
      reserveSpace(from, end);
      const first = layOutWindows({
        series,
        cells,
        stride,
        origin,
        until: latestSessions,
        end,
        columns,
        places: columns,
      });
      series.panel?.gaps?.clear({ cells, stride, origin }, { from: first, to: end });
      visit({ cells, starts: columns.map((column) => column * stride + from - origin), first: 0 });
    },
  };
}

/**
 * Returns the number of cells per security for windows with a look-back. The number is odd, so that securities never
 * share a cache set.
 */
const computeStride = (reach: number): number => Math.ceil(reach * (1 + EXTRA_SPACE_FRACTION)) | 1;

export interface Window {
  /** Last session of the window. */
  readonly end: number;
  /** Number of sessions. The window may begin before the first session; its values there are missing. */
  readonly length: number;
  /** Minimum number of values; with fewer values the statistic is missing. */
  readonly observationsMin: number;
}

/** Returns half of the length of a window, the default of `observationsMin`. */
export function computeHalf(length: number): number {
  return Math.ceil(length / 2);
}

/**
 * Computes a statistic of each security over the trailing sessions of a window; NaN with too few values.
 * @param columns [n]
 * @returns [n]
 * @cost length * n cells read
 */
export function computeOverWindow(
  reader: WindowReader,
  statistic: Statistic,
  { end, length, observationsMin }: Window,
  columns: Int32Array,
): Float64Array {
  const result = new Float64Array(columns.length).fill(NaN);
  const observationsRequired = Math.max(1, observationsMin);
  const from = Math.max(0, end - length + 1);
  const sessions = end - from + 1;
  if (sessions < observationsRequired) return result;
  reader.windows(from, end, columns, ({ cells, starts, first }) => {
    statistic(
      { cells, starts, length: sessions, enough: observationsRequired },
      result.subarray(first, first + starts.length),
    );
  });
  return result;
}

/**
 * Counts the values of each security over the trailing sessions of a window. The count is NaN if it is lower than
 * required.
 * @returns [n]
 */
export function countOver(tally: Tally, { end, length, observationsMin }: Window, columns: Int32Array): Float64Array {
  const result = new Float64Array(columns.length);
  if (end >= 0) {
    const counts = tally.counts(Math.max(0, end - length + 1), end);
    for (let k = 0; k < result.length; k++) result[k] = counts[columns[k]!]!;
  }
  for (let k = 0; k < result.length; k++) if (result[k]! < observationsMin) result[k] = NaN;
  return result;
}

/**
 * Returns the values of each security on the trailing sessions of a window in time order; NaN is a missing value.
 * @returns [n * length]
 * @cost length * n cells read
 */
export function readTrailingValues(
  reader: WindowReader,
  { end, length }: Pick<Window, 'end' | 'length'>,
  columns: Int32Array,
): Float64Array {
  const values = new Float64Array(columns.length * length).fill(NaN);
  const from = Math.max(0, end - length + 1);
  const missingSessions = length - (end - from + 1);
  reader.windows(from, end, columns, ({ cells, starts, first }) => {
    for (let k = 0; k < starts.length; k++) {
      const start = starts[k]!;
      values.set(cells.subarray(start, start + length - missingSessions), (first + k) * length + missingSessions);
    }
  });
  return values;
}

interface BetaWindow {
  readonly returns: WindowReader;
  /** First session of the window, not negative, and its last session. */
  readonly from: number;
  readonly end: number;
}

/**
 * Computes the return of the equally weighted universe on each session of a window. It is the mean over the securities
 * with a return, NaN if there are none.
 * @returns [end - from + 1]
 */
export function computeEqualWeightedReturns({ returns, from, end }: BetaWindow, universe: Int32Array): Float64Array {
  const sessions = end - from + 1;
  const totals = new Float64Array(sessions);
  const counts = new Int32Array(sessions);
  returns.windows(from, end, universe, ({ cells, starts }) => {
    for (const start of starts) {
      for (let k = 0; k < sessions; k++) {
        const value = cells[start + k]!;
        if (Number.isNaN(value)) continue;
        totals[k]! += value;
        counts[k]!++;
      }
    }
  });
  return totals.map((total, k) => (counts[k]! > 0 ? total / counts[k]! : NaN));
}

/**
 * Function that returns the market returns of a window. Results are cached while the universe is unchanged, so each
 * session is averaged only once for all windows.
 */
export type MarketReturns = (window: BetaWindow, universe: Int32Array) => Float64Array;

export function createMarketReturns(): MarketReturns {
  let latestUniverse: Int32Array = new Int32Array(0);
  let first = 0;
  let values: Float64Array = new Float64Array(0);
  return (window, universe) => {
    const next = first + values.length;
    const { returns, from, end } = window;
    if (from < first || from > next || end < next - 1 || !isSame(latestUniverse, universe)) {
      values = computeEqualWeightedReturns(window, universe);
    } else {
      const extendedReturns = new Float64Array(end - from + 1);
      extendedReturns.set(values.subarray(from - first));
      if (end >= next)
        extendedReturns.set(computeEqualWeightedReturns({ returns, from: next, end }, universe), next - from);
      values = extendedReturns;
    }
    latestUniverse = universe;
    first = from;
    return values;
  };
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Computes the beta of each security: the slope of its return on the market return, over the sessions with both
 * returns. Beta is missing if these are fewer than half of the requested sessions, or if the market return is constant.
 * @param market [end - from + 1]
 * @param length Number of requested sessions, including sessions before the first one of the data.
 * @returns [n]
 * @cost two passes over the windows
 */
export function computeBetas(
  { returns, from, end }: BetaWindow,
  { market, length, columns }: { readonly market: Float64Array; readonly length: number; readonly columns: Int32Array },
): Float64Array {
  const slopes = new Float64Array(columns.length);
  const observationsRequired = Math.max(2, computeHalf(length));
  const moves = market.length >= observationsRequired ? computeMoves(market) : null;
  returns.windows(from, end, columns, ({ cells, starts, first }) => {
    const out = slopes.subarray(first, first + starts.length).fill(NaN);
    if (moves !== null) computeSlopesByFour(out, { cells, starts }, moves);
    for (let i = 0; i < out.length; i++)
      if (Number.isNaN(out[i]!))
        out[i] = computeBetaSlope(
          { cells, start: starts[i]! },
          { cells: market, start: 0 },
          { length: market.length, enough: observationsRequired },
        );
  });
  return slopes;
}

/** Number of securities summed in parallel, to overlap the latency of additions. */
const SECURITIES_PER_GROUP = 4;

/** Deviations of the market over sessions that all have a return. */
interface MarketMoves {
  /** Returns less their mean. */
  readonly deviations: Float64Array;
  /** Sum of the squared deviations. */
  readonly squares: number;
}

/**
 * Returns the deviations of the market. Returns null if a session has no return, or if the market return is constant.
 */
function computeMoves(market: Float64Array): MarketMoves | null {
  let sum = 0;
  for (let k = 0; k < market.length; k++) sum += market[k]!;
  const mean = sum / market.length;
  const deviations = market.map((value) => value - mean);
  let squares = 0;
  for (let k = 0; k < deviations.length; k++) squares += deviations[k]! * deviations[k]!;
  return squares / (market.length - 1) >= CONSTANT_SQUARES ? { deviations, squares } : null;
}

/**
 * Computes the slopes of four securities at a time. Securities that lack a return, and those beyond the last complete
 * group of four, stay NaN.
 * @param out [n], filled with NaN
 */
function computeSlopesByFour(
  out: Float64Array,
  { cells, starts }: Pick<WindowLayout, 'cells' | 'starts'>,
  { deviations, squares }: MarketMoves,
): void {
  const count = deviations.length;
  for (let i = 0; i + SECURITIES_PER_GROUP <= out.length; i += SECURITIES_PER_GROUP) {
    const [a, b, c, d] = [starts[i]!, starts[i + 1]!, starts[i + 2]!, starts[i + 3]!];
    let [aMean, bMean, cMean, dMean] = [0, 0, 0, 0];
    for (let k = 0; k < count; k++) {
      aMean += cells[a + k]!;
      bMean += cells[b + k]!;
      cMean += cells[c + k]!;
      dMean += cells[d + k]!;
    }
    aMean /= count;
    bMean /= count;
    cMean /= count;
    dMean /= count;
    let [aSum, bSum, cSum, dSum] = [0, 0, 0, 0];
    for (let k = 0; k < count; k++) {
      const move = deviations[k]!;
      aSum += (cells[a + k]! - aMean) * move;
      bSum += (cells[b + k]! - bMean) * move;
      cSum += (cells[c + k]! - cMean) * move;
      dSum += (cells[d + k]! - dMean) * move;
    }
    out[i] = aSum / squares;
    out[i + 1] = bSum / squares;
    out[i + 2] = cSum / squares;
    out[i + 3] = dSum / squares;
  }
}

/** Consecutive values that begin at a cell. */
interface ValueRun {
  readonly cells: Float64Array;
  readonly start: number;
}

/**
 * Computes the slope of the least-squares line of values on market values, over the positions with both. It is NaN if
 * these are fewer than `enough`, or if the market values are constant. A first pass computes the means, and the sums
 * are taken about them.
 */
export function computeBetaSlope(
  { cells, start }: ValueRun,
  { cells: market, start: first }: ValueRun,
  { length, enough }: { readonly length: number; readonly enough: number },
): number {
  let rSum = 0;
  let mSum = 0;
  let count = 0;
  for (let k = 0; k < length; k++) {
    const r = cells[start + k]!;
    const m = market[first + k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rSum += r;
    mSum += m;
    count++;
  }
  if (count < enough) return NaN;
  const [rMean, mMean] = [rSum / count, mSum / count];
  let rm = 0;
  let mm = 0;
  for (let k = 0; k < length; k++) {
    const r = cells[start + k]!;
    const m = market[first + k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rm += (r - rMean) * (m - mMean);
    mm += (m - mMean) * (m - mMean);
  }
  return mm / (count - 1) >= CONSTANT_SQUARES ? rm / mm : NaN;
}

/** Variance of the market return below which it counts as constant. */
const CONSTANT_SQUARES = 1e-18;
