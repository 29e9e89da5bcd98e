import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { go } from '../../state/place.js';
import { isPrinting } from '../../state/printing.js';
import { useWidth } from '../use-width.js';
import { copyOf, fitting, templateOf, widthOf, type Column, type Sort, type TableProps } from './columns.js';
import { RowRest } from './row-rest.js';
import { useWidened } from './widened.js';
import { TableHead } from './table-head.js';

/** Height of a row, as `--row` says. */
const ROW = 32;
/** Rows above and below those in sight, so that a scroll meets rows that are there. */
const BEYOND = 12;
const HEIGHT = 560;
/** Rows on paper: some 60 pages. */
const PRINTED_MAX = 2000;

interface TableBodyProps<R> extends TableProps<R> {
  readonly shown: readonly R[];
  readonly order: Sort | undefined;
  onSort(sort: Sort): void;
}

export function TableBody<R>(props: TableBodyProps<R>) {
  const { label, columns, shown, height = HEIGHT, keyOf, addressOf, onOpen, openKey = null } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const sight = useWindow(scroller, shown.length, height);
  // A page of paper cannot be scrolled.
  const window = isPrinting.value ? { from: 0, to: Math.min(shown.length, PRINTED_MAX) } : sight;
  const [active, setActive] = useState(0);
  const [picked, setPicked] = useState<string | null>(null);
  const isGrid = addressOf !== undefined || onOpen !== undefined;
  const wide = useWidened(scroller, columns);
  const fits = fitting(wide, width);
  const template = templateOf(fits);
  const open = (row: R) => (addressOf === undefined ? onOpen?.(row) : go(addressOf(row)));
  // The row that the tab key comes to is always one that is there.
  const stop = Math.min(Math.max(active, window.from), Math.max(window.from, window.to - 1));

  function onKeyDown(event: JSX.TargetedKeyboardEvent<HTMLDivElement>): void {
    const isOwn = event.target instanceof HTMLElement && event.target.role === (isGrid ? 'row' : 'table');
    if (!isOwn || shown.length === 0) return;
    const page = Math.floor(height / ROW) - 2;
    const row = shown[stop];
    const next = nextRow(event.key, { at: stop, last: shown.length - 1, page });
    if (next !== undefined) {
      setActive(next);
      setPicked(keyOf(shown[next]!)); // It is within the rows.
      showRow(scroller.current, next, isGrid);
    } else if (isGrid && event.key === 'Enter' && row !== undefined) open(row);
    else return;
    event.preventDefault();
  }

  const pickedAt = shown[active] !== undefined && keyOf(shown[active]) === picked ? active : -1;
  return (
    <>
      <div
        class="table"
        ref={scroller}
        style={{ maxHeight: `${height}px` }}
        tabIndex={isGrid ? -1 : 0}
        role={isGrid ? 'grid' : 'table'}
        aria-label={label}
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length}
        onKeyDown={onKeyDown}
        onCopy={(event) => {
          const rows = copiedRows(event.currentTarget, shown);
          if (rows.length === 0) return;
          event.clipboardData?.setData('text/plain', copyOf(columns, rows));
          event.preventDefault();
        }}
      >
        <TableHead {...props} columns={fits} all={wide} template={template} />
        <div
          role="rowgroup"
          class="table-rows"
          style={{ height: `${shown.length * ROW}px`, minWidth: `${widthOf(fits)}px` }}
        >
          {shown.slice(window.from, window.to).map((row, i) => {
            const at = window.from + i;
            const key = keyOf(row);
            return (
              <div
                key={key}
                role="row"
                class={rowClass({ opens: isGrid, isOpen: key === openKey, isPicked: !isGrid && key === picked })}
                data-at={at}
                aria-rowindex={at + 2}
                aria-selected={isGrid && openKey !== null ? key === openKey : undefined}
                tabIndex={isGrid ? (at === stop ? 0 : -1) : undefined}
                style={{ gridTemplateColumns: template, transform: `translateY(${at * ROW}px)` }}
                onFocus={() => {
                  setActive(at);
                  setPicked(key);
                }}
                onClick={(event) => {
                  setActive(at);
                  setPicked(key);
                  if (isGrid && !isOnControl(event.target)) open(row);
                }}
              >
                {fits.map((column) => (
                  <Cell key={column.id} row={row} column={column} columns={wide} isGrid={isGrid} />
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {pickedAt < 0 && !isGrid && fits.length < columns.length && shown.length > 0 && (
        <p class="table-hint quiet">
          Select a row to see its other columns here:{' '}
          {wide
            .filter((column) => !fits.includes(column))
            .map(({ title }) => title)
            .join(', ')}
          .
        </p>
      )}
      {pickedAt >= 0 && (!isGrid || openKey === null) && (
        <RowRest rows={scroller} at={pickedAt} row={shown[pickedAt]!} columns={wide} fits={fits} label={label} />
      )}
    </>
  );
}

/** Rows between the ends of the selection, those out of sight too; without a selection all. Within one row the text is copied as it is. */
function copiedRows<R>(table: HTMLElement, shown: readonly R[]): readonly R[] {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return shown;
  const at = (node: Node | null) => {
    const row = (node instanceof Element ? node : node?.parentElement)?.closest('[data-at]') ?? null;
    return row === null || !table.contains(row) ? null : Number((row as HTMLElement).dataset['at']);
  };
  const ends = [at(selection.anchorNode), at(selection.focusNode)];
  if (ends[0] === ends[1] && ends[0] !== null) return [];
  // An end outside of the rows is above or below all of them.
  const isUp = selection.anchorNode !== null && isBefore(selection.focusNode, selection.anchorNode);
  const [from, to] = isUp ? ends.toReversed() : ends;
  return shown.slice(from ?? 0, (to ?? shown.length - 1) + 1);
}

const isBefore = (a: Node | null, b: Node): boolean =>
  a !== null && (b.compareDocumentPosition(a) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;

interface RowLook {
  readonly opens: boolean;
  readonly isOpen: boolean;
  readonly isPicked: boolean;
}

const rowClass = ({ opens, isOpen, isPicked }: RowLook): string =>
  `table-row${opens ? ' opens' : ''}${isOpen || isPicked ? ' is-open' : ''}`;

interface CellProps<R> {
  readonly row: R;
  readonly column: Column<R>;
  readonly columns: readonly Column<R>[];
  readonly isGrid: boolean;
}

function Cell<R>({ row, column, columns, isGrid }: CellProps<R>) {
  const content = column.show === undefined ? column.value(row) : column.show(row);
  return (
    <div
      role={isGrid ? 'gridcell' : 'cell'}
      aria-colindex={columns.indexOf(column) + 1}
      class={`table-cell${column.align === 'right' ? ' right' : ''}`}
      data-column={column.id}
      onPointerEnter={tellWhole}
    >
      {content ?? '–'}
    </div>
  );
}

/** A truncated text is shown in full next to the pointer. */
function tellWhole({ currentTarget: cell }: { readonly currentTarget: HTMLElement }): void {
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  else cell.removeAttribute('title');
}

/** A click on a link or a button in a row is theirs. */
const isOnControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, input, label') !== null;

interface Step {
  readonly at: number;
  readonly last: number;
  readonly page: number;
}

function nextRow(key: string, { at, last, page }: Step): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: last,
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.max(0, Math.min(last, next));
}

/** Brings a row in sight, and where it opens the focus to it once it is on the page. */
function showRow(scroller: HTMLDivElement | null, at: number, opens: boolean): void {
  if (scroller === null) return;
  const top = at * ROW;
  const room = scroller.clientHeight - 2 * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
  if (!opens) return;
  requestAnimationFrame(() => scroller.querySelector<HTMLElement>(`[data-at="${at}"]`)?.focus({ preventScroll: true }));
}

interface Window {
  readonly from: number;
  readonly to: number;
}

/** The rows in sight and some around them; it moves in steps, so that most scrolls render nothing. */
function useWindow(element: { readonly current: HTMLElement | null }, rows: number, height: number): Window {
  const [top, setTop] = useState(0);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const follow = () => setTop(Math.floor(current.scrollTop / ROW / BEYOND) * BEYOND);
    current.addEventListener('scroll', follow, { passive: true });
    return () => current.removeEventListener('scroll', follow);
  }, []);
  const first = Math.min(top, Math.max(0, rows - 1));
  const from = Math.max(0, first - BEYOND);
  return { from, to: Math.min(rows, first + Math.ceil(height / ROW) + 2 * BEYOND) };
}
