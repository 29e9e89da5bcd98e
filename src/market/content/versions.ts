import { decodeUtf8 } from '#base/bytes.js';
import { allocateRetainedFloats } from '#base/memory.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { CorporateAction, MarketData, Membership, PriceSeries, ReferenceRow } from '#domain/market/market-data.js';
import type { ContentTables, MarketContent } from './market-content.js';

/**
 * Instructions for building one list from another. An instruction is a run of positions, [from, count], or items that
 * the other list does not have. Lists and instructions can be serialised as JSON.
 */
type ListChange<T> = readonly (readonly [number, number] | { readonly own: readonly T[] })[];

/** Returns the instructions for building one list from another. @cost one lookup per item */
function listChange<T extends string | number>(target: readonly T[], from: readonly T[]): ListChange<T> {
  const positions = new Map<T, number>();
  for (let i = from.length - 1; i >= 0; i--) positions.set(from[i]!, i);
  const steps: ([number, number] | { readonly own: T[] })[] = [];
  for (const item of target) {
    const last = steps.at(-1);
    const position = positions.get(item);
    if (Array.isArray(last) && from[last[0] + last[1]] === item) last[1]++;
    else if (position !== undefined) steps.push([position, 1]);
    else if (last !== undefined && 'own' in last) last.own.push(item);
    else steps.push({ own: [item] });
  }
  return steps;
}

/**
 * Returns the list that results from a change. @param ownOf returns the result for an item that the other list lacks
 */
function applyListChange<T, R>(change: ListChange<T>, from: readonly R[], ownOf: (item: T) => R): R[] {
  const results: R[] = [];
  for (const step of change) {
    if ('own' in step) for (const item of step.own) results.push(ownOf(item));
    else for (let i = 0; i < step[1]; i++) results.push(from[step[0] + i]!);
  }
  return results;
}

/** Returns the position of each item in the other list. It is -1 if the item is missing there. */
function findPositions<T>(change: ListChange<T>): Int32Array {
  const count = change.reduce((sum, step) => sum + ('own' in step ? step.own.length : step[1]), 0);
  const positions = new Int32Array(count).fill(-1);
  let offset = 0;
  for (const step of change) {
    if ('own' in step) offset += step.own.length;
    else for (let i = 0; i < step[1]; i++) positions[offset++] = step[0] + i;
  }
  return positions;
}

/** Tables of a content as lines of JSON, one per row or identifier. */
export interface TableTexts {
  readonly columns: readonly string[];
  readonly reference: readonly string[];
  readonly actions: readonly string[];
  readonly universes: readonly string[];
  /** Lines of the series. One line per series is followed by one line per value. */
  readonly series: readonly string[];
}

const TABLE_NAMES = ['columns', 'reference', 'actions', 'universes', 'series'] as const;

type SeriesLine = readonly [string, string | null, string | null] | readonly [string, number, number];

/** Encodes tables as lines. @cost a few microseconds per row */
export function encodeTables({ reference, actions, universes, series }: ContentTables): TableTexts {
  return {
    columns: reference.columns,
    reference: [...reference.rows].map((row) => JSON.stringify(row)),
    actions: actions.map((action) => JSON.stringify(action)),
    universes: universes.map((spell) => JSON.stringify(spell)),
    series: [...(series?.values() ?? [])].flatMap(encodeSeries),
  };
}

function encodeSeries({ identifier, name, currency, days, closes }: PriceSeries): string[] {
  const seriesHead: SeriesLine = [identifier, name, currency];
  return [seriesHead, ...Array.from(days, (day, i): SeriesLine => [identifier, day, closes[i]!])].map((line) =>
    JSON.stringify(line),
  );
}

/** Parses tables from lines of JSON. */
export function createTables(texts: TableTexts): ContentTables {
  const series = parseSeries(texts.series);
  return {
    reference: {
      columns: texts.columns,
      rows: new Map(texts.reference.map((text) => JSON.parse(text) as [string, ReferenceRow[]])),
    },
    actions: texts.actions.map((text) => JSON.parse(text) as CorporateAction),
    universes: texts.universes.map((text) => JSON.parse(text) as Membership),
    ...(series.size === 0 ? {} : { series }),
  };
}

function parseSeries(lines: readonly string[]): Map<string, PriceSeries> {
  const drafts: { readonly about: readonly [string, string | null, string | null]; values: [number, number][] }[] = [];
  for (const text of lines) {
    const line = JSON.parse(text) as SeriesLine; // written by `encodeTables`
    if (typeof line[2] === 'number') drafts.at(-1)!.values.push([line[1] as number, line[2]]);
    else drafts.push({ about: line as readonly [string, string | null, string | null], values: [] });
  }
  return new Map(
    drafts.map(({ about: [identifier, name, currency], values }) => [
      identifier,
      {
        identifier,
        name,
        currency,
        days: Int32Array.from(values, ([day]) => day),
        closes: Float64Array.from(values, ([, close]) => close),
      },
    ]),
  );
}

/** Change from a later content back to an earlier content. */
export interface ContentChange {
  readonly dates: ListChange<number>;
  readonly identifiers: ListChange<string>;
  readonly fields: readonly FieldChange[];
  readonly tables: { readonly [K in keyof TableTexts]: ListChange<string> };
}

/** Cells of a panel that differ, by their position in the reconstructed content. */
interface FieldChange {
  readonly name: string;
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  readonly values: Float64Array;
}

/**
 * Returns the change from `after` back to `before`.
 * @cost one pass over panels that do not share memory, a few microseconds per row of the tables
 */
export function computeContentChange(before: MarketContent, after: MarketContent): ContentChange {
  const dates = listChange([...before.dates], [...after.dates]);
  const identifiers = listChange(before.identifiers, after.identifiers);
  const cellPositions = {
    rows: findPositions(dates),
    columns: findPositions(identifiers),
    width: after.identifiers.length,
  };
  const fields = [...before.fields].map(([name, values]) =>
    computeFieldChange({ name, values, after: after.fields.get(name) }, cellPositions),
  );
  const [were, are] = [encodeTables(before), encodeTables(after)];
  const tables = Object.fromEntries(
    TABLE_NAMES.map((table) => [table, listChange(were[table], are[table])]),
  ) as unknown as ContentChange['tables']; // one change per table
  return { dates, identifiers, fields, tables };
}

interface CellPositions {
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  readonly width: number;
}

interface ComparedField {
  readonly name: string;
  readonly values: Float64Array;
  readonly after: Float64Array | undefined;
}

function computeFieldChange(
  { name, values, after }: ComparedField,
  { rows, columns, width }: CellPositions,
): FieldChange {
  const result: { rows: number[]; columns: number[]; values: number[] } = { rows: [], columns: [], values: [] };
  const count = columns.length;
  const isSameAxis = count === width && columns.every((place, i) => place === i);
  const isShared = after !== undefined && after.buffer === values.buffer && isSameAxis && rows.every((p, i) => p === i);
  for (let row = 0; row < (isShared ? 0 : rows.length); row++) {
    const from = rows[row]! * width;
    for (let column = 0; column < count; column++) {
      const value = values[row * count + column]!;
      const isHeld = after !== undefined && from >= 0 && columns[column]! >= 0;
      const newValue = isHeld ? after[from + columns[column]!]! : Number.NaN;
      if (Object.is(value, newValue)) continue;
      result.rows.push(row);
      result.columns.push(column);
      result.values.push(value);
    }
  }
  return {
    name,
    rows: Int32Array.from(result.rows),
    columns: Int32Array.from(result.columns),
    values: Float64Array.from(result.values),
  };
}

/** Version of the encoding. */
const FORMAT = 1;

interface Header extends Omit<ContentChange, 'fields'> {
  readonly format: typeof FORMAT;
  readonly fields: readonly { readonly name: string; readonly cells: number }[];
}

/** Encodes a change as bytes: the length of a header, the header as JSON, the cells of each field. */
export function packChange({ dates, identifiers, tables, fields }: ContentChange): Uint8Array<ArrayBuffer> {
  const header: Header = {
    format: FORMAT,
    dates,
    identifiers,
    tables,
    fields: fields.map(({ name, values }) => ({ name, cells: values.length })),
  };
  const textBytes = new TextEncoder().encode(JSON.stringify(header));
  const cells = fields.flatMap(({ rows, columns, values }) =>
    [rows, columns, values].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)),
  );
  const bytes = new Uint8Array(cells.reduce((sum, { length }) => sum + length, LENGTH_BYTES + textBytes.length));
  new DataView(bytes.buffer).setUint32(0, textBytes.length, true);
  bytes.set(textBytes, LENGTH_BYTES);
  let offset = LENGTH_BYTES + textBytes.length;
  for (const part of cells) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Size of the length of the header, in bytes. */
const LENGTH_BYTES = 4;

/** Decodes a change. @throws Error if the bytes are not a change */
export function unpackChange(raw: Uint8Array): ContentChange {
  const length = new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
  const text = decodeUtf8(raw.slice(LENGTH_BYTES, LENGTH_BYTES + length));
  const { fields, ...rest } = JSON.parse(text) as Header; // written by `packChange`
  let offset = LENGTH_BYTES + length;
  const takeBytes = (byteLength: number): ArrayBuffer => {
    const slice = Uint8Array.prototype.slice.call(raw, offset, offset + byteLength);
    offset += byteLength;
    return slice.buffer as ArrayBuffer; // the copy has a separate buffer
  };
  return {
    ...rest,
    fields: fields.map(({ name, cells }) => ({
      name,
      rows: new Int32Array(takeBytes(4 * cells)),
      columns: new Int32Array(takeBytes(4 * cells)),
      values: new Float64Array(takeBytes(8 * cells)),
    })),
  };
}

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

/** Earlier content. It is stored as the change from the following content. */
interface EarlierContent {
  /** Day at whose end this content was known. */
  readonly knownOn: Day;
  readonly change: ContentChange;
}

interface EarlierContents {
  /** Day at whose end the latest content was known. */
  readonly knownOn: Day;
  /** Available earlier contents, latest first. */
  readonly earlier: readonly EarlierContent[];
}

/**
 * Creates the access to markets as they were known at the ends of days. If all later changes concern data after the
 * day, the latest market is used in place of the earlier content, because no computation uses data after its day.
 * @cost proportional to the changes, once; and a reconstruction of an earlier content when it is requested, unless only
 * data after its end changed
 */
export function createDatedMarkets(last: MarketData, { knownOn, earlier }: EarlierContents): DatedMarkets {
  const firstTouchedDays = findFirstTouched(last, earlier);
  let latestBuilt: { readonly place: number; readonly market: MarketData } | undefined;
  return {
    at(day) {
      if (knownOn <= day) return last;
      const contentIndex = earlier.findIndex((content) => content.knownOn <= day);
      if (contentIndex < 0) throw createUnknownDayRefusal(last, day, earlier.at(-1)?.knownOn ?? knownOn);
      if (firstTouchedDays[contentIndex]! > day) return last;
      if (latestBuilt?.place !== contentIndex) {
        const changes = earlier.slice(0, contentIndex + 1).map(({ change }) => change);
        latestBuilt = { place: contentIndex, market: alignToAxes(last, restoreContent(last, changes), day) };
      }
      return latestBuilt.market;
    },
  };
}

function createUnknownDayRefusal({ datasetId }: MarketData, day: Day, first: Day): Refusal {
  const message = `The decision of ${formatDay(day)} is before the first version of the data store ${datasetId} that is available, known on ${formatDay(first)}.`;
  return new Refusal('NO_DATA_KNOWN', message, {
    store_id: datasetId,
    decision_date: formatDay(day),
    first_known_on: formatDay(first),
  });
}

/** Axes and tables of a content during reconstruction. */
interface Stage {
  readonly dates: readonly Day[];
  readonly identifiers: readonly string[];
  readonly fields: readonly string[];
  readonly tables: TableTexts;
}

/**
 * Returns, for each content, the first day on which any data differs from the latest content. Returns -Infinity if a
 * change has no day.
 */
function findFirstTouched(last: MarketContent, earlier: readonly EarlierContent[]): Float64Array {
  const first = new Float64Array(earlier.length);
  let after: Stage = { ...last, dates: [...last.dates], fields: [...last.fields.keys()], tables: encodeTables(last) };
  let firstChanged = Infinity;
  earlier.forEach(({ change }, place) => {
    const before = restoreStage(after, change);
    firstChanged = Math.min(firstChanged, findFirstChanged(change, before, after));
    after = before;
    first[place] = firstChanged;
  });
  return first;
}

function restoreStage({ dates, identifiers, tables }: Stage, change: ContentChange): Stage {
  const listTexts = (table: keyof TableTexts): readonly string[] =>
    isWhole(change.tables[table], tables[table])
      ? tables[table]
      : applyListChange(change.tables[table], tables[table], (text) => text);
  return {
    dates: applyListChange(change.dates, dates, (day) => day),
    identifiers: isWhole(change.identifiers, identifiers)
      ? identifiers
      : applyListChange(change.identifiers, identifiers, (name) => name),
    fields: change.fields.map(({ name }) => name),
    tables: Object.fromEntries(TABLE_NAMES.map((table) => [table, listTexts(table)])) as unknown as TableTexts, // contains every table
  };
}

function findFirstChanged(change: ContentChange, before: Stage, after: Stage): number {
  const isSameFields =
    before.fields.length === after.fields.length && before.fields.every((name) => after.fields.includes(name));
  if (before.identifiers !== after.identifiers || !isSameFields) return -Infinity;
  let first = computeFirstParted(before.dates, after.dates);
  for (const { rows } of change.fields) for (const row of rows) first = Math.min(first, before.dates[row]!);
  for (const table of TABLE_NAMES)
    for (const line of listPartedLines(change.tables[table], after.tables[table]))
      first = Math.min(first, getLineDay(table, line));
  return first;
}

/** Returns the first day on which two axes differ. */
function computeFirstParted(before: readonly Day[], after: readonly Day[]): number {
  let firstDifference = 0;
  while (firstDifference < before.length && before[firstDifference] === after[firstDifference]) firstDifference++;
  return Math.min(before[firstDifference] ?? Infinity, after[firstDifference] ?? Infinity);
}

/** Returns true if a change leaves a list unchanged. */
function isWhole<T>(change: ListChange<T>, after: readonly T[]): boolean {
  const [step] = change;
  if (step === undefined) return after.length === 0;
  return change.length === 1 && !('own' in step) && step[0] === 0 && step[1] === after.length;
}

function listPartedLines(change: ListChange<string>, after: readonly string[]): readonly string[] {
  if (isWhole(change, after)) return [];
  const isShared = new Uint8Array(after.length);
  const ownLines: string[] = [];
  for (const step of change) {
    if ('own' in step) ownLines.push(...step.own);
    else isShared.fill(1, step[0], step[0] + step[1]);
  }
  return [...ownLines, ...after.filter((_, place) => isShared[place] === 0)];
}

/** Returns the first day on which a line of a table is known. Returns -Infinity for a line without a day. */
function getLineDay(table: keyof TableTexts, line: string): number {
  if (table === 'series') {
    const [, day, value] = JSON.parse(line) as SeriesLine; // written by `encodeTables`
    return typeof value === 'number' ? Number(day) : -Infinity;
  }
  if (table !== 'actions') return -Infinity;
  const { exDay, announcedDay } = JSON.parse(line) as CorporateAction; // written by `encodeTables`
  return Math.min(exDay, announcedDay ?? exDay);
}

/**
 * Arranges a content on the columns and sessions of the latest content. Securities that the latest content does not
 * have are appended. If the latest content begins earlier, its first date is inserted at the beginning, without bars.
 * @throws Refusal NO_DATA_KNOWN if the content begins earlier than the latest content
 */
function alignToAxes(last: MarketData, content: MarketContent, day: Day): MarketData {
  const { datasetId, adjustment, currency = null, contentHash } = last;
  const header = { datasetId, adjustment, currency, contentHash };
  const [start, contentStart] = [last.dates[0], content.dates[0]];
  if (start === undefined || contentStart === undefined || contentStart < start)
    throw new Refusal(
      'NO_DATA_KNOWN',
      `What was known of the data store ${datasetId} on ${formatDay(day)} does not begin with the data of the run.`,
      { store_id: datasetId, decision_date: formatDay(day) },
    );
  const heldIdentifiers = new Set(last.identifiers);
  const isSameAxis =
    content.identifiers.length === last.identifiers.length &&
    content.identifiers.every((name) => heldIdentifiers.has(name));
  if (isSameAxis && contentStart === start) return { ...content, ...header };
  const identifiers = [...last.identifiers, ...content.identifiers.filter((name) => !heldIdentifiers.has(name))];
  const positions = new Map(identifiers.map((name, place) => [name, place]));
  const columns = Int32Array.from(content.identifiers, (name) => positions.get(name)!);
  const dates = contentStart === start ? content.dates : Int32Array.from([start, ...content.dates]);
  const shift = dates.length - content.dates.length;
  const widenPanel = (panel: Float64Array): Float64Array => {
    const widePanel = new Float64Array(dates.length * identifiers.length).fill(Number.NaN);
    for (let t = 0; t < content.dates.length; t++)
      for (let n = 0; n < columns.length; n++)
        widePanel[(t + shift) * identifiers.length + columns[n]!] = panel[t * columns.length + n]!;
    return widePanel;
  };
  const fields = new Map([...content.fields].map(([name, panel]) => [name, widenPanel(panel)]));
  return { ...content, ...header, identifiers, dates, fields };
}
