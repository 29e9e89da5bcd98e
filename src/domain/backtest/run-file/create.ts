import { NUMBER_TYPES, type NumberType } from '../../numbers/number-types.js';
import { SEGMENTS_VERSION, WHOLE_VERSION, type BlockPosition, type RunFacts, type RunHeader } from './header.js';
import { MAGIC, roundUpToBlock, PREAMBLE_BYTES } from './block-placement.js';
import type { BlockName } from './schema.js';

/** File whose blocks are filled in place. All blocks are in one buffer from the start. */
export interface ColumnsWriter {
  /** Returns the memory of a block for writing. */
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
export interface BlockInMemory {
  readonly name: BlockName;
  readonly values: Float64Array;
}

export type Sizes = ReadonlyMap<BlockName, { readonly type: NumberType; readonly length: number }>;

/** Earlier files of the run, which contain the first segments of its blocks. */
export interface EarlierFiles {
  readonly files: readonly string[];
  /**
   * Segments of each block in the earlier files, and its number of elements including the new ones. `Sizes` counts only
   * the new elements.
   */
  readonly blocks: ReadonlyMap<BlockName, Required<Pick<BlockPosition, 'begins' | 'length'>>>;
}

interface CreateOptions {
  readonly placed?: BlockInMemory;
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
  { placed, earlier }: CreateOptions = {},
): ColumnsWriter {
  const writeHeader = createHeaderWriter(header, earlier);
  const least = roundUpToBlock(writeHeader(computeLayout(sizes, WIDEST_OFFSET, placed)).length);
  const start = placed?.values.byteOffset ?? PREAMBLE_BYTES + least;
  const headerBytes = start - PREAMBLE_BYTES;
  const layout = computeLayout(sizes, start, placed);
  const hasRoom = placed === undefined || (headerBytes >= least && layout.end <= placed.values.buffer.byteLength);
  if (!hasRoom) return createColumns(header, sizes, earlier ? { earlier } : {});
  // memory of a placed block comes from allocatePlacedPanel
  const bytes = placed
    ? new Uint8Array(placed.values.buffer as ArrayBuffer, 0, layout.end)
    : new Uint8Array(layout.end);
  bytes.set(new TextEncoder().encode(MAGIC));
  new DataView(bytes.buffer).setUint32(8, headerBytes, true);
  bytes.fill(0x20, PREAMBLE_BYTES, start);
  bytes.set(writeHeader(layout), PREAMBLE_BYTES);
  return createColumnsWriter(bytes, layout);
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
