import { isEqual, NUMBER_TYPES, type Numbers, type NumberType } from '../../base/numbers.js';
import { type Book, markEverHeld, readBookCurrency } from '../../books/book.js';
import { createIndexTerms } from '../../books/index-run.js';
import { createGrowthTermsKey } from '../../market/action-effects.js';
import { createExchangeRates } from '../../market/rates.js';
import { createRunRecord, packRecord, REBALANCES } from '../record.js';
import type { Run } from '../run.js';
import {
  type AnyBlock,
  type BlockFiller,
  createForeignRates,
  createPriceParts,
  price,
  type WholeRun,
} from './block.js';
import { BLOCK_NAMES, type BlockName, findBlock } from './blocks.js';
import {
  type BlockPosition,
  createWholeHeader,
  PREAMBLE_BYTES,
  PRICES_NAME,
  roundUpToBlock,
  RUN_FILE_MAGIC,
  type RunFacts,
  type RunHeader,
  SEGMENTS_VERSION,
  SEPARATE_BYTES_MIN,
  type SeparatePrices,
  WHOLE_VERSION,
} from './header.js';
import type { ByteRange, Memory } from '#base/memory.js';

/** File whose blocks are filled in place. All blocks are in one buffer from the start. */
export interface ColumnsWriter {
  f64(name: BlockName): Float64Array;
  i32(name: BlockName): Int32Array;
  u8(name: BlockName): Uint8Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Header without the positions of blocks. */
export type ColumnsHeader = RunFacts & Pick<RunHeader, 'joined'>;

/**
 * Block that is already in the memory of the file, with space before it for the header and after it for other blocks.
 */
interface BlockInMemory {
  readonly name: BlockName;
  readonly values: Float64Array;
}

export type Sizes = ReadonlyMap<BlockName, { readonly type: NumberType; readonly length: number }>;

/** Earlier files of the run, which contain the first segments of its blocks. */
interface EarlierFiles {
  readonly files: readonly string[];
  /**
   * Segments of each block in the earlier files, and its number of elements including the new ones. `Sizes` counts only
   * the new elements.
   */
  readonly blocks: ReadonlyMap<BlockName, Required<Pick<BlockPosition, 'begins' | 'length'>>>;
}

interface CreateOptions {
  readonly placed?: BlockInMemory;
  /** Memory of a file without a placed block. Default: new memory. */
  readonly memory?: Memory | undefined;
  readonly earlier?: EarlierFiles;
}

interface Layout {
  readonly blocks: ReadonlyMap<BlockName, BlockPosition>;
  readonly end: number;
}

/**
 * Lays out a file for blocks of known sizes. Uses the memory around a placed block if the space suffices, otherwise new
 * memory.
 */
export function createColumns(
  header: ColumnsHeader,
  sizes: Sizes,
  { placed, earlier, memory }: CreateOptions = {},
): ColumnsWriter {
  const writeHeader = createHeaderWriter(header, earlier);
  const least = roundUpToBlock(writeHeader(computeLayout(sizes, WIDEST_OFFSET, placed)).length);
  const start = placed?.values.byteOffset ?? PREAMBLE_BYTES + least;
  const headerBytes = start - PREAMBLE_BYTES;
  const layout = computeLayout(sizes, start, placed);
  const hasRoom = placed === undefined || (headerBytes >= least && layout.end <= placed.values.buffer.byteLength);
  if (!hasRoom) return createColumns(header, sizes, { memory, ...(earlier ? { earlier } : {}) });
  // memory of a placed block comes from allocatePlacedPanel
  const buffer = placed?.values.buffer ?? memory?.(layout.end, findWholeBlock(layout, 'weights'));
  const bytes =
    buffer === undefined ? new Uint8Array(layout.end) : new Uint8Array(buffer as ArrayBuffer, 0, layout.end);
  bytes.set(new TextEncoder().encode(RUN_FILE_MAGIC));
  new DataView(bytes.buffer).setUint32(8, headerBytes, true);
  bytes.fill(0x20, PREAMBLE_BYTES, start);
  bytes.set(writeHeader(layout), PREAMBLE_BYTES);
  return createColumnsWriter(bytes, layout);
}

/** Returns the bytes of a block whose every number is written. */
function findWholeBlock({ blocks }: Layout, name: BlockName): ByteRange {
  const { offset: from, length } = blocks.get(name)!; // every run has weights
  return { from, to: from + Float64Array.BYTES_PER_ELEMENT * length };
}

/**
 * Value for an offset that is not yet known. Offsets have different widths in the header, so space for the widest is
 * reserved.
 */
const WIDEST_OFFSET = Number.MAX_SAFE_INTEGER;

function computeLayout(sizes: Sizes, start: number, blockInMemory: BlockInMemory | undefined): Layout {
  const blocks = new Map<BlockName, BlockPosition>();
  if (blockInMemory)
    blocks.set(blockInMemory.name, {
      type: 'f64',
      offset: blockInMemory.values.byteOffset,
      length: blockInMemory.values.length,
    });
  let offset = blockInMemory ? blockInMemory.values.byteOffset + blockInMemory.values.byteLength : start;
  for (const [name, { type, length }] of sizes) {
    if (name === blockInMemory?.name) continue;
    blocks.set(name, { type, offset, length });
    offset += roundUpToBlock(length * NUMBER_TYPES[type].BYTES_PER_ELEMENT);
  }
  return { blocks, end: offset };
}

function createHeaderWriter(header: ColumnsHeader, earlier: EarlierFiles | undefined): (layout: Layout) => Uint8Array {
  const version = earlier ? SEGMENTS_VERSION : WHOLE_VERSION;
  const text = JSON.stringify({ version, ...header, ...(earlier ? { begun: earlier.files } : {}) });
  const begin = `${text.slice(0, -1)},"blocks":`;
  return ({ blocks }) => {
    const blockEntries = Array.from(blocks, ([name, block]) => [name, { ...block, ...earlier?.blocks.get(name) }]);
    return new TextEncoder().encode(`${begin}${JSON.stringify(Object.fromEntries(blockEntries))}}`);
  };
}

function createColumnsWriter(bytes: Uint8Array<ArrayBuffer>, { blocks }: Layout): ColumnsWriter {
  const findBlockInMemory = (name: BlockName, type: NumberType): BlockPosition => {
    const entry = blocks.get(name);
    if (entry?.type !== type) throw new Error(`no ${type} block ${name}`);
    return entry;
  };
  return {
    bytes,
    f64: (name) =>
      new Float64Array(bytes.buffer, findBlockInMemory(name, 'f64').offset, findBlockInMemory(name, 'f64').length),
    i32: (name) =>
      new Int32Array(bytes.buffer, findBlockInMemory(name, 'i32').offset, findBlockInMemory(name, 'i32').length),
    u8: (name) =>
      new Uint8Array(bytes.buffer, findBlockInMemory(name, 'u8').offset, findBlockInMemory(name, 'u8').length),
  };
}

export interface ColumnsOptions {
  readonly contentHash: string;
  /**
   * True to write into the memory around the weights of the run, if there is space. The bytes then share memory with
   * the run, so only one such call is allowed.
   */
  readonly inPlace?: boolean;
  /** Memory of columns that cannot be written in place. Default: new memory. */
  readonly memory?: Memory;
}

export interface FilesOptions extends ColumnsOptions {
  /** Minimum size in bytes of prices in a separate file. */
  readonly apartBytesMin?: number;
}

export interface RunFiles {
  readonly columns: Uint8Array<ArrayBuffer>;
  /** Offset of the end of the weights. Another run with equal holdings differs behind it. */
  readonly weightsEnd: number;
  /** Prices for a separate file; null if they are small enough to be part of the columns. */
  readonly prices: SeparatePrices | null;
}

/** Columns whose size and header are known, and whose blocks are written one after another. */
interface BegunColumns extends Pick<RunFiles, 'columns' | 'weightsEnd'> {
  /** Number of bytes at the begin that no longer change: the header, and weights in place. */
  readonly final: number;
  /** Writes the next block at each step, and returns the number of bytes at the begin that no longer change. */
  readonly blocks: Iterable<number>;
}

/** Files of a run whose columns are complete at the end of `blocks`. */
export interface BegunRunFiles extends RunFiles, BegunColumns {}

/** Writes all blocks of columns. @throws Refusal NUMERIC_FAILURE if a number of the run is not finite or not possible */
export function completeColumns<T extends Pick<BegunColumns, 'blocks'>>(columns: T): T {
  for (const _ of columns.blocks); // each step writes a block
  return columns;
}

/**
 * Writes a run as columns, including prices.
 * @cost one pass over [T x H] weights and prices
 */
export function createRunColumns(run: Run, { contentHash, ...options }: ColumnsOptions): Uint8Array<ArrayBuffer> {
  const source = createWholeRun(run, contentHash);
  return completeColumns(beginColumns(source, { ...options, parts: listBlockParts(source) })).columns;
}

/**
 * Writes a run as columns, with a large block of prices in a separate file.
 * @cost one pass over [T x H] weights
 */
export const createRunFiles = (run: Run, options: FilesOptions): RunFiles =>
  completeColumns(beginRunFiles(run, options));

/** Lays out the files of a run like `createRunFiles`. The caller lets the blocks be written. */
export function beginRunFiles(
  run: Run,
  { contentHash, apartBytesMin = SEPARATE_BYTES_MIN, ...options }: FilesOptions,
): BegunRunFiles {
  const source = createWholeRun(run, contentHash);
  const parts = listBlockParts(source);
  const prices = price.whole(source)!; // every run has prices
  if (8 * prices.length < apartBytesMin) return { ...beginColumns(source, { ...options, parts }), prices: null };
  const { portfolio, days, index } = run;
  return {
    ...beginColumns(source, {
      ...options,
      parts: parts.map((part) => (part.name === 'price' ? NO_PRICES : part)),
      prices,
    }),
    prices: {
      identifiers: Array.from(source.names, (column) => portfolio.sm.identifiers[column]!),
      days,
      adjustedBy: portfolio.sm.rows.isAnyMerged ? createGrowthTermsKey(createIndexTerms(index.compositions)) : '',
      length: Float64Array.BYTES_PER_ELEMENT * prices.length,
      parts: () => createPriceParts(run, source.names),
    },
  };
}

interface WrittenParts extends Omit<ColumnsOptions, 'contentHash'> {
  readonly parts: readonly BlockPart[];
  /** Prices to write to a separate file. */
  readonly prices?: BlockFiller<Float64Array>;
}

function beginColumns(source: WholeRun, { parts, inPlace = false, memory, prices }: WrittenParts): BegunColumns {
  const blockInMemory = inPlace ? findStoredWeights(source) : undefined;
  const columns = createColumns(createWholeHeader(source), new Map(parts.map((part) => [part.name, part])), {
    ...(blockInMemory ? { placed: blockInMemory } : {}),
    memory,
    ...(prices ? { earlier: createPricesFileReference(prices) } : {}),
  });
  const isInPlace = columns.bytes.buffer === blockInMemory?.values.buffer;
  const weightsEnd = findEnd(columns.f64('weights')); // every run has weights
  const remainingParts = parts.filter(({ name }) => !(isInPlace && name === blockInMemory.name));
  return {
    columns: columns.bytes,
    weightsEnd,
    final: isInPlace ? weightsEnd : (remainingParts[0]?.locate(columns).byteOffset ?? columns.bytes.length),
    blocks: writeBlocks(columns, remainingParts),
  };
}

/** Writes blocks in the order of their positions. */
function* writeBlocks(columns: ColumnsWriter, parts: readonly BlockPart[]): Generator<number> {
  for (const { write, locate } of parts) {
    write(columns);
    yield findEnd(locate(columns));
  }
}

const findEnd = ({ byteOffset, byteLength }: Numbers): number => byteOffset + byteLength;

function createPricesFileReference({ length }: BlockFiller<Float64Array>): EarlierFiles {
  return { files: [PRICES_NAME], blocks: new Map([['price', { begins: [0, length], length }]]) };
}

function listBlockParts(source: WholeRun): BlockPart[] {
  return BLOCK_NAMES.flatMap((name) => createBlockPart(name, source) ?? []);
}

/** Block of a run with its write function. */
interface BlockPart {
  readonly name: BlockName;
  readonly type: AnyBlock['type'];
  readonly length: number;
  readonly write: (columns: ColumnsWriter) => void;
  /** Returns the memory of the block. */
  readonly locate: (columns: ColumnsWriter) => Numbers;
}

/** Empty price block of the columns if prices are in a separate file. */
const NO_PRICES: BlockPart = {
  name: 'price',
  type: 'f64',
  length: 0,
  write: () => undefined,
  locate: (columns) => columns.f64('price'),
};

function createBlockPart(name: BlockName, source: WholeRun): BlockPart | null {
  const block = findBlock(name);
  switch (block.type) {
    case 'f64':
      return toBlockPart(name, 'f64', block.whole(source), (columns) => columns.f64(name));
    case 'i32':
      return toBlockPart(name, 'i32', block.whole(source), (columns) => columns.i32(name));
    case 'u8':
      return toBlockPart(name, 'u8', block.whole(source), (columns) => columns.u8(name));
  }
}

function toBlockPart<N extends Numbers>(
  name: BlockName,
  type: BlockPart['type'],
  filling: BlockFiller<N> | null,
  locate: (columns: ColumnsWriter) => N,
): BlockPart | null {
  if (filling === null) return null;
  return { name, type, length: filling.length, write: (columns) => filling.writeTo(locate(columns)), locate };
}

function createWholeRun(run: Run, contentHash: string): WholeRun {
  const { portfolio, index, document } = run;
  // Views of a strategy show only the holdings of the strategy, so its file needs no index weights.
  const indexRows = run.plan.strategy !== undefined || haveSameWeights(run) ? null : index.book;
  const names = listHeldColumns(run, indexRows !== null);
  const record = packRecord(
    { record: createRunRecord(run), rebalances: REBALANCES.whole({ run }) },
    new Map<Float64Array | Int32Array, BlockName>([
      [run.days, 'days'],
      [portfolio.value, 'value'],
      [portfolio.cash, 'cash'],
      [index.days, 'indexDays'],
      [index.book.value, 'indexLevel'],
      [index.book.divisor, 'divisor'],
    ]),
  );
  return {
    run,
    contentHash,
    names,
    indexRows,
    record,
    rates: createForeignRates(createExchangeRates(portfolio.sm, readBookCurrency(portfolio, document)), names),
  };
}

/** Returns the market columns that the run held or targeted, ascending. */
function listHeldColumns({ portfolio, index, rebalances }: Run, hasOtherIndex: boolean): Int32Array {
  const isHeld = new Uint8Array(portfolio.sm.securityCount);
  const addHoldings = (columns: Int32Array, everHeld: Uint8Array): void =>
    columns.forEach((column, slot) => {
      if (everHeld[slot] === 1) isHeld[column] = 1;
    });
  addHoldings(portfolio.columns, portfolio.everHeld);
  if (hasOtherIndex) addHoldings(index.book.columns, markHoldingsFrom(index.book, portfolio.from - index.book.from));
  for (const { columns } of rebalances) for (const column of columns) isHeld[column] = 1;
  return Int32Array.from([...isHeld.keys()].filter((column) => isHeld[column] === 1));
}

function markHoldingsFrom({ columns: { length }, weights, events }: Book, position: number): Uint8Array {
  const laterEvents = events.filter(({ at }) => at > position);
  return markEverHeld({ weights: weights.subarray(position * length), events: laterEvents }, length);
}

/**
 * Returns the portfolio weights in the memory that was allocated for them, so that they need not be copied. Requires
 * that they equal the index weights from the first date and have the securities of the file.
 */
function findStoredWeights({ run: { portfolio, index }, names }: WholeRun): BlockInMemory | undefined {
  const { weights, columns } = portfolio;
  const isWhole = weights.buffer === index.book.weights.buffer && weights.length === index.book.weights.length;
  return isWhole && isEqual(columns, names) ? { name: 'weights', values: weights } : undefined;
}

/** Returns true if portfolio and index have bit-identical weights on every date of the run. */
function haveSameWeights({ portfolio, index: { book } }: Run): boolean {
  if (portfolio.weights.buffer === book.weights.buffer) return true;
  if (!isEqual(portfolio.columns, book.columns)) return false;
  const first = (portfolio.from - book.from) * book.columns.length;
  return isEqual(portfolio.weights, book.weights.subarray(first, first + portfolio.weights.length));
}
