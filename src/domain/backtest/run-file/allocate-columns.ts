import { LIMITS } from '../../refusals/limits.js';
import { createShareChangeTerms } from '../../books/share-changes.js';
import type { Compositions } from '../../books/compositions.js';
import { APART_BYTES_MIN } from './separate-prices.js';
import { allocatePlacedPanel, type Memory } from './block-placement.js';

/** Size of a header without securities and rebalances; then of each security and of each rebalance. */
const HEADER_BYTES = 16_384;
const NAME_BYTES = 64;
const REBALANCE_BYTES = 128;
/**
 * Bytes for each security of an event: weights before, costs, targets, raw and capped weights, index shares, snapshot
 * and transaction.
 */
const EVENT_BYTES = 128;
/** Bytes of an effect of an action with its distribution, of a date in all series, of a position. */
const EFFECT_BYTES = 96;
const DATE_BYTES = 256;
const POSITION_BYTES = 40;
/** Bytes of a change of a share count with the weight that it moves, and the fraction of securities on a session that have one. */
const COUNT_CHANGE_BYTES = 64;
const COUNT_CHANGES = 1 / 8;
const DESCRIPTION_BYTES = 1 << 18;

interface RoomInput {
  readonly memory: Memory;
  readonly cells: number;
  /** Last session. */
  readonly to: number;
  /** True if large prices are written to a separate file. */
  readonly pricesApart: boolean;
}

/**
 * Allocates memory for the weights of an index, with space around them for the columns of a run that holds the index:
 * the weights are then not copied. Too little space costs a copy. Too much costs nothing, because the system allocates
 * memory only when it is written.
 */
export function allocateColumns(
  compositions: Compositions,
  { memory, cells, to, pricesApart }: RoomInput,
): Float64Array {
  const { sm, list, first } = compositions;
  const dates = to - first + 1;
  const names = cells / dates;
  let events = list.length + 1;
  for (let session = first; session <= to; session++) events += sm.actions.isStructural[session]!;
  const perEvent = EVENT_BYTES * names + REBALANCE_BYTES * 16;
  const after =
    (pricesApart ? Math.min(APART_BYTES_MIN, 8 * cells) : 8 * cells) +
    events * perEvent +
    EFFECT_BYTES * sm.actions.all.length +
    DATE_BYTES * dates +
    (createShareChangeTerms(compositions) === undefined ? 0 : COUNT_CHANGE_BYTES * COUNT_CHANGES * cells) +
    POSITION_BYTES * LIMITS.MAX_POSITION_ROWS +
    4 * NAME_BYTES * names +
    DESCRIPTION_BYTES;
  const before = HEADER_BYTES + NAME_BYTES * names + REBALANCE_BYTES * list.length;
  return allocatePlacedPanel(memory, cells, { before, after });
}
