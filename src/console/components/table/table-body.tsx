import type { JSX, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { navigate } from '../../state/location.js';
import { isPrinting } from '../../state/printing.js';
import { useWidth } from '../use-width.js';
import type { TableLayout } from '../../state/table-layouts.js';
import { formatTabSeparated } from '../../words/tabular.js';
import {
  createPrintedColumns,
  listCells,
  selectFitting,
  formatTemplate,
  computeWidth,
  type Column,
  type FittingColumns,
  type Sort,
  type TableProps,
} from './columns.js';
import { arrangeColumns, listPinnedPlaces } from './layout.js';
import { useKeptPosition, useLineCounts } from './line-counts.js';
import { RowRest } from './row-rest.js';
import { toggleSelection } from './selection.js';
import { TableHead } from './table-head.js';
import type { Entry, TableModel } from './table-model.js';
import { computeRowHeight, TableRows } from './table-row.js';
import { useWidened } from './widened.js';

/** Number of rows that are rendered above and below the visible rows. Scrolling then shows no empty space. */
const OVERSCAN_ROWS = 12;
const HEIGHT = 560;
/** Maximum number of printed rows, about 60 pages. */
const PRINTED_MAX = 2000;

interface TableBodyProps<R> extends TableProps<R> {
  readonly model: TableModel<R>;
  readonly layout: TableLayout;
  readonly order: Sort | undefined;
  onSort(sort: Sort): void;
  onLayout(changes: Partial<TableLayout>): void;
  /** Filter text by column; null if filters are turned off. */
  readonly filters: Readonly<Record<string, string>> | null;
  onFilter(column: string, text: string): void;
  /** Folds or unfolds a group of rows. */
  onFold(key: string): void;
}

export function TableBody<R>(props: TableBodyProps<R>) {
  const { label, columns, model, filters, getKey, openKey = null } = props;
  const { entries } = model;
  const scroller = useRef<HTMLDivElement>(null);
  const laid = useLaidColumns(scroller, props);
  const { wide, fits, below, template, pinned } = laid;
  const lineCounts = useLineCounts(scroller, wide);
  const row = computeRowHeight({ fits, below, lineCounts });
  useKeptPosition(scroller, row);
  const extra = filters === null ? 0 : 1;
  const height = fitRows(props, { row, lines: 1 + extra });
  const { window, stop, active, picked, pick } = useRowsInSight(scroller, entries, { height, row });
  const isGrid = opensRows(props);
  return (
    <>
      <div
        class="table"
        ref={scroller}
        style={{ maxHeight: `${height}px` }}
        tabIndex={isGrid ? -1 : 0}
        role={isGrid ? 'grid' : 'table'}
        aria-label={label}
        aria-rowcount={entries.length + 1 + extra}
        aria-colcount={columns.length + (below.length === 0 ? 0 : 1)}
        onKeyDown={(event) => onKey(event, { props, row, stop, pick })}
        onCopy={(event) => {
          if (event.target instanceof HTMLInputElement) return;
          const rows = listCopiedRows(event.currentTarget, model);
          if (rows.length === 0) return;
          event.clipboardData?.setData('text/plain', formatTabSeparated(listCells(model.columns, rows)));
          event.preventDefault();
        }}
      >
        <TableHead {...props} columns={fits} all={wide} below={below} template={template} pinned={pinned} />
        <div
          role="rowgroup"
          class="table-rows"
          style={{ height: `${entries.length * row}px`, minWidth: `${computeWidth(fits)}px` }}
        >
          <TableRows
            entries={entries.slice(window.from, window.to)}
            from={window.from}
            first={2 + extra}
            columns={wide}
            fits={fits}
            below={below}
            lineCounts={lineCounts}
            template={template}
            pinned={pinned}
            isGrid={isGrid}
            getKey={getKey}
            openKey={openKey}
            picked={picked}
            stop={stop}
            onPick={pick}
            onOpen={(entry) => open(props, entry)}
          />
        </div>
      </div>
      <HiddenContent {...laid} {...props} scroller={scroller} at={active} picked={picked} />
    </>
  );
}

/** Height of a line of titles or filters, and of the frame, in pixels. */
const TITLES_HEIGHT = 33;
const FRAME_HEIGHT = 2;

/** Maximum height in pixels of rows that never scroll: 21 rows of one line, or 14 of two lines. */
const SHORT_HEIGHT = 700;

interface Lines {
  /** Height of a row in pixels. */
  readonly row: number;
  /** Number of lines of titles and filters. */
  readonly lines: number;
}

/** Returns the maximum height of a table in pixels: that of a short table, otherwise one at which no row is cut. */
function fitRows<R>({ model: { entries }, height = HEIGHT }: TableBodyProps<R>, { row, lines }: Lines): number {
  const head = lines * TITLES_HEIGHT + FRAME_HEIGHT;
  const limited = Math.max(1, Math.floor((height - head) / row));
  return head + (entries.length * row <= SHORT_HEIGHT ? Math.max(limited, entries.length) : limited) * row;
}

const opensRows = <R,>({ formatAddress, onOpen }: TableBodyProps<R>): boolean =>
  formatAddress !== undefined || onOpen !== undefined;

/** Opens the address or item of a row. For a group, folds or unfolds it. */
function open<R>({ formatAddress, onOpen, onFold }: TableBodyProps<R>, entry: Entry<R>): void {
  if (entry.kind === 'group') onFold(entry.key);
  else if (formatAddress === undefined) onOpen?.(entry.row);
  else navigate(formatAddress(entry.row));
}

interface ColumnLayout<R> extends FittingColumns<R> {
  /** All columns with their current widths. */
  readonly wide: readonly Column<R>[];
  readonly template: string;
  readonly pinned: ReadonlyMap<string, number>;
}

function useLaidColumns<R>(
  scroller: RefObject<HTMLDivElement>,
  { model, layout, oneLineMin }: TableBodyProps<R>,
): ColumnLayout<R> {
  const width = useWidth(scroller);
  const widened = useWidened(
    scroller,
    useMemo(() => arrangeColumns(model.columns, layout), [model.columns, layout]),
    layout,
  );
  const arrangedColumns = useMemo(
    () => (isPrinting.value ? createPrintedColumns(widened) : widened),
    [widened, isPrinting.value],
  );
  const { fits, below } = selectFitting(arrangedColumns, width, isPrinting.value ? Infinity : oneLineMin);
  const isFixed = ({ id }: Column<R>) => layout.pinned.includes(id) || layout.widths[id] !== undefined;
  return {
    wide: arrangedColumns,
    fits,
    below,
    template: formatTemplate(fits, isFixed),
    pinned: listPinnedPlaces(fits, layout),
  };
}

interface InSight {
  readonly window: Window;
  /** Position of the row that can get the focus. This row is always rendered. */
  readonly stop: number;
  /** Position of the row that was clicked or focused; the next field is its key. */
  readonly active: number;
  readonly picked: string | null;
  pick(position: number, key: string): void;
}

/** Heights in pixels: the maximum height of the rows together, and the height of one row. */
interface Heights {
  readonly height: number;
  readonly row: number;
}

function useRowsInSight<R>(
  scroller: RefObject<HTMLDivElement>,
  entries: readonly Entry<R>[],
  heights: Heights,
): InSight {
  const sight = useWindow(scroller, entries.length, heights);
  // A printed page cannot be scrolled, so all rows are rendered.
  const window = isPrinting.value ? { from: 0, to: Math.min(entries.length, PRINTED_MAX) } : sight;
  const [active, setActive] = useState(0);
  const [picked, setPicked] = useState<string | null>(null);
  return {
    window,
    stop: Math.min(Math.max(active, window.from), Math.max(window.from, window.to - 1)),
    active,
    picked,
    pick(position, key) {
      setActive(position);
      setPicked(key);
    },
  };
}

interface KeyContext<R> {
  readonly props: TableBodyProps<R>;
  /** Height of a row in pixels. */
  readonly row: number;
  readonly stop: number;
  pick(position: number, key: string): void;
}

/** Handles keys: arrow keys move between rows, Enter opens a row. */
function onKey<R>(event: JSX.TargetedKeyboardEvent<HTMLDivElement>, { props, row, stop, pick }: KeyContext<R>): void {
  const { entries } = props.model;
  const isGrid = opensRows(props);
  const isOwn = event.target instanceof HTMLElement && event.target.role === (isGrid ? 'row' : 'table');
  if (!isOwn || entries.length === 0) return;
  const page = Math.floor((props.height ?? HEIGHT) / row) - 2;
  const entry = entries[stop];
  const next = findNextRow(event.key, { at: stop, last: entries.length - 1, page });
  if (next !== undefined) {
    pick(next, entries[next]!.key); // `next` is a valid position
    showRow(event.currentTarget, { at: next, row, opens: isGrid });
  } else if (event.key === ' ' && entry?.kind === 'row' && props.selection !== undefined) {
    const { keys, onChange } = props.selection;
    onChange(toggleSelection(keys, props.getKey(entry.row)));
  } else if (event.key === 'Enter' && entry !== undefined && (isGrid || entry.kind === 'group')) open(props, entry);
  else return;
  event.preventDefault();
}

interface HiddenContentProps<R> extends TableBodyProps<R>, ColumnLayout<R> {
  readonly scroller: RefObject<HTMLDivElement>;
  readonly at: number;
  readonly picked: string | null;
}

/** Number of columns that usually fit into the second line of a row. */
const SEEN_BELOW = 3;

/** Renders what does not fit into the table of the selected row, or a hint on how to see it. */
function HiddenContent<R>(props: HiddenContentProps<R>) {
  const { scroller, at, picked, wide, fits, below, label, model, openKey = null } = props;
  const entry = model.entries[at]?.key === picked ? model.entries[at] : undefined;
  const seenColumns = [...fits, ...below.slice(0, SEEN_BELOW)];
  const otherColumns = wide.filter((column) => !seenColumns.includes(column) && column.title !== '');
  const isGrid = opensRows(props);
  if (entry?.kind === 'row' && (!isGrid || openKey === null))
    return <RowRest rows={scroller} at={at} row={entry.row} columns={wide} fits={fits} below={below} label={label} />;
  if (isGrid || otherColumns.length === 0 || model.entries.length === 0) return null;
  return (
    <p class="table-hint quiet">A selected row also shows: {otherColumns.map(({ title }) => title).join(', ')}.</p>
  );
}

/**
 * Returns the rows in the text selection. Rows that are not rendered are included. If nothing is selected, returns all
 * rows. If the selection is within one row, returns no rows, so that the browser copies the selected text.
 */
function listCopiedRows<R>(table: HTMLElement, { entries, found }: TableModel<R>): readonly R[] {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return found;
  const findRowAt = (node: Node | null) => {
    const row = (node instanceof Element ? node : node?.parentElement)?.closest('[data-at]') ?? null;
    return row === null || !table.contains(row) ? null : Number((row as HTMLElement).dataset['at']);
  };
  const ends = [findRowAt(selection.anchorNode), findRowAt(selection.focusNode)];
  if (ends[0] === ends[1] && ends[0] !== null) return [];
  // If the selection ends outside the rows, its end is above or below all rows.
  const isUp = selection.anchorNode !== null && isBefore(selection.focusNode, selection.anchorNode);
  const [from, to] = isUp ? ends.toReversed() : ends;
  return entries
    .slice(from ?? 0, (to ?? entries.length - 1) + 1)
    .flatMap((one) => (one.kind === 'row' ? [one.row] : []));
}

const isBefore = (a: Node | null, b: Node): boolean =>
  a !== null && (b.compareDocumentPosition(a) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;

interface Step {
  readonly at: number;
  readonly last: number;
  readonly page: number;
}

function findNextRow(key: string, { at, last, page }: Step): number | undefined {
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

interface ShownRow {
  readonly at: number;
  /** Height of a row in pixels. */
  readonly row: number;
  readonly opens: boolean;
}

/** Height of the titles in pixels. */
const HEAD_HEIGHT = 32;

/** Scrolls to a row. If rows can be opened, the row gets the focus when it is rendered. */
function showRow(scroller: HTMLDivElement, { at, row, opens }: ShownRow): void {
  const top = at * row;
  const visibleHeight = scroller.clientHeight - HEAD_HEIGHT - row;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + visibleHeight) scroller.scrollTop = top - visibleHeight;
  if (!opens) return;
  requestAnimationFrame(() => scroller.querySelector<HTMLElement>(`[data-at="${at}"]`)?.focus({ preventScroll: true }));
}

interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the range of rows to render: the visible rows and some rows around them. The range changes in steps, so most
 * scroll events cause no render.
 */
function useWindow(element: { readonly current: HTMLElement | null }, rows: number, { height, row }: Heights): Window {
  const [top, setTop] = useState(0);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const follow = () => setTop(Math.floor(current.scrollTop / row / OVERSCAN_ROWS) * OVERSCAN_ROWS);
    current.addEventListener('scroll', follow, { passive: true });
    return () => current.removeEventListener('scroll', follow);
  }, [row]);
  const first = Math.min(top, Math.max(0, rows - 1));
  const from = Math.max(0, first - OVERSCAN_ROWS);
  return { from, to: Math.min(rows, first + Math.ceil(height / row) + 2 * OVERSCAN_ROWS) };
}
