import '../control.css';
import './table.css';
import { useMemo, useRef, useState } from 'preact/hooks';
import { copyCells } from '../../state/files.js';
import { getParameter, setParameters } from '../../state/location.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { Button, Icon, Popover } from '../controls/button.js';
import { getPartName } from '../layout/page.js';
import { selectColumn, TableBody } from './body.js';
import {
  type Column,
  DEFAULT_LAYOUT,
  formatSort,
  getLayout,
  listCells,
  moveColumn,
  parseSort,
  storeLayout,
  type TableLayout,
  type TableProps,
} from './columns.js';
import { FilterProblems } from './head.js';
import { type TableModel, useTableModel } from './model.js';

interface TableToolsProps<R> extends TableProps<R> {
  readonly model: TableModel<R>;
  readonly layout: TableLayout;
  readonly typed: string;
  readonly isFiltering: boolean;
  onType(text: string): void;
  onLayout(changes: Partial<TableLayout>): void;
  onFilters(): void;
  onFold(keys: readonly string[]): void;
}

/** Renders the search input, the number of rows, and the buttons for the layout and for copying. */
function TableTools<R>(props: TableToolsProps<R>) {
  const { label, rows, searchIn, typed, onType, model, tools } = props;
  const { found } = model;
  return (
    <div class="table-tools">
      {searchIn !== undefined && (
        <input
          type="search"
          class="control"
          placeholder="Search"
          aria-label={`Search ${label}`}
          value={typed}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
      <span class="quiet" role="status">
        {found.length === rows.length ? '' : `${formatCount(found.length)} of `}
        {countValues(rows.length, 'row')}
      </span>
      <div class="table-acts">
        {tools}
        <Popover label={`Columns of ${label}`} title="Columns" kind="bare">
          {() => <Arrangement {...props} />}
        </Popover>
        <Button
          kind="bare"
          aria-label={`Copy ${label}`}
          title="Copy the rows for a spreadsheet"
          disabled={found.length === 0}
          onClick={() => void copyCells(listCells(model.columns, found))}
        >
          Copy
        </Button>
      </div>
    </div>
  );
}

/** Renders the layout menu: visible columns and their order, grouping and filters. */
function Arrangement<R>({
  label,
  columns,
  rows,
  model,
  layout,
  isFiltering,
  onLayout,
  onFilters,
  onFold,
}: TableToolsProps<R>) {
  const orderedColumns = [...model.columns, ...columns.filter((column) => !model.columns.includes(column))];
  const titledColumns = orderedColumns.filter(({ title }) => title !== '');
  const groups = columns.filter((column) => canGroup(column, rows));
  const allIds = orderedColumns.map(({ id }) => id);
  return (
    <>
      {groups.length > 0 && (
        <label class="table-choice">
          Group by
          <select
            class="control"
            value={layout.group ?? ''}
            onChange={({ currentTarget: { value } }) => {
              onFold([]);
              onLayout({ group: value === '' ? null : value });
            }}
          >
            <option value="">nothing</option>
            {groups.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="table-choice">
        <input type="checkbox" checked={isFiltering} onChange={onFilters} /> Filter by column
      </label>
      <ul class="table-columns">
        {titledColumns.map(({ id, title }) => {
          const isShown = !layout.hidden.includes(id);
          const isPinned = layout.pinned.includes(id);
          return (
            <li key={id}>
              <label>
                <input
                  type="checkbox"
                  checked={isShown}
                  disabled={isShown && model.columns.length < 2}
                  onChange={() => onLayout(isShown ? hideColumn(layout, id) : showColumn(layout, id))}
                />
                {title}
              </label>
              <Button
                kind="bare"
                aria-label={`${isPinned ? 'Unpin' : 'Pin'} ${title}`}
                aria-pressed={isPinned}
                title="Pinned columns stay in sight on the left"
                onClick={() =>
                  onLayout({ pinned: isPinned ? layout.pinned.filter((one) => one !== id) : [...layout.pinned, id] })
                }
              >
                <Icon name="pin" />
              </Button>
              <Button
                kind="bare"
                aria-label={`Move ${title} left`}
                onClick={() => onLayout({ order: moveColumn(allIds, id, -1) })}
              >
                <Icon name="up" />
              </Button>
              <Button
                kind="bare"
                aria-label={`Move ${title} right`}
                onClick={() => onLayout({ order: moveColumn(allIds, id, 1) })}
              >
                <Icon name="down" />
              </Button>
            </li>
          );
        })}
      </ul>
      <Button onClick={() => void import('../../state/saved.js').then(({ pinPart }) => pinPart(getPartName(label), 2))}>
        Pin to the dashboard
      </Button>
      <Button
        disabled={JSON.stringify(layout) === JSON.stringify(DEFAULT_LAYOUT)}
        onClick={() => onLayout(DEFAULT_LAYOUT)}
      >
        Reset the columns
      </Button>
    </>
  );
}

const hideColumn = ({ hidden, kept }: TableLayout, id: string): Partial<TableLayout> => ({
  hidden: [...hidden, id],
  kept: kept.filter((one) => one !== id),
});

const showColumn = ({ hidden, kept }: TableLayout, id: string): Partial<TableLayout> => ({
  hidden: hidden.filter((one) => one !== id),
  kept: [...kept, id],
});

/** Returns true if a column contains texts that occur in several rows, or several texts per row. */
function canGroup<R>(column: Column<R>, rows: readonly R[]): boolean {
  if (column.groups !== undefined) return rows.some((row) => column.value(row) !== null);
  if (column.align === 'right' || column.title === '') return false;
  const values = rows.map((row) => column.value(row)).filter((value) => typeof value === 'string');
  return new Set(values).size < values.length;
}

/** Number of rows above which a table without a search has tools. A smaller table can be copied with the keyboard. */
const TOOLS_MIN = 8;

/**
 * Renders a table with rows that can be sorted, searched, filtered, grouped and opened. Only visible rows are part of
 * the page.
 */
export function Table<R>(given: TableProps<R>) {
  const foundRows = useRef<readonly R[]>([]);
  const props = useSelectable(given, foundRows);
  const { columns, rows, name, sort: first, searchIn, getKey, empty = 'No entries.' } = props;
  const [sort, setSort] = useStoredText(name && `${name}.sort`, first === undefined ? '' : formatSort(first));
  const [typed, setTyped] = useStoredText(name && `${name}.q`, '');
  const [filterText, setFilterText] = useStoredText(name && `${name}.where`, '');
  const [isFiltering, setFiltering] = useState(filterText !== '');
  const [folded, setFolded] = useState<readonly string[]>([]);
  const tableKey = `${name ?? ''} ${columns.map(({ id }) => id).join(' ')}`;
  const layout = getLayout(tableKey);
  const order = parseSort(sort);
  const filters = parseFilters(filterText);
  const model = useTableModel({ columns, rows, getKey, searchIn, layout, order, typed, filters, folded });
  foundRows.current = model.found;
  const change = (changes: Partial<typeof layout>) => storeLayout(tableKey, { ...layout, ...changes });
  const toggleFilters = () => {
    if (isFiltering) setFilterText('');
    setFiltering(!isFiltering);
  };
  return (
    <div class="table-whole" data-part={getPartName(props.label)}>
      {(searchIn !== undefined || rows.length > TOOLS_MIN) && (
        <TableTools
          {...props}
          model={model}
          layout={layout}
          typed={typed}
          isFiltering={isFiltering}
          onType={setTyped}
          onLayout={change}
          onFilters={toggleFilters}
          onFold={setFolded}
        />
      )}
      <TableBody
        {...props}
        model={model}
        layout={layout}
        order={order}
        onSort={(next) => setSort(formatSort(next))}
        onLayout={change}
        filters={isFiltering ? filters : null}
        onFilter={(id, text) => setFilterText(formatFilters({ ...filters, [id]: text }))}
        onFold={(key) => setFolded(folded.includes(key) ? folded.filter((one) => one !== key) : [...folded, key])}
      />
      {isFiltering && <FilterProblems columns={model.columns} filters={filters} />}
      {model.found.length === 0 && (
        <p class="table-empty quiet">
          {rows.length === 0 ? empty : `No rows match the ${filterText === '' ? 'search' : 'filters'}.`}
        </p>
      )}
    </div>
  );
}

/** Adds a column of checkboxes if rows can be selected. */
function useSelectable<R>(props: TableProps<R>, found: { readonly current: readonly R[] }): TableProps<R> {
  const { columns, selection, label, getKey } = props;
  return useMemo(() => {
    if (selection === undefined) return props;
    const boxes = selectColumn(selection, { label, getKey, found: () => found.current });
    return { ...props, columns: [boxes, ...columns] };
  }, [props]);
}

/** Parses the column filters in the address, for example `{"weight":"> 5%"}`. */
function parseFilters(text: string): Readonly<Record<string, string>> {
  try {
    const parsedFilters: unknown = JSON.parse(text === '' ? '{}' : text);
    const entries = typeof parsedFilters === 'object' && parsedFilters !== null ? Object.entries(parsedFilters) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    return {};
  }
}

function formatFilters(filters: Readonly<Record<string, string>>): string {
  const filledFilters = Object.entries(filters).filter(([, text]) => text !== '');
  return filledFilters.length === 0 ? '' : JSON.stringify(Object.fromEntries(filledFilters));
}

/**
 * Keeps a text in the address under a name. Without a name, the text is lost when the table is removed from the page.
 */
function useStoredText(name: string | undefined, first: string): [string, (text: string) => void] {
  const [own, setOwn] = useState(first);
  if (name === undefined || name === '') return [own, setOwn];
  return [
    getParameter(name) ?? first,
    (text) => setParameters({ [name]: text === first || text === '' ? null : text }),
  ];
}
