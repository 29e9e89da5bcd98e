import { decodeUtf8 } from '#base/bytes.js';
import type { ByteRange, Memory } from '#base/memory.js';
import type { DatedSeries } from '../../analytics/relative-returns.js';
import { findNumberType, isEqual, NUMBER_TYPES, type Numbers, type NumberType } from '../../base/numbers.js';
import { Refusal } from '../../base/refusals.js';
import type { Day } from '../../base/time.js';
import { type Book, markEverHeld, readBookCurrency } from '../../books/book.js';
import { createIndexTerms } from '../../books/index-run.js';
import { createGrowthTermsKey } from '../../market/action-effects.js';
import { createExchangeRates } from '../../market/rates.js';
import { type ArraySource, POOLS, readMember, readNumbersAt, type StoredNumbers } from '../record-fields.js';
import {
  BOOK,
  createRecordSource as readWholeRecord,
  createRunRecord,
  GAPS,
  JSON_FIELDS,
  packRecord,
  PRICING,
  readDescription,
  readPacked,
  REBALANCES,
  type RecordedGaps,
  type RecordedOrder,
  type RecordedPricing,
  type RecordedTransactions,
  type RunRecord,
  SNAPSHOT,
  type Snapshot,
  type TransactionRows,
  TRANSACTIONS,
} from '../record.js';
import type { Run } from '../run.js';
import {
  type AnyBlock,
  type BlockFiller,
  createForeignRates,
  createPriceParts,
  price,
  type WholeRun,
} from './block.js';
import { BLOCK_NAMES, type BlockName, findBlock, isBlockName, isPanel } from './blocks.js';
import {
  type BlockPosition,
  createWholeHeader,
  ONE_BASE_VERSION,
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

/**
 * Reads bytes `start` to `end` (exclusive) of a stored file. Writes them into `room` if the sizes match, otherwise into
 * new memory.
 */
export type RangeReader = (start: number, end: number, room?: Uint8Array) => Uint8Array;

/** Header members that give the position of a block. */
type SegmentHeader = Pick<RunFacts, 'names'> & Pick<RunHeader, 'begun' | 'joined' | 'blocks'>;

/** Part of a block that is in one file. */
interface Segment {
  /** Number of the file; the open file is numbered after the earlier files. */
  readonly file: number;
  /** Offset of the segment in bytes from the start of the file, and number of elements stored there. */
  readonly offset: number;
  readonly stored: number;
  /**
   * Number of block elements in earlier files (`first`) and in this file (`length`). `length` exceeds `stored` if
   * securities joined later.
   */
  readonly first: number;
  readonly length: number;
}

function listSegments(header: SegmentHeader, name: BlockName): Segment[] {
  const { names, begun: earlierNames = [], blocks } = header;
  const { offset, length, begins = [] } = blocks[name]!; // the caller has checked that the block exists
  const segments: Segment[] = [];
  let first = 0;
  for (let file = 0; file < earlierNames.length; file++) {
    const storedLength = begins[2 * file + 1] ?? 0;
    const width = isPanel(name) ? countPanelColumns(header, file) : names.length;
    const elements = width === names.length ? storedLength : (storedLength / width) * names.length;
    if (storedLength > 0)
      segments.push({ file, stored: storedLength, first, offset: begins[2 * file]!, length: elements });
    first += elements;
  }
  return [...segments, { file: earlierNames.length, offset, first, length: length - first, stored: length - first }];
}

function countPanelColumns({ names, joined = [] }: SegmentHeader, file: number): number {
  return names.length - joined.filter((name) => name.file > file).length;
}

/** Securities that joined the run after a file was written. */
interface LaterSecurities {
  /** Positions of the file's securities among the securities of the run, ascending. */
  readonly places: Int32Array;
  /**
   * Positions of the missing securities that joined later. `values` is the offset of their values in the block named by
   * `joined`.
   */
  readonly missing: readonly { readonly place: number; readonly values: number }[];
}

function findLaterSecurities({ names, joined = [] }: SegmentHeader, file: number): LaterSecurities {
  const positionByName = new Map(names.map((name, place) => [name, place]));
  const missingSecurities: { place: number; values: number }[] = [];
  const isMissing = new Uint8Array(names.length);
  let values = 0;
  for (const name of joined) {
    const position = positionByName.get(name.name)!; // joined securities are securities of the run
    if (name.file > file) {
      missingSecurities.push({ place: position, values });
      isMissing[position] = 1;
    }
    values += name.dates;
  }
  return {
    missing: missingSecurities,
    places: Int32Array.from(isMissing.keys()).filter((place) => isMissing[place] === 0),
  };
}

interface WidenInput {
  /** Rows as stored in a file, with the file's columns. */
  readonly rows: Numbers;
  readonly later: LaterSecurities;
  /** Number of securities of the run. */
  readonly width: number;
}

/**
 * Returns rows with one column per security of the run. A security that the file lacks gets 0.
 * @cost O(rows x securities)
 */
function widenRows({ rows, later: { places }, width }: WidenInput): Numbers {
  const storedWidth = places.length;
  const count = rows.length / storedWidth;
  const wide = new NUMBER_TYPES[findNumberType(rows)](count * width);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < storedWidth; k++) wide[row * width + places[k]!] = rows[row * storedWidth + k]!;
  }
  return wide;
}

/** Converts the first number of each row from a security position in the file to the position in the run. */
function renumberSecurities(rows: Numbers, every: number, { places }: LaterSecurities): Numbers {
  const renumberedRows = rows.slice();
  for (let position = 0; position < renumberedRows.length; position += every)
    renumberedRows[position] = places[renumberedRows[position]!]!;
  return renumberedRows;
}

function listFiles(
  { begun: earlierNames = [] }: SegmentHeader,
  ownRangeReader: RangeReader,
  open: (name: string) => RangeReader,
): (file: number) => RangeReader {
  const openFiles = new Map<number, RangeReader>([[earlierNames.length, ownRangeReader]]);
  return (file) => {
    let rangeReader = openFiles.get(file);
    if (!rangeReader) openFiles.set(file, (rangeReader = open(earlierNames[file]!)));
    return rangeReader;
  };
}

/**
 * Reads the header of a run file in the current form.
 * @throws Refusal DOCUMENT_UNREADABLE if the bytes are not a run, or were written by a later version
 */
function readHeader(rangeReader: RangeReader): RunHeader {
  const preamble = rangeReader(0, PREAMBLE_BYTES);
  const isRun =
    preamble.length === PREAMBLE_BYTES && decodeUtf8(preamble.subarray(0, RUN_FILE_MAGIC.length)) === RUN_FILE_MAGIC;
  if (!isRun) throw createUnreadableError('it does not begin like a run file');
  const length = new DataView(preamble.buffer, preamble.byteOffset).getUint32(8, true);
  try {
    // `createColumns` of this or an earlier version wrote the header.
    const header = JSON.parse(decodeUtf8(rangeReader(PREAMBLE_BYTES, PREAMBLE_BYTES + length))) as
      | RunHeader
      | OneBaseHeader;
    if (isOneBase(header)) return upgradeHeader(header);
    if (header.version === SEGMENTS_VERSION || header.version === WHOLE_VERSION) return header;
    throw createUnreadableError(
      `its version is ${String(header.version)}; the highest supported version is ${SEGMENTS_VERSION}`,
    );
  } catch (cause) {
    throw cause instanceof Refusal ? cause : createUnreadableError('its header is damaged', cause);
  }
}

type OneBaseBlock = Omit<BlockPosition, 'begins'> & {
  readonly begins?: { readonly offset: number; readonly length: number };
};

/** Header of a file that continues exactly one earlier file, as version 2 wrote it. */
interface OneBaseHeader extends Omit<RunHeader, 'version' | 'blocks' | 'begun'> {
  readonly version: typeof ONE_BASE_VERSION;
  readonly base: string;
  readonly blocks: Readonly<Record<BlockName, OneBaseBlock | undefined>>;
}

function isOneBase(header: RunHeader | OneBaseHeader): header is OneBaseHeader {
  return header.version === ONE_BASE_VERSION;
}

function upgradeHeader({ base, blocks, ...header }: OneBaseHeader): RunHeader {
  const list = Object.entries(blocks).map(([name, block]) => [
    name,
    block && { ...block, begins: block.begins && [block.begins.offset, block.begins.length] },
  ]);
  return { ...header, begun: [base], blocks: Object.fromEntries(list) as RunHeader['blocks'] }; // block names are unchanged
}

function createUnreadableError(why: string, cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    `The stored run cannot be read: ${why}.`,
    null,
    cause === undefined ? {} : { cause },
  );
}

/** Columns of a stored run. Each view reads only the ranges that it needs and simulates nothing. */
export interface RunColumns {
  readonly header: RunHeader;
  has(name: BlockName): boolean;
  /** Returns elements `from` to `to` (exclusive) of a block. Default: the whole block. */
  f64(name: BlockName, from?: number, to?: number): Float64Array;
  i32(name: BlockName, from?: number, to?: number): Int32Array;
  u8(name: BlockName, from?: number, to?: number): Uint8Array;
  /**
   * Fills an array with elements of a block, from a position on. Callers that read many ranges need no new array for
   * each.
   */
  fill(name: BlockName, from: number, out: Float64Array): void;
  /**
   * Returns one column of a panel with H columns, [rows].
   * @cost reads the whole panel in parts
   */
  column(name: BlockName, column: number): Float64Array;
  inEarlierFiles(name: BlockName): number;
}

/**
 * Opens the columns of a stored run.
 * @param openEarlier opens an earlier file of the run on its first read.
 * @throws Refusal DOCUMENT_UNREADABLE if the bytes are not a run
 */
export function openColumns(
  rangeReader: RangeReader,
  openEarlier: (name: string) => RangeReader = refuseMissingFile,
): RunColumns {
  const header = readHeader(rangeReader);
  const reader = createReader(header, listFiles(header, rangeReader, openEarlier));
  const { elements } = reader;
  // `requireBlock` checks the type of a block before every read.
  return {
    header,
    f64: (name, from = 0, to = undefined) => elements({ name, type: 'f64', from, to }) as Float64Array,
    i32: (name, from = 0, to = undefined) => elements({ name, type: 'i32', from, to }) as Int32Array,
    u8: (name, from = 0, to = undefined) => elements({ name, type: 'u8', from, to }) as Uint8Array,
    column: reader.column,
    fill: (name, from, out) => void elements({ name, type: 'f64', from, to: from + out.length }, out),
    has: (name) => header.blocks[name] !== undefined,
    inEarlierFiles: (name) => listSegments(header, name).at(-1)!.first,
  };
}

function refuseMissingFile(): never {
  throw createUnreadableError('one of its earlier files is missing');
}

interface ElementRange {
  readonly name: BlockName;
  readonly type: NumberType;
  readonly from: number;
  /** End of the range, exclusive. Default: the end of the block. */
  readonly to: number | undefined;
}

/** Range of elements within one segment, counted from the segment's first element. */
interface SegmentRange {
  readonly name: BlockName;
  readonly type: NumberType;
  readonly segment: Segment;
  readonly from: number;
  readonly to: number;
}

interface Reader {
  /**
   * Returns elements of a block.
   * @param out array to fill. Default: a new array.
   */
  elements(wanted: ElementRange, out?: Numbers): Numbers;
  column(name: BlockName, column: number): Float64Array;
}

function createReader(header: RunHeader, readerOf: (file: number) => RangeReader): Reader {
  const width = header.names.length;
  const laterByFile = new Map<number, LaterSecurities>();

  /** Returns the securities that joined after a file was written. Returns null if the file has every security. */
  function findLater(file: number): LaterSecurities | null {
    if (!header.joined?.some((addedSecurity) => addedSecurity.file > file)) return null;
    let entry = laterByFile.get(file);
    if (!entry) laterByFile.set(file, (entry = findLaterSecurities(header, file)));
    return entry;
  }

  /** Returns elements of a segment, including those of securities that joined after its file was written. */
  function readWithin(part: SegmentRange, room?: Uint8Array): Numbers {
    const { name, segment } = part;
    const names = findLater(segment.file);
    const { positionsEvery } = findBlock(name);
    if (names === null) return readStored(part, readerOf, room);
    if (positionsEvery !== undefined) return renumberSecurities(readStored(part, readerOf), positionsEvery, names);
    return isPanel(name) ? readPanelRows(part, names) : readStored(part, readerOf, room);
  }

  /** Returns elements of a panel segment from a file with fewer securities than the run. */
  function readPanelRows(part: SegmentRange, names: LaterSecurities): Numbers {
    const {
      name,
      segment: { first, length, stored },
      from,
      to,
    } = part;
    const storedWidth = stored / (length / width);
    const firstRow = Math.floor(from / width);
    const endRow = Math.ceil(to / width);
    const wide = widenRows({
      rows: readStored({ ...part, from: firstRow * storedWidth, to: endRow * storedWidth }, readerOf),
      later: names,
      width,
    });
    const { joined } = findBlock(name);
    if (joined) {
      for (const { place, values } of names.missing) {
        const date = first / width + firstRow;
        const joinedNumbers = readElements({
          name: joined,
          type: 'f64',
          from: values + date,
          to: values + date + endRow - firstRow,
        });
        for (let row = 0; row < joinedNumbers.length; row++) wide[row * width + place] = joinedNumbers[row]!;
      }
    }
    return wide.subarray(from - firstRow * width, to - firstRow * width);
  }

  function readElements({ name, type, from, to }: ElementRange, out?: Numbers): Numbers {
    const block = requireBlock(header, name, type);
    const last = to ?? block.length;
    if (from < 0 || last > block.length || from > last)
      throw new Error(`elements ${from} to ${last} of ${name}, which has ${block.length}`);
    const touchedSegments = listSegments(header, name).filter(
      ({ first, length }) => from < first + length && last > first,
    );
    const locatePart = (segment: Segment): SegmentRange => ({
      name,
      type,
      segment,
      from: Math.max(0, from - segment.first),
      to: Math.min(last - segment.first, segment.length),
    });
    if (touchedSegments.length === 1 && !out) return readWithin(locatePart(touchedSegments[0]!));
    const numbers = out ?? new NUMBER_TYPES[type](last - from);
    for (const segment of touchedSegments) {
      const output = numbers.subarray(
        Math.max(0, segment.first - from),
        Math.min(last, segment.first + segment.length) - from,
      );
      const part = readWithin(locatePart(segment), new Uint8Array(output.buffer, output.byteOffset, output.byteLength));
      if (part.buffer !== output.buffer) output.set(part);
    }
    return numbers;
  }

  /** Copies one column of a panel segment into the result. */
  function copyColumnOfSegment(
    { name, segment, column }: { readonly name: BlockName; readonly segment: Segment; readonly column: number },
    rows: Float64Array,
  ): void {
    const names = findLater(segment.file);
    const missingSecurity = names?.missing.find(({ place }) => place === column);
    if (missingSecurity) {
      const { joined } = findBlock(name);
      const from = missingSecurity.values + segment.first / width;
      if (joined) rows.set(readElements({ name: joined, type: 'f64', from, to: from + rows.length }));
      return;
    }
    const storedWidth = names?.places.length ?? width;
    const columnPlace = names?.places.indexOf(column) ?? column;
    const step = storedWidth * Math.max(1, Math.floor(PART_ELEMENTS / storedWidth));
    const buffer = new Uint8Array(8 * Math.min(segment.stored, step));
    for (let from = 0, row = 0; from < segment.stored; from += step) {
      const to = Math.min(segment.stored, from + step);
      const part = readStored({ name, type: 'f64', segment, from, to }, readerOf, buffer.subarray(0, 8 * (to - from)));
      for (let position = columnPlace; position < part.length; position += storedWidth, row++)
        rows[row] = part[position]!;
    }
  }

  return {
    elements: readElements,
    column(name, column) {
      const values = new Float64Array(requireBlock(header, name, 'f64').length / width);
      for (const segment of listSegments(header, name)) {
        const { first, length } = segment;
        copyColumnOfSegment({ name, segment, column }, values.subarray(first / width, (first + length) / width));
      }
      return values;
    },
  };
}

/** Reads stored elements of a file, into `room` if its size fits. */
function readStored(
  { name, type, segment: { file, offset }, from, to }: SegmentRange,
  readerOf: (file: number) => RangeReader,
  room?: Uint8Array,
): Numbers {
  const Type = NUMBER_TYPES[type];
  const size = Type.BYTES_PER_ELEMENT;
  const bytes = requireWhole(name, readerOf(file)(offset + from * size, offset + to * size, room), (to - from) * size);
  const alignedBytes = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Type(alignedBytes.buffer as ArrayBuffer, alignedBytes.byteOffset, to - from); // readers do not share memory
}

/** Number of panel elements that are read at once: 2 MB. */
const PART_ELEMENTS = 1 << 18;

/**
 * Returns the position of a block.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no such block of that type
 */
function requireBlock({ blocks }: RunHeader, name: BlockName, type: NumberType): BlockPosition {
  const block = blocks[name];
  if (block?.type !== type) throw createUnreadableError(`it has no ${type} block ${name}`);
  return block;
}

/**
 * Checks that all bytes of a range were read.
 * @throws Refusal DOCUMENT_UNREADABLE if the file ends earlier
 */
function requireWhole(name: BlockName, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw createUnreadableError(`its block ${name} is truncated`);
  return bytes;
}

/**
 * Reads the record of a stored run.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record
 */
export function readRecord(columns: RunColumns): RunRecord {
  return { ...readPacked(columns.u8('record'), openStoredNumbers(columns)), cashCurrency: readCashCurrency(columns) };
}

/** Returns the currency of the cash of an overlay; null for any other run. */
export function readCashCurrency({ header }: RunColumns): string | null {
  return header.parts === undefined ? null : header.currency;
}

/** Rebalances of a stored run, with the identifiers to which their columns refer. */
export interface StoredRebalances extends Pick<RunRecord, 'identifiers' | 'cashCurrency'> {
  readonly rebalances: readonly Snapshot[];
}

/**
 * Reads the rebalances of a stored run that its result shows.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record
 */
export function readRebalances(columns: RunColumns): StoredRebalances {
  const { identifiers } = readDescription(columns.u8('record'));
  return {
    identifiers,
    cashCurrency: readCashCurrency(columns),
    rebalances: REBALANCES.read(readPackedRebalances(columns), createSourceWithoutWeights(columns)),
  };
}

/** Returns the weights of the latest rebalance. */
export function readLatestWeights(columns: RunColumns): Float64Array {
  const packedRebalances = readPackedRebalances(columns) as readonly unknown[]; // Written by packRecord or extendRecord.
  return SNAPSHOT.fields.weights.read(
    readMember(packedRebalances.at(-1), 'weights'),
    createSourceWithoutWeights(columns),
  );
}

function readPackedRebalances(columns: RunColumns): unknown {
  return JSON.parse(decodeUtf8(columns.u8('snapshots')));
}

/** Creates a source for the fields of a record, except recent weights. */
function createSourceWithoutWeights(columns: RunColumns): ArraySource {
  const storedNumbers = openStoredNumbers(columns);
  return {
    numbers: (place) => readNumbersAt(storedNumbers, place),
    portfolioFrame(): never {
      throw new Error('compositions, transactions and levels have no weights of a portfolio');
    },
  };
}

/**
 * Opens the parts of a stored record.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record, as in version 0.1.0
 */
export function openRecordParts(columns: RunColumns) {
  const { identifiers, plain, rest } = readDescription(columns.u8('record'));
  const reading = createSourceWithoutWeights(columns);
  const portfolio = readMember(rest, 'portfolio');
  const index = readMember(rest, 'optimised') ?? readMember(rest, 'target');
  return {
    /** Identifiers to which positions refer. */
    identifiers,
    /** Returns the latest compositions of the index. */
    snapshots: (): readonly Snapshot[] => BOOK.fields.snapshots.read(readMember(index, 'snapshots'), reading),
    transactions: (): RecordedTransactions => TRANSACTIONS.read(readMember(portfolio, 'transactions'), reading),
    /**
     * Returns the missing prices: held or targeted securities without a price bar on a session of their exchange.
     * `columns` are positions in `identifiers`.
     */
    gaps: (): RecordedGaps => GAPS.read(readMember(rest, 'gaps'), reading),
    /** Returns the transaction cost per unit of traded notional. */
    costRate: (): number => readMember(portfolio, 'costRate') as number, // written by the fields of the record, like the values below
    initialCapital: (): number => readMember(portfolio, 'initialCapital') as number,
    /** Returns the effective date of each rebalance, with the session of the prices used. */
    pricing: (): RecordedPricing => PRICING.read(readMember(rest, 'pricing'), reading),
    metrics: (): RunRecord['metrics'] => JSON_FIELDS.fields.metrics.read(readMember(plain, 'metrics'), reading),
    findings: (): RunRecord['findings'] => JSON_FIELDS.fields.findings.read(readMember(plain, 'findings'), reading),
    /**
     * Returns the levels of the benchmark, or of the parent of a derived index. Returns null if the run has no such book.
     */
    levels(book: 'benchmark' | 'parent'): DatedSeries | null {
      const packedBook = readMember(rest, book === 'benchmark' ? 'benchmark' : 'target');
      const isRecorded = packedBook !== null && (book === 'benchmark' || readMember(rest, 'optimised') !== null);
      return isRecorded
        ? {
            days: BOOK.fields.days.read(readMember(packedBook, 'days'), reading),
            values: BOOK.fields.levels.read(readMember(packedBook, 'levels'), reading),
          }
        : null;
    },
  };
}

/** Returns the numbers of a stored run to which its record refers. */
export function openStoredNumbers(columns: RunColumns): StoredNumbers {
  const {
    header: { dates, names, blocks },
  } = columns;
  return {
    dates,
    names,
    f64: (block, from, to) => columns.f64(requireRecordBlock(block), from, to),
    i32: (block, from, to) => columns.i32(requireRecordBlock(block), from, to),
    u8: (block, from, to) => columns.u8(requireRecordBlock(block), from, to),
    poolLength: (type) => blocks[POOLS[type]]?.length ?? 0,
  };
}

function requireRecordBlock(name: string): BlockName {
  if (!isBlockName(name)) throw createUnreadableError(`its record refers to the unknown block ${name}`);
  return name;
}

/** Individual rebalances of a run's record, read without the other fields. */
export interface RecordedDecisions {
  /** Securities to which the columns of snapshots and trades refer. */
  readonly identifiers: readonly string[];
  /**
   * Returns the day of the data that decided the composition with effective date `effective`. If no other day is
   * recorded, returns `effective`. Returns undefined if the record lacks the composition.
   */
  decidedOn(effective: Day): Day | undefined;
  snapshot(effective: Day): Snapshot | undefined;
  /**
   * Returns every trade of the run.
   * @cost reads all trades
   */
  trades(): TransactionRows;
  readonly unfilled: readonly RecordedOrder[];
}

/**
 * Reads the decisions of a run. Returns undefined if its file has no record.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export function readDecisions(columns: RunColumns): RecordedDecisions | undefined {
  if (!columns.has('record')) return undefined;
  const { identifiers, plain, rest } = readDescription(columns.u8('record'));
  const reading = readWholeRecord(openStoredNumbers(columns), [...identifiers]);
  const book = readMember(rest, 'optimised') ?? readMember(rest, 'target');
  const packedSnapshots = (readMember(book, 'snapshots') ?? []) as readonly unknown[]; // Written by packRecord or extendRecord.
  const byDay = new Map(packedSnapshots.map((one) => [readMember(one, 'date') as Day, one]));
  return {
    identifiers,
    decidedOn(effective) {
      const snapshot = byDay.get(effective);
      if (snapshot === undefined) return undefined;
      const announcementDay = readMember(snapshot, 'announced') as Day | null;
      return announcementDay === null
        ? effective
        : ((readMember(snapshot, 'reference') as Day | null | undefined) ?? announcementDay);
    },
    snapshot(effective) {
      const snapshot = byDay.get(effective);
      return snapshot === undefined ? undefined : SNAPSHOT.read(snapshot, reading);
    },
    trades: () => TRANSACTIONS.read(readMember(readMember(rest, 'portfolio'), 'transactions'), reading),
    unfilled: readMember(plain, 'unfilled') as readonly RecordedOrder[],
  };
}

/** File whose blocks are filled in place. All blocks are in one buffer from the start. */
export interface ColumnsWriter {
  f64(name: BlockName): Float64Array;
  i32(name: BlockName): Int32Array;
  u8(name: BlockName): Uint8Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Header without the positions of blocks. */
type ColumnsHeader = RunFacts & Pick<RunHeader, 'joined'>;

/**
 * Block that is already in the memory of the file, with space before it for the header and after it for other blocks.
 */
interface BlockInMemory {
  readonly name: BlockName;
  readonly values: Float64Array;
}

type Sizes = ReadonlyMap<BlockName, { readonly type: NumberType; readonly length: number }>;

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

interface ColumnsOptions {
  readonly contentHash: string;
  /**
   * True to write into the memory around the weights of the run, if there is space. The bytes then share memory with
   * the run, so only one such call is allowed.
   */
  readonly inPlace?: boolean;
  /** Memory of columns that cannot be written in place. Default: new memory. */
  readonly memory?: Memory;
}

interface FilesOptions extends ColumnsOptions {
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
