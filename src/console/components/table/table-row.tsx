import type { ComponentChildren } from 'preact';
import { countValues, MISSING_TEXT } from '../../words/numbers.js';
import { wrapsInRow, type Column } from './columns.js';
import type { LineCounts } from './line-counts.js';
import { isCut } from './row-rest.js';
import { getCellClass, getCellStyle } from './table-head.js';
import type { Entry } from './table-model.js';
import './wrapped-text.css';

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
export function computeRowHeight<R>(rows: RowLines<R>): number {
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
  /** Entries that are rendered. */
  readonly entries: readonly Entry<R>[];
  /** Position of the first rendered entry. The next field is the number of the first entry for screen readers. */
  readonly from: number;
  readonly first: number;
  readonly template: string;
  getKey(row: R): string;
  readonly openKey: string | null;
  /** Key of the entry that was clicked or focused. */
  readonly picked: string | null;
  /** Position of the focusable entry. */
  readonly stop: number;
  onPick(position: number, key: string): void;
  onOpen(entry: Entry<R>): void;
}

/** Renders rows, and the headers of groups with their sums. */
export function TableRows<R>(props: TableRowsProps<R>) {
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
      {fits.map((column) => renderCell({ ...props, column }, renderContent(row, column)))}
      {below.length > 0 && <SecondLine row={row} {...props} />}
    </>
  );
}

interface CellProps<R> extends Pick<CellsProps<R>, 'columns' | 'pinned' | 'isGrid'> {
  readonly column: Column<R>;
  /** Number of columns that the cell spans. */
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
        const { id, title, lines, align = '' } = column;
        const content = renderContentBelow(row, column);
        if (!content || content === MISSING_TEXT) return null;
        const isWhole = column.below === 'titled' || (column.below !== 'text' && isNumberOrDate(row, column));
        const isTitled = isWhole && column.showBelow === undefined;
        return (
          <span
            key={id}
            class={[isWhole && 'whole', lines !== undefined && 'wraps', align].filter(Boolean).join(' ')}
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
  return column.below === undefined && isEmpty(column.value(row)) ? null : renderContent(row, column);
}

const isEmpty = (value: unknown): boolean => value === null || value === '';

const isNumberOrDate = <R,>(row: R, { align, value }: Column<R>): boolean =>
  align === 'right' || /^\d{4}-\d\d/.test(String(value(row)));

const renderContent = <R,>(row: R, column: Column<R>) =>
  (column.show === undefined ? column.value(row) : column.show(row)) ?? MISSING_TEXT;

type Group<R> = Entry<R> & { readonly kind: 'group' };

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
          const { align: _, lines: __, ...plain } = titleColumn;
          return renderCell({ ...props, pinned, column: plain, span: end - start }, title);
        }
        const sum = sums[k];
        return k > start && k < end ? null : renderCell({ ...props, column }, sum == null ? null : column.total?.(sum));
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
