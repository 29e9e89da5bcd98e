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

/** How the values of sessions become some numbers a name, which lie together: [n x width]. */
export interface Folding {
  /** Those of no session, [width]. */
  readonly empty: readonly number[];
  /** Adds the values of a session. @param columns [n] */
  add(sums: Float64Array, session: number, columns: Int32Array): void;
  /** Adds those of other sessions. */
  join(sums: Float64Array, others: Float64Array): void;
}

/** Sums and products over windows that roll on. */
export interface RollingFolds {
  /**
   * Those of a window, [n x width]; valid until the next question.
   * @cost one session of values where the window ends on the session after the one before, none where it is the one before,
   *       else all of its sessions
   */
  over(window: RolledWindow, folding: Folding): Float64Array;
}

/**
 * Sessions lie in blocks as long as the window. What a window holds of the block that it ends in is summed forwards, what it
 * holds of the block before backwards (van Herk 1992, Gil and Werman 1993): each session is added twice, nothing is ever
 * subtracted, and a window has the same bits whatever was asked before it.
 */
export function createRollingFolds(): RollingFolds {
  let known: RolledWindow | undefined;
  /** First session of the block that the window before ended in. */
  let block = 0;
  /** From its first session to the end of the window. */
  let forwards = new Float64Array(0);
  /** Of each session of the block before, to its last one; from `first` on. */
  let backwards = new Float64Array(0);
  let first = 0;
  let out = new Float64Array(0);

  const after = (session: number): Float64Array =>
    backwards.subarray((session - first) * out.length, (session - first + 1) * out.length);

  const restart = ({ from, end, length, columns }: RolledWindow, folding: Folding): void => {
    const stride = columns.length * folding.empty.length;
    block = Math.floor(end / length) * length;
    if (out.length !== stride) [forwards, out] = [new Float64Array(stride), new Float64Array(stride)];
    if (backwards.length < stride * length) backwards = new Float64Array(stride * length);
    first = from;
    clear(forwards, folding.empty);
    let sums: Float64Array = forwards;
    for (let session = block - 1; session >= first; session--) {
      const longer = after(session);
      longer.set(sums);
      folding.add(longer, session, columns);
      sums = longer;
    }
  };

  return {
    over(window, folding) {
      const { from, end, length, columns, version } = window;
      const isLike =
        known !== undefined && known.columns === columns && known.version === version && known.length === length;
      if (isLike && end === known!.end) return out;
      const isNext = isLike && end > known!.end && end < block + length;
      const added = isNext ? known!.end + 1 : Math.max(from, Math.floor(end / length) * length);
      if (!isNext) restart(window, folding);
      for (let session = added; session <= end; session++) folding.add(forwards, session, columns);
      known = window;
      out.set(forwards);
      if (from < block) folding.join(out, after(from));
      return out;
    },
  };
}

function clear(sums: Float64Array, empty: readonly number[]): void {
  const width = empty.length;
  for (let i = 0; i < sums.length; i += width) for (let k = 0; k < width; k++) sums[i + k] = empty[k]!;
}

/** The `join` of sums. */
export function addAll(sums: Float64Array, others: Float64Array): void {
  for (let i = 0; i < sums.length; i++) sums[i]! += others[i]!;
}
