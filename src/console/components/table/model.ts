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
import { parseFilter } from '../../words/tables.js';
import { type Column, compareValues, isPercentColumn, type Sort, type TableLayout } from './columns.js';

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
  /** Filter text by column. */
  readonly filters: Readonly<Record<string, string>>;
  /** Keys of the folded groups. */
  readonly folded: readonly string[];
}

/** Row in one of its groups. */
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
    const [first = grouped.value(row) || null, ...others] = grouped.groups?.(row) ?? [];
    return [{ key, row, group: first }, ...others.map((group) => ({ key: `${key} ${group}`, row, group }))];
  });
  return [...items.filter(({ group }) => group !== null), ...items.filter(({ group }) => group === null)];
}

function createOptions<R>(arranged: TableInput<R>, items: readonly Item<R>[]) {
  const { columns, rows, searchIn, layout, order, typed, filters, folded } = arranged;
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const isKnown = (id: string) => columns.some((column) => column.id === id);
  const definitions = columns.map((column): ColumnDef<Features, Item<R>, unknown> => {
    const isOfNumbers = column.align === 'right';
    return {
      id: column.id,
      accessorFn: ({ row, group }) => (column.id === layout.group ? group : column.value(row)) ?? undefined,
      sortUndefined: 'last',
      sortFn: (a, b, id) => compareValues(a.getValue(id), b.getValue(id)),
      filterFn: (row, id, typedFilter: string) =>
        parseFilter(
          typedFilter,
          isOfNumbers,
          isOfNumbers && isPercentColumn(column, rows),
        )?.(row.getValue(id) ?? null) ?? true,
      enableGlobalFilter: column === columns[0],
      ...(column.total === undefined ? {} : { aggregationFn: SUM_AGGREGATION }),
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
    computeSum: ({ id, total }) => (total === undefined ? null : (row.getValue<number | undefined>(id) ?? null)),
  };
}
