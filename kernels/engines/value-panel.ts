import { allocatePages } from '../memory/large-pages.js';
import type { Holding } from '../sums/holding-values.js';
import { createKernelImports } from './kernel-imports.js';
import { kernelModule } from './kernel-module.js';

const PAGE_BYTES = 65_536;
/** The first page holds the constants of the module; units, columns and values of a holding follow, then the panel. */
const SCRATCH_AT = PAGE_BYTES;

/**
 * Range of panel sizes with kernels. Addresses end below 2 GiB, and calling a kernel for a small panel costs more than
 * it saves. Other panels are summed by plain code.
 */
export const PANEL_BYTES_MIN = 2 ** 20;
const PANEL_BYTES_MAX = 2 ** 30;

/** Number of sessions whose values are requested at once. */
export const SESSIONS_AT_ONCE = 4;

/** Sums over the rows of a panel in its own memory, with the bits of `sumHoldingValue`. */
export interface ValuePanel {
  /** Loads a holding in place of the previous one. */
  load(holding: Holding, loaded: LoadedHolding): void;
  /** Returns true if that holding was loaded last. */
  has(owner: object, version: number): boolean;
  /** Changes the units at a place of the holding. */
  setUnits(place: number, units: number): void;
  /** Values on sessions that follow each other, at most `SESSIONS_AT_ONCE`. @param row beginning of the first one's row */
  values(row: number, sessions: number, into: Float64Array): void;
}

/** The identity of a holding. */
export interface LoadedHolding {
  /** True if its columns are adjacent. */
  readonly isRun: boolean;
  /** Owner of the holding, and version of the holding. */
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
}

const panels = new WeakMap<ArrayBufferLike, ValuePanel>();

/** Returns the sums over a panel created by `createValuePanel`; undefined for other panels. */
export function valuePanelOf({ buffer }: Float64Array): ValuePanel | undefined {
  return panels.get(buffer);
}

/**
 * Allocates zeroed memory for a panel with kernels; undefined if it is too small or too large, or memory is
 * insufficient. @param names cells of a row
 */
export function createValuePanel(cells: number, names: number): Float64Array | undefined {
  const columnsAt = SCRATCH_AT + 8 * names;
  const valuesAt = columnsAt + 8 * names;
  const panelAt = valuesAt + 8 * SESSIONS_AT_ONCE;
  if (8 * cells < PANEL_BYTES_MIN || 8 * cells > PANEL_BYTES_MAX) return undefined;
  const pages = Math.ceil((panelAt + 8 * cells) / PAGE_BYTES) + 1;
  const memory = allocatePages(pages);
  if (memory === undefined) return undefined;
  const { exports } = new WebAssembly.Instance(kernelModule(), createKernelImports(memory));
  const { holdingValues } = exports as unknown as Exports; // Built from kernels/wasm/holding-values.ts.
  const units = new Float64Array(memory.buffer, SCRATCH_AT, names);
  const columns = new Int32Array(memory.buffer, columnsAt, names);
  const values = new Float64Array(memory.buffer, valuesAt, SESSIONS_AT_ONCE);
  let held = { count: 0, money: 0, columnsAt: 0, first: 0 };
  let known: LoadedHolding | null = null;
  panels.set(memory.buffer, {
    has: (owner, version) => known !== null && known.owner === owner && known.version === version,
    load(holding, loaded) {
      const { isRun } = (known = loaded);
      const { count, money } = holding;
      for (let k = 0; k < count; k++) units[k] = holding.units[k]!;
      if (!isRun) for (let k = 0; k < count; k++) columns[k] = holding.columns[k]!;
      held = { count, money, columnsAt: isRun ? 0 : columnsAt, first: isRun ? 8 * holding.columns[0]! : 0 };
    },
    setUnits(place, value) {
      units[place] = value;
    },
    values(row, sessions, into) {
      const { count, money, first } = held;
      const at = panelAt + 8 * row + first;
      holdingValues(at, 8 * names, sessions, held.columnsAt, SCRATCH_AT, count, money, valuesAt);
      for (let s = 0; s < sessions; s++) into[s] = values[s]!;
    },
  });
  return new Float64Array(memory.buffer, panelAt, cells);
}
