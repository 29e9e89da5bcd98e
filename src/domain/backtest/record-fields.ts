import { toCanonicalJson } from '../base/json.js';
import { LIMITS } from '../base/limits.js';
import {
  concatenate,
  findNumberType,
  isEqual,
  NUMBER_TYPES,
  type Numbers,
  type NumbersOf,
  type NumberType,
} from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import type { Book } from '../books/book.js';
import { CannotResumeError } from '../definition/runs.js';

/** Position of an array: a range of a block of the run file. */
export interface BlockReference {
  readonly block: string;
  readonly kind: NumberType;
  readonly from: number;
  readonly to: number;
}

/** Array that consists of several ranges, in order. An extension of a run creates such arrays. */
export interface Segments {
  readonly parts: readonly BlockReference[];
}

/** Place of an array in the run file. */
type ArrayLocation = BlockReference | Segments;

/** Blocks of the run file for arrays of the record without a separate block. */
export const POOLS = { f64: 'recordF64', i32: 'recordI32', u8: 'recordU8' } as const satisfies Record<
  NumberType,
  string
>;

/** Stored run file from which the record is read. */
export interface StoredNumbers {
  readonly dates: number;
  /** Securities of the run, one column of each panel per security. */
  readonly names: readonly string[];
  /** Returns elements `from` to `to` (exclusive) of a block. */
  f64(block: string, from: number, to: number): Float64Array;
  i32(block: string, from: number, to: number): Int32Array;
  u8(block: string, from: number, to: number): Uint8Array;
  /** Returns the number of elements of a pool. */
  poolLength(kind: NumberType): number;
}

export function isArrayLocation(value: unknown): value is ArrayLocation {
  return typeof value === 'object' && value !== null && ('block' in value || 'parts' in value);
}

function listParts(place: ArrayLocation): readonly BlockReference[] {
  return 'block' in place ? [place] : place.parts;
}

/** Returns the number of elements of the array at a place. */
export function countNumbers(place: ArrayLocation): number {
  return listParts(place).reduce((sum, { from, to }) => sum + to - from, 0);
}

export function readNumbersAt(stored: StoredNumbers, place: ArrayLocation): Numbers {
  return concatenate(listParts(place).map((part) => readNumbers(stored, part)));
}

function readNumbers(stored: StoredNumbers, { block, kind, from, to }: BlockReference): Numbers {
  return stored[kind](block, from, to);
}

/** Arrays to append to each pool, by number type. */
export type AppendedNumbers = { readonly [K in NumberType]: readonly NumbersOf<K>[] };

/** Pools of a stored record, with the numbers that an extension adds. */
interface Pools {
  readonly added: AppendedNumbers;
  /** Appends numbers to the pool of their number type. */
  add(numbers: Numbers): BlockReference;
  /** Appends to an array and returns its new place. An array in a separate block is extended in that block. */
  grow(place: ArrayLocation, more: Numbers): ArrayLocation;
  /** Appends to an array, keeping at most `stay` earlier elements. */
  slide(place: ArrayLocation, stay: number, more: Numbers): ArrayLocation;
  /** Returns the elements of an array, from stored numbers, added numbers or both. */
  read(place: ArrayLocation): Numbers;
}

export function openPools(stored: StoredNumbers): Pools {
  const addedNumbers = { f64: [] as Float64Array[], i32: [] as Int32Array[], u8: [] as Uint8Array[] };
  const pushNumbers = (numbers: Numbers): void => {
    if (numbers instanceof Float64Array) addedNumbers.f64.push(numbers);
    else if (numbers instanceof Int32Array) addedNumbers.i32.push(numbers);
    else addedNumbers.u8.push(numbers);
  };
  const begins = { f64: stored.poolLength('f64'), i32: stored.poolLength('i32'), u8: stored.poolLength('u8') };
  const ends = { ...begins };
  const addNumbers = (numbers: Numbers): BlockReference => {
    const kind = findNumberType(numbers);
    const from = ends[kind];
    if (numbers.length > 0) pushNumbers(numbers);
    return { block: POOLS[kind], kind, from, to: (ends[kind] += numbers.length) };
  };
  const joinParts = (parts: readonly BlockReference[], more: Numbers): ArrayLocation => {
    const references = more.length === 0 ? parts : [...parts, addNumbers(more)];
    return references.length === 1 ? references[0]! : { parts: references };
  };
  const isAppended = ({ block, kind, from }: BlockReference): boolean => block === POOLS[kind] && from >= begins[kind];
  const findAppendedNumbers = ({ kind, from, to }: BlockReference): Numbers => {
    if (from === to) return new NUMBER_TYPES[kind](0);
    let position = begins[kind];
    for (const numbers of addedNumbers[kind]) {
      if (from >= position && to <= position + numbers.length) return numbers.subarray(from - position, to - position);
      position += numbers.length;
    }
    throw new Error(`${from} to ${to} are not among the ${kind} added`);
  };
  return {
    added: addedNumbers,
    add: addNumbers,
    grow(place, more) {
      if ('block' in place && place.block !== POOLS[place.kind]) return { ...place, to: place.to + more.length };
      return joinParts(listParts(place), more);
    },
    slide: (place, stay, more) => joinParts(selectLastElements(listParts(place), stay), more),
    read: (place) =>
      concatenate(
        listParts(place).map((part) => (isAppended(part) ? findAppendedNumbers(part) : readNumbers(stored, part))),
      ),
  };
}

/**
 * Returns references to the last `count` elements of an array. If `count` is 0, returns a reference to an empty range.
 */
function selectLastElements(parts: readonly BlockReference[], count: number): BlockReference[] {
  const last: BlockReference[] = [];
  let remainingCount = count;
  for (const part of parts.toReversed()) {
    const length = Math.min(remainingCount, part.to - part.from);
    if (length > 0) last.unshift({ ...part, from: part.to - length });
    remainingCount -= length;
  }
  return last.length > 0 ? last : [{ ...parts[0]!, to: parts[0]!.from }];
}

/** File to which the arrays of a record are written. */
export interface Packing {
  /**
   * Stores an array and returns a reference to its position in the file.
   * @param isPositions true if the numbers are market columns, which are stored as positions in the identifiers of the
   * record.
   */
  place(numbers: Numbers, isPositions: boolean): BlockReference;
  /** Returns true if the frame is that of the portfolio. Its weights are already a block of the run file. */
  isOfPortfolio(frame: WeightsFrame): boolean;
}

export interface ArraySource {
  numbers(place: ArrayLocation): Numbers;
  /** Returns the last `rows` rows of the portfolio weights. */
  portfolioFrame(rows: number): WeightsFrame;
}

/** Stored record that is being extended by new sessions. */
export interface RecordExtension extends Packing {
  readonly stored: StoredNumbers;
  readonly pools: Pools;
  readonly identifiers: readonly string[];
  /** Returns the positions of market columns in the identifiers; adds new identifiers. */
  positions(columns: ArrayLike<number>): Int32Array;
}

/** Weights on the most recent dates, [dates x columns]. */
export interface WeightsFrame {
  readonly days: Int32Array;
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}

/** Identifiers to which the positions in the two compared records refer. */
export interface ComparedIdentifiers {
  readonly stored: readonly string[];
  readonly replayed: readonly string[];
}

/**
 * Field of the record with all its operations. `T` is the value. `W` is the source of the value in a whole run, `A` its
 * source in the new sessions of an extension. The packed form is JSON; it refers to arrays by their position in the
 * file.
 */
export interface Field<T, W, A> {
  /** Structure of the value as text. Records with different fields have different texts. */
  readonly shape: string;
  whole(run: W): T;
  pack(value: T, into: Packing): unknown;
  /**
   * Reads the value from its packed form.
   * @throws Refusal DOCUMENT_UNREADABLE if it is missing
   */
  read(packed: unknown, from: ArraySource): T;
  /**
   * Returns the packed value of the whole run, which joins the stored value and the new sessions.
   * @throws CannotResumeError
   */
  extend(packed: unknown, added: A, into: RecordExtension): unknown;
  /**
   * Returns the path of the first member in which two values differ, relative to this field. Returns null if the values
   * are equal.
   */
  differs(stored: T, replayed: T, names: ComparedIdentifiers): string | null;
}

export type Fields<T, W, A> = { readonly [M in keyof T]: Field<T[M], W, A> };

interface ArrayField<N extends Numbers, W, A> {
  readonly whole: (run: W) => N;
  /** Elements of the new sessions; absent for an array that is never extended. */
  readonly added?: (added: A) => N;
  /** Number of stored elements to keep, counted from the end. Default: all. */
  readonly stay?: (added: A) => number;
}

/** Creates the field constructors of one record. `W` and `A` are as in `Field`. */
export function createFields<W, A>() {
  const createArrayField =
    <N extends Numbers>(isType: (numbers: Numbers) => numbers is N, isPositions = false) =>
    ({ whole, added, stay }: ArrayField<N, W, A>): Field<N, W, A> => ({
      shape: isPositions ? 'names' : 'numbers',
      whole,
      pack: (value, into) => into.place(value, isPositions),
      read(packed, from) {
        const numbers = isArrayLocation(packed) ? from.numbers(packed) : undefined;
        if (numbers === undefined || !isType(numbers)) throw createMissingFieldError();
        return numbers;
      },
      extend(packed, more, { pools, positions }) {
        if (!isArrayLocation(packed)) throw new CannotResumeError('no_checkpoint');
        if (!added) return packed;
        const numbers = isPositions ? positions(added(more)) : added(more);
        return stay ? pools.slide(packed, stay(more), numbers) : pools.grow(packed, numbers);
      },
      differs: (a, b, names) =>
        (isPositions ? haveEqualIdentifiers(a, b, names) : haveEqualElements(a, b)) ? null : '',
    });
  return {
    f64: createArrayField((numbers) => numbers instanceof Float64Array),
    i32: createArrayField((numbers) => numbers instanceof Int32Array),
    u8: createArrayField((numbers) => numbers instanceof Uint8Array),
    /** Market columns, stored as positions in the identifiers of the record. */
    positions: createArrayField((numbers) => numbers instanceof Int32Array, true),
    /** JSON value that an extension leaves unchanged. */
    fixed: <T>(whole: (run: W) => T): Field<T, W, A> => ({ ...createPlainField<T>(), whole, extend: requirePacked }),
    /** JSON value that every extension recomputes. */
    anew: <T>({
      whole,
      after,
    }: {
      readonly whole: (run: W) => T;
      readonly after: (added: A) => T;
    }): Field<T, W, A> => ({ ...createPlainField<T>(), whole, extend: (_packed, added) => after(added) }),
    /** Number to which an extension adds. */
    count: ({
      whole,
      added,
    }: {
      readonly whole: (run: W) => number;
      readonly added: (added: A) => number;
    }): Field<number, W, A> => ({
      ...createPlainField<number>(),
      whole,
      extend: (packed, more) => requireNumber(packed) + added(more),
    }),
    /** Latest items of a list, at most `max`. */
    latest: <T, I>({ item, whole, added, max }: LatestField<T, I, W, A>): Field<readonly T[], W, A> => ({
      shape: `[${item.shape}]`,
      whole: (run) => whole(run).slice(-max).map(item.whole),
      pack: (values, into) => values.map((value) => item.pack(value, into)),
      read: (packed, from) => requireList(packed).map((one) => item.read(one, from)),
      extend: (packed, more, into) =>
        [...requireList(packed), ...added(more).map((one) => item.pack(item.whole(one), into))].slice(-max),
      differs(a, b, names) {
        const position =
          a.length === b.length
            ? a.findIndex((value, i) => item.differs(value, b[i]!, names) !== null)
            : Math.min(a.length, b.length);
        return position < 0 ? null : `[${position}]`;
      },
    }),
    /** Value of an optional part of a run; null if absent. */
    optional: <T, V, B>({ whole, added, field }: OptionalField<T, V, B, W, A>): Field<T | null, W, A> => ({
      shape: field.shape,
      whole: (run) => mapNullable(whole(run), field.whole),
      pack: (value, into) => mapNullable(value, (there) => field.pack(there, into)),
      read: (packed, from) => mapNullable(packed, (there) => field.read(there, from)),
      extend: (packed, more, into) =>
        mapNullable(packed, (there) => mapNullable(added(more), (one) => field.extend(there, one, into))),
      differs: (a, b, names) => (a === null || b === null ? (a === b ? null : '') : field.differs(a, b, names)),
    }),
    /**
     * Value that records of earlier versions lack. A missing value is read as null and is not compared with a replay.
     */
    later: <T>(field: Field<T, W, A>): Field<T | null, W, A> => ({
      ...field,
      // Runs of this version always have the value; only older runs have null.
      pack: (value, into) => field.pack(value as T, into),
      read: (packed, from) => (packed === undefined ? null : field.read(packed, from)),
      differs: (a, b, names) => (a === null ? null : field.differs(a, b as T, names)),
    }),
    /** Value of a nested part of a run. */
    of: <T, V, B>({ whole, added, field }: PartField<T, V, B, W, A>): Field<T, W, A> => ({
      ...field,
      whole: (run) => field.whole(whole(run)),
      extend: (packed, more, into) => field.extend(packed, added(more), into),
    }),
  };
}

interface LatestField<T, I, W, A> {
  readonly item: Field<T, I, never>;
  readonly whole: (run: W) => readonly I[];
  readonly added: (added: A) => readonly I[];
  readonly max: number;
}

interface PartField<T, V, B, W, A> {
  readonly whole: (run: W) => V;
  readonly added: (added: A) => B;
  readonly field: Field<T, V, B>;
}

interface OptionalField<T, V, B, W, A> {
  readonly whole: (run: W) => V | null;
  readonly added: (added: A) => B | null;
  readonly field: Field<T, V, B>;
}

/** Field with named members, which can be read individually. */
export interface FieldGroup<T, W, A> extends Field<T, W, A> {
  readonly fields: Fields<T, W, A>;
}

export function createFieldGroup<T extends object, W, A>(fields: Fields<T, W, A>): FieldGroup<T, W, A> {
  const members = Object.keys(fields) as (keyof T & string)[]; // Object.keys returns plain strings.
  // Every member of T has a field, so the assembled object is a T.
  const mapMembers = <V>(make: (member: keyof T & string) => V) =>
    Object.fromEntries(members.map((member) => [member, make(member)]));
  return {
    fields,
    shape: `{${members.map((member) => `${member}:${fields[member].shape}`).join()}}`,
    whole: (run) => mapMembers((member) => fields[member].whole(run)) as T,
    pack: (value, into) => mapMembers((member) => fields[member].pack(value[member], into)),
    read: (packed, from) => mapMembers((member) => fields[member].read(readMember(packed, member), from)) as T,
    extend: (packed, added, into) =>
      mapMembers((member) => fields[member].extend(readMember(packed, member), added, into)),
    differs(stored, replayed, names) {
      for (const member of members) {
        const path = fields[member].differs(stored[member], replayed[member], names);
        if (path !== null) return `.${member}${path}`;
      }
      return null;
    },
  };
}

/** Returns a packed member of a group. Returns undefined if absent. */
export function readMember(packed: unknown, member: string): unknown {
  return typeof packed === 'object' && packed !== null ? Reflect.get(packed, member) : undefined;
}

/** Creates the operations of a value that is stored as plain JSON. */
function createPlainField<T>(): Pick<Field<T, unknown, unknown>, 'shape' | 'pack' | 'read' | 'differs'> {
  return {
    shape: 'json',
    pack: (value) => value,
    read(packed) {
      if (packed === undefined) throw createMissingFieldError();
      return packed as T; // Written by `pack` or `extend` of this field.
    },
    differs: (a, b) => (toCanonicalJson(a) === toCanonicalJson(b) ? null : ''),
  };
}

function requirePacked(packed: unknown): unknown {
  if (packed === undefined) throw new CannotResumeError('no_checkpoint');
  return packed;
}

function requireNumber(packed: unknown): number {
  if (typeof packed !== 'number') throw new CannotResumeError('no_checkpoint');
  return packed;
}

function requireList(packed: unknown): readonly unknown[] {
  if (!Array.isArray(packed)) throw createMissingFieldError();
  return packed;
}

function mapNullable<T, R>(value: T | null, use: (value: T) => R): R | null {
  return value === null ? null : use(value);
}

function haveEqualElements(a: Numbers, b: Numbers): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}

function haveEqualIdentifiers(
  a: Numbers,
  b: Numbers,
  { stored: names, replayed: others }: ComparedIdentifiers,
): boolean {
  return a.length === b.length && a.every((place, i) => names[place] === others[b[i]!]);
}

function createMissingFieldError(): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: a field of its record is missing.');
}

/**
 * Packed weights of the portfolio: only the number of rows, counted from the end. The weights themselves are a block of
 * the run file.
 */
interface PortfolioRows {
  readonly portfolioRows: number;
}

function isPortfolioRows(packed: unknown): packed is PortfolioRows {
  return typeof packed === 'object' && packed !== null && 'portfolioRows' in packed;
}

/** Returns the weights of a book on the most recent dates, with one column per security of the book. */
export function createFrame({ sm, columns, weights, from, length }: Book): WeightsFrame {
  const first = Math.max(0, length - LIMITS.MAX_WEIGHT_DATES);
  return {
    columns,
    days: sm.sessions.slice(from + first, from + length),
    weights: weights.subarray(first * columns.length, length * columns.length),
  };
}

/**
 * Returns true if the most recent dates, the securities and the weights on those dates are equal in two books, bit for
 * bit.
 */
export function haveSameFrame(a: Book, b: Book): boolean {
  const rowCount = Math.min(a.length, LIMITS.MAX_WEIGHT_DATES);
  const areDates = rowCount === Math.min(b.length, LIMITS.MAX_WEIGHT_DATES) && a.from + a.length === b.from + b.length;
  if (a.sm !== b.sm || !areDates || !isEqual(a.columns, b.columns)) return false;
  if (a.weights.buffer === b.weights.buffer) return true;
  const cells = rowCount * a.columns.length;
  return isEqual(a.weights.subarray(a.weights.length - cells), b.weights.subarray(b.weights.length - cells));
}

/** Books of an extension, which begin with the last stored session. */
export interface AppendedFrame {
  readonly book: Book;
  readonly portfolio: Book;
  /** Number of stored dates of the book. */
  readonly before: number;
}

const { f64, i32, positions } = createFields<WeightsFrame, never>();
const arrays = createFieldGroup<WeightsFrame, WeightsFrame, never>({
  days: i32({ whole: ({ days }) => days }),
  columns: positions({ whole: ({ columns }) => columns }),
  weights: f64({ whole: ({ weights }) => weights }),
});

/**
 * Recent weights of a book. The field stores separate arrays, or refers to the portfolio's rows if both books held
 * equal weights.
 */
export const FRAME: Field<WeightsFrame, WeightsFrame, AppendedFrame> = {
  ...arrays,
  whole: (frame) => frame,
  pack: (frame, into) =>
    into.isOfPortfolio(frame)
      ? ({ portfolioRows: frame.days.length } satisfies PortfolioRows)
      : arrays.pack(frame, into),
  read: (packed, from) =>
    isPortfolioRows(packed) ? from.portfolioFrame(packed.portfolioRows) : arrays.read(packed, from),
  extend(packed, added, into) {
    const isSame = haveSameWeights(added, into);
    if (!isPortfolioRows(packed)) return extendArrays(readFrameLocations(packed), { added, isSame }, into);
    if (!isSame) throw new CannotResumeError('holdings_diverged');
    const { stored } = into;
    return {
      portfolioRows: Math.min(LIMITS.MAX_WEIGHT_DATES, stored.dates + added.portfolio.length - 1),
    } satisfies PortfolioRows;
  },
};

/** Returns true if book and portfolio have equal rows on the new sessions. */
function haveSameWeights({ book, portfolio, before }: AppendedFrame, { stored }: RecordExtension): boolean {
  if (book === portfolio) return true;
  const max = LIMITS.MAX_WEIGHT_DATES;
  const rowCount = Math.min(before + book.length - 1, max);
  const areDates =
    rowCount === Math.min(stored.dates + portfolio.length - 1, max) &&
    book.from + book.length === portfolio.from + portfolio.length;
  if (book.sm !== portfolio.sm || !areDates || !isEqual(book.columns, portfolio.columns)) return false;
  const width = book.columns.length;
  return (
    book.weights.buffer === portfolio.weights.buffer ||
    isEqual(book.weights.subarray(width), portfolio.weights.subarray(width))
  );
}

/** Places of a frame's arrays in the file. */
type FrameLocations = { readonly [M in keyof WeightsFrame]: ArrayLocation };

function readFrameLocations(packed: unknown): FrameLocations {
  const readLocation = (member: keyof WeightsFrame): ArrayLocation => {
    const location = readMember(packed, member);
    if (!isArrayLocation(location)) throw new CannotResumeError('no_checkpoint');
    return location;
  };
  return { days: readLocation('days'), columns: readLocation('columns'), weights: readLocation('weights') };
}

/**
 * Returns the positions of a book's most recent weights in the file, including the new sessions.
 * @throws CannotResumeError if a full run would refer to the weights of the portfolio instead
 */
function extendArrays(
  frame: FrameLocations,
  { added, isSame }: { readonly added: AppendedFrame; readonly isSame: boolean },
  into: RecordExtension,
): FrameLocations {
  const { book, before } = added;
  const { pools, stored, identifiers } = into;
  const max = LIMITS.MAX_WEIGHT_DATES;
  const columns = into.positions(book.columns);
  const frameWeights = alignWeights(frame, columns, into);
  const sessionCount = book.length - 1;
  const retainedCount = Math.max(0, max - sessionCount);
  const last = Math.min(sessionCount, max);
  const end = book.from + book.length;
  const days = pools.slide(frame.days, retainedCount, book.sm.sessions.slice(end - last, end));
  const weights = pools.slide(
    frameWeights.weights,
    retainedCount * columns.length,
    book.weights.slice((book.length - last) * columns.length),
  );
  const rowCount = Math.min(before, retainedCount);
  const names = Array.from(columns, (place) => identifiers[place]!);
  if (isSame && hasPortfolioWeights(stored, { names, rows: rowCount, weights: pools.read(frameWeights.weights) }))
    throw new CannotResumeError('holdings_diverged');
  return { days, columns: frameWeights.columns, weights };
}

/** Reorders the stored weights of a book to its current securities. Securities that joined get weight 0. */
function alignWeights(
  { columns: arrayLocation, weights }: FrameLocations,
  columns: Int32Array,
  { pools }: RecordExtension,
): Pick<FrameLocations, 'columns' | 'weights'> {
  const before = pools.read(arrayLocation);
  if (isEqual(columns, before)) return { columns: arrayLocation, weights };
  const positionByColumn = new Map(Array.from(columns, (column, place) => [column, place]));
  const columnPositions = Int32Array.from(before, (column) => positionByColumn.get(column) ?? -1);
  if (columnPositions.includes(-1)) throw new Error('a book has lost a security that it could hold');
  const rows = pools.read(weights);
  const widenedRows = new Float64Array((rows.length / before.length) * columns.length);
  for (let position = 0, row = 0; position < rows.length; position += before.length, row += columns.length) {
    for (let k = 0; k < before.length; k++) widenedRows[row + columnPositions[k]!] = rows[position + k]!;
  }
  return { columns: pools.add(columns), weights: pools.add(widenedRows) };
}

interface FrameRows {
  readonly names: readonly string[];
  /** Number of most recent rows to keep. */
  readonly rows: number;
  /** Stored weights of the book. */
  readonly weights: ArrayLike<number>;
}

/** Returns true if the last stored rows of a book equal the portfolio's rows. */
function hasPortfolioWeights(stored: RecordExtension['stored'], { names, rows, weights }: FrameRows): boolean {
  const { names: all, dates } = stored;
  if (rows > dates) return false;
  const positionByName = new Map(all.map((name, place) => [name, place]));
  const namePositions = Int32Array.from(names, (name) => positionByName.get(name) ?? -1);
  const storedWeights = stored.f64('weights', (dates - rows) * all.length, dates * all.length);
  const first = weights.length - rows * names.length;
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < names.length; k++) {
      const storedWeight = namePositions[k]! < 0 ? 0 : storedWeights[row * all.length + namePositions[k]!]!;
      if (weights[first + row * names.length + k] !== storedWeight) return false;
    }
  }
  return true;
}
