import type { ComponentChildren } from 'preact';
import { countValues, MISSING_TEXT } from '../../words/numbers.js';
import type { Column } from './columns.js';
import { getCellClass, getCellStyle } from './table-head.js';
import type { Entry } from './table-model.js';

/**
 * Heights in pixels of a row with one line and with two lines. The CSS variable `--row` has the first of these values.
 */
const ROW_HEIGHT = 32;
const TWO_LINES = 50;

/** Returns the height of the rows of a table in pixels. */
export const computeRowHeight = (below: readonly unknown[]): number => (below.length === 0 ? ROW_HEIGHT : TWO_LINES);

interface CellsProps<R> {
  readonly columns: readonly Column<R>[];
  /** Columns that fit into the width of the table. */
  readonly fits: readonly Column<R>[];
  /** Columns of the second line. */
  readonly below: readonly Column<R>[];
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
  const height = computeRowHeight(below);
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
              isTall: height > ROW_HEIGHT,
            })}
            data-at={position}
            aria-rowindex={position + first}
            aria-selected={isGrid && openKey !== null ? isOpen : undefined}
            aria-expanded={isGroup ? entry.isOpen : undefined}
            tabIndex={isGrid ? (position === stop ? 0 : -1) : undefined}
            style={{ gridTemplateColumns: template, transform: `translateY(${position * height}px)` }}
            onFocus={() => onPick(position, entry.key)}
            onClick={(event) => {
              onPick(position, entry.key);
              if (opens && !isOnControl(event.target)) onOpen(entry);
            }}
          >
            <Cells {...props} entry={entry} />
          </div>
        );
      })}
    </>
  );
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

function Cells<R>({ entry, columns, fits, below, pinned, isGrid }: CellsProps<R> & { readonly entry: Entry<R> }) {
  return (
    <>
      {fits.map((column, k) => (
        <div
          key={column.id}
          role={isGrid ? 'gridcell' : 'cell'}
          aria-colindex={columns.indexOf(column) + 1}
          class={getCellClass(column, pinned)}
          style={getCellStyle(column, pinned)}
          data-column={column.id}
          onPointerEnter={showFullText}
        >
          {entry.kind === 'row' ? (
            renderContent(entry.row, column)
          ) : (
            <GroupCell entry={entry} column={column} isFirst={k === 0} />
          )}
        </div>
      ))}
      {entry.kind === 'row' && below.length > 0 && (
        <SecondLine row={entry.row} columns={columns} fits={fits} below={below} isGrid={isGrid} />
      )}
    </>
  );
}

interface SecondLineProps<R> extends Omit<CellsProps<R>, 'pinned'> {
  readonly row: R;
}

/**
 * Renders the second line of a row: one cell with the columns that do not fit into the first line. A value that does
 * not fit at its end is hidden as a whole.
 */
function SecondLine<R>({ row, columns, fits, below, isGrid }: SecondLineProps<R>) {
  const from = fits.findIndex(({ title }) => title !== '') + 1;
  return (
    <div
      role={isGrid ? 'gridcell' : 'cell'}
      aria-colindex={columns.length + 1}
      class={from === 1 ? 'table-below is-first' : 'table-below'}
      style={{ gridColumn: `${from} / -1` }}
    >
      {below.map((column) => {
        const { id, title, align = '' } = column;
        const content = renderContentBelow(row, column);
        if (!content || content === MISSING_TEXT) return null;
        const isWhole = column.below === 'titled' || isNumberOrDate(row, column);
        const isTitled = isWhole && column.showBelow === undefined;
        return (
          <span key={id} class={isWhole ? `${align} whole` : align} data-below={id}>
            <span class={isTitled ? undefined : 'unseen'}>{title} </span>
            {content}
          </span>
        );
      })}
    </div>
  );
}

function renderContentBelow<R>(row: R, column: Column<R>): ComponentChildren {
  if (column.showBelow !== undefined) return column.showBelow(row) ?? null;
  return column.below === undefined && isEmpty(column.value(row)) ? null : renderContent(row, column);
}

const isEmpty = (value: unknown): boolean => value === null || value === '';

const isNumberOrDate = <R,>(row: R, { align, value }: Column<R>): boolean =>
  align === 'right' || /^\d{4}-\d\d/.test(String(value(row)));

const renderContent = <R,>(row: R, column: Column<R>) =>
  (column.show === undefined ? column.value(row) : column.show(row)) ?? MISSING_TEXT;

interface GroupCellProps<R> {
  readonly entry: Entry<R> & { readonly kind: 'group' };
  readonly column: Column<R>;
  readonly isFirst: boolean;
}

function GroupCell<R>({ entry, column, isFirst }: GroupCellProps<R>) {
  if (isFirst)
    return (
      <span class="table-group">
        <span aria-hidden="true">{entry.isOpen ? '▾' : '▸'}</span> {entry.title}{' '}
        <span class="quiet">{countValues(entry.count, 'row')}</span>
      </span>
    );
  const sum = entry.computeSum(column);
  return sum === null ? null : <>{column.total?.(sum)}</>;
}

/** Shows the full text of a truncated cell as a tooltip. */
function showFullText({ currentTarget: cell }: { readonly currentTarget: HTMLElement }): void {
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  else cell.removeAttribute('title');
}
