import type { TreatmentSpec } from '../../documents/index-document.js';
import type { ReturnVariant } from '../../market/market-data.js';
import { Refusal } from '../../refusal.js';
import { filesOf, laterThan, PANELS, renamed, stretchesOf, widened, type Later, type Stretch } from './segments.js';

/**
 * The columns of a stored run, so that every view reads what it needs by ranges and nothing is simulated again.
 * Layout: magic, length of the header, header as JSON, blocks at multiples of 8 bytes, little endian.
 *
 * T dates of the run, H names held in it, R rebalances, E sessions with trades, B dates of the index book.
 */
export interface RunHeader {
  readonly version: typeof VERSION | typeof ONE_BEGUN_VERSION | typeof WHOLE_VERSION;
  readonly run_id: string;
  readonly index_id: string;
  readonly currency: string;
  /** MIC of the index calendar. */
  readonly calendar: string;
  /** How the returns of the index are made from prices and actions. */
  readonly treatment: Pick<TreatmentSpec, 'special_dividends' | 'splits'>;
  /** Return variant of the index, as the prices of the market tell it. */
  readonly variant: ReturnVariant;
  readonly store_content_hash: string;
  /** Names held, ascending, [H]. */
  readonly names: readonly string[];
  readonly dates: number;
  readonly index_dates: number;
  readonly has_costs: boolean;
  readonly has_cap: boolean;
  /** Whether the weights of the index are kept beside those of the portfolio, because they differ on some date and are what views show. */
  readonly has_index_weights: boolean;
  readonly rebalances: readonly StoredRebalance[];
  /** Row in `rates` of each name whose prices are in another currency. */
  readonly foreign: Readonly<Record<string, number>>;
  /** External benchmark, null without one. */
  readonly benchmark: { readonly id: string; readonly kind: 'index' | 'identifier' } | null;
  readonly blocks: Readonly<Record<BlockName, Block | undefined>>;
  /** Names of the files beside this one in which blocks begin, the earliest first, of a run that goes on where a stored one ended. */
  readonly begun?: readonly string[];
  /** Names that the run came to hold after it was gone on with, in the order in which they came. */
  readonly joined?: readonly JoinedName[];
}

export interface JoinedName {
  readonly name: string;
  /** Position of the first file whose panels have a column for it: among those begun, behind them for this one. */
  readonly file: number;
  /** Dates of the run before: so many of its prices are in `joinedPrice`. */
  readonly dates: number;
}

export interface StoredRebalance {
  /** Effective date by the schedule, YYYY-MM-DD. */
  readonly date: string;
  /** Position in the dates of the run of the session it was priced from; -1 when it lies before the run. */
  readonly at: number;
  readonly cap: number | null;
  readonly redistributed: number;
}

export interface Block {
  readonly type: keyof typeof TYPES;
  /** Bytes from the beginning of the file. */
  readonly offset: number;
  /** Elements, with those in other files. */
  readonly length: number;
  /** Offset and length of what lies in each of the files begun. */
  readonly begins?: readonly number[];
}

/** What the market called the names of a run on its last date, null where it does not tell, [H] each. */
export interface RunLabels {
  readonly names: readonly (string | null)[];
  readonly sectors: readonly (string | null)[];
}

export const BLOCKS = {
  days: 'days of the run, [T]',
  level: 'portfolio rebased to 100, [T]',
  value: 'portfolio in money, [T]',
  gross: 'growth of the portfolio over each session before costs, [T]',
  costs: 'costs paid, in money, [T]',
  cash: 'fraction of the portfolio in cash, [T]',
  breaks: '1 where more than growth happened to the portfolio by the close: names came, went or were traded, [T]',
  weights: 'portfolio weights after each close, [T x H]',
  indexWeights: 'index weights after each close where they differ, [T x H]',
  eventAt: 'positions of the sessions on which more than drift happened, [E]',
  before: 'portfolio weights after drift, before trades, [E x H]',
  eventCosts: 'costs of each name on those sessions as a fraction of the value the close before, [E x H]',
  targets: 'applied weights of each rebalance, [R x H]',
  raw: 'weights before capping, [R x H]',
  capped: '1 where a rebalance held a name at its cap, [R x H]',
  price: 'CLOSE, NaN without a bar, [T x H]',
  joinedPrice: 'CLOSE on the dates before, of each name that joined, [sum of their dates]',
  effects: 'rows of name, date, ratio, cash, rights, subscription price, by name then date; those that a run gone on with has more are behind, [6 x A]',
  rates: 'exchange rates, a row for each currency, [F x T]',
  indexDays: 'days of the index book, [B]',
  indexLevel: 'index in points, [B]',
  divisor: 'divisor, [B]',
  levelPrice: 'price return level, [B]',
  divisorPrice: 'price return divisor, [B]',
  levelTotal: 'total return level, [B]',
  divisorTotal: 'total return divisor, [B]',
  levelNet: 'net return level, [B]',
  divisorNet: 'net return divisor, [B]',
  uncapped: 'index on its weights before capping, [B]',
  benchmarkDays: 'days that run and benchmark share, [K]',
  benchmarkLevel: 'benchmark rebased to 100 on those days, [K]',
  labels: 'RunLabels as JSON, [bytes]',
  record: 'what the record tells beside the other blocks, as JSON that refers to the following ones: see `record/record-columns.ts`, [bytes]',
  recordF64: 'numbers of the record',
  recordI32: 'days and places of names of the record',
  recordU8: 'marks of the record',
} as const;
export type BlockName = keyof typeof BLOCKS;

/** Blocks of the index in each return variant; absent where the prices of the market could not tell it. */
export const VARIANT_BLOCKS = {
  price: { level: 'levelPrice', divisor: 'divisorPrice' },
  total: { level: 'levelTotal', divisor: 'divisorTotal' },
  net: { level: 'levelNet', divisor: 'divisorNet' },
} as const satisfies Record<ReturnVariant, { readonly level: BlockName; readonly divisor: BlockName }>;

/** Of files that others begin; of those that one begins in another form; a file that is whole is as it was in version 1. */
const VERSION = 3;
const ONE_BEGUN_VERSION = 2;
const WHOLE_VERSION = 1;
const MAGIC = 'DVSRUN01';
const PREAMBLE_BYTES = 16;
const TYPES = { f64: Float64Array, i32: Int32Array, u8: Uint8Array } as const;
type BlockArray = Float64Array | Int32Array | Uint8Array;

/** Columns that are filled in place: the file is one buffer from the beginning. */
export interface ColumnsWriter {
  /** A block to write into. */
  f64(name: BlockName): Float64Array;
  i32(name: BlockName): Int32Array;
  u8(name: BlockName): Uint8Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type ColumnsHeader = Omit<RunHeader, 'version' | 'blocks' | 'begun'>;

/** A block that lies already where the file is to be, between room for the header and room for the others. */
export interface PlacedBlock {
  readonly name: BlockName;
  readonly values: Float64Array;
}

/** Room for a panel of so many cells with zeros around it, of which a file can be made in place. */
export function placedPanel(cells: number, { before, after }: { readonly before: number; readonly after: number }): Float64Array {
  const offset = padded(PREAMBLE_BYTES + before);
  return new Float64Array(new ArrayBuffer(offset + 8 * cells + padded(after)), offset, cells);
}

type Sizes = Partial<Record<BlockName, { readonly type: Block['type']; readonly length: number }>>;

/** Blocks of a file that others begin. */
export interface Begun {
  /** Names of the other files. */
  readonly files: readonly string[];
  /** What lies in them, and elements of each block with those; the sizes are of what follows. */
  readonly blocks: Partial<Record<BlockName, { readonly begins: readonly number[]; readonly length: number }>>;
}

/** Lays out a file for blocks of known sizes: around a placed one where there is room for it, else in memory of its own. */
export function createColumns(header: ColumnsHeader, sizes: Sizes, placed?: PlacedBlock, begun?: Begun): ColumnsWriter {
  const wanted = (Object.entries(sizes) as [BlockName, { type: Block['type']; length: number }][]).filter(([name]) => name !== placed?.name);
  const layout = (start: number): { readonly blocks: [BlockName, Block][]; readonly end: number } => {
    const around: [BlockName, Block][] = placed ? [[placed.name, { type: 'f64', offset: placed.values.byteOffset, length: placed.values.length }]] : [];
    let offset = placed ? placed.values.byteOffset + placed.values.byteLength : start;
    const blocks = wanted.map(([name, { type, length }]): [BlockName, Block] => {
      const block = { type, offset, length };
      offset += padded(length * TYPES[type].BYTES_PER_ELEMENT);
      return [name, block];
    });
    return { blocks: [...around, ...blocks], end: offset };
  };
  const told = ([name, block]: [BlockName, Block]): [BlockName, Block] => [name, { ...block, ...begun?.blocks[name] }];
  const other = JSON.stringify({ version: begun ? VERSION : WHOLE_VERSION, ...header, ...(begun ? { begun: begun.files } : {}) });
  const headerText = (start: number): Uint8Array => new TextEncoder().encode(`${other.slice(0, -1)},"blocks":${JSON.stringify(Object.fromEntries(layout(start).blocks.map(told)))}}`);
  // Offsets have a width of their own in the header: room for the widest of them is left.
  const least = padded(headerText(Number.MAX_SAFE_INTEGER).length);
  const start = placed?.values.byteOffset ?? PREAMBLE_BYTES + least;
  const headerBytes = start - PREAMBLE_BYTES;
  const { blocks, end } = layout(start);
  if (placed && (headerBytes < least || end > placed.values.buffer.byteLength)) return createColumns(header, sizes);
  // Room made by placedPanel.
  const bytes = placed ? new Uint8Array(placed.values.buffer as ArrayBuffer, 0, end) : new Uint8Array(end);
  const text = headerText(start);
  bytes.set(new TextEncoder().encode(MAGIC));
  new DataView(bytes.buffer).setUint32(8, headerBytes, true);
  bytes.fill(0x20, PREAMBLE_BYTES, start);
  bytes.set(text, PREAMBLE_BYTES);
  const byName = new Map(blocks);
  const block = (name: BlockName, type: Block['type']): Block => {
    const found = byName.get(name);
    if (found?.type !== type) throw new Error(`no ${type} block ${name}`);
    return found;
  };
  return {
    bytes,
    f64: (name) => new Float64Array(bytes.buffer, block(name, 'f64').offset, block(name, 'f64').length),
    i32: (name) => new Int32Array(bytes.buffer, block(name, 'i32').offset, block(name, 'i32').length),
    u8: (name) => new Uint8Array(bytes.buffer, block(name, 'u8').offset, block(name, 'u8').length),
  };
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Reads bytes `start` to `end` (exclusive) of a stored file: into the room, where one of that size is given, or into memory of its own. */
export type ReadRange = (start: number, end: number, room?: Uint8Array) => Uint8Array;

export interface RunColumns {
  readonly header: RunHeader;
  has(name: BlockName): boolean;
  /** Elements `from` to `to` (exclusive) of a block; the whole block without a range. */
  f64(name: BlockName, from?: number, to?: number): Float64Array;
  i32(name: BlockName, from?: number, to?: number): Int32Array;
  u8(name: BlockName, from?: number, to?: number): Uint8Array;
  /** Fills an array with the elements of a block from a position on: for who reads many stretches, one after the other. */
  fill(name: BlockName, from: number, out: Float64Array): void;
  /** One column of a panel of H columns, [rows]. @cost reads the panel in parts */
  column(name: BlockName, column: number): Float64Array;
  /** Elements of a block that lie in other files. */
  begun(name: BlockName): number;
}

/** Elements of a panel read at a time: a part of 2 MB. */
const PART = 1 << 18;

/**
 * @param openBegun opens a file that the run begins in, when it is first read.
 * @throws Refusal DOCUMENT_UNREADABLE when the bytes are not those of a run
 */
export function openColumns(read: ReadRange, openBegun: (name: string) => ReadRange = notThere): RunColumns {
  const header = readHeader(read);
  const width = header.names.length;
  const readerOf = filesOf(header, read, openBegun);
  const hasLater = (file: number): boolean => header.joined?.some((joined) => joined.file > file) === true;
  const laterOf = new Map<number, Later>();
  const later = (file: number): Later => {
    let found = laterOf.get(file);
    if (!found) laterOf.set(file, (found = laterThan(header, file)));
    return found;
  };
  const blockOf = (name: BlockName, type: Block['type']): Block => {
    const block = header.blocks[name];
    if (block?.type !== type) throw unreadable(`it has no ${type} block ${name}`);
    return block;
  };
  /** Elements as a file has them, in the room where one of that size is given. */
  const storedIn = (name: BlockName, { type, file, offset, from, to }: Pick<Block, 'type'> & Pick<Stretch, 'file' | 'offset'> & { readonly from: number; readonly to: number }, room?: Uint8Array): BlockArray => {
    const Type = TYPES[type];
    const size = Type.BYTES_PER_ELEMENT;
    const bytes = whole(name, readerOf(file)(offset + from * size, offset + to * size, room), (to - from) * size);
    const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
    return new Type(aligned.buffer as ArrayBuffer, aligned.byteOffset, to - from);
  };
  /** Elements `from` to `to` of a stretch, with those of names that joined later than it was written. */
  const within = (name: BlockName, type: Block['type'], { stretch: { file, offset, first, length, stored }, from, to }: { readonly stretch: Stretch; readonly from: number; readonly to: number }, room?: Uint8Array): BlockArray => {
    const place = { type, file, offset };
    if (hasLater(file) && name === 'effects') return renamed(storedIn(name, { ...place, from, to }) as Float64Array, later(file));
    if (!hasLater(file) || !PANELS.has(name)) return storedIn(name, { ...place, from, to }, room);
    const rows = length / width;
    const narrow = stored / rows;
    const firstRow = Math.floor(from / width);
    const endRow = Math.ceil(to / width);
    const wide = widened({ rows: storedIn(name, { ...place, from: firstRow * narrow, to: endRow * narrow }), later: later(file), width });
    if (name === 'price') {
      for (const { place: column, prices } of later(file).missing) {
        const date = first / width + firstRow;
        const own = elements('joinedPrice', 'f64', prices + date, prices + date + endRow - firstRow);
        for (let row = 0; row < own.length; row++) wide[row * width + column] = own[row]!;
      }
    }
    return wide.subarray(from - firstRow * width, to - firstRow * width);
  };
  const elements = (name: BlockName, type: Block['type'], from: number, to: number | undefined, out?: BlockArray): BlockArray => {
    const block = blockOf(name, type);
    const last = to ?? block.length;
    if (from < 0 || last > block.length || from > last) throw new Error(`elements ${from} to ${last} of ${name}, which has ${block.length}`);
    const touched = stretchesOf(header, name, block).filter(({ first, length }) => from < first + length && last > first);
    const partOf = (stretch: Stretch, room?: Uint8Array): BlockArray => within(name, type, { stretch, from: Math.max(0, from - stretch.first), to: Math.min(last - stretch.first, stretch.length) }, room);
    if (touched.length === 1 && !out) return partOf(touched[0]!);
    const all = out ?? new TYPES[type](last - from);
    for (const stretch of touched) {
      const at = Math.max(0, stretch.first - from);
      const room = all.subarray(at, Math.min(last, stretch.first + stretch.length) - from);
      const part = partOf(stretch, new Uint8Array(room.buffer, room.byteOffset, room.byteLength));
      if (part.buffer !== room.buffer) room.set(part);
    }
    return all;
  };
  const f64 = (name: BlockName, from = 0, to: number | undefined = undefined): Float64Array => elements(name, 'f64', from, to) as Float64Array;
  return {
    f64,
    column(name, column) {
      const block = blockOf(name, 'f64');
      const values = new Float64Array(block.length / width);
      for (const { file, offset, first, length, stored } of stretchesOf(header, name, block)) {
        const rows = values.subarray(first / width, (first + length) / width);
        const names = hasLater(file) ? later(file) : null;
        const joined = names?.missing.find(({ place }) => place === column);
        if (joined) {
          if (name === 'price') rows.set(f64('joinedPrice', joined.prices + first / width, joined.prices + (first + length) / width));
          continue;
        }
        const narrow = names?.places.length ?? width;
        const own = names?.places.indexOf(column) ?? column;
        const step = narrow * Math.max(1, Math.floor(PART / narrow));
        const room = new Uint8Array(8 * Math.min(stored, step));
        for (let from = 0, row = 0; from < stored; from += step) {
          const to = Math.min(stored, from + step);
          const part = storedIn(name, { type: 'f64', file, offset, from, to }, room.subarray(0, 8 * (to - from)));
          for (let at = own; at < part.length; at += narrow, row++) rows[row] = part[at]!;
        }
      }
      return values;
    },
    header,
    fill: (name, from, out) => void elements(name, 'f64', from, from + out.length, out),
    has: (name) => header.blocks[name] !== undefined,
    i32: (name, from = 0, to = undefined) => elements(name, 'i32', from, to) as Int32Array,
    u8: (name, from = 0, to = undefined) => elements(name, 'u8', from, to) as Uint8Array,
    begun: (name) => stretchesOf(header, name, header.blocks[name]!).at(-1)!.first,
  };
}

function notThere(): never {
  throw unreadable('a file it begins in is not there');
}

/** @throws Refusal DOCUMENT_UNREADABLE when the file ended before them */
function whole(name: BlockName, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw unreadable(`its block ${name} is cut short`);
  return bytes;
}

function readHeader(read: ReadRange): RunHeader {
  const preamble = read(0, PREAMBLE_BYTES);
  if (preamble.length !== PREAMBLE_BYTES || new TextDecoder().decode(preamble.subarray(0, 8)) !== MAGIC) throw unreadable('its first bytes are those of no run');
  const length = new DataView(preamble.buffer, preamble.byteOffset).getUint32(8, true);
  try {
    const header = JSON.parse(new TextDecoder().decode(read(PREAMBLE_BYTES, PREAMBLE_BYTES + length))) as RunHeader | OneBegunHeader;
    if (isOneBegun(header)) return oneBegun(header);
    if (header.version !== VERSION && header.version !== WHOLE_VERSION) throw unreadable(`it has version ${String(header.version)}, versions up to ${VERSION} are read`);
    return header;
  } catch (cause) {
    throw cause instanceof Refusal ? cause : unreadable('its header is damaged', cause);
  }
}

/** A header as files had it that one other file begins. */
interface OneBegunHeader extends Omit<RunHeader, 'version' | 'blocks' | 'begun'> {
  readonly version: typeof ONE_BEGUN_VERSION;
  readonly base: string;
  readonly blocks: Readonly<Record<BlockName, (Omit<Block, 'begins'> & { readonly begins?: { readonly offset: number; readonly length: number } }) | undefined>>;
}

function isOneBegun(header: RunHeader | OneBegunHeader): header is OneBegunHeader {
  return header.version === ONE_BEGUN_VERSION;
}

function oneBegun({ base, blocks, ...header }: OneBegunHeader): RunHeader {
  const listed = Object.entries(blocks).map(([name, block]) => [name, block && { ...block, begins: block.begins && [block.begins.offset, block.begins.length] }]);
  return { ...header, begun: [base], blocks: Object.fromEntries(listed) as RunHeader['blocks'] }; // The same blocks.
}

function unreadable(why: string, cause?: unknown): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The stored run cannot be read: ${why}.`, null, cause === undefined ? {} : { cause });
}
