import { listPositions } from '#domain/base/numbers.js';
import { allocateHandedMemory, openPagedFile, allocatePanels, type PagedFile } from '#kernels/memory/paged-memory.js';

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
