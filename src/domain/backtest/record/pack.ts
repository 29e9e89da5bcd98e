import { Refusal } from '../../refusals/refusal.js';
import { findNumberType, type Numbers, type NumberType } from '../../numbers/number-types.js';
import type { Packing } from './field.js';
import { POOLS, type Reference } from './number-places.js';
import { JSON_FIELDS, REBALANCES, ARRAY_FIELDS, type RunRecord, type Snapshot } from './schema.js';

/**
 * Version of the packed form. Increment it if equal columns and fields (`RECORD_SHAPE`) are written as a different
 * text.
 */
export const RECORD_FORMAT = 3;

/**
 * Record as it is stored in the columns of its run. A JSON description refers to arrays by their position, and the
 * arrays are concatenated by type. Arrays that are blocks of the file are referenced and not stored twice.
 */
export interface PackedRecord {
  readonly description: Uint8Array;
  /** Rebalances of the run, packed like the description; securities are positions in its identifiers. */
  readonly rebalances: Uint8Array;
  readonly pools: Readonly<Record<NumberType, PackedPool>>;
}

/** Concatenated arrays of one number type. */
interface PackedPool {
  readonly length: number;
  writeTo(block: Numbers): void;
}

/**
 * Packs the record of a run.
 * @param blocks arrays of the record that are blocks of the file.
 * @throws Refusal NUMERIC_FAILURE if a number of the record is not finite
 */
export function packRecord(
  { record, rebalances }: { readonly record: RunRecord; readonly rebalances: readonly Snapshot[] },
  blocks: ReadonlyMap<Numbers, string>,
): PackedRecord {
  const { identifiers } = record;
  const pools = createPools(record, blocks);
  const jsonFields = JSON_FIELDS.pack(record, pools.packing);
  const otherFields = ARRAY_FIELDS.pack(record, pools.packing);
  const packedRebalances = REBALANCES.pack(rebalances, pools.packing);
  for (const array of [...pools.arrays.f64, ...blocks.keys()]) if (array instanceof Float64Array) assertFinite(array);
  const usedColumns = collectUsedColumns(pools.positions, identifiers);
  const description = {
    identifiers: Array.from(usedColumns.columns, (column) => identifiers[column]!),
    plain: jsonFields,
    rest: otherFields,
  };
  const createPackedPool = (kind: NumberType): PackedPool => ({
    length: pools.arrays[kind].reduce((sum, { length }) => sum + length, 0),
    writeTo(block) {
      let to = 0;
      for (const array of pools.arrays[kind]) {
        if (pools.positions.has(array))
          for (let i = 0; i < array.length; i++) block[to + i] = usedColumns.placeOf[array[i]!]!;
        else block.set(array, to);
        to += array.length;
      }
    },
  });
  return {
    description: new TextEncoder().encode(JSON.stringify(description)),
    rebalances: new TextEncoder().encode(JSON.stringify(packedRebalances)),
    pools: { f64: createPackedPool('f64'), i32: createPackedPool('i32'), u8: createPackedPool('u8') },
  };
}

interface WholePools {
  readonly packing: Packing;
  readonly arrays: Readonly<Record<NumberType, readonly Numbers[]>>;
  /** Packed arrays that contain market columns. */
  readonly positions: ReadonlySet<Numbers>;
}

/** Creates pools that contain every array only once. */
function createPools({ portfolio }: RunRecord, blocks: ReadonlyMap<Numbers, string>): WholePools {
  const arrays: Record<NumberType, Numbers[]> = { f64: [], i32: [], u8: [] };
  const lengths = { f64: 0, i32: 0, u8: 0 };
  const positions = new Set<Numbers>();
  const references = new Map<Numbers, Reference>(
    Array.from(blocks, ([array, block]) => [array, { block, kind: findNumberType(array), from: 0, to: array.length }]),
  );
  const storeArray = (array: Numbers, isPositions: boolean): Reference => {
    let reference = references.get(array);
    if (!reference) {
      const kind = findNumberType(array);
      reference = { block: POOLS[kind], kind, from: lengths[kind], to: (lengths[kind] += array.length) };
      references.set(array, reference);
      arrays[kind].push(array);
      if (isPositions) positions.add(array);
    }
    return reference;
  };
  return { arrays, positions, packing: { place: storeArray, isOfPortfolio: (frame) => frame === portfolio.frame } };
}

/**
 * Refuses values that are not finite.
 * @throws Refusal NUMERIC_FAILURE
 */
export function assertFinite(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value - value !== 0) throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
  }
}

interface UsedColumns {
  /** Market columns that a record refers to, ascending. */
  readonly columns: Int32Array;
  /** Position of each market column in `columns`; -1 if absent. */
  readonly placeOf: Int32Array;
}

function collectUsedColumns(positions: Iterable<Numbers>, identifiers: readonly string[]): UsedColumns {
  const positionByColumn = new Int32Array(identifiers.length).fill(-1);
  for (const array of positions) for (let i = 0; i < array.length; i++) positionByColumn[array[i]!] = 0;
  const columns: number[] = [];
  for (let column = 0; column < positionByColumn.length; column++)
    if (positionByColumn[column] === 0) positionByColumn[column] = columns.push(column) - 1;
  return { columns: Int32Array.from(columns), placeOf: positionByColumn };
}
