import { useMemo, useRef, useState } from 'preact/hooks';
import { getPartName } from '../../state/part.js';
import { getParameter, setParameters } from '../../state/location.js';
import { storeLayout, getLayout } from '../../state/table-layouts.js';
import { parseSort, formatSort, type TableProps } from './columns.js';
import { FilterProblems } from './filter-problems.js';
import { selectColumn } from './selection.js';
import { TableBody } from './table-body.js';
import { useTableModel } from './table-model.js';
import { TableTools } from './table-tools.js';
import '../control.css';
import './table.css';

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
