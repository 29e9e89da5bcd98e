import { useState } from 'preact/hooks';
import { copyText } from '../../state/clipboard.js';
import { count, counted } from '../../words/numbers.js';
import { parameter, setParameters } from '../../state/place.js';
import { Button } from '../button.js';
import { copyOf, matching, parseSort, sorted, sortText, type TableProps } from './columns.js';
import { TableBody } from './table-body.js';
import '../control.css';
import './table.css';

/** Rows above which a table without a search has a button to copy them; the keys copy all of them too. */
const COPIED_MIN = 8;

/** Rows to sort, search and open, of which only those in sight are on the page. */
export function Table<R>(props: TableProps<R>) {
  const { label, columns, rows, name, sort: first, searchIn, empty = 'No entries.' } = props;
  const [sort, setSort] = useKept(name && `${name}.sort`, first === undefined ? '' : sortText(first));
  const [typed, setTyped] = useKept(name && `${name}.q`, '');
  const order = parseSort(sort);
  const found = matching(rows, searchIn, typed);
  const shown = sorted(
    found,
    columns.find(({ id }) => id === order?.column),
    order?.direction ?? 'asc',
  );
  return (
    <div class="table-whole">
      {(searchIn !== undefined || rows.length > COPIED_MIN) && (
        <div class="table-tools">
          {searchIn !== undefined && (
            <input
              type="search"
              class="control"
              placeholder="Search"
              aria-label={`Search ${label}`}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
          <span class="quiet" role="status">
            {found.length === rows.length ? count(rows.length) : `${count(found.length)} of ${count(rows.length)}`}
          </span>
          <Button
            kind="bare"
            aria-label={`Copy ${label}`}
            title="Copy the rows for a spreadsheet"
            disabled={shown.length === 0}
            onClick={() => void copyText(copyOf(columns, shown), counted(shown.length, 'row'))}
          >
            Copy
          </Button>
        </div>
      )}
      <TableBody {...props} shown={shown} order={order} onSort={(next) => setSort(sortText(next))} />
      {shown.length === 0 && <p class="table-empty quiet">{rows.length === 0 ? empty : 'No rows match the search.'}</p>}
    </div>
  );
}

/** A text kept in the address under a name, or for as long as the table is there. */
function useKept(name: string | undefined, first: string): [string, (text: string) => void] {
  const [own, setOwn] = useState(first);
  if (name === undefined || name === '') return [own, setOwn];
  return [parameter(name) ?? first, (text) => setParameters({ [name]: text === first || text === '' ? null : text })];
}
