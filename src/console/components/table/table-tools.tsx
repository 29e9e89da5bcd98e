import { copyCells } from '../../state/clipboard.js';
import { getPartName } from '../../state/part.js';
import { DEFAULT_LAYOUT, type TableLayout } from '../../state/table-layouts.js';
import { formatCount, countValues } from '../../words/numbers.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { Popover } from '../popover.js';
import { listCells, type Column, type TableProps } from './columns.js';
import { moveColumn } from './layout.js';
import type { TableModel } from './table-model.js';

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
export function TableTools<R>(props: TableToolsProps<R>) {
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
      <Button
        onClick={() => void import('../../state/dashboard.js').then(({ pinPart }) => pinPart(getPartName(label), 2))}
      >
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
