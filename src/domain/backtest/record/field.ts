import { toCanonicalJson } from '../../json/canonical-json.js';
import { Refusal } from '../../refusals/refusal.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import type { Numbers } from '../../numbers/number-types.js';
import {
  isArrayLocation,
  type ArrayLocation,
  type Pools,
  type Reference,
  type StoredNumbers,
} from './number-places.js';

/** File to which the arrays of a record are written. */
export interface Packing {
  /**
   * Stores an array and returns a reference to its position in the file.
   * @param isPositions true if the numbers are market columns, which are stored as positions in the identifiers of the
   * record.
   */
  place(numbers: Numbers, isPositions: boolean): Reference;
  /** Returns true if the frame is that of the portfolio. Its weights are already a block of the run file. */
  isOfPortfolio(frame: WeightsFrame): boolean;
}

/** Source from which the arrays of a stored record are read. */
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

/** One field for each member of a record. */
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
