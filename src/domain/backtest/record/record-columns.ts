import { Refusal } from '../../refusal.js';
import type { BlockName, RunColumns } from '../run-file/columns.js';
import type { RunRecord, WeightsFrame } from './run-record.js';

/** Changes whenever the same columns give another text of the record. */
export const RECORD_FORMAT = 2;

/**
 * A record in the columns of its run: a description as JSON in which every array is a reference, and the arrays one behind the
 * other by type. Arrays that the columns have anyway are named instead of being kept twice.
 */
export interface PackedRecord {
  readonly description: Uint8Array;
  readonly f64: Pool<Float64Array>;
  readonly i32: Pool<Int32Array>;
  readonly u8: Pool<Uint8Array>;
}

/** Arrays that lie one behind the other in a block. */
interface Pool<A> {
  readonly length: number;
  writeTo(block: A): void;
}

export type Kind = 'f64' | 'i32' | 'u8';
export type Numbers = Float64Array | Int32Array | Uint8Array;

/** Where an array is: a stretch of a block. */
export interface Reference {
  readonly block: BlockName;
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}

/** An array that lies in several stretches, as one does that a run gone on with has added to. */
export interface Stretches {
  readonly parts: readonly Reference[];
}

/** The frame of the portfolio: the last rows of its weights. */
export interface FrameReference {
  readonly portfolioRows: number;
}

export const POOL = { f64: 'recordF64', i32: 'recordI32', u8: 'recordU8' } as const;

/** Members of a record that are kept as they are. */
const PLAIN = ['runId', 'metrics', 'findings', 'unfilled'] as const;
export type Plain = Pick<RunRecord, (typeof PLAIN)[number]>;

/** Members whose arrays are positions in the identifiers. */
const POSITIONS: ReadonlySet<string> = new Set(['columns', 'capped']);

export interface Description {
  readonly identifiers: readonly string[];
  readonly plain: Plain;
  readonly rest: unknown;
}

/**
 * @param blocks arrays of the record that are blocks of the columns.
 * @throws Refusal NUMERIC_FAILURE when a number of the record is not finite
 */
export function packRecord(record: RunRecord, blocks: ReadonlyMap<Numbers, BlockName>): PackedRecord {
  const { identifiers, runId, metrics, findings, unfilled, ...rest } = record;
  const pools = { f64: [] as Float64Array[], i32: [] as Int32Array[], u8: [] as Uint8Array[] };
  const lengths = { f64: 0, i32: 0, u8: 0 };
  const known = new Map<Numbers, Reference>([...blocks].map(([array, block]) => [array, { block, kind: kindOf(array), from: 0, to: array.length }]));
  const positions = new Set<Int32Array>();
  const place = (array: Numbers, member: string): Reference => {
    let reference = known.get(array);
    if (!reference) {
      const kind = kindOf(array);
      reference = { block: POOL[kind], kind, from: lengths[kind], to: (lengths[kind] += array.length) };
      known.set(array, reference);
      if (array instanceof Float64Array) pools.f64.push(array);
      else if (array instanceof Int32Array) pools.i32.push(array);
      else pools.u8.push(array);
      if (POSITIONS.has(member) && array instanceof Int32Array) positions.add(array);
    }
    return reference;
  };
  const restText = JSON.stringify(rest, (member, value: unknown): unknown => {
    if (value === record.portfolio.frame) return { portfolioRows: record.portfolio.frame.days.length } satisfies FrameReference;
    return isNumbers(value) ? place(value, member) : value;
  });
  for (const array of [...pools.f64, ...blocks.keys()]) if (array instanceof Float64Array) assertFinite(array);
  const used = namesIn(positions, identifiers);
  const head = JSON.stringify({ identifiers: Array.from(used.columns, (column) => identifiers[column]!), plain: { runId, metrics, findings, unfilled } });
  return {
    description: new TextEncoder().encode(`${head.slice(0, -1)},"rest":${restText}}`),
    f64: { length: lengths.f64, writeTo: (block) => copyAll(pools.f64, block) },
    u8: { length: lengths.u8, writeTo: (block) => copyAll(pools.u8, block) },
    i32: {
      length: lengths.i32,
      writeTo(block) {
        let to = 0;
        for (const array of pools.i32) {
          if (positions.has(array)) for (let i = 0; i < array.length; i++) block[to + i] = used.placeOf[array[i]!]!;
          else block.set(array, to);
          to += array.length;
        }
      },
    },
  };
}

export function kindOf(array: Numbers): Kind {
  return array instanceof Float64Array ? 'f64' : array instanceof Int32Array ? 'i32' : 'u8';
}

function isNumbers(value: unknown): value is Numbers {
  return value instanceof Float64Array || value instanceof Int32Array || value instanceof Uint8Array;
}

/** @throws Refusal NUMERIC_FAILURE */
export function assertFinite(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value - value !== 0) throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
  }
}

/** The columns that a record names, ascending, and the place of each among them. */
function namesIn(positions: Iterable<Int32Array>, identifiers: readonly string[]): { readonly columns: Int32Array; readonly placeOf: Int32Array } {
  const placeOf = new Int32Array(identifiers.length).fill(-1);
  for (const array of positions) for (let i = 0; i < array.length; i++) placeOf[array[i]!] = 0;
  const columns: number[] = [];
  for (let column = 0; column < placeOf.length; column++) if (placeOf[column] === 0) placeOf[column] = columns.push(column) - 1;
  return { columns: Int32Array.from(columns), placeOf };
}

function copyAll<A extends Float64Array | Uint8Array>(arrays: readonly A[], block: A): void {
  let to = 0;
  for (const array of arrays) {
    block.set(array, to);
    to += array.length;
  }
}

/** The record of a stored run. @throws Refusal DOCUMENT_UNREADABLE when the columns have none */
export function readRecord(columns: RunColumns): RunRecord {
  const { identifiers, plain, rest } = readDescription(columns);
  const named = [...identifiers];
  let frame: WeightsFrame | undefined;
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if (isFrame(value)) return (frame ??= portfolioFrame(columns, value.portfolioRows, named));
    if (isReference(value) || isStretches(value)) return numbersAt(columns, value);
    return Object.fromEntries(Object.entries(value).map(([member, part]) => [member, resolve(part)]));
  };
  return { identifiers: named, ...plain, ...(resolve(rest) as Omit<RunRecord, 'identifiers' | keyof Plain>) };
}

/** @throws Refusal DOCUMENT_UNREADABLE when the columns have no record */
export function readDescription(columns: RunColumns): Description {
  // Written by packRecord or extendRecord into the same blocks.
  return JSON.parse(new TextDecoder().decode(columns.u8('record'))) as Description;
}

/** The array of a reference. */
export function numbersAt(columns: RunColumns, reference: Reference | Stretches): Numbers {
  if (isReference(reference)) return columns[reference.kind](reference.block, reference.from, reference.to);
  const parts = reference.parts.map((part) => numbersAt(columns, part));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const first = parts[0]!;
  const whole = first instanceof Float64Array ? new Float64Array(length) : first instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function isStretches(value: object): value is Stretches {
  return 'parts' in value;
}

export function isReference(value: object): value is Reference {
  return 'block' in value;
}

export function isFrame(value: object): value is FrameReference {
  return 'portfolioRows' in value;
}

/** The last rows of the weights; names that nothing else of the record tells are added to the identifiers. */
function portfolioFrame(columns: RunColumns, rows: number, identifiers: string[]): WeightsFrame {
  const { names, dates } = columns.header;
  const places = new Map(identifiers.map((identifier, place) => [identifier, place]));
  return {
    days: columns.i32('days', dates - rows),
    columns: Int32Array.from(names, (name) => places.get(name) ?? identifiers.push(name) - 1),
    weights: columns.f64('weights', (dates - rows) * names.length),
  };
}
