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
  /** Adds those of sessions one after the other, downwards where the last is before the first; by `add` where absent. */
  addRun?(sums: Float64Array, first: number, last: number): void;
  /** What sums and those of other sessions come to. */
  join(out: Float64Array, sums: Float64Array, others: Float64Array): void;
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
 * @param step sessions from one backward sum that is kept to the next: those between are summed anew when they are needed,
 *   which pays where the names or the version often change and most would never be
 */
export function createRollingFolds(step = 1): RollingFolds {
  let known: RolledWindow | undefined;
  /** First session of the block that the window before ended in. */
  let block = 0;
  /** From its first session to the end of the window. */
  let forwards = new Float64Array(0);
  let backwards: Suffixes | undefined;
  let out = new Float64Array(0);

  const restart = ({ from, end, length, columns }: RolledWindow, folding: Folding): void => {
    const stride = columns.length * folding.empty.length;
    block = Math.floor(end / length) * length;
    if (out.length !== stride) [forwards, out] = [new Float64Array(stride), new Float64Array(stride)];
    if (backwards === undefined || backwards.stride !== stride || backwards.length < length)
      backwards = createSuffixes({ stride, length, step });
    backwards.sum({ from, block, columns }, folding);
    clear(forwards, folding.empty);
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
      if (added <= end) addRun(folding, forwards, { first: added, last: end, columns });
      known = window;
      if (from < block) folding.join(out, forwards, backwards!.after(from, folding));
      else out.set(forwards);
      return out;
    },
  };
}

/** Sums from each session of a block to its end. */
interface Suffixes {
  readonly stride: number;
  /** Sessions of a block at most. */
  readonly length: number;
  /** From now on those of the sessions before `block`, down to `from`. */
  sum(of: SummedBlock, folding: Folding): void;
  /** Valid until the next question. */
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
}: Pick<Suffixes, 'stride' | 'length'> & { readonly step: number }): Suffixes {
  /** Sums of the last `k * step` sessions of the block, [k]. */
  const kept = new Float64Array(stride * (Math.floor(length / step) + 1));
  /** Those between two of them, of one session more each. */
  const between = new Float64Array(stride * (step - 1));
  /** Number of sessions that `between` begins behind; negative for none. */
  let begun = -1;
  let [block, first] = [0, 0];
  let columns: Int32Array = new Int32Array(0);
  const row = (sums: Float64Array, k: number): Float64Array => sums.subarray(k * stride, (k + 1) * stride);

  return {
    stride,
    length,
    sum(of, folding) {
      ({ block, from: first } = of);
      columns = of.columns;
      begun = -1;
      let sums = row(kept, 0);
      clear(sums, folding.empty);
      for (let count = step; count <= block - first; count += step) {
        const more = row(kept, count / step);
        more.set(sums);
        addRun(folding, more, { first: block - count + step - 1, last: block - count, columns });
        sums = more;
      }
    },
    after(session, folding) {
      const count = block - session;
      const behind = Math.floor(count / step) * step;
      if (count === behind) return row(kept, count / step);
      if (begun !== behind) {
        begun = behind;
        let sums = row(kept, behind / step);
        const longest = Math.min(behind + step - 1, block - first);
        for (let more = behind + 1; more <= longest; more++) {
          const next = row(between, more - behind - 1);
          next.set(sums);
          folding.add(next, block - more, columns);
          sums = next;
        }
      }
      return row(between, count - behind - 1);
    },
  };
}

interface Run {
  readonly first: number;
  readonly last: number;
  readonly columns: Int32Array;
}

function addRun(folding: Folding, sums: Float64Array, { first, last, columns }: Run): void {
  if (folding.addRun !== undefined) {
    folding.addRun(sums, first, last);
    return;
  }
  const step = first <= last ? 1 : -1;
  for (let session = first; session !== last + step; session += step) folding.add(sums, session, columns);
}

function clear(sums: Float64Array, empty: readonly number[]): void {
  const width = empty.length;
  for (let i = 0; i < sums.length; i += width) for (let k = 0; k < width; k++) sums[i + k] = empty[k]!;
}

/** The `join` of sums. */
export function addAll(out: Float64Array, sums: Float64Array, others: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = sums[i]! + others[i]!;
}
