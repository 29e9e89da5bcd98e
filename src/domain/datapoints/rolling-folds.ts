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
export interface Folding {
  /** Results for an empty window, [width]. */
  readonly empty: readonly number[];
  /** Adds the values of a session to the results. @param columns [n] */
  add(sums: Float64Array, session: number, columns: Int32Array): void;
  /** Adds consecutive sessions. If `last` is before `first`, adds them in descending order. Default: repeated `add`. */
  addRun?(sums: Float64Array, first: number, last: number): void;
  /** Joins the results of two adjacent ranges of sessions. */
  join(out: Float64Array, sums: Float64Array, others: Float64Array): void;
}

/** Folds over rolling windows. */
export interface RollingFolds {
  /**
   * Returns the results of a window, [n x width]. They are valid until the next call.
   * @cost one session of values if the window ends one session after the previous one, none if it ends on the same
   * session, otherwise all of its sessions
   */
  over(window: RolledWindow, folding: Folding): Float64Array;
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
export function createRollingFolds(step = 1): RollingFolds {
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
    over(window, folding) {
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
  /** Maximum number of sessions in a block. */
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

interface SessionRun {
  readonly first: number;
  readonly last: number;
  readonly columns: Int32Array;
}

function addRun(folding: Folding, sums: Float64Array, { first, last, columns }: SessionRun): void {
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
export function addSessions(out: Float64Array, sums: Float64Array, others: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = sums[i]! + others[i]!;
}
