import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { isAssetIdentifier } from '#domain/schema/shape.js';
import {
  dayIn,
  explainNotANumber,
  numberIn,
  textIn,
  formatWrittenCell,
  type Cell,
  type Heading,
} from '../formats/cells.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from '../tables/table-kinds.js';
import { isMet, valueConflict, type OnDuplicate } from './repeated-rows.js';
import {
  describeBadDay,
  describeBadIdentifier,
  nonPositivePrice,
  quote,
  describeRepeatedKey,
} from '../tables/key-problems.js';
import { IDENTIFIERS_MAX, refuseSize, ROWS_MAX, RowsFault } from './market-limits.js';
import { nameFileColumns } from '../tables/named-columns.js';
import { dayPositions } from '../panels/day-positions.js';
import { allocateEmptyPanel, removeEmptyLines, type Panels } from '../panels/panels.js';
import { cellPath, type Problems } from '../tables/problems.js';
import { BLOCK_BITS, BLOCK_ROWS, createRowBlocks } from './row-blocks.js';

/** One file, sheet or table of the market dataset, with the meanings of its columns. */
export interface MarketFile {
  readonly label: string;
  /** Column names as the file writes them. */
  readonly written: readonly string[];
  /** Columns of the keys; -1 where the file has none, with a finding. */
  readonly identifierColumn: number;
  readonly dateColumn: number;
  /** Field position per column, -1 for the keys and for columns that are not read. */
  readonly fieldOf: Int32Array;
  /** Code of the identifier of all rows, if no column contains it. */
  readonly code?: number | undefined;
  /** True if numbers have unusual formats and are read as text. */
  readonly hasOwnNumbers?: boolean;
  /** True if a row contains several securities, which `addCells` splits. */
  readonly isWide?: boolean;
}

/**
 * Rows of the market dataset in the order of the files, before they have axes: for formats that are read row by row.
 * Every problem of a row is reported when the row is added.
 */
export interface MarketRows {
  /**
   * Begins a file; returns undefined, with a finding, if its columns are not those of a market dataset.
   * @param table name of the file, sheet or table in its source. Default: the last part of the label.
   * @param heading rows above its header
   */
  beginFile(label: string, written: readonly string[], table?: string, heading?: Heading): MarketFile | undefined;
  /** Begins a row with its keys. A row with an undefined key, which was refused, is only counted. */
  beginRow(code: number | undefined, day: Day | undefined): void;
  /** Sets a number of the current row. */
  setNumber(file: MarketFile, column: number, value: number): void;
  /** Reports a cell of the current row that is no number. */
  refuseNumber(file: MarketFile, column: number, text: string): void;
  /** Reports the current row as unreadable. */
  /** @param first text of its first cell */
  refuseRow(file: MarketFile, message: string, first?: string): void;
  /** Adds a row of cells; null is one that cannot be read, and is only counted. */
  addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void;
  /** Code of the identifier of the next row; undefined, with a finding, when the text is not a valid identifier. */
  codeOf(file: MarketFile, text: string | null): number | undefined;
  /** Day of the next row; undefined, with a finding, when the cell is not a day. */
  dayOf(file: MarketFile, cell: Cell | undefined): Day | undefined;
  readonly rows: number;
  /** Returns the identifiers of the rows so far. */
  names(): readonly string[];
  /** Returns the panels of all rows; undefined after an error. */
  toPanels(): Panels | undefined;
}

/** Reader of rows whose columns already have their final names. */
export interface NamedMarketRows extends MarketRows {
  /** Begins a file. @param names of its columns, '' for one that is not read. */
  openFile(file: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile;
  /** Begins a bar of a row that holds several. @param row of the file, counted from 1 */
  beginBar(row: number, code: number, day: Day): void;
}

/** Properties of all rows, known before the first is read. */
export interface MarketRowsOptions {
  /** True if the rows are only a part of a source, which may be empty. */
  readonly isPart?: boolean;
  readonly rowsMax?: number;
  readonly onDuplicate?: OnDuplicate;
  /** Merges rows of several files for one security and date into one bar when each supplies different fields. */
  readonly isJoined?: boolean;
}

/** @throws RowsFault at the first block of rows that begins after `rowsMax` */
export function createMarketRows(
  problems: Problems,
  { isPart = false, rowsMax = ROWS_MAX, onDuplicate = 'refuse', isJoined = false }: MarketRowsOptions = {},
): NamedMarketRows {
  const fields: string[] = [];
  /** Sign of a field: values above zero, values of at least zero, or any. */
  const signs: ('positive' | 'counted' | 'any')[] = [];
  const codes = new Map<string, number>();
  const files: { readonly label: string; readonly firstRow: number }[] = [];
  const blocks = createRowBlocks();
  const codeBlocks: Int32Array[] = [];
  const dayBlocks: Int32Array[] = [];
  /** [field][block] */
  const valueBlocks: Float64Array[][] = [];
  let rows = 0;
  let fileRow = 0;

  function beginFile(label: string, written: readonly string[]): MarketFile | undefined {
    const names = nameFileColumns('market', label, written, problems);
    return names && openFile({ label, written }, names);
  }

  function openFile({ label, written }: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile {
    const fieldOf = Int32Array.from(names, (name) =>
      name === '' || name === 'identifier' || name === 'date' ? -1 : fieldPosition(name),
    );
    fileRow = 0;
    files.push({ label, firstRow: rows });
    return {
      label,
      written,
      identifierColumn: names.indexOf('identifier'),
      dateColumn: names.indexOf('date'),
      fieldOf,
    };
  }

  function fieldPosition(name: string): number {
    const known = fields.indexOf(name);
    if (known >= 0) return known;
    valueBlocks.push(codeBlocks.map(() => blocks.floats().fill(Number.NaN)));
    signs.push(PRICE_COLUMNS.has(name) ? 'positive' : COUNT_COLUMNS.has(name) ? 'counted' : 'any');
    return fields.push(name) - 1;
  }

  function beginRow(code: number | undefined, day: Day | undefined, row = fileRow + 1): void {
    fileRow = row;
    const slot = rows & (BLOCK_ROWS - 1);
    if (slot === 0) {
      if (rows >= rowsMax) throw new RowsFault(`The market has more than ${rows} rows; at most ${rowsMax} are read.`);
      codeBlocks.push(blocks.integers().fill(-1));
      dayBlocks.push(blocks.integers());
      for (const ofField of valueBlocks) ofField.push(blocks.floats().fill(Number.NaN));
    }
    if (code !== undefined && day !== undefined) {
      const block = rows >>> BLOCK_BITS;
      codeBlocks[block]![slot] = code;
      dayBlocks[block]![slot] = day;
    }
    rows += 1;
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const field = file.fieldOf[column]!;
    if (value <= 0 && (signs[field] === 'positive' || (value < 0 && signs[field] === 'counted')))
      refuseSign(file, column, value);
    const row = rows - 1;
    valueBlocks[field]![row >>> BLOCK_BITS]![row & (BLOCK_ROWS - 1)] = value + 0; // + 0 turns a negative zero into 0
  }

  function refuseSign(file: MarketFile, column: number, value: number): void {
    const name = file.written[column]!;
    const isPrice = signs[file.fieldOf[column]!] === 'positive';
    problems.error({
      code: isPrice ? 'NON_POSITIVE_PRICE' : 'OUT_OF_RANGE',
      path: cellPath(file.label, fileRow, name),
      message: isPrice ? nonPositivePrice(name, value) : `${name} is ${value}; at least 0 is needed.`,
      value,
    });
  }

  function refuseNumber(file: MarketFile, column: number, text: string): void {
    const name = file.written[column]!;
    problems.error({
      code: 'NOT_A_NUMBER',
      path: cellPath(file.label, fileRow, name),
      message: `${name} is ${quote(text)}, which ${explainNotANumber(text)}.`,
      value: text,
    });
  }

  function refuseRow(file: MarketFile, message: string): void {
    problems.error({ code: 'UNREADABLE_FILE', path: cellPath(file.label, fileRow, ''), message });
  }

  function codeOf(file: MarketFile, text: string | null): number | undefined {
    const known = text === null ? undefined : codes.get(text);
    if (known !== undefined) return known;
    const path = cellPath(file.label, fileRow + 1, file.written[file.identifierColumn]!);
    if (text === null || !isAssetIdentifier(text)) {
      problems.error(describeBadIdentifier(path, text));
      return undefined;
    }
    if (codes.size === IDENTIFIERS_MAX) {
      problems.error({
        code: 'OUT_OF_RANGE',
        path,
        message: `The market holds more than ${IDENTIFIERS_MAX} identifiers, which is the most a store can hold.`,
      });
      return undefined;
    }
    codes.set(text, codes.size);
    return codes.size - 1;
  }

  function dayOf(file: MarketFile, cell: Cell | undefined): Day | undefined {
    const day = dayIn(cell);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = cellPath(file.label, fileRow + 1, name);
    problems.error(describeBadDay(path, name, day === null ? null : formatWrittenCell(cell)));
    return undefined;
  }

  function addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void {
    if (cells === null) {
      beginRow(undefined, undefined);
      return;
    }
    const { identifierColumn, dateColumn } = file;
    beginRow(
      identifierColumn < 0 ? undefined : codeOf(file, textIn(cells[identifierColumn])),
      dateColumn < 0 ? undefined : dayOf(file, cells[dateColumn]),
    );
    for (let column = 0; column < file.fieldOf.length; column++) {
      if (file.fieldOf[column]! < 0) continue;
      const value = numberIn(cells[column]);
      if (value === undefined) refuseNumber(file, column, formatWrittenCell(cells[column]));
      else if (value === value) setNumber(file, column, value);
    }
  }

  function toPanels(): Panels | undefined {
    if (rows === 0 && problems.errors === 0 && !isPart)
      problems.error({
        code: 'EMPTY_DATASET',
        path: 'market',
        message: 'The market holds no row with a number; at least one is needed.',
      });
    const isSound = problems.errors === 0;
    const identifiers = [...codes.keys()];
    const order = identifiers.map((_, code) => code).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
    const columnOf = new Int32Array(identifiers.length);
    for (let n = 0; n < order.length; n++) columnOf[order[n]!] = n;
    const dates = distinctDays(codeBlocks, dayBlocks, rows);
    const shape = { dates: dates.length, identifiers: order.length, fields: fields.length };
    if (refuseSize(shape, problems)) return undefined;
    // Duplicates among refused rows are reported as well, including whether they differ.
    const panels =
      isSound || onDuplicate === 'identical'
        ? fields.map(() => allocateEmptyPanel(shape.dates * shape.identifiers, shape.fields))
        : [];
    if (!scatter({ columnOf, identifiers }, dates, panels) || !isSound) return undefined;
    return removeEmptyLines({
      identifiers: order.map((code) => identifiers[code]!),
      dates,
      fields: new Map(fields.map((name, field) => [name, panels[field]!])),
    });
  }

  /** Puts every row into its cell; false, with a finding, when two rows share one. */
  function scatter(
    { columnOf, identifiers }: { readonly columnOf: Int32Array; readonly identifiers: readonly string[] },
    dates: Int32Array,
    panels: readonly Float64Array[],
  ): boolean {
    const assets = columnOf.length;
    const rowOf = dayPositions(dates);
    const filled = new Uint8Array(dates.length * assets);
    let repeated = 0;
    for (let row = 0; row < rows; row++) {
      const block = row >>> BLOCK_BITS;
      const slot = row & (BLOCK_ROWS - 1);
      const code = codeBlocks[block]![slot]!;
      if (code < 0) continue;
      const day = dayBlocks[block]![slot]!;
      const cell = rowOf[day - dates[0]!]! * assets + columnOf[code]!;
      if (filled[cell] === 1) {
        const valueOf = (field: number): number => valueBlocks[field]![block]![slot]!;
        if (isMet({ onDuplicate, isJoined }, panels, cell, valueOf)) continue;
        repeated += 1;
        const conflict = valueConflict({ fields, panels, cell }, valueOf);
        if (conflict !== undefined) problems.conflict({ ...conflict, identifier: identifiers[code]!, day });
        refuseRepeated(row, identifiers[code]!, day, problems, files);
        continue;
      }
      filled[cell] = 1;
      for (let field = 0; field < panels.length; field++) panels[field]![cell] = valueBlocks[field]![block]![slot]!;
    }
    return repeated === 0;
  }

  return {
    beginFile,
    openFile,
    beginRow,
    beginBar: (row, code, day) => beginRow(code, day, row),
    setNumber,
    refuseNumber,
    refuseRow,
    addCells,
    codeOf,
    dayOf,
    toPanels,
    names: () => [...codes.keys()],
    get rows() {
      return rows;
    },
  };
}

function distinctDays(codes: readonly Int32Array[], blocks: readonly Int32Array[], rows: number): Int32Array {
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
  problems.error(describeRepeatedKey(cellPath(file.label, row - file.firstRow + 1, ''), identifier, day));
}
