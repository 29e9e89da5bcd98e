import { solveForwardFour, solveForwardOfFour, type FourColumns } from '../factors/triangular-passes.js';

/** Source of a column. */
export interface ColumnSource {
  /** Returns true if the column of a key has changed since the last call. */
  readonly isNew: (key: number) => boolean;
  /** Writes the column of a key, [n]; returns the position of its first nonzero entry. */
  readonly write: (key: number, out: Float64Array) => number;
}

/** Columns L^-1 c and their mutual products. They are cached as long as the factor L is valid. */
export interface HalfColumns {
  /** Discards all columns and sets the factor. @param l [n x n], lower triangular, row-major */
  begin(l: Float64Array, n: number): void;
  /**
   * Computes the columns of some keys unless they are cached and unchanged. @cost (n - first)^2 / 2 per column that is
   * not cached, and its products
   */
  want(keys: readonly number[], source: ColumnSource): void;
  /** Writes the products of the current columns, lower triangle of [count x count]. */
  products(out: Float64Array): void;
  /** Computes out[a] = (column a)'x. */
  times(x: Float64Array, out: Float64Array): void;
  /** Subtracts the weighted sum of columns from x. */
  subtract(weights: Float64Array, x: Float64Array): void;
}

/** Creates an empty cache of columns. @param most  maximum length of a column */
export function createHalfColumns(most: number): HalfColumns {
  const columns: Float64Array[] = [];
  const firsts: number[] = [];
  const slots = new Map<number, number>();
  /** Products of each cached column with itself and with the columns before it in the cache. */
  const products: Float64Array[] = [];
  const zeroColumn = new Float64Array(most);
  let presentSlots: number[] = [];
  let triangle: Float64Array = new Float64Array(0);
  let n = 0;

  function findSlot(key: number): number {
    const slot = slots.size;
    slots.set(key, slot);
    if (columns.length === slot) {
      columns.push(new Float64Array(most));
      products.push(new Float64Array(slot + 1));
      firsts.push(0);
    }
    return slot;
  }

  /** Computes the products of a cached column with up to four cached columns. */
  function setProducts(slot: number, others: readonly number[]): void {
    const column = columns[slot]!;
    const [a, b, c, d] = selectFour(others);
    let [ra, rb, rc, rd] = [0, 0, 0, 0];
    for (let p = firsts[slot]!; p < n; p++) {
      const value = column[p]!;
      ra += value * a[p]!;
      rb += value * b[p]!;
      rc += value * c[p]!;
      rd += value * d[p]!;
    }
    [ra, rb, rc, rd].forEach((value, s) => {
      const otherSlot = others[s];
      if (otherSlot !== undefined) products[Math.max(slot, otherSlot)]![Math.min(slot, otherSlot)] = value;
    });
  }

  /** Returns up to four cached columns, and columns of zeros in place of missing ones. */
  function selectFour(some: readonly number[]): FourColumns {
    const [a, b, c, d] = some;
    const getColumn = (slot: number | undefined) => (slot === undefined ? zeroColumn : columns[slot]!);
    return [getColumn(a), getColumn(b), getColumn(c), getColumn(d)];
  }

  return {
    begin(l, order) {
      triangle = l;
      n = order;
      slots.clear();
      presentSlots = [];
    },
    want(keys, { isNew, write }) {
      const newSlots: number[] = [];
      presentSlots = keys.map((key) => {
        const earlierSlot = slots.get(key);
        if (earlierSlot !== undefined && !isNew(key)) return earlierSlot;
        const slot = earlierSlot ?? findSlot(key);
        firsts[slot] = write(key, columns[slot]!);
        newSlots.push(slot);
        return slot;
      });
      const inTurn = newSlots.toSorted((a, b) => firsts[a]! - firsts[b]! || a - b);
      for (let position = 0; position < inTurn.length; position += 4) {
        const slotGroup = inTurn.slice(position, position + 4);
        const shape = { n, from: firsts[slotGroup[0]!]! };
        if (slotGroup.length === 1) solveForwardOfFour(triangle, columns[slotGroup[0]!]!, shape);
        else solveForwardFour(triangle, selectFour(slotGroup), shape);
      }
      const isMade = new Set(newSlots);
      for (const slot of newSlots) {
        const otherSlots = Array.from({ length: slots.size }, (_, other) => other).filter(
          (other) => !isMade.has(other) || other <= slot,
        );
        for (let position = 0; position < otherSlots.length; position += 4)
          setProducts(slot, otherSlots.slice(position, position + 4));
      }
    },
    products(out) {
      const count = presentSlots.length;
      for (let a = 0; a < count; a++) {
        const slot = presentSlots[a]!;
        for (let b = 0; b <= a; b++) {
          const otherSlot = presentSlots[b]!;
          out[a * count + b] = slot < otherSlot ? products[otherSlot]![slot]! : products[slot]![otherSlot]!;
        }
      }
    },
    times(x, out) {
      presentSlots.forEach((slot, a) => {
        const column = columns[slot]!;
        let total = 0;
        for (let p = firsts[slot]!; p < n; p++) total += column[p]! * x[p]!;
        out[a] = total;
      });
    },
    subtract(weights, x) {
      presentSlots.forEach((slot, a) => {
        const column = columns[slot]!;
        const weight = weights[a]!;
        if (weight !== 0) for (let p = firsts[slot]!; p < n; p++) x[p]! -= weight * column[p]!;
      });
    },
  };
}
