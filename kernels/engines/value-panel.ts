import type { PlacedHolding, WeightsRow } from '../sums/sums.js';
import { createKernelImports } from './wasm-instance.js';
import { compileKernelModule } from './kernel-module.js';

const PAGE_BYTES = 65_536;
/**
 * Start of the scratch memory, after the first page, which contains the constants of the module. The scratch memory
 * contains the units, columns, slots, weights and values of a holding. The panel follows.
 */
const SCRATCH_OFFSET = PAGE_BYTES;

/**
 * Range of panel sizes that use kernels. Addresses must stay below 2 GiB, and calling a kernel for a small panel costs
 * more than it saves. Other panels are summed in plain code.
 */
export const PANEL_BYTES_MIN = 2 ** 20;
const PANEL_BYTES_MAX = 2 ** 30;

/** Maximum number of sessions whose values are requested in one call. */
export const SESSIONS_PER_CALL = 4;

/** Values and weights over the rows of a panel in kernel memory, bit-identical to the definitions in `sums/sums`. */
export interface ValuePanel {
  load(holding: PlacedHolding, loaded: LoadedHolding): void;
  /** Returns true if the given holding was loaded last. */
  has(owner: object, version: number): boolean;
  /** Changes the units at one position of the holding. */
  setUnits(place: number, units: number): void;
  /**
   * Returns the values on consecutive sessions, at most `SESSIONS_PER_CALL`. @param row start of the row of the first
   * session
   */
  values(row: number, sessions: number, into: Float64Array): void;
  /** Writes the whole row of weights of the holding in one session, 0 for other slots. @param row start of its row */
  weights(row: number, into: WeightsRow): void;
}

export interface LoadedHolding {
  /** Number of weights in a row, at most the number of securities of the panel. */
  readonly width: number;
  /** Owner of the holding, and the version of its contents. */
  readonly owner: object;
  readonly version: number;
}

interface Exports {
  holdingValues(
    rows: number,
    stride: number,
    sessions: number,
    columns: number,
    units: number,
    count: number,
    start: number,
    out: number,
  ): void;
  holdingWeights(
    row: number,
    columns: number,
    slots: number,
    units: number,
    count: number,
    value: number,
    out: number,
  ): void;
}

const panels = new WeakMap<ArrayBufferLike, ValuePanel>();

/** Returns the sums over a panel created by `createValuePanel`; undefined for other panels. */
export function getValuePanel({ buffer }: Float64Array): ValuePanel | undefined {
  return panels.get(buffer);
}

/**
 * Allocates zeroed memory for a panel with kernels; undefined if the panel is too small or too large, or memory is
 * insufficient. @param names number of cells per row
 */
export function createValuePanel(cells: number, names: number): Float64Array | undefined {
  const columnsAt = SCRATCH_OFFSET + 8 * names;
  const slotsAt = columnsAt + 8 * names;
  const weightsAt = slotsAt + 8 * names;
  const valuesAt = weightsAt + 8 * names;
  const panelAt = valuesAt + 8 * SESSIONS_PER_CALL;
  if (8 * cells < PANEL_BYTES_MIN || 8 * cells > PANEL_BYTES_MAX) return undefined;
  const pages = Math.ceil((panelAt + 8 * cells) / PAGE_BYTES) + 1;
  const memory = allocatePages(pages);
  if (memory === undefined) return undefined;
  const { exports } = new WebAssembly.Instance(compileKernelModule(), createKernelImports(memory));
  const { holdingValues, holdingWeights } = exports as unknown as Exports; // Built from kernels/wasm/holding-values.ts.
  const units = new Float64Array(memory.buffer, SCRATCH_OFFSET, names);
  const columns = new Int32Array(memory.buffer, columnsAt, names);
  const slots = new Int32Array(memory.buffer, slotsAt, names);
  const values = new Float64Array(memory.buffer, valuesAt, SESSIONS_PER_CALL);
  let weightsRow = new Float64Array(memory.buffer, weightsAt, 0);
  let loadedUnits = { count: 0, money: 0, columnsAt: 0, first: 0, weightsAt };
  let loadedHolding: LoadedHolding | null = null;
  panels.set(memory.buffer, {
    has: (owner, version) =>
      loadedHolding !== null && loadedHolding.owner === owner && loadedHolding.version === version,
    load(holding, loaded) {
      loadedHolding = loaded;
      const { count, money } = holding;
      // Slots ascend with the columns and are never further apart, so those of adjacent columns are adjacent.
      const isRun = count > 0 && count - 1 === holding.columns[count - 1]! - holding.columns[0]!;
      for (let k = 0; k < count; k++) units[k] = holding.units[k]!;
      for (let k = 0; k < (isRun ? 0 : count); k++) {
        columns[k] = holding.columns[k]!;
        slots[k] = holding.slots[k]!;
      }
      if (weightsRow.length !== loaded.width) weightsRow = new Float64Array(memory.buffer, weightsAt, loaded.width);
      if (count < loaded.width) weightsRow.fill(0);
      loadedUnits = isRun
        ? { count, money, columnsAt: 0, first: 8 * holding.columns[0]!, weightsAt: weightsAt + 8 * holding.slots[0]! }
        : { count, money, columnsAt, first: 0, weightsAt };
    },
    setUnits(place, value) {
      units[place] = value;
    },
    values(row, sessions, into) {
      const { count, money, first } = loadedUnits;
      const position = panelAt + 8 * row + first;
      holdingValues(position, 8 * names, sessions, loadedUnits.columnsAt, SCRATCH_OFFSET, count, money, valuesAt);
      for (let s = 0; s < sessions; s++) into[s] = values[s]!;
    },
    weights(row, { value, weights, to }) {
      const { count, first, weightsAt: out } = loadedUnits;
      holdingWeights(panelAt + 8 * row + first, loadedUnits.columnsAt, slotsAt, SCRATCH_OFFSET, count, value, out);
      weights.set(weightsRow, to);
    },
  });
  return new Float64Array(memory.buffer, panelAt, cells);
}

/**
 * Allocates zeroed shared memory in pages of 64 KiB.
 * @returns undefined if the process has no address space left: such memory reserves 10 GB of it, regardless of its size
 */
export function allocatePages(pages: number): WebAssembly.Memory | undefined {
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  } catch (fault) {
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
}
