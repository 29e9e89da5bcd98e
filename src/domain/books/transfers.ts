import { findFirstAtLeast } from '../numbers/search.js';

/** Weight changes that do not come from prices, as fractions of the value at the previous close, by session. */
export interface Transfers {
  /** Session index from the first session of the book, ascending. */
  readonly at: Int32Array;
  readonly slot: Int32Array;
  /** Ordinary dividends of the security that the whole index reinvests. */
  readonly dividends: Float64Array;
  /**
   * Weight that moved away from the security through an adjustment of previous closes or a share-count change. Negative
   * if the security gained weight.
   */
  readonly moved: Float64Array;
  /**
   * Share-count changes: ascending session indices, and the fraction of its weight that every security kept. `moved` is
   * relative to the kept weights.
   */
  readonly keptAt: Int32Array;
  readonly kept: Float64Array;
}

/** Returns the transfers after a session index, relative to that index. */
export function createTransfers({ at, slot, dividends, moved, keptAt, kept }: Transfers, first: number): Transfers {
  const begin = findFirstAtLeast(at, first + 1);
  const beginKept = findFirstAtLeast(keptAt, first + 1);
  return {
    keptAt: keptAt.slice(beginKept).map((t) => t - first),
    kept: kept.slice(beginKept),
    at: at.slice(begin).map((t) => t - first),
    slot: slot.slice(begin),
    dividends: dividends.slice(begin),
    moved: moved.slice(begin),
  };
}

/** Empty fields of transfers without share-count changes. */
export const NO_COUNT_CHANGES: Pick<Transfers, 'keptAt' | 'kept'> = {
  keptAt: new Int32Array(0),
  kept: new Float64Array(0),
};

/** Book with its weights and transfers. */
interface TransferBook {
  readonly transfers?: Transfers;
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}

const wholeTransfersCache = new WeakMap<Transfers, Transfers>();

/**
 * Returns the transfers of a book, with a row for each security that kept only a part of its weight.
 * @cost O(H) for each change, once
 */
export function listTransfers(book: TransferBook): Transfers | undefined {
  const { transfers } = book;
  if (transfers === undefined || transfers.keptAt.length === 0) return transfers;
  const cachedTransfers = wholeTransfersCache.get(transfers) ?? spreadTransfers(book, transfers);
  wholeTransfersCache.set(transfers, cachedTransfers);
  return cachedTransfers;
}

function spreadTransfers({ columns, weights }: Omit<TransferBook, 'transfers'>, transfers: Transfers): Transfers {
  const H = columns.length;
  const rows = Array.from(transfers.at, (t, i) => ({
    t,
    slot: transfers.slot[i]!,
    dividends: transfers.dividends[i]!,
    moved: transfers.moved[i]!,
  }));
  transfers.keptAt.forEach((t, i) => {
    for (let slot = 0; slot < H; slot++) {
      const weight = weights[(t - 1) * H + slot]!;
      if (weight !== 0) rows.push({ t, slot, dividends: 0, moved: weight * (1 - transfers.kept[i]!) });
    }
  });
  rows.sort((a, b) => a.t - b.t);
  return {
    at: Int32Array.from(rows, ({ t }) => t),
    slot: Int32Array.from(rows, ({ slot }) => slot),
    dividends: Float64Array.from(rows, ({ dividends }) => dividends),
    moved: Float64Array.from(rows, ({ moved }) => moved),
    ...NO_COUNT_CHANGES,
  };
}
