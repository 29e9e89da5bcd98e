import { allocateRetainedFloats } from '#base/memory/retained-memory.js';
import type { MarketContent } from '../content/market-content.js';
import type { ContentChange } from './content-change.js';
import { applyListChange, type ListChange } from './list-change.js';
import { TABLE_NAMES, createTables, encodeTables, type TableTexts } from './table-texts.js';

/**
 * Maximum number of columns. A cell is encoded as one number, which is exact below 2^53. The number of rows is below
 * 2^31.
 */
const COLUMNS_MAX = 2 ** 22;
const getCell = (row: number, column: number): number => row * COLUMNS_MAX + column;

/** Panel under reconstruction: cells of the last content with replaced cells. */
interface Overlay {
  /** Panel of the last content. It is undefined if that content has no such field. */
  readonly base: Float64Array | undefined;
  readonly cells: Map<number, number>;
}

/** Axis that is being restored. Its items have fixed ids, which begin with the items of the last content. */
interface Axis<T> {
  readonly names: T[];
  ids: number[];
}

/**
 * Restores a content from the latest content and the changes that lead back to it, latest first. A panel that equals
 * the beginning of the latest panel shares its memory.
 * @cost proportional to the changes and the tables, and one pass over each panel that differs
 */
export function restoreContent(last: MarketContent, changes: readonly ContentChange[]): MarketContent {
  const dates = createAxis<number>([...last.dates]);
  const identifiers = createAxis<string>([...last.identifiers]);
  let overlays = new Map<string, Overlay>([...last.fields].map(([name, base]) => [name, { base, cells: new Map() }]));
  let tables: TableTexts | undefined;
  for (const change of changes) {
    applyReverseChange(dates, change.dates);
    applyReverseChange(identifiers, change.identifiers);
    overlays = new Map(
      change.fields.map((field) => {
        const overlay = overlays.get(field.name) ?? { base: undefined, cells: new Map<number, number>() };
        for (let i = 0; i < field.values.length; i++) {
          const row = dates.ids[field.rows[i]!]!;
          overlay.cells.set(getCell(row, identifiers.ids[field.columns[i]!]!), field.values[i]!);
        }
        return [field.name, overlay];
      }),
    );
    tables = restoreTables(tables ?? encodeTables(last), change.tables);
  }
  const axes = { rows: dates.ids, columns: identifiers.ids, content: last };
  return {
    identifiers: identifiers.ids.map((id) => identifiers.names[id]!),
    dates: Int32Array.from(dates.ids, (id) => dates.names[id]!),
    fields: new Map([...overlays].map(([name, overlay]) => [name, buildPanel(overlay, axes)])),
    ...(tables === undefined ? createTables(encodeTables(last)) : createTables(tables)),
  };
}

const createAxis = <T>(names: T[]): Axis<T> => ({ names, ids: names.map((_, i) => i) });

function applyReverseChange<T>(axis: Axis<T>, change: ListChange<T>): void {
  axis.ids = applyListChange(change, axis.ids, (name) => axis.names.push(name) - 1);
}

function restoreTables(texts: TableTexts, changes: ContentChange['tables']): TableTexts {
  const readEarlierTexts = (table: keyof TableTexts): string[] =>
    applyListChange(changes[table], texts[table], (text) => text);
  return Object.fromEntries(TABLE_NAMES.map((table) => [table, readEarlierTexts(table)])) as unknown as TableTexts; // contains every table
}

interface Axes {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly content: MarketContent;
}

function buildPanel({ base, cells }: Overlay, { rows, columns, content }: Axes): Float64Array {
  const [height, width] = [content.dates.length, content.identifiers.length];
  const isSameAxis = columns.length === width && columns.every((id, i) => id === i);
  const isBeginning = isSameAxis && rows.every((id, i) => id === i);
  if (base !== undefined && isBeginning && cells.size === 0) return base.subarray(0, rows.length * width);
  const panel = allocateRetainedFloats(rows.length * columns.length);
  for (let t = 0; t < rows.length; t++) {
    const from = rows[t]! < height ? rows[t]! * width : -1;
    for (let n = 0; n < columns.length; n++) {
      const isHeld = base !== undefined && from >= 0 && columns[n]! < width;
      panel[t * columns.length + n] = isHeld ? base[from + columns[n]!]! : Number.NaN;
    }
  }
  if (cells.size === 0) return panel;
  const [rowOf, columnOf] = [indexPositions(rows), indexPositions(columns)];
  for (const [cell, value] of cells) {
    const t = rowOf.get(Math.floor(cell / COLUMNS_MAX));
    const n = columnOf.get(cell % COLUMNS_MAX);
    if (t !== undefined && n !== undefined) panel[t * columns.length + n] = value;
  }
  return panel;
}

const indexPositions = (ids: readonly number[]): Map<number, number> => new Map(ids.map((id, i) => [id, i]));
