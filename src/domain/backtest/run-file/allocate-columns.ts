import { LIMITS } from '../../refusals/limits.js';
import { createShareChangeTerms } from '../../books/share-changes.js';
import type { Compositions } from '../../books/compositions.js';
import { SEPARATE_BYTES_MIN } from './separate-prices.js';
import { allocatePlacedPanel, type Memory } from './block-placement.js';

/**
 * Size in bytes of a header without securities and rebalances, of the header entry of a security, and of the entry of a
 * rebalance.
 */
const HEADER_BYTES = 16_384;
const NAME_BYTES = 64;
const REBALANCE_BYTES = 128;
/**
 * Bytes per security and event: weights before, costs, targets, raw and capped weights, index shares, snapshot and
 * transaction.
 */
const EVENT_BYTES = 128;
/** Bytes of a corporate-action effect with its distribution, of a date in all series, and of a position. */
const EFFECT_BYTES = 96;
const DATE_BYTES = 256;
const POSITION_BYTES = 40;
/**
 * Bytes of a share-count change with the weight that it moves, and the expected share-count changes per security and
 * session.
 */
const COUNT_CHANGE_BYTES = 64;
const COUNT_CHANGE_RATE = 1 / 8;
const DESCRIPTION_BYTES = 1 << 18;

interface AllocationInput {
  readonly memory: Memory;
  readonly cells: number;
  /** Last session of the weights. */
  readonly to: number;
  /** True if prices of at least `SEPARATE_BYTES_MIN` bytes are written to a separate file. */
  readonly pricesApart: boolean;
}

/**
 * Allocates memory for the weights of an index, with space before and after them for the other columns of the run. The
 * weights then need not be copied into the file. If the space is too small, one copy is needed. Too much space costs
 * nothing, because the system provides memory pages only on the first write.
 */
export function allocateColumns(
  compositions: Compositions,
  { memory, cells, to, pricesApart }: AllocationInput,
): Float64Array {
  const { sm, list, first } = compositions;
  const dateCount = to - first + 1;
  const names = cells / dateCount;
  let eventCount = list.length + 1;
  for (let session = first; session <= to; session++) eventCount += sm.actions.isStructural[session]!;
  const bytesPerEvent = EVENT_BYTES * names + REBALANCE_BYTES * 16;
  const after =
    (pricesApart ? Math.min(SEPARATE_BYTES_MIN, 8 * cells) : 8 * cells) +
    eventCount * bytesPerEvent +
    EFFECT_BYTES * sm.actions.all.length +
    DATE_BYTES * dateCount +
    (createShareChangeTerms(compositions) === undefined ? 0 : COUNT_CHANGE_BYTES * COUNT_CHANGE_RATE * cells) +
    POSITION_BYTES * LIMITS.MAX_POSITION_ROWS +
    4 * NAME_BYTES * names +
    DESCRIPTION_BYTES;
  const before = HEADER_BYTES + NAME_BYTES * names + REBALANCE_BYTES * list.length;
  return allocatePlacedPanel(memory, cells, { before, after });
}
