import { decodeUtf8 } from '#base/bytes.js';
import type { DatedSeries } from '../../analytics/relative-returns.js';
import { findNumberType, NUMBER_TYPES, type Numbers, type NumberType } from '../../base/numbers.js';
import { Refusal } from '../../base/refusals.js';
import type { Day } from '../../base/time.js';
import {
  BOOK,
  createRecordSource as readWholeRecord,
  GAPS,
  JSON_FIELDS,
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
import { type ArraySource, POOLS, readMember, readNumbersAt, type StoredNumbers } from '../record-fields.js';
import { type BlockName, findBlock, isBlockName, isPanel } from './blocks.js';
import {
  type BlockPosition,
  ONE_BASE_VERSION,
  PREAMBLE_BYTES,
  RUN_FILE_MAGIC,
  type RunFacts,
  type RunHeader,
  SEGMENTS_VERSION,
  WHOLE_VERSION,
} from './header.js';

/**
 * Reads bytes `start` to `end` (exclusive) of a stored file. Writes them into `room` if the sizes match, otherwise into
 * new memory.
 */
export type RangeReader = (start: number, end: number, room?: Uint8Array) => Uint8Array;

/** Header members that give the position of a block. */
export type SegmentHeader = Pick<RunFacts, 'names'> & Pick<RunHeader, 'begun' | 'joined' | 'blocks'>;

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
