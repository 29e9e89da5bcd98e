import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { isMet, findValueConflict, type DuplicatePolicy } from './repeated-rows.js';
import { describeRepeatedKey } from '../tables/key-problems.js';
import { refuseSize } from './market-limits.js';
import { createDayPositions } from '../panels/day-positions.js';
import { allocateEmptyPanel, removeEmptyLines, type Panels } from '../panels/panels.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { BLOCK_BITS, BLOCK_ROWS } from './row-blocks.js';

/** Rows in the order of the files, in blocks. */
export interface CollectedRows {
  /** Identifiers by code. */
  readonly identifiers: readonly string[];
  readonly fields: readonly string[];
  /** Codes of the identifiers of the rows; -1 for a refused row. */
  readonly codeBlocks: readonly Int32Array[];
  readonly dayBlocks: readonly Int32Array[];
  /** [field][block] */
  readonly valueBlocks: readonly (readonly Float64Array[])[];
  readonly rows: number;
  readonly files: readonly { readonly label: string; readonly firstRow: number }[];
}

interface PanelsOptions {
  readonly isPart: boolean;
  readonly onDuplicate: DuplicatePolicy;
  readonly isJoined: boolean;
}

interface EmptyPanels {
  /** Column by identifier code. */
  readonly columnOf: Int32Array;
  readonly dates: Int32Array;
  readonly panels: readonly Float64Array[];
}

/** Returns the panels of all rows; undefined, with a finding, after an error. */
export function toPanels(collected: CollectedRows, problems: Problems, options: PanelsOptions): Panels | undefined {
  const { identifiers, fields, codeBlocks, dayBlocks, rows } = collected;
  const { isPart, onDuplicate } = options;
  if (rows === 0 && problems.errors === 0 && !isPart)
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market has no row with a number; it must have at least one.',
    });
  const isSound = problems.errors === 0;
  const order = identifiers.map((_, code) => code).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
  const columnByCode = new Int32Array(identifiers.length);
  for (let n = 0; n < order.length; n++) columnByCode[order[n]!] = n;
  const dates = listDistinctDays(codeBlocks, dayBlocks, rows);
  const shape = { dates: dates.length, identifiers: order.length, fields: fields.length };
  if (refuseSize(shape, problems)) return undefined;
  // Repeated rows are reported after other errors too. If identical rows are accepted, this needs the panels, because
  // it compares values.
  const panels =
    isSound || onDuplicate === 'identical'
      ? fields.map(() => allocateEmptyPanel(shape.dates * shape.identifiers, shape.fields))
      : [];
  if (!writePanels(collected, { columnOf: columnByCode, dates, panels }, problems, options) || !isSound)
    return undefined;
  return removeEmptyLines({
    identifiers: order.map((code) => identifiers[code]!),
    dates,
    fields: new Map(fields.map((name, field) => [name, panels[field]!])),
  });
}

/**
 * Writes every row to its cell. Returns false, with a finding, if two rows have the same cell and the options do not
 * accept this.
 */
function writePanels(
  { identifiers, fields, codeBlocks, dayBlocks, valueBlocks, rows, files }: CollectedRows,
  { columnOf, dates, panels }: EmptyPanels,
  problems: Problems,
  options: Omit<PanelsOptions, 'isPart'>,
): boolean {
  const assets = columnOf.length;
  const rowByDay = createDayPositions(dates);
  const filledCells = new Uint8Array(dates.length * assets);
  let repeatedRows = 0;
  for (let row = 0; row < rows; row++) {
    const block = row >>> BLOCK_BITS;
    const slot = row & (BLOCK_ROWS - 1);
    const code = codeBlocks[block]![slot]!;
    if (code < 0) continue;
    const day = dayBlocks[block]![slot]!;
    const cell = rowByDay[day - dates[0]!]! * assets + columnOf[code]!;
    if (filledCells[cell] === 1) {
      const getValue = (field: number): number => valueBlocks[field]![block]![slot]!;
      if (isMet(options, panels, cell, getValue)) continue;
      repeatedRows += 1;
      const conflict = findValueConflict({ fields, panels, cell }, getValue);
      if (conflict !== undefined) problems.conflict({ ...conflict, identifier: identifiers[code]!, day });
      refuseRepeated(row, identifiers[code]!, day, problems, files);
      continue;
    }
    filledCells[cell] = 1;
    for (let field = 0; field < panels.length; field++) panels[field]![cell] = valueBlocks[field]![block]![slot]!;
  }
  return repeatedRows === 0;
}

function listDistinctDays(codes: readonly Int32Array[], blocks: readonly Int32Array[], rows: number): Int32Array {
  const days = new Set<number>();
  for (let row = 0; row < rows; row++) {
    const [block, slot] = [row >>> BLOCK_BITS, row & (BLOCK_ROWS - 1)];
    if (codes[block]![slot]! >= 0) days.add(blocks[block]![slot]!);
  }
  return Int32Array.from(days).sort();
}

function refuseRepeated(
  row: number,
  identifier: string,
  day: Day,
  problems: Problems,
  files: readonly { readonly label: string; readonly firstRow: number }[],
): void {
  const file = files.findLast((candidate) => candidate.firstRow <= row)!;
  problems.error(describeRepeatedKey(formatCellPath(file.label, row - file.firstRow + 1, ''), identifier, day));
}
