import type { Canvas, StructureElement } from '../page/canvas.js';
import type { Part, Section } from '../page/layout.js';
import { HAIRLINE, INK, LEADING, LINE, MUTED_INK, SIZE, SPACE } from '../style-sheet.js';
import type { Typesetter } from '../text/typesetter.js';
import { fitColumns, type FittedColumn } from './fit-columns.js';
import type { TableColumn, TableContent, TableRow } from './table-content.js';

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
