import type { ProducedBytes } from '#base/memory.js';
import { LIMITS } from '../../base/limits.js';
import type { Compositions } from '../../books/compositions.js';
import { createShareChangeTerms } from '../../books/state.js';

/** Name of the separate price file in the header of a whole run. */
export const PRICES_NAME = 'prices';

/** Minimum size in bytes of prices in a separate file. A smaller file costs more than it saves. */
export const SEPARATE_BYTES_MIN = 1 << 20;

/** Prices of a run in a separate file, which runs with equal securities, days and adjustments share. */
export interface SeparatePrices extends ProducedBytes {
  readonly identifiers: readonly string[];
  readonly days: Int32Array;
  /** Key of the terms that adjust bars between two sessions. Empty if there are no such bars. */
  readonly adjustedBy: string;
}

/**
 * Returns the name of the price file of a run. The name is derived from the name of the columns file, not stored in it,
 * so that equal runs have equal bytes.
 */
export function findPricesFile(columns: string): string {
  const [digits = ''] = /^[0-9a-f]*/.exec(columns)!;
  const invertedDigits = Array.from(digits, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join('');
  return `${invertedDigits}${columns.slice(digits.length)}`;
}

/** Returns the full name of a file to which the header of a columns file refers. */
export function resolveSiblingFile(columns: string, name: string): string {
  return name === PRICES_NAME ? findPricesFile(columns) : name;
}

/**
 * Returns the name by which the header of a columns file refers to a file. This is the inverse of `resolveSiblingFile`.
 */
export function formatNameInHeader(columns: string, file: string): string {
  return file === findPricesFile(columns) ? PRICES_NAME : file;
}

/** Signature at the start of a run file. */
export const RUN_FILE_MAGIC = 'DVSRUN01';

/** Bytes of the signature and the header length. */
export const PREAMBLE_BYTES = 16;

/** Rounds a size up to a multiple of 8 bytes: every block begins at such an offset. */
export function roundUpToBlock(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Range of bytes, end exclusive. Both ends are multiples of 8. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Allocates memory of at least `bytes` bytes. The memory contains zeros; only the range `anything` may have other
 * contents.
 */
export type Memory = (bytes: number, anything: ByteRange) => SharedArrayBuffer;

/** Number of bytes before and after a panel. */
export interface SurroundingBytes {
  readonly before: number;
  readonly after: number;
}

/**
 * Allocates a panel with space before and after it, in which a file can be laid out around the panel. The space
 * contains zeros, the panel arbitrary contents.
 */
function allocatePlacedPanel(memory: Memory, cellCount: number, { before, after }: SurroundingBytes): Float64Array {
  const offset = roundUpToBlock(PREAMBLE_BYTES + before);
  const end = offset + 8 * cellCount;
  return new Float64Array(memory(end + roundUpToBlock(after), { from: offset, to: end }), offset, cellCount);
}

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
