import { signal } from '@preact/signals';

/** Layout of the columns of a table. A column is identified by its id. */
export interface TableLayout {
  /**
   * Columns in the order in which they are shown. Columns that are not in the list follow in the order of the page.
   * Default: the order of the page.
   */
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  /** Columns that are also shown in narrow tables. */
  readonly kept: readonly string[];
  /** Columns that stay visible while the others are scrolled. */
  readonly pinned: readonly string[];
  /** Widths in pixels by column. */
  readonly widths: Readonly<Record<string, number>>;
  readonly group: string | null;
}

export const DEFAULT_LAYOUT: TableLayout = { order: [], hidden: [], kept: [], pinned: [], widths: {}, group: null };

const LAYOUTS_ENTRY = 'divisor.tables';
/** Maximum number of stored layouts; the oldest layout is dropped. */
const LAYOUTS_MAX = 60;

const layouts = signal<Readonly<Record<string, TableLayout>>>(readStoredLayouts());

function readStoredLayouts(): Record<string, TableLayout> {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(LAYOUTS_ENTRY) ?? '{}');
    return typeof all === 'object' && all !== null ? (all as Record<string, TableLayout>) : {}; // written by `storeLayout`
  } catch {
    return {};
  }
}

/** Returns the layout of a table. */
export const getLayout = (table: string): TableLayout => ({ ...DEFAULT_LAYOUT, ...layouts.value[table] });

/** Stores the layout of a table in this browser. */
export function storeLayout(table: string, layout: TableLayout): void {
  const { [table]: _, ...others } = layouts.peek();
  const isPlain = JSON.stringify(layout) === JSON.stringify(DEFAULT_LAYOUT);
  const all = Object.entries(isPlain ? others : { ...others, [table]: layout }).slice(-LAYOUTS_MAX);
  layouts.value = Object.fromEntries(all);
  localStorage.setItem(LAYOUTS_ENTRY, JSON.stringify(layouts.peek()));
}
