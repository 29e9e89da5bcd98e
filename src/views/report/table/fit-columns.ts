import { SIZE } from '../style-sheet.js';
import type { Typesetter } from '../text/typesetter.js';
import type { TableColumn, TableContent } from './table-content.js';

/** A column with its position in a table. */
export interface FittedColumn {
  /** Position among all columns of the table. */
  readonly column: number;
  readonly x: number;
  readonly width: number;
  /** Padding on both sides. */
  readonly outer: number;
}

export interface FitInput extends TableContent {
  readonly width: number;
  readonly typesetter: Typesetter;
  /** Minimum distance between two columns in points. */
  readonly gap: number;
}

/** Width of a column without line breaks, and its minimum width. */
interface ColumnNeed {
  readonly natural: number;
  readonly least: number;
}

/** Minimum width of a text column in points. */
const TEXT_WIDTH_MIN = 56;

/**
 * Divides the columns into as few groups as fit the width. The groups have about equal numbers of columns, and each
 * repeats the first column. A column of figures is as wide as its longest figure. Text is wrapped, and the remaining
 * width is distributed.
 */
export function fitColumns({ columns, rows, width, typesetter, gap }: FitInput): FittedColumn[][] {
  const needs = columns.map((column, i) =>
    measureNeed(
      column,
      rows.map(({ cells, isTotal = false }) => ({ text: cells[i]!, isTotal: isTotal || column.isTotal === true })),
      typesetter,
    ),
  );
  const layout = { needs, columns, width, gap };
  const filledGroups = groupBy(layout, columns.length);
  const evenGroups = groupBy(layout, Math.ceil((columns.length - 1) / filledGroups.length));
  return (evenGroups.length > filledGroups.length ? filledGroups : evenGroups).map((group) =>
    placeColumns(group, layout),
  );
}

/**
 * Groups columns so that each group fits the width. A group has the first column and at most `columnsMax` other
 * columns.
 */
function groupBy({ needs, width, gap }: PlaceInput, columnsMax: number): number[][] {
  const groups: number[][] = [];
  let usedWidth = Infinity;
  needs.forEach(({ least }, i) => {
    if (i === 0) return;
    const wantedWidth = least + gap;
    if (usedWidth + wantedWidth > width || groups.at(-1)!.length > columnsMax) {
      groups.push([0]);
      usedWidth = needs[0]!.least;
    }
    groups.at(-1)!.push(i);
    usedWidth += wantedWidth;
  });
  return groups.length === 0 ? [[0]] : groups;
}

function measureNeed(
  { head, isFigure }: TableColumn,
  cells: readonly { readonly text: string; readonly isTotal: boolean }[],
  typesetter: Typesetter,
): ColumnNeed {
  const cellWidth =
    cells.reduce(
      (widest, { text, isTotal }) =>
        Math.max(widest, typesetter.width(text, { size: SIZE.table, weight: isTotal ? 'bold' : 'regular' })),
      0,
    ) + 0.5;
  const words = Math.max(
    ...head.split(' ').map((word) => typesetter.width(word, { size: SIZE.label, weight: 'bold' })),
  );
  const title = typesetter.width(head, { size: SIZE.label, weight: 'bold' });
  return isFigure
    ? { natural: Math.max(cellWidth, title), least: Math.max(cellWidth, words) }
    : { natural: Math.max(cellWidth, title), least: Math.max(words, Math.min(cellWidth, TEXT_WIDTH_MIN)) };
}

interface PlaceInput {
  readonly needs: readonly ColumnNeed[];
  readonly columns: readonly TableColumn[];
  readonly width: number;
  readonly gap: number;
}

function placeColumns(group: readonly number[], { needs, columns, width, gap }: PlaceInput): FittedColumn[] {
  const availableWidth = Math.max(width - gap * (group.length - 1), 0);
  const widths = computeWidths(
    group.map((i) => needs[i]!),
    availableWidth,
  );
  const spareWidth = Math.max(0, availableWidth - widths.reduce((sum, columnWidth) => sum + columnWidth, 0));
  const share = group.length > 1 ? spareWidth / (group.length - 1) : 0;
  let x = 0;
  return group.map((column, k) => {
    const ownWidth = Math.min(widths[k]!, width);
    // Additional space comes before figures and after text, because figures are right-aligned and text is left-aligned.
    const gapBefore = k > 0 && columns[column]!.isFigure ? share : 0;
    const gapAfter = k < group.length - 1 && !columns[group[k + 1]!]!.isFigure ? share : 0;
    const fittedColumn = { column, x: x + gapBefore, width: ownWidth, outer: Math.min(gap, gap + share) / 2 };
    x += gapBefore + ownWidth + gapAfter + gap;
    return fittedColumn;
  });
}

/**
 * Returns the natural widths if they fit. Otherwise each column gets its minimum width, and all columns get the same
 * fraction of what they need beyond it.
 */
function computeWidths(needs: readonly ColumnNeed[], availableWidth: number): number[] {
  const natural = needs.reduce((sum, need) => sum + need.natural, 0);
  if (natural <= availableWidth) return needs.map((need) => need.natural);
  const minimumWidth = needs.reduce((sum, need) => sum + need.least, 0);
  const share =
    natural > minimumWidth ? Math.max(0, Math.min(1, (availableWidth - minimumWidth) / (natural - minimumWidth))) : 0;
  return needs.map((need) => need.least + share * (need.natural - need.least));
}
