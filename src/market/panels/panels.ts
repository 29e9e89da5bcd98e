import { createHash } from 'node:crypto';
import { compareText } from '#domain/base/findings.js';
import { listPositions } from '#domain/base/numbers.js';
import { allocateHandedMemory, allocatePanels, openPagedFile, type PagedFile } from '#kernels/memory/paged-memory.js';

/** Dense panels over two axes: days ascending by identifiers in code-point order. */
export interface Panels {
  /** [N] */
  readonly identifiers: readonly string[];
  /** Days, [T]. */
  readonly dates: Int32Array;
  /** Row-major values by field name, [T x N], in shared memory; NaN for missing values. */
  readonly fields: ReadonlyMap<string, Float64Array>;
}

export function computePanelBytes(shape: {
  readonly dates: number;
  readonly identifiers: number;
  readonly fields: number;
}): number {
  return shape.dates * shape.identifiers * shape.fields * Float64Array.BYTES_PER_ELEMENT;
}

/**
 * Returns a panel of zeros. @param fields number of panels of the store; together they decide if panels are kept in
 * files
 */
export function createZeroPanel(cells: number, fields = 1): Float64Array<SharedArrayBuffer> {
  const bytes = cells * Float64Array.BYTES_PER_ELEMENT;
  return new Float64Array(allocatePanels(bytes, fields * bytes));
}

/** Allocates like `createZeroPanel`, for a panel that is passed to another process. */
export function allocateHandedPanel(cells: number, fields: number): Float64Array<SharedArrayBuffer> {
  const bytes = cells * Float64Array.BYTES_PER_ELEMENT;
  return new Float64Array(allocateHandedMemory(bytes, fields * bytes));
}

/** Returns a panel of missing values (NaN). @param fields number of panels of the store */
export function allocateEmptyPanel(cells: number, fields = 1): Float64Array<SharedArrayBuffer> {
  return createZeroPanel(cells, fields).fill(Number.NaN);
}

/**
 * Number of days that can be appended to a served panel without a copy. It is enough for a year of refreshes. Memory
 * that is not written takes no physical memory.
 */
const RESERVED_DAYS = 256;

/** Opens a growable panel on a file that another process fills. Returns undefined if the file must be read. */
export function openPanel(file: PagedFile, days: number, assets: number): SharedArrayBuffer | undefined {
  return openPagedFile(file, computePanelBytes({ dates: days + RESERVED_DAYS, identifiers: assets, fields: 1 }));
}

/**
 * Allocates a panel, [days x assets] float64, with space for RESERVED_DAYS more. @param fields number of panels of the
 * store
 */
export function allocateGrowablePanel(days: number, assets: number, fields: number): SharedArrayBuffer {
  const shape = { identifiers: assets, fields };
  return allocatePanels(
    computePanelBytes({ ...shape, dates: days + RESERVED_DAYS, fields: 1 }),
    computePanelBytes({ ...shape, dates: days }),
  );
}

/** Creates the memory of `MarketHandle.taken` for new panels: Int32 [1], the number of used days. */
export function createUsedDays(days: number): SharedArrayBuffer {
  const usedDays = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(usedDays)[0] = days;
  return usedDays;
}

/** Returns panels without days and identifiers. */
export function createNoPanels(fields: readonly string[]): Panels {
  return {
    identifiers: [],
    dates: new Int32Array(0),
    fields: new Map(fields.map((name) => [name, allocateEmptyPanel(0)])),
  };
}

/**
 * Removes the days and identifiers without a value in any field. Equal values then have equal axes, even if files have
 * empty rows.
 * @cost one pass over the cells; nothing is copied if every day and identifier has a value.
 */
export function removeEmptyLines(panels: Panels): Panels {
  const { identifiers, dates, fields } = panels;
  const assets = identifiers.length;
  const usedDayFlags = new Uint8Array(dates.length);
  const usedNameFlags = new Uint8Array(assets);
  let unusedNames = assets;
  for (const panel of fields.values()) {
    for (let t = 0; t < dates.length; t++) {
      for (let n = 0; n < assets && (unusedNames > 0 || usedDayFlags[t] === 0); n++) {
        const value = panel[t * assets + n]!;
        if (value !== value) continue;
        usedDayFlags[t] = 1;
        unusedNames -= 1 - usedNameFlags[n]!;
        usedNameFlags[n] = 1;
      }
    }
    if (unusedNames === 0 && !usedDayFlags.includes(0)) return panels;
  }
  const days = listPositions(usedDayFlags);
  const names = listPositions(usedNameFlags);
  return {
    identifiers: names.map((n) => identifiers[n]!),
    dates: Int32Array.from(days, (t) => dates[t]!),
    fields: new Map(
      [...fields].map(([name, panel]) => [name, pick({ panel, assets, fields: fields.size }, days, names)]),
    ),
  };
}

interface PanelOf {
  readonly panel: Float64Array;
  /** Numbers of identifiers and of fields of the store. */
  readonly assets: number;
  readonly fields: number;
}

function pick(
  { panel, assets, fields }: PanelOf,
  days: readonly number[],
  names: readonly number[],
): Float64Array<SharedArrayBuffer> {
  const out = createZeroPanel(days.length * names.length, fields);
  let cell = 0;
  for (const t of days) for (const n of names) out[cell++] = panel[t * assets + n]!;
  return out;
}

/** Number of days per block that is hashed. An append to a store changes only the last block. */
export const BLOCK_DAYS = 64;

export const DIGEST_BYTES = 32;

export interface CachedBlockDigests {
  readonly digests: Uint8Array;
  readonly days: number;
}

/** Digests of blocks of the panels with these fields, by block number. */
export interface ComputedBlocks {
  readonly fields: Panels['fields'];
  readonly digests: ReadonlyMap<number, Uint8Array>;
}

/**
 * Returns a function that computes the SHA-256 of a block. It hashes the days of the block, then its values, field by
 * field in the order of their names.
 */
export function createBlockDigests({ identifiers, dates, fields }: Panels): (block: number) => Uint8Array {
  const assets = identifiers.length;
  const panels = [...fields.keys()].toSorted(compareText).map((name) => fields.get(name)!);
  return (block) => {
    const from = block * BLOCK_DAYS;
    const to = Math.min(from + BLOCK_DAYS, dates.length);
    return computeBlockDigest(
      dates.subarray(from, to),
      panels.map((panel) => panel.subarray(from * assets, to * assets)),
    );
  };
}

/**
 * Computes the digest of one block. @param values values of its fields in the order of their names, [days x assets]
 * each
 */
export function computeBlockDigest(days: Int32Array, values: readonly Float64Array[]): Uint8Array {
  const hash = createHash('sha256').update(days);
  for (const cells of values) hash.update(cells);
  return hash.digest();
}

/**
 * Returns a table from days, counted from the first day, to rows. A look-up in this table replaces a search for every
 * cell.
 */
export function createDayPositions(dates: Int32Array): Int32Array {
  const positions = new Int32Array(dates.length === 0 ? 0 : dates.at(-1)! - dates[0]! + 1).fill(-1);
  for (let t = 0; t < dates.length; t++) positions[dates[t]! - dates[0]!] = t;
  return positions;
}
