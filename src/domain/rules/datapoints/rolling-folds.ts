/** How the values of a window become one number. */
export type Fold = 'sum' | 'product';

export interface RolledWindow {
  /** First session, not negative, and last. */
  readonly from: number;
  readonly end: number;
  /** Sessions asked for, before the first one too. */
  readonly length: number;
  /** Names, ascending, [n]: the same array as long as they do not change. */
  readonly columns: Int32Array;
  /** What the values are made with besides the names: other values come with another one. */
  readonly version: unknown;
}

/** Sums and products over windows that roll on. */
export interface RollingFolds {
  /**
   * Those of a window, [folds x n]; valid until the next question.
   * @param fill writes the values of a session, [folds x n]
   * @cost one session of values where the window ends on the session after the one before, else all of its sessions
   */
  over(window: RolledWindow, fill: (session: number, row: Float64Array) => void): Float64Array;
}

/**
 * Sessions lie in blocks as long as the window. What a window holds of the block that it ends in is summed forwards, what it
 * holds of the block before backwards (van Herk 1992, Gil and Werman 1993): each session is added twice, nothing is ever
 * subtracted, and a window has the same bits whatever was asked before it.
 */
export function createRollingFolds(folds: readonly Fold[]): RollingFolds {
  let known: RolledWindow | undefined;
  let n = 0;
  /** First session of the block that the window before ended in. */
  let block = 0;
  /** From its first session to the end of the window. */
  let forwards = new Float64Array(0);
  /** Of each session of the block before, to its last one; from `first` on. */
  let backwards = new Float64Array(0);
  let first = 0;
  let row = new Float64Array(0);
  let out = new Float64Array(0);
  let stride = 0;

  const restart = (window: RolledWindow, fill: (session: number, row: Float64Array) => void): void => {
    n = window.columns.length;
    stride = folds.length * n;
    block = Math.floor(window.end / window.length) * window.length;
    if (row.length !== stride) {
      [forwards, row, out] = [new Float64Array(stride), new Float64Array(stride), new Float64Array(stride)];
    }
    if (backwards.length < stride * window.length) backwards = new Float64Array(stride * window.length);
    first = window.from;
    for (let session = block - 1; session >= first; session--) {
      const at = backwards.subarray((session - first) * stride, (session - first + 1) * stride);
      fill(session, at);
      if (session < block - 1)
        foldInto(at, backwards.subarray((session - first + 1) * stride, (session - first + 2) * stride));
    }
    folds.forEach((fold, f) => forwards.fill(fold === 'sum' ? 0 : 1, f * n, (f + 1) * n));
  };

  /** @param into [folds x n], of which those of a fold lie together */
  const foldInto = (into: Float64Array, values: Float64Array): void => {
    folds.forEach((fold, f) => {
      const to = (f + 1) * n;
      if (fold === 'sum') for (let i = f * n; i < to; i++) into[i]! += values[i]!;
      else for (let i = f * n; i < to; i++) into[i]! *= values[i]!;
    });
  };

  return {
    over(window, fill) {
      const { from, end, length, columns, version } = window;
      const isNext =
        known !== undefined &&
        known.columns === columns &&
        known.version === version &&
        known.length === length &&
        end > known.end &&
        end < block + length;
      const added = isNext ? known!.end + 1 : Math.max(from, Math.floor(end / length) * length);
      if (!isNext) restart(window, fill);
      for (let session = added; session <= end; session++) {
        fill(session, row);
        foldInto(forwards, row);
      }
      known = window;
      out.set(forwards);
      if (from < block) foldInto(out, backwards.subarray((from - first) * stride, (from - first + 1) * stride));
      return out;
    },
  };
}
