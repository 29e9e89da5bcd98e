import {
  type ColumnDef,
  columnFilteringFeature,
  columnGroupingFeature,
  columnOrderingFeature,
  columnPinningFeature,
  columnVisibilityFeature,
  constructAggregationFn,
  constructTable,
  createExpandedRowModel,
  createFilteredRowModel,
  createGroupedRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  type Row,
  rowAggregationFeature,
  rowExpandingFeature,
  rowSortingFeature,
  tableFeatures,
  type TableOptions,
} from '@tanstack/table-core';
import { storeReactivityBindings } from '@tanstack/table-core/store-reactivity-bindings';
import { useMemo } from 'preact/hooks';
import { lowerFirst } from '../../words/labels.js';
import { MISSING_TEXT } from '../../words/numbers.js';
import { parseFilter, type Cells, type CellValue } from '../../words/tables.js';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

/** Value of a cell before it is formatted; null if there is none. */
type Sortable = number | string | null;

/** Names of the members of a row that a column can show. */
type ShownMember<R> = unknown extends R
  ? string
  : { [K in keyof R & string]: R[K] extends Sortable ? K : never }[keyof R & string];

/** A column. If its id is the name of a member of the rows, the values of the column are those of the member. */
export type Column<R> = ColumnTerms<R> &
  ({ readonly id: string; value(row: R): Sortable } | { readonly id: ShownMember<R>; readonly value?: undefined });

interface ColumnTerms<R> {
  readonly title: string;
  /** Help for the column, for example its unit. */
  readonly help?: string;
  /** Minimum width in pixels. */
  readonly width: number;
  /**
   * Width in pixels that the column should have. Columns of low priority are hidden to give it this width. Default: the
   * minimum width.
   */
  readonly ideal?: number;
  /** Share of the remaining width. Default: `GROWTH_FACTOR`. */
  readonly grow?: number;
  /**
   * Priority of the column. In a narrow table, the columns with the highest numbers are hidden first. On a phone,
   * hidden columns are in the second line of each row, the lowest numbers first. Columns of priority 1 are hidden only
   * on a phone, and columns of priority 0 never. Default: 1.
   */
  readonly priority?: number;
  /**
   * Content of the column in the second line of a row on a phone: the cell after its title, a text that is truncated if
   * the line is full, or nothing. Default: the cell if it has a value; numbers and dates have the title in front.
   */
  readonly below?: 'titled' | 'text' | 'nothing';
  /** Alignment of numbers that `show` formats. */
  readonly align?: 'right';
  /**
   * Maximum number of lines of a text. In the second line of a row, the text is on separate lines below the other
   * values. Default: one line that is truncated, in the second line next to other values.
   */
  readonly lines?: 1 | 2;
  /** Returns the values of a column in which a row can have several. Grouped rows are listed below each of them. */
  groups?(row: R): readonly string[];
  /** Formats the numbers of the column, which are right-aligned. Null is shown as a dash. */
  write?(value: number): ComponentChildren;
  /** Returns the content of a cell. Default: the value as `write` formats it. */
  show?(row: R): ComponentChildren;
  /** Returns other content for the second line, where it is shown without the title of the column. */
  showBelow?(row: R): ComponentChildren;
  /** Returns the value in a copied row. Default: the sort key. */
  copy?(row: R): CellValue;
  /** Shown in place of the title. */
  head?(): ComponentChildren;
  /** True if the values of several rows can be added. The header of a group then shows their sum. */
  readonly adds?: boolean;
}

/** Returns the sort key of a cell. */
export const readCell = <R>({ id, value }: Column<R>, row: R): Sortable =>
  value === undefined ? (row as Readonly<Record<string, Sortable>>)[id]! : value(row); // the id names a member of the row

/** Returns the content of a cell. */
export function renderContent<R>(column: Column<R>, row: R): ComponentChildren {
  if (column.show !== undefined) return column.show(row) ?? MISSING_TEXT;
  const value = readCell(column, row);
  return (typeof value === 'number' && column.write !== undefined ? column.write(value) : value) ?? MISSING_TEXT;
}

export const isNumeric = <R>({ align, write }: Column<R>): boolean => align === 'right' || write !== undefined;

export interface Sort {
  readonly column: string;
  readonly direction: 'asc' | 'desc';
}

export interface SelectedRows {
  readonly keys: readonly string[];
  /** True if the rows cannot be selected together. Then there is no checkbox for all. */
  readonly isLimited?: boolean;
  onChange(keys: readonly string[]): void;
}

export interface TableProps<R> {
  /** Description of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  getKey(row: R): string;
  formatAddress?(row: R): string;
  /** Opens a row that is not a link. */
  onOpen?(row: R): void;
  /** Name under which the address contains sort order and search text. If absent, they are not in the address. */
  readonly name?: string;
  readonly sort?: Sort;
  /** Returns the text of a row that is searched. If absent, the table has no search. */
  searchIn?(row: R): string;
  /** Height in pixels above which the rows scroll. */
  readonly height?: number;
  /** Minimum width in pixels of a table whose rows have one line. Default: `PHONE_WIDTH`. */
  readonly oneLineMin?: number;
  /** Text shown if the table is empty or the search finds no row. */
  readonly empty?: string;
  /** Key of the row that is open. */
  readonly openKey?: string | null;
  /** Keys of the rows selected by their checkboxes, and a callback for changes. */
  readonly selection?: SelectedRows;
  /** Controls next to the search. */
  readonly tools?: ComponentChildren;
}

export const addCurrency = <R>(
  columns: readonly Column<R>[],
  money: readonly string[],
  currency: string,
): readonly Column<R>[] =>
  columns.map((column) =>
    money.includes(column.id) ? { ...column, title: `${column.title} ${currency}`.trim() } : column,
  );

/** Highest priority number of columns that are never hidden to make other columns wider. */
const IMPORTANT_PRIORITY = 3;

/**
 * Minimum width of a table in pixels without a second line. In a narrower table, columns that do not fit are in the
 * second line of each row.
 */
const PHONE_WIDTH = 600;

export interface FittingColumns<R> {
  readonly fits: readonly Column<R>[];
  /** Columns of the second line of each row, the most important ones first. Empty if rows have one line. */
  readonly below: readonly Column<R>[];
}

/**
 * Divides columns into those that fit into a width in pixels, and those for the second line.
 * @param oneLineMin minimum width of a table without a second line
 */
export function selectFitting<R>(
  columns: readonly Column<R>[],
  width: number,
  oneLineMin = PHONE_WIDTH,
): FittingColumns<R> {
  let keptColumns = columns;
  for (let priority = 9; priority > 1 && computeRequiredWidth(keptColumns, priority) > width; priority--)
    keptColumns = keptColumns.filter((column) => getPriority(column) < priority);
  if (width >= oneLineMin) return { fits: keptColumns, below: [] };
  const [first, ...others] = keptColumns.filter(({ title }) => title !== '');
  for (const column of others.toReversed())
    if (first !== undefined && getPriority(column) > 0 && computeWidth(keptColumns) > width)
      keptColumns = keptColumns.filter((one) => one !== column);
  const columnsBelow = columns.filter(
    (one) => !keptColumns.includes(one) && one.title !== '' && one.below !== 'nothing',
  );
  return { fits: keptColumns, below: columnsBelow.toSorted((a, b) => getPriority(a) - getPriority(b)) };
}

/**
 * Returns columns for a printed table. Paper has no details of a row that can be opened, so the second line contains
 * every column that does not fit, in full and after its title.
 */
export const createPrintedColumns = <R>(columns: readonly Column<R>[]): readonly Column<R>[] =>
  columns.map((column) => {
    const { showBelow: _, lines: __, priority = 1, ...shared } = column;
    return { ...shared, priority: Math.max(1, priority), below: 'titled' };
  });

/** Returns true if the text of a column wraps in the first line of a row. */
export const wrapsInRow = <R>({ lines = 1 }: Column<R>): boolean => lines > 1;

const getPriority = <R>({ priority = 1 }: Column<R>): number => priority;

const computeRequiredWidth = <R>(columns: readonly Column<R>[], priority: number): number =>
  priority > IMPORTANT_PRIORITY
    ? columns.reduce((sum, column) => sum + Math.max(column.width, column.ideal ?? 0), 0)
    : computeWidth(columns);

/** Returns the minimum width of columns, in pixels. */
export const computeWidth = <R>(columns: readonly Column<R>[]): number =>
  columns.reduce((sum, column) => sum + column.width, 0);

/**
 * Returns the CSS grid template of the columns. Columns without a title, pinned columns and resized columns have a
 * fixed width. The other columns share the rest. Their shares are multiplied, because CSS leaves space unused if the
 * sum of all shares is below 1.
 */
export const formatTemplate = <R>(columns: readonly Column<R>[], isFixed: (column: Column<R>) => boolean): string =>
  columns
    .map((column) =>
      isFixed(column) || column.title === ''
        ? `${column.width}px`
        : `minmax(${column.width}px, ${SHARE_FACTOR * (column.grow ?? GROWTH_FACTOR)}fr)`,
    )
    .join(' ');

/** Default share of the remaining width. */
const GROWTH_FACTOR = 0.4;

const SHARE_FACTOR = 10;

/** Formats a sort order for the address, for example `level:desc`. */
export const formatSort = ({ column, direction }: Sort): string => `${column}:${direction}`;

export function parseSort(text: string | null): Sort | undefined {
  const match = /^([\w-]+):(asc|desc)$/.exec(text ?? '');
  return match === null ? undefined : { column: match[1]!, direction: match[2] as Sort['direction'] };
}

const textCollator = new Intl.Collator('en-GB', { numeric: true, sensitivity: 'base' });

/** Compares two values: numbers by size, texts alphabetically. */
export function compareValues(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : textCollator.compare(String(a), String(b));
}

/** Returns the cells of rows for a spreadsheet. Columns without a title contain buttons and are left out. */
export function listCells<R>(columns: readonly Column<R>[], rows: readonly R[]): Cells {
  const titledColumns = columns.filter(({ title }) => title !== '');
  return {
    header: titledColumns.map(({ title }) => title),
    rows: rows.map((row) => titledColumns.map((column) => column.copy?.(row) ?? readCell(column, row))),
  };
}

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

export const getLayout = (table: string): TableLayout => ({ ...DEFAULT_LAYOUT, ...layouts.value[table] });

/** Stores the layout of a table in this browser. */
export function storeLayout(table: string, layout: TableLayout): void {
  const { [table]: _, ...others } = layouts.peek();
  const isPlain = JSON.stringify(layout) === JSON.stringify(DEFAULT_LAYOUT);
  const all = Object.entries(isPlain ? others : { ...others, [table]: layout }).slice(-LAYOUTS_MAX);
  layouts.value = Object.fromEntries(all);
  localStorage.setItem(LAYOUTS_ENTRY, JSON.stringify(layouts.peek()));
}

/** Minimum column width after resizing, in pixels. */
export const WIDTH_MIN = 44;

/**
 * Returns the columns with the widths of a layout. Pinned columns and columns that the user keeps are never hidden. A
 * pinned column does not grow, because the next pinned column starts where it ends.
 */
export function arrangeColumns<R>(columns: readonly Column<R>[], layout: TableLayout): readonly Column<R>[] {
  return columns.map((column) => {
    const width = layout.widths[column.id];
    const isKept = layout.kept.includes(column.id) || layout.pinned.includes(column.id);
    const { grow, ...rest } = column;
    return {
      ...rest,
      ...(grow === undefined || width !== undefined || layout.pinned.includes(column.id) ? {} : { grow }),
      ...(width === undefined ? {} : { width }),
      ...(isKept ? { priority: 0 } : {}),
    };
  });
}

/** Returns the left offset of each pinned column, in pixels. */
export function listPinnedPlaces<R>(columns: readonly Column<R>[], layout: TableLayout): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  let left = 0;
  for (const { id, width } of columns) {
    if (!layout.pinned.includes(id)) break; // pinned columns come first
    positions.set(id, left);
    left += width;
  }
  return positions;
}

export function moveColumn(ids: readonly string[], id: string, by: number): readonly string[] {
  const from = ids.indexOf(id);
  const to = Math.max(0, Math.min(ids.length - 1, from + by));
  return from === -1 ? ids : ids.toSpliced(from, 1).toSpliced(to, 0, id);
}

/** Number of rows that are examined to find the unit of a column. */
const SAMPLE_ROWS = 20;

/** Returns true if the numbers of a column are percentages. */
function isPercentColumn<R>(column: Column<R>, rows: readonly R[]): boolean {
  const row = rows.slice(0, SAMPLE_ROWS).find((one) => readCell(column, one) !== null);
  return row !== undefined && formatText(renderContent(column, row)).trim().endsWith('%');
}

/** Returns the text content of a rendered cell. */
function formatText(shown: ComponentChildren): string {
  if (typeof shown === 'string' || typeof shown === 'number') return String(shown);
  if (Array.isArray(shown)) return shown.map(formatText).join('');
  if (typeof shown === 'object' && shown !== null && 'props' in shown)
    return formatText((shown.props as { children?: ComponentChildren }).children);
  return '';
}

const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnVisibilityFeature,
  columnOrderingFeature,
  columnPinningFeature,
  columnFilteringFeature,
  filteredRowModel: createFilteredRowModel(),
  globalFilteringFeature,
  columnGroupingFeature,
  groupedRowModel: createGroupedRowModel(),
  rowAggregationFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  rowExpandingFeature,
  expandedRowModel: createExpandedRowModel(),
});
type Features = typeof features;

/** Line of a table: a row, or the header of a group of rows. */
export type ListEntry<R> =
  | { readonly kind: 'row'; readonly key: string; readonly row: R }
  | {
      readonly kind: 'group';
      readonly key: string;
      readonly title: string;
      readonly count: number;
      readonly isOpen: boolean;
      /** Returns the sum over the group if the values of the column can be added; otherwise null. */
      computeSum(column: Column<R>): number | null;
    };

export interface TableModel<R> {
  /** Visible columns in display order, pinned columns first. */
  readonly columns: readonly Column<R>[];
  readonly entries: readonly ListEntry<R>[];
  /** Rows that match the search and the filters, in display order. */
  readonly found: readonly R[];
}

interface TableInput<R> {
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  getKey(row: R): string;
  searchIn: ((row: R) => string) | undefined;
  readonly layout: TableLayout;
  readonly order: Sort | undefined;
  readonly typed: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly folded: readonly string[];
}

interface Item<R> {
  readonly key: string;
  readonly row: R;
  /** Value by which the rows are grouped; null if the row has none, or if the table has no groups. */
  readonly group: number | string | null;
}

/** Returns the columns, entries and matching rows of a table after sorting, filtering and grouping. */
export function useTableModel<R>(arranged: TableInput<R>): TableModel<R> {
  const { columns, rows, getKey, layout, order, typed, filters, folded } = arranged;
  const grouped = columns.find(({ id }) => id === layout.group);
  const items = useMemo(() => listItems(rows, getKey, grouped), [columns, rows, layout.group]);
  const table = useMemo(() => constructTable<Features, Item<R>>(createOptions(arranged, items) as never), []);
  return useMemo(() => {
    table.setOptions((before) => ({ ...before, ...(createOptions(arranged, items) as object) }));
    const byId = new Map(columns.map((column) => [column.id, column]));
    const { rows: found } = table.getSortedRowModel();
    return {
      columns: [...table.getStartVisibleLeafColumns(), ...table.getCenterVisibleLeafColumns()].flatMap(
        ({ id }) => byId.get(id) ?? [],
      ),
      entries: table.getExpandedRowModel().rows.map((row) => createEntry(row, { folded, grouped })),
      found: [...new Set(found.flatMap((row) => (row.getIsGrouped() ? row.getLeafRows() : [row])).map(getRow))],
    };
  }, [columns, rows, layout, order?.column, order?.direction, typed, JSON.stringify(filters), folded]);
}

const getRow = <R>({ original }: Row<Features, Item<R>>): R => original.row;

/** Returns each row once in each of its groups. Rows without a group are last. */
function listItems<R>(
  rows: readonly R[],
  getKey: (row: R) => string,
  grouped: Column<R> | undefined,
): readonly Item<R>[] {
  if (grouped === undefined) return rows.map((row) => ({ key: getKey(row), row, group: null }));
  const items = rows.flatMap((row): readonly Item<R>[] => {
    const key = getKey(row);
    const [first = readCell(grouped, row) || null, ...others] = grouped.groups?.(row) ?? [];
    return [{ key, row, group: first }, ...others.map((group) => ({ key: `${key} ${group}`, row, group }))];
  });
  return [...items.filter(({ group }) => group !== null), ...items.filter(({ group }) => group === null)];
}

function createOptions<R>(arranged: TableInput<R>, items: readonly Item<R>[]) {
  const { columns, rows, searchIn, layout, order, typed, filters, folded } = arranged;
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const isKnown = (id: string) => columns.some((column) => column.id === id);
  const definitions = columns.map((column): ColumnDef<Features, Item<R>, unknown> => {
    const isOfNumbers = isNumeric(column);
    return {
      id: column.id,
      accessorFn: ({ row, group }) => (column.id === layout.group ? group : readCell(column, row)) ?? undefined,
      sortUndefined: 'last',
      sortFn: (a, b, id) => compareValues(a.getValue(id), b.getValue(id)),
      filterFn: (row, id, typedFilter: string) =>
        parseFilter(
          typedFilter,
          isOfNumbers,
          isOfNumbers && isPercentColumn(column, rows),
        )?.(row.getValue(id) ?? null) ?? true,
      enableGlobalFilter: column === columns[0],
      ...(column.adds !== true ? {} : { aggregationFn: SUM_AGGREGATION }),
    };
  });
  const options: TableOptions<Features, Item<R>> = {
    features,
    columns: definitions,
    data: items,
    getRowId: ({ key }) => key,
    groupedColumnMode: false,
    enableSortingRemoval: false,
    autoResetAll: false,
    globalFilterFn: ({ original }) => {
      const text = searchIn?.(original.row).toLowerCase() ?? '';
      return words.every((word) => text.includes(word));
    },
    state: {
      sorting:
        order === undefined || !isKnown(order.column) ? [] : [{ id: order.column, desc: order.direction === 'desc' }],
      globalFilter: searchIn === undefined || words.length === 0 ? undefined : words.join(' '),
      columnFilters: Object.entries(filters)
        .filter(([id, value]) => isKnown(id) && value.trim() !== '')
        .map(([id, value]) => ({ id, value })),
      columnOrder: [...layout.order],
      columnVisibility: Object.fromEntries(layout.hidden.map((id) => [id, false])),
      columnPinning: { start: layout.pinned.filter(isKnown), end: [] },
      grouping: layout.group !== null && isKnown(layout.group) ? [layout.group] : [],
      expanded: folded.length === 0 ? true : listOpenGroups(items, layout.group, folded),
    },
  };
  return options;
}

/** Returns the open groups in the format of the table library. */
function listOpenGroups<R>(
  items: readonly Item<R>[],
  column: string | null,
  folded: readonly string[],
): Record<string, boolean> {
  const keys = new Set(items.map(({ group }) => `${column}:${group ?? undefined}`));
  return Object.fromEntries([...keys].filter((key) => !folded.includes(key)).map((key) => [key, true]));
}

const SUM_AGGREGATION = constructAggregationFn({
  aggregate: ({ rows, getValue }): number | undefined => {
    const values = rows.map((row) => getValue(row)).filter((value) => typeof value === 'number');
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
  },
});

interface Grouping<R> {
  readonly folded: readonly string[];
  /** Column by which the rows are grouped. */
  readonly grouped: Column<R> | undefined;
}

function createEntry<R>(row: Row<Features, Item<R>>, { folded, grouped }: Grouping<R>): ListEntry<R> {
  if (grouped === undefined || !row.getIsGrouped()) return { kind: 'row', key: row.id, row: row.original.row };
  const leafRows = row.getLeafRows();
  return {
    kind: 'group',
    key: row.id,
    title: String(leafRows[0]?.original.group ?? `No ${lowerFirst(grouped.title)}`),
    count: leafRows.length,
    isOpen: !folded.includes(row.id),
    computeSum: ({ id, adds = false }) => (!adds ? null : (row.getValue<number | undefined>(id) ?? null)),
  };
}
