import { signal } from '@preact/signals';

/** Column layouts of tables, by column id. */
export interface TableLayout {
  /** Columns in their order, followed by the others in the order of the page. Default: the order of the page. */
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  /** Columns that are shown in narrow tables too. */
  readonly kept: readonly string[];
  /** Columns that remain visible while the others scroll. */
  readonly pinned: readonly string[];
  /** Widths in pixels. */
  readonly widths: Readonly<Record<string, number>>;
  readonly group: string | null;
}

export const PLAIN: TableLayout = { order: [], hidden: [], kept: [], pinned: [], widths: {}, group: null };

const LAYOUTS_PLACE = 'divisor.tables';
/** Maximum number of tables whose layout is stored. The oldest is dropped. */
const LAYOUTS_MAX = 60;

const layouts = signal<Readonly<Record<string, TableLayout>>>(readKept());

function readKept(): Record<string, TableLayout> {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(LAYOUTS_PLACE) ?? '{}');
    return typeof all === 'object' && all !== null ? (all as Record<string, TableLayout>) : {}; // Written below.
  } catch {
    return {};
  }
}

/** Returns the arrangement of a table. */
export const layoutOf = (table: string): TableLayout => ({ ...PLAIN, ...layouts.value[table] });

/** Remembers an arrangement in this browser. */
export function keepLayout(table: string, layout: TableLayout): void {
  const { [table]: _, ...others } = layouts.peek();
  const isPlain = JSON.stringify(layout) === JSON.stringify(PLAIN);
  const all = Object.entries(isPlain ? others : { ...others, [table]: layout }).slice(-LAYOUTS_MAX);
  layouts.value = Object.fromEntries(all);
  localStorage.setItem(LAYOUTS_PLACE, JSON.stringify(layouts.peek()));
}
