import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { parseFilter } from '../../words/tables.js';
import { type Column, computeWidth, isNumeric, moveColumn, type Sort, type TableLayout, WIDTH_MIN } from './model.js';

const NUMBER_FILTERS = '5, > 5, <= 5 or 2..5';

/** Returns true if a text can be the filter of a column. An empty text filters nothing. */
const isFilter = <R,>(column: Column<R>, text = ''): boolean =>
  text.trim() === '' || parseFilter(text, isNumeric(column), false) !== undefined;

interface FilterProblemsProps<R> {
  readonly columns: readonly Column<R>[];
  readonly filters: Readonly<Record<string, string>>;
}

/** Renders why filters have no effect. */
export function FilterProblems<R>({ columns, filters }: FilterProblemsProps<R>) {
  const wrong = columns.filter((column) => !isFilter(column, filters[column.id]));
  return (
    <>
      {wrong.map(({ id, title }) => (
        <p key={id} class="down" role="alert">
          The filter “{filters[id]}” of {title} is ignored: write {NUMBER_FILTERS}.
        </p>
      ))}
    </>
  );
}

interface TableHeadProps<R> {
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly all: readonly Column<R>[];
  /** Columns of the second line of each row. */
  readonly below: readonly Column<R>[];
  readonly template: string;
  readonly pinned: ReadonlyMap<string, number>;
  readonly layout: TableLayout;
  readonly order: Sort | undefined;
  onSort(sort: Sort): void;
  onLayout(changes: Partial<TableLayout>): void;
  /** Filter text by column; null if filters are turned off. */
  readonly filters: Readonly<Record<string, string>> | null;
  onFilter(column: string, text: string): void;
}

/** Pixels by which an arrow key changes a width. */
const WIDTH_STEP = 16;

/**
 * Renders the column titles. A click on a title sorts the rows. One title is in the tab order, and the arrow keys move
 * between titles. Alt with an arrow key moves a column, and Shift with an arrow key changes its width; dragging can do
 * both as well.
 */
export function TableHead<R>(props: TableHeadProps<R>) {
  const { label, columns, all, below, template, pinned, layout, order, onSort, onLayout, filters, onFilter } = props;
  const titledColumns = columns.filter(({ title }) => title !== '');
  const [stopId, setStop] = useState<string | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const stop = titledColumns.find(({ id }) => id === stopId) ?? titledColumns[0];
  const ids = all.map(({ id }) => id);
  const resize = (column: Column<R>, width: number | null) => {
    const { [column.id]: _, ...others } = layout.widths;
    onLayout({ widths: width === null ? others : { ...others, [column.id]: Math.max(WIDTH_MIN, Math.round(width)) } });
  };

  function onKeyDown(event: JSX.TargetedKeyboardEvent<HTMLButtonElement>, column: Column<R>): void {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    if (event.altKey) onLayout({ order: moveColumn(ids, column.id, step) });
    else if (event.shiftKey) resize(column, findCell(event.currentTarget).offsetWidth + step * WIDTH_STEP);
    else {
      const next = titledColumns[titledColumns.indexOf(column) + step];
      if (next === undefined) return;
      setStop(next.id);
      focusTitle(event.currentTarget, next.id);
    }
  }

  return (
    <div role="rowgroup" class="small second table-head" style={{ minWidth: `${computeWidth(columns)}px` }}>
      <div role="row" aria-rowindex={1} class="table-row" style={{ gridTemplateColumns: template }}>
        {columns.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            aria-colindex={all.indexOf(column) + 1}
            aria-sort={
              order?.column === column.id ? (order.direction === 'asc' ? 'ascending' : 'descending') : undefined
            }
            class={getCellClass(column, pinned)}
            style={getCellStyle(column, pinned)}
            data-column={column.id}
            draggable={column.title !== ''}
            onDragStart={(event) => {
              event.dataTransfer?.setData('text/plain', column.title);
              setDragged(column.id);
            }}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => dragged !== null && event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged === null) return;
              onLayout({ order: moveColumn(ids, dragged, ids.indexOf(column.id) - ids.indexOf(dragged)) });
              setDragged(null);
            }}
          >
            {column.title === '' ? (
              (column.head?.() ?? <span class="unseen">{column.id}</span>)
            ) : (
              <>
                <button
                  type="button"
                  title={column.help}
                  tabIndex={column.id === stop?.id ? 0 : -1}
                  onFocus={() => setStop(column.id)}
                  onKeyDown={(event) => onKeyDown(event, column)}
                  onClick={() => onSort(createNextSort(column, order))}
                >
                  {column.title}
                  <span class="table-order" aria-hidden="true">
                    {order?.column === column.id ? (order.direction === 'asc' ? '↑' : '↓') : ''}
                  </span>
                </button>
                <ResizeHandle onResize={(width) => resize(column, width)} />
              </>
            )}
          </div>
        ))}
        {below.length > 0 && (
          <div role="columnheader" class="unseen" aria-colindex={all.length + 1}>
            {below.map(({ title }) => title).join(', ')}
          </div>
        )}
      </div>
      {filters !== null && (
        <div role="row" aria-rowindex={2} class="table-row table-filters" style={{ gridTemplateColumns: template }}>
          {columns.map((column) => (
            <div
              key={column.id}
              role="gridcell"
              aria-colindex={all.indexOf(column) + 1}
              class={getCellClass(column, pinned)}
              style={getCellStyle(column, pinned)}
            >
              {column.title !== '' && (
                <input
                  class="control"
                  aria-label={`Filter ${column.title} of ${label}`}
                  aria-invalid={!isFilter(column, filters[column.id])}
                  title={isNumeric(column) ? NUMBER_FILTERS : 'Words; -word excludes'}
                  placeholder={isNumeric(column) ? '> 0' : ''}
                  value={filters[column.id] ?? ''}
                  onInput={(event) => onFilter(column.id, event.currentTarget.value)}
                />
              )}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

const findCell = (inside: HTMLElement): HTMLElement => inside.closest<HTMLElement>('.table-cell')!; // titles are always inside cells

function focusTitle(from: HTMLElement, id: string): void {
  from
    .closest('.table-head')
    ?.querySelector<HTMLElement>(`[data-column="${CSS.escape(id)}"] button`)
    ?.focus();
}

export const getCellClass = <R,>(column: Column<R>, pinned: ReadonlyMap<string, number>): string =>
  `table-cell${isNumeric(column) ? ' right' : ''}${pinned.has(column.id) ? ' pinned' : ''}`;

export function getCellStyle<R>({ id }: Column<R>, pinned: ReadonlyMap<string, number>): { left?: string } {
  const left = pinned.get(id);
  return left === undefined ? {} : { left: `${left}px` };
}

/** Renders the right edge of a title. Dragging changes the column width, a double click resets it. */
function ResizeHandle({ onResize }: { onResize(width: number | null): void }) {
  return (
    <span
      class="table-resize"
      draggable
      onDragStart={(event) => {
        // Prevents the drag from moving the column.
        event.preventDefault();
        event.stopPropagation();
      }}
      onDblClick={() => onResize(null)}
      onPointerDown={(event) => {
        const handle = event.currentTarget;
        const from = findCell(handle).offsetWidth;
        const { clientX: start } = event;
        handle.setPointerCapture(event.pointerId);
        const move = ({ clientX }: PointerEvent) => Math.abs(clientX - start) > 1 && onResize(from + clientX - start);
        handle.addEventListener('pointermove', move);
        handle.addEventListener('lostpointercapture', () => handle.removeEventListener('pointermove', move), {
          once: true,
        });
        event.preventDefault();
      }}
    />
  );
}

/**
 * Returns the sort order after a click on a title. The first click sorts numbers in descending order and texts in
 * ascending order.
 */
function createNextSort<R>(column: Column<R>, order: Sort | undefined): Sort {
  const first = isNumeric(column) ? 'desc' : 'asc';
  const other = first === 'asc' ? 'desc' : 'asc';
  const isAgain = order?.column === column.id && order.direction === first;
  return { column: column.id, direction: isAgain ? other : first };
}
