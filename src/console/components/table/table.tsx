import './wrapped-text.css';
import '../control.css';
import './table.css';
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isPrinting } from '../../state/appearance.js';
import { copyCells } from '../../state/files.js';
import { getParameter, navigate, setParameters } from '../../state/location.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { formatTabSeparated } from '../../words/tables.js';
import { Button, Icon, Popover } from '../controls/button.js';
import { getPartName, useWidth } from '../layout/page.js';
import {
  arrangeColumns,
  type Column,
  computeWidth,
  createPrintedColumns,
  DEFAULT_LAYOUT,
  type FittingColumns,
  formatSort,
  formatTemplate,
  getLayout,
  listCells,
  listPinnedPlaces,
  moveColumn,
  parseSort,
  selectFitting,
  type SelectedRows,
  type Sort,
  storeLayout,
  type TableLayout,
  type TableProps,
  wrapsInRow,
  type ListEntry,
  type TableModel,
  useTableModel,
  isNumeric,
  readCell,
  renderContent,
} from './model.js';
import { FilterProblems, getCellClass, getCellStyle, TableHead } from './head.js';

/** Number of lines by column; a missing column has no text. */
type LineCounts = Readonly<Record<string, number>>;

/**
 * Returns for each column of texts that wrap the number of lines of the longest text that was visible. All rows of a
 * table have the same height, so rows have no empty line if no text needs it.
 */
function useLineCounts<R>(table: { readonly current: HTMLElement | null }, columns: readonly Column<R>[]): LineCounts {
  const [counts, setCounts] = useState<LineCounts>({});
  useLayoutEffect(() => {
    const linesMax = new Map(columns.map(({ id, lines = 1 }) => [id, lines]));
    const higher: Record<string, number> = {};
    for (const cell of table.current?.querySelectorAll<HTMLElement>('.table-rows .wraps') ?? []) {
      const id = cell.dataset['column'] ?? cell.dataset['below'] ?? '';
      const lines = Math.min(linesMax.get(id) ?? 1, countLines(cell));
      if (lines > (higher[id] ?? counts[id] ?? 0)) higher[id] = lines;
    }
    if (Object.keys(higher).length > 0) setCounts({ ...counts, ...higher });
  });
  return counts;
}

/** Counts the lines of a text, including those that are hidden. */
const countLines = (cell: HTMLElement): number =>
  Math.round(cell.scrollHeight / parseFloat(getComputedStyle(cell).lineHeight));

/**
 * Keeps the visible rows in place when the height of rows changes.
 * @param row height of a row in pixels
 */
function useKeptPosition(scroller: RefObject<HTMLElement>, row: number): void {
  const before = useRef(row);
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop *= row / before.current;
    before.current = row;
  }, [row]);
}

interface RowRestProps<R> {
  readonly rows: RefObject<HTMLElement>;
  readonly at: number;
  readonly row: R;
  readonly columns: readonly Column<R>[];
  readonly fits: readonly Column<R>[];
  /** Columns of the second line. */
  readonly below: readonly Column<R>[];
  readonly label: string;
}

/** Renders what the table does not show of a row: truncated texts and hidden columns. Its first column names the row. */
function RowRest<R>({ rows, at, row, columns, fits, below, label }: RowRestProps<R>) {
  const [cut, setCut] = useState('');
  useLayoutEffect(() => {
    const row = rows.current?.querySelector(`[data-at="${at}"]`) ?? null;
    const foundColumns = [...fits, ...below].filter(({ id }) => {
      const cell = row?.querySelector<HTMLElement>(
        `[data-column="${CSS.escape(id)}"], [data-below="${CSS.escape(id)}"]`,
      );
      return cell && (isCut(cell) || isOutside(cell));
    });
    setCut(foundColumns.map(({ id }) => id).join(' '));
  }, [at, row, fits.length, computeWidth(fits)]);
  const ids = cut.split(' ');
  const restColumns = columns.filter(
    (column) =>
      column.title !== '' &&
      (ids.includes(column.id) || !(fits.includes(column) || below.includes(column))) &&
      readCell(column, row) !== null,
  );
  if (restColumns.length === 0) return null;
  const first = columns.find(({ title }) => title !== '')!; // a column of the rest has a title
  const name = readCell(first, row) ?? MISSING_TEXT;
  return (
    <dl class="wrap table-rest" aria-label={`Details of ${name}, a row of ${label}`}>
      {[...new Set([first, ...restColumns])].map((column) => (
        <div key={column.id}>
          <dt>{column.title}</dt>
          <dd>{renderContent(column, row)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Returns true for a text that is wider than its cell, or that wraps to more lines than its cell has room for. */
const isCut = (cell: HTMLElement): boolean =>
  cell.scrollWidth > cell.clientWidth || (cell.classList.contains('wraps') && cell.scrollHeight > cell.clientHeight);

/** Returns true for a value that does not fit into the second line. */
const isOutside = ({ offsetTop, parentElement }: HTMLElement): boolean =>
  parentElement?.classList.contains('table-below') === true &&
  offsetTop >= parentElement.offsetTop + parentElement.clientHeight;

export const SELECT_COLUMN = 'select';

/**
 * Creates a column of checkboxes. The space key also selects a row.
 * @param found rows that the checkbox in the header selects
 */
function selectColumn<R>(
  { keys, isLimited, onChange }: SelectedRows,
  { label, getKey, found }: { readonly label: string; getKey(row: R): string; found(): readonly R[] },
): Column<R> {
  return {
    id: SELECT_COLUMN,
    title: '',
    width: 38,
    value: () => null,
    head() {
      if (isLimited) return null;
      const foundKeys = found().map(getKey);
      const isWhole = foundKeys.length > 0 && foundKeys.every((key) => keys.includes(key));
      return (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select all ${label}`}
          checked={isWhole}
          indeterminate={!isWhole && keys.length > 0}
          onChange={() => onChange(isWhole ? [] : foundKeys)}
        />
      );
    },
    show(row) {
      const key = getKey(row);
      return (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={key}
          checked={keys.includes(key)}
          onChange={() => onChange(toggleSelection(keys, key))}
        />
      );
    },
  };
}

const toggleSelection = (keys: readonly string[], key: string): readonly string[] =>
  keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key];

/**
 * Heights in pixels of a row with one line and with two lines. The CSS variable `--row` has the first of these values.
 */
const ROW_HEIGHT = 32;
const TWO_LINES = 50;
/** Heights of the first line of a row, and of each further line of its texts, in pixels. */
const FIRST_LINE = 24;
const FURTHER_LINE = 20;
/** Height of the second line of a row, and of each line of a text that wraps below it, in pixels. */
const LINE_BELOW = 18;

/** Columns of rows, and the numbers of lines of their texts. */
interface RowLines<R> {
  /** Columns of the first line. */
  readonly fits: readonly Column<R>[];
  /** Columns of the second line. */
  readonly below: readonly Column<R>[];
  readonly lineCounts: LineCounts;
}

/** Returns the height of the rows of a table in pixels. */
function computeRowHeight<R>(rows: RowLines<R>): number {
  if (rows.below.length === 0) return computeFirstHeight(rows) > FIRST_LINE ? TWO_LINES : ROW_HEIGHT;
  return TWO_LINES - FIRST_LINE - LINE_BELOW + computeFirstHeight(rows) + computeHeightBelow(rows);
}

function computeFirstHeight<R>({ fits, lineCounts }: RowLines<R>): number {
  const lines = fits.filter(wrapsInRow).map(({ id }) => lineCounts[id] ?? 1);
  return FIRST_LINE + FURTHER_LINE * (Math.max(1, ...lines) - 1);
}

/** Returns the height in pixels of the values below the first line: one line, and the lines of each wrapped text. */
function computeHeightBelow<R>({ below, lineCounts }: RowLines<R>): number {
  const hasLine = below.some(({ lines }) => lines === undefined);
  const wrapped = below.reduce((sum, { id, lines }) => sum + (lines === undefined ? 0 : (lineCounts[id] ?? 0)), 0);
  return (Number(hasLine) + wrapped) * LINE_BELOW;
}

interface CellsProps<R> extends RowLines<R> {
  readonly columns: readonly Column<R>[];
  readonly pinned: ReadonlyMap<string, number>;
  /** True if rows can be opened. */
  readonly isGrid: boolean;
}

interface TableRowsProps<R> extends CellsProps<R> {
  readonly entries: readonly ListEntry<R>[];
  /** Position of the first rendered entry. The next field is the number of the first entry for screen readers. */
  readonly from: number;
  readonly first: number;
  readonly template: string;
  getKey(row: R): string;
  readonly openKey: string | null;
  /** Key of the entry that was clicked or focused. */
  readonly picked: string | null;
  readonly stop: number;
  onPick(position: number, key: string): void;
  onOpen(entry: ListEntry<R>): void;
}

/** Renders rows, and the headers of groups with their sums. */
function TableRows<R>(props: TableRowsProps<R>) {
  const { entries, from, first, template, getKey, isGrid, below, openKey, picked, stop, onPick, onOpen } = props;
  const height = computeRowHeight(props);
  return (
    <>
      {entries.map((entry, i) => {
        const position = from + i;
        const isGroup = entry.kind === 'group';
        const isOpen = !isGroup && openKey !== null && getKey(entry.row) === openKey;
        const opens = isGrid || isGroup;
        return (
          <div
            key={entry.key}
            role="row"
            class={getRowClass({
              isGroup,
              opens,
              isOpen,
              isPicked: !isGrid && entry.key === picked,
              isTall: below.length > 0,
            })}
            data-at={position}
            aria-rowindex={position + first}
            aria-selected={isGrid && openKey !== null ? isOpen : undefined}
            aria-expanded={isGroup ? entry.isOpen : undefined}
            tabIndex={isGrid ? (position === stop ? 0 : -1) : undefined}
            style={{
              ...getRowStyle(isGroup ? { ...props, below: [] } : props, height),
              gridTemplateColumns: template,
              transform: `translateY(${position * height}px)`,
            }}
            onFocus={() => onPick(position, entry.key)}
            onClick={(event) => {
              onPick(position, entry.key);
              if (opens && !isOnControl(event.target)) onOpen(entry);
            }}
          >
            {isGroup ? <GroupCells {...props} entry={entry} /> : <Cells {...props} row={entry.row} />}
          </div>
        );
      })}
    </>
  );
}

/** Returns the height of a row that differs from those of the style sheet. */
function getRowStyle<R>(rows: RowLines<R>, height: number) {
  if (rows.below.length > 0 && height !== TWO_LINES)
    return {
      height: `${height}px`,
      gridTemplateRows: `minmax(${FIRST_LINE}px, auto) ${computeHeightBelow(rows)}px`,
    };
  return rows.below.length === 0 && height !== ROW_HEIGHT ? { height: `${height}px` } : {};
}

interface RowAppearance {
  readonly isGroup: boolean;
  readonly opens: boolean;
  readonly isOpen: boolean;
  readonly isPicked: boolean;
  readonly isTall: boolean;
}

const getRowClass = ({ isGroup, opens, isOpen, isPicked, isTall }: RowAppearance): string =>
  ['table-row', isTall && 'is-tall', isGroup && 'is-group', opens && 'opens', (isOpen || isPicked) && 'is-open']
    .filter(Boolean)
    .join(' ');

/** Returns true for a click on a link or button inside a row. Such a click must not open the row. */
const isOnControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, input, label') !== null;

function Cells<R>({ row, ...props }: CellsProps<R> & { readonly row: R }) {
  const { fits, below } = props;
  return (
    <>
      {fits.map((column) => renderCell({ ...props, column }, renderContent(column, row)))}
      {below.length > 0 && <SecondLine row={row} {...props} />}
    </>
  );
}

interface CellProps<R> extends Pick<CellsProps<R>, 'columns' | 'pinned' | 'isGrid'> {
  readonly column: Column<R>;
  readonly span?: number;
}

function renderCell<R>(
  { column, columns, pinned, isGrid, span = 1 }: CellProps<R>,
  content: ComponentChildren,
): ComponentChildren {
  return (
    <div
      key={column.id}
      role={isGrid ? 'gridcell' : 'cell'}
      aria-colindex={columns.findIndex(({ id }) => id === column.id) + 1}
      aria-colspan={span === 1 ? undefined : span}
      class={`${getCellClass(column, pinned)}${wrapsInRow(column) ? ' wraps' : ''}`}
      style={{ ...getCellStyle(column, pinned), ...(span > 1 && { gridColumn: `span ${span}` }) }}
      data-column={column.id}
      onPointerEnter={showFullText}
    >
      {content}
    </div>
  );
}

interface SecondLineProps<R> extends Omit<CellsProps<R>, 'pinned'> {
  readonly row: R;
}

/**
 * Renders the second line of a row: one cell with the columns that do not fit into the first line. A value that does
 * not fit at its end is hidden as a whole.
 */
function SecondLine<R>(props: SecondLineProps<R>) {
  const { row, columns, fits, below, lineCounts, isGrid } = props;
  const from = fits.findIndex(({ title }) => title !== '') + 1;
  const isWrapped = below.some(({ lines }) => lines !== undefined);
  return (
    <div
      role={isGrid ? 'gridcell' : 'cell'}
      aria-colindex={columns.length + 1}
      class={from === 1 ? 'table-below is-first' : 'table-below'}
      style={{ gridColumn: `${from} / -1`, ...(isWrapped && { height: `${computeHeightBelow(props)}px` }) }}
    >
      {below.toSorted(compareWraps).map((column) => {
        const { id, title, lines } = column;
        const content = renderContentBelow(row, column);
        if (!content || content === MISSING_TEXT) return null;
        const isWhole = column.below === 'titled' || (column.below !== 'text' && isNumberOrDate(row, column));
        const isTitled = isWhole && column.showBelow === undefined;
        return (
          <span
            key={id}
            class={[isWhole && 'whole', lines !== undefined && 'wraps', isNumeric(column) && 'right']
              .filter(Boolean)
              .join(' ')}
            style={lines === undefined ? {} : { '--lines': lineCounts[id] ?? 1 }}
            data-below={id}
          >
            <span class={isTitled ? undefined : 'unseen'}>{title} </span>
            {content}
          </span>
        );
      })}
    </div>
  );
}

/** Sorts texts that wrap after the values that share one line. */
const compareWraps = <R,>(a: Column<R>, b: Column<R>): number =>
  Number(a.lines !== undefined) - Number(b.lines !== undefined);

function renderContentBelow<R>(row: R, column: Column<R>): ComponentChildren {
  if (column.showBelow !== undefined) return column.showBelow(row) ?? null;
  return column.below === undefined && isEmpty(readCell(column, row)) ? null : renderContent(column, row);
}

const isEmpty = (value: unknown): boolean => value === null || value === '';

const isNumberOrDate = <R,>(row: R, column: Column<R>): boolean =>
  isNumeric(column) || /^\d{4}-\d\d/.test(String(readCell(column, row)));

type Group<R> = ListEntry<R> & { readonly kind: 'group' };

/** Renders the title of a group and its sums. The title spans columns without a sum. */
function GroupCells<R>({ entry, fits, ...props }: CellsProps<R> & { readonly entry: Group<R> }) {
  const sums = fits.map((column) => entry.computeSum(column));
  const { start, end } = findTitleSpan(fits, sums);
  const titleColumn = fits.slice(start, end).find(({ title }) => title !== '') ?? fits[start]!;
  // A title that also spans other columns would cover their cells while the table scrolls.
  const pinned = fits.slice(start, end).every(({ id }) => props.pinned.has(id)) ? props.pinned : NO_PINS;
  const title = (
    <span class="table-group">
      <span aria-hidden="true">{entry.isOpen ? '▾' : '▸'}</span> {entry.title}{' '}
      <span class="quiet">{countValues(entry.count, 'row')}</span>
    </span>
  );
  return (
    <>
      {fits.map((column, k) => {
        if (k === start) {
          const { align: _, write: __, lines: ___, ...plain } = titleColumn;
          return renderCell({ ...props, pinned, column: plain, span: end - start }, title);
        }
        const sum = sums[k];
        return k > start && k < end ? null : renderCell({ ...props, column }, sum == null ? null : column.write?.(sum));
      })}
    </>
  );
}

const NO_PINS: ReadonlyMap<string, number> = new Map();

/** Returns the first range of columns without a sum of which one has a title. Default: the first column. */
function findTitleSpan<R>(
  fits: readonly Column<R>[],
  sums: readonly (number | null)[],
): { start: number; end: number } {
  const first = fits.findIndex(({ title }, k) => title !== '' && sums[k] === null);
  if (first === -1) return { start: 0, end: 1 };
  const end = sums.findIndex((sum, k) => k > first && sum !== null);
  return { start: sums.findLastIndex((sum, k) => k < first && sum !== null) + 1, end: end === -1 ? fits.length : end };
}

/** Shows the full text of a truncated cell as a tooltip. */
function showFullText({ currentTarget: cell }: { readonly currentTarget: HTMLElement }): void {
  if (isCut(cell)) cell.title = cell.textContent;
  else cell.removeAttribute('title');
}

/** Width of the border of a cell, in pixels. */
const BORDER_WIDTH = 2;
/** Maximum width of a text that is not truncated, in pixels. */
const TEXT_MAX = 200;

/**
 * Makes columns as wide as their titles and as the widest number or short text that was visible. A truncated number or
 * date could be misread. Texts in columns that can grow may be truncated.
 */
function useWidened<R>(
  table: { readonly current: HTMLElement | null },
  columns: readonly Column<R>[],
  /** Widths of resized columns, which are not changed. */
  { widths: chosen }: Pick<TableLayout, 'widths'>,
): readonly Column<R>[] {
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  useLayoutEffect(() => {
    const wider: Record<string, number> = {};
    const growing = new Set(columns.filter(({ grow }) => grow !== undefined).map(({ id }) => id));
    for (const cell of table.current?.querySelectorAll<HTMLElement>('.table-cell[data-column]') ?? []) {
      const id = cell.dataset['column']!; // the selector requires this attribute
      // A hidden cell has no width.
      if (chosen[id] !== undefined || cell.clientWidth === 0) continue;
      const neededWidth = measureNeededWidth(cell, growing.has(id)) + BORDER_WIDTH;
      // Skips a width that was tried before and was too small.
      if (neededWidth > cell.clientWidth + BORDER_WIDTH && neededWidth > (widths[id] ?? 0))
        wider[id] = Math.max(wider[id] ?? 0, neededWidth);
    }
    if (Object.keys(wider).length > 0) setWidths({ ...widths, ...wider });
  });
  return useMemo(
    () =>
      columns.map((column) => ({
        ...column,
        width: chosen[column.id] ?? Math.max(column.width, widths[column.id] ?? 0),
      })),
    [columns, widths, chosen],
  );
}

/** Returns the width in pixels that a cell needs. Returns 0 if its text may be truncated. */
function measureNeededWidth(cell: HTMLElement, mayGrow: boolean): number {
  if (cell.getAttribute('role') === 'columnheader') {
    const title = cell.querySelector('button');
    return title === null ? 0 : measureTitleWidth(cell, title); // the title of a column of buttons is for screen readers
  }
  if (cell.classList.contains('right')) return cell.scrollWidth;
  return mayGrow ? 0 : Math.min(TEXT_MAX, cell.scrollWidth);
}

/**
 * Returns the width of a title with its sort indicator. The text range is measured, because the box of a right-aligned
 * title does not include what overflows on the left.
 */
function measureTitleWidth(cell: HTMLElement, title: HTMLElement): number {
  const content = document.createRange();
  content.selectNodeContents(title);
  const { paddingLeft, paddingRight } = getComputedStyle(cell);
  return Math.ceil(content.getBoundingClientRect().width + parseFloat(paddingLeft) + parseFloat(paddingRight));
}

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

function TableBody<R>(props: TableBodyProps<R>) {
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
        class="frame table"
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
function open<R>({ formatAddress, onOpen, onFold }: TableBodyProps<R>, entry: ListEntry<R>): void {
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
  entries: readonly ListEntry<R>[],
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
    <p class="small table-hint quiet">
      A selected row also shows: {otherColumns.map(({ title }) => title).join(', ')}.
    </p>
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
    <div class="flow gap-3 table-tools">
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
      <div class="flow gap-1 table-acts">
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
        <label class="line gap-2 table-choice">
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
      <label class="line gap-2 table-choice">
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
  if (column.groups !== undefined) return rows.some((row) => readCell(column, row) !== null);
  if (isNumeric(column) || column.title === '') return false;
  const values = rows.map((row) => readCell(column, row)).filter((value) => typeof value === 'string');
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
    <div class="stack gap-2 table-whole" data-part={getPartName(props.label)}>
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
