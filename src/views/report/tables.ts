import {
  type Canvas,
  HAIRLINE,
  INK,
  LEADING,
  LINE,
  MUTED_INK,
  type Part,
  type Section,
  SIZE,
  SPACE,
  type StructureElement,
} from './page.js';
import type { Typesetter } from './text.js';

export interface TableColumn {
  readonly head: string;
  /** True for figures, which are right-aligned. Text is left-aligned. */
  readonly isFigure: boolean;
  /** True for a column of row totals. It is printed bold. */
  readonly isTotal?: boolean;
}

export interface TableRow {
  /** Text of each cell. */
  readonly cells: readonly string[];
  /** True for a total row. It is printed bold with a rule above it. */
  readonly isTotal?: boolean;
  /** Background colour of each cell; null without a colour. */
  readonly tints?: readonly (string | null)[];
}

interface TableContent {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

export interface Table extends TableContent {
  /** Note printed below the table. */
  readonly note: string | null;
  /** Further remarks below the note, one per paragraph. */
  readonly remarks?: readonly string[];
}

export const createTextColumn = (head: string): TableColumn => ({ head, isFigure: false });
export const createFigureColumn = (head: string): TableColumn => ({ head, isFigure: true });

/** Table column with the function that creates its cells. If all cells are empty, the column is left out. */
export interface Field<R> {
  readonly column: TableColumn;
  readonly cell: (row: R) => string;
  readonly isShown?: boolean;
}

export function toTable<R>(fields: readonly Field<R>[], rows: readonly R[], note: string | null): Table {
  const shownFields = fields.filter(({ isShown = true }) => isShown);
  return {
    columns: shownFields.map(({ column }) => column),
    rows: rows.map((row) => ({ cells: shownFields.map(({ cell }) => cell(row)) })),
    note,
  };
}

/** A column with its position in a table. */
interface FittedColumn {
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

const ROW_PADDING = 3;
const HEAD_PADDING = 3.5;
const LINE_HEIGHT = SIZE.table * LEADING;
const HEAD_LINE_HEIGHT = SIZE.label * 1.25;
/** Maximum number of lines in a cell. Longer text ends with an ellipsis. */
const CELL_LINES_MAX = 3;

/**
 * Lays out a table for a width. Columns that do not fit continue in another section that repeats the first column. If
 * this saves a section, the distance between columns is halved.
 * @cost measures every cell
 */
export function layTable({ columns, rows }: TableContent, width: number, typesetter: Typesetter): Section[] {
  const fitWithGap = (gap: number) => fitColumns({ columns, rows, width, typesetter, gap });
  const wideGroups = fitWithGap(SPACE.column);
  const close = wideGroups.length === 1 ? wideGroups : fitWithGap(SPACE.column / 2);
  const groups = close.length < wideGroups.length ? close : wideGroups;
  return groups.map((group, i) =>
    laySection({ columns, rows, group, typesetter, gapAbove: i === 0 ? 0 : SPACE.column }),
  );
}

interface SectionInput extends TableContent {
  readonly group: readonly FittedColumn[];
  readonly typesetter: Typesetter;
  readonly gapAbove: number;
}

function laySection({ columns, rows, group, typesetter, gapAbove }: SectionInput): Section {
  let table: StructureElement | null = null;
  const addTable = (canvas: Canvas, parent: StructureElement): StructureElement =>
    (table ??= canvas.element(parent, 'Table'));
  const heads = group.map(({ column, width }) =>
    typesetter.fit(columns[column]!.head, {
      size: SIZE.label,
      weight: 'bold',
      maxWidth: width,
      linesMax: CELL_LINES_MAX,
    }),
  );
  const headLines = Math.max(...heads.map(({ length }) => length));
  const head: Part = {
    height: gapAbove + headLines * HEAD_LINE_HEIGHT + HEAD_PADDING + 1,
    draw(canvas, { x, y, parent }) {
      const isRepeated = table !== null;
      const bottom = y + gapAbove + headLines * HEAD_LINE_HEIGHT + HEAD_PADDING;
      const lastColumn = group.at(-1)!;
      canvas.artifact(() =>
        canvas.line([x, bottom], [x + lastColumn.x + lastColumn.width, bottom], { colour: INK, width: LINE.head }),
      );
      const drawHead = (k: number): void =>
        drawLines(canvas, heads[k]!, {
          column: group[k]!,
          isFigure: columns[group[k]!.column]!.isFigure,
          x,
          lineHeight: HEAD_LINE_HEIGHT,
          size: SIZE.label,
          colour: MUTED_INK,
          isBold: true,
          baseline: bottom - HEAD_PADDING - HEAD_LINE_HEIGHT * (heads[k]!.length - 1) - 1,
        });
      if (isRepeated) {
        canvas.artifact(() => group.forEach((_, k) => drawHead(k)), 'Pagination');
        return;
      }
      const row = canvas.element(addTable(canvas, parent), 'TR');
      group.forEach((_, k) => canvas.content(canvas.element(row, 'TH', { scope: 'Column' }), 'TH', () => drawHead(k)));
    },
  };
  return {
    head,
    rows: rows.map((row, i) =>
      layRow(row, { columns, group, typesetter, tableIn: addTable, isLast: i === rows.length - 1 }),
    ),
  };
}

interface RowInput {
  readonly columns: readonly TableColumn[];
  readonly group: readonly FittedColumn[];
  readonly typesetter: Typesetter;
  readonly tableIn: (canvas: Canvas, parent: StructureElement) => StructureElement;
  readonly isLast: boolean;
}

function layRow(
  { cells, isTotal = false, tints }: TableRow,
  { columns, group, typesetter, tableIn, isLast }: RowInput,
): Part {
  const isBold = (column: number): boolean => isTotal || columns[column]!.isTotal === true;
  const texts = group.map(({ column, width }) => {
    const weight = isBold(column) ? 'bold' : 'regular';
    return columns[column]!.isFigure
      ? [cells[column]!]
      : typesetter.fit(cells[column]!, { size: SIZE.table, weight, maxWidth: width, linesMax: CELL_LINES_MAX });
  });
  const height = Math.max(...texts.map(({ length }) => length)) * LINE_HEIGHT + ROW_PADDING;
  return {
    height,
    draw(canvas, { x, y, parent }) {
      const lastColumn = group.at(-1)!;
      canvas.artifact(() => {
        group.forEach(({ column, x: left, width, outer }) => {
          const tint = tints?.[column];
          if (!tint) return;
          const right = Math.min(left + width + outer, lastColumn.x + lastColumn.width);
          canvas.rectangle({ x: x + left - outer, y, width: right - left + outer, height }, tint);
        });
        if (isTotal) canvas.line([x, y], [x + lastColumn.x + lastColumn.width, y], { colour: INK, width: LINE.rule });
        canvas.line(
          [x, y + height],
          [x + lastColumn.x + lastColumn.width, y + height],
          isLast ? { colour: INK, width: LINE.rule } : { colour: HAIRLINE, width: LINE.hair },
        );
      });
      const row = canvas.element(tableIn(canvas, parent), 'TR');
      const baseline = y + ROW_PADDING / 2 + SIZE.table * 1.05;
      group.forEach((fitWithGap, k) => {
        const type = k === 0 ? 'TH' : 'TD';
        const element = canvas.element(row, type, k === 0 ? { scope: 'Row' } : {});
        canvas.content(element, type, () =>
          drawLines(canvas, texts[k]!, {
            column: fitWithGap,
            isFigure: columns[fitWithGap.column]!.isFigure,
            x,
            baseline,
            lineHeight: LINE_HEIGHT,
            size: SIZE.table,
            colour: INK,
            isBold: isBold(fitWithGap.column),
          }),
        );
      });
    },
  };
}

interface LinesInput {
  readonly column: FittedColumn;
  readonly isFigure: boolean;
  readonly x: number;
  /** Baseline of the first line. */
  readonly baseline: number;
  readonly lineHeight: number;
  readonly size: number;
  readonly colour: string;
  readonly isBold: boolean;
}

function drawLines(
  canvas: Canvas,
  lines: readonly string[],
  { column, isFigure, x, baseline, lineHeight, size, colour, isBold }: LinesInput,
): void {
  const left = x + column.x;
  lines.forEach((line, i) => {
    canvas.text(line, {
      x: isFigure ? left + column.width : left,
      y: baseline + i * lineHeight,
      size,
      colour,
      weight: isBold ? 'bold' : 'regular',
      align: isFigure ? 'right' : 'left',
    });
  });
}
