import {
  type Adjustment,
  type CorporateAction,
  type MarketData,
  type Membership,
  type ReferenceRow,
} from './market-data.js';
import type { PriceSeries } from './series.js';

/**
 * Form of a market that is passed between threads: panels by reference in shared memory, the tables once as UTF-8 JSON
 * in shared memory. Sending a handle copies only a few strings, whatever the size of the store.
 */
export interface MarketHandle {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** As `MarketData.currency`. */
  readonly currency?: string | null;
  /** Int32 days, [T]. */
  readonly dates: SharedArrayBuffer;
  /** Float64 panels [T x N], each at the start of memory that may have space for later days. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /**
   * UTF-8 JSON of identifiers, reference, actions, universes and series: one line for the axes and one for a number of
   * rows of a table.
   */
  readonly tables: SharedArrayBuffer;
  /**
   * Position of each action in the tables: Int32 rows of ex-date, 1 if it pays cash, first byte, length, and column of
   * its security or -1, [A x 5].
   */
  readonly actionPlaces: SharedArrayBuffer;
  /** Digests of the parts of the content, if known: parts shared with a later version need not be hashed again. */
  readonly digests?: ContentDigests;
  /**
   * Int32 [1], number of days that versions have claimed in the memory of the panels. A writer of later days claims
   * them here first, so that memory of a day is written only once, even if the version is discarded. Absent if writing
   * is not allowed.
   */
  readonly taken?: SharedArrayBuffer;
}

/** SHA-256 of the parts of a content hash. */
export interface ContentDigests {
  /** 32 bytes per block of days. */
  readonly blocks: Uint8Array;
  /** 32 bytes of the tables other than panels. */
  readonly tables: Uint8Array;
  /** 32 bytes per block of days, of the rows of the tables after the previous block up to its last day. */
  readonly history: Uint8Array;
}

/** Number of rows of a table on one line of JSON: at most a millisecond of parsing. */
const LINE_ROWS = 500;

interface Axes {
  readonly identifiers: string[];
  readonly columns: string[];
}

type Line =
  | { readonly rows: [string, ReferenceRow[]][] }
  | { readonly actions: CorporateAction[] }
  | { readonly universes: Membership[] }
  | { readonly series: SeriesLine };

/** Series with its days and values as plain lists. */
interface SeriesLine extends Omit<PriceSeries, 'days' | 'closes'> {
  readonly days: number[];
  readonly closes: number[];
}

/** Tables of a market in shared memory. */
export type SharedTables = Pick<MarketHandle, 'tables' | 'actionPlaces'>;

/**
 * Returns the handle of a market. Panels in shared memory are not copied.
 * @param shared its tables, if they are already shared
 */
export function shareMarket(market: MarketData, shared: SharedTables = shareTables(market)): MarketHandle {
  return {
    datasetId: market.datasetId,
    contentHash: market.contentHash,
    adjustment: market.adjustment,
    currency: market.currency ?? null,
    dates: copyToSharedBytes(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, values: copyToSharedMemory(values) })),
    tables: shared.tables,
    actionPlaces: shared.actionPlaces,
  };
}

function shareTables(market: MarketData): SharedTables {
  const axes: Axes = { identifiers: [...market.identifiers], columns: [...market.reference.columns] };
  const before = textOf([axes, ...spellLines(market.reference.rows)]);
  const { text: actions, places } = actionLines(market, new TextEncoder().encode(before).length);
  const tables =
    before + actions + textOf([...inLines(market.universes, (universes) => ({ universes })), ...seriesLines(market)]);
  return { tables: copyToSharedBytes(new TextEncoder().encode(tables)), actionPlaces: copyToSharedBytes(places) };
}

function seriesLines({ series }: Pick<MarketData, 'series'>): Line[] {
  return [...(series?.values() ?? [])].map(({ days, closes, ...about }) => ({
    series: { ...about, days: [...days], closes: [...closes] },
  }));
}

function textOf(lines: readonly (Axes | Line)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns lines of actions in the form of other tables, with the position and length of each. */
function actionLines(
  { actions, identifiers }: Pick<MarketData, 'actions' | 'identifiers'>,
  offset: number,
): { readonly text: string; readonly places: Int32Array } {
  const places = new Int32Array(PLACE_WIDTH * actions.length);
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const encoder = new TextEncoder();
  let at = offset;
  let place = 0;
  const lines = inLines(actions, (items) => {
    const texts = items.map((action) => JSON.stringify(action));
    at += ACTIONS_HEAD.length;
    texts.forEach((text, i) => {
      const bytes = encoder.encode(text).length;
      const { exDay, type, identifier } = items[i]!;
      places.set([exDay, type === 'DIVIDEND' ? 1 : 0, at, bytes, columns.get(identifier) ?? -1], PLACE_WIDTH * place++);
      at += bytes + 1; // a comma, or the closing bracket
    });
    at += 2; // the brace and the line break
    return `${ACTIONS_HEAD}${texts.join(',')}]}\n`;
  });
  return { text: lines.join(''), places };
}

const ACTIONS_HEAD = '{"actions":[';
const PLACE_WIDTH = 5;

/**
 * Returns the market of a handle without ordinary dividends whose ex-date is on or before a day, which suffices from a
 * mark on, see `alignMarket`.
 * @param opened the same market without any action, if it is open
 * @cost of the reference table and the universes, unless those are open; omitted actions are not parsed
 */
export function openMarketSince(handle: MarketHandle, after: number, opened = openWithoutActions(handle)): MarketData {
  return {
    ...opened,
    actions: listActionsSince(handle, after),
    settledTo: after,
    settledCash: hasSettled(handle, after),
  };
}

/** Returns the market of a handle without its actions. */
export function openWithoutActions(handle: MarketHandle): MarketData {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const first = places.length === 0 ? bytes.length : places[2]! - ACTIONS_HEAD.length;
  const last = places.length === 0 ? bytes.length : places.at(2 - PLACE_WIDTH)! + places.at(3 - PLACE_WIDTH)! + 3;
  return openMarket({ ...handle, tables: joinParts(bytes.subarray(0, first), bytes.subarray(last)) });
}

/** Returns true if an ordinary dividend has an ex-date on or before a day. */
function hasSettled({ actionPlaces }: MarketHandle, after: number): boolean {
  const places = new Int32Array(actionPlaces);
  for (let p = 0; p < places.length; p += PLACE_WIDTH) if (places[p + 1] === 1 && places[p]! <= after) return true;
  return false;
}

/**
 * Returns the actions of a handle without ordinary dividends whose ex-date is on or before a day. @cost of the returned
 * actions
 */
export function listActionsSince(handle: MarketHandle, after: number): CorporateAction[] {
  return actionsWhere(handle, (places, p) => places[p + 1] !== 1 || places[p]! > after);
}

/** Returns every action of some columns. @cost of those actions */
export function listActions(handle: MarketHandle, columns: Int32Array): CorporateAction[] {
  const isAsked = new Uint8Array(1 + columns.reduce((highest, column) => Math.max(highest, column), 0));
  for (const column of columns) isAsked[column] = 1;
  return actionsWhere(handle, (places, p) => isAsked[places[p + 4]!] === 1);
}

/** Returns the actions at some positions, parsed as one list. */
function actionsWhere(handle: MarketHandle, isWanted: (all: Int32Array, p: number) => boolean): CorporateAction[] {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const wanted: number[] = [];
  for (let p = 0; p < places.length; p += PLACE_WIDTH) if (isWanted(places, p)) wanted.push(p);
  const text = new Uint8Array(wanted.reduce((sum, p) => sum + places[p + 3]! + 1, 1));
  let at = 0;
  for (const p of wanted) {
    text[at] = at === 0 ? BRACKET : COMMA;
    text.set(bytes.subarray(places[p + 2]!, places[p + 2]! + places[p + 3]!), at + 1);
    at += places[p + 3]! + 1;
  }
  return wanted.length === 0
    ? []
    : (JSON.parse(`${new TextDecoder().decode(text.subarray(0, at))}]`) as CorporateAction[]); // as `actionLines` writes them
}

const BRACKET = 91;
const COMMA = 44;

function joinParts(a: Uint8Array, b: Uint8Array): SharedArrayBuffer {
  const both = new Uint8Array(new SharedArrayBuffer(a.length + b.length));
  both.set(a);
  both.set(b, a.length);
  return both.buffer;
}

/** Returns lines of securities with their rows; one with many rows has a separate line. */
function spellLines(reference: MarketData['reference']['rows']): Line[] {
  const lines: Line[] = [];
  let rows: [string, ReferenceRow[]][] = [];
  let held = 0;
  for (const [identifier, spells] of reference) {
    rows.push([identifier, [...spells]]);
    held += spells.length;
    if (held < LINE_ROWS) continue;
    lines.push({ rows });
    rows = [];
    held = 0;
  }
  return rows.length === 0 ? lines : [...lines, { rows }];
}

function inLines<T, L>(items: readonly T[], lineOf: (items: T[]) => L): L[] {
  return Array.from({ length: Math.ceil(items.length / LINE_ROWS) }, (_, i) =>
    lineOf(items.slice(i * LINE_ROWS, (i + 1) * LINE_ROWS)),
  );
}

/** Opens the market of a handle. Panels are used in place. @cost parsing the tables: about 1 ms per 10,000 rows. */
export function openMarket(handle: MarketHandle): MarketData {
  const opening = openings(handle);
  for (;;) {
    const step = opening.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Opens a market like `openMarket` for a thread on which other work waits: awaits `rest` after every few thousand rows.
 */
export async function openMarketGently(handle: MarketHandle, rest: () => Promise<void>): Promise<MarketData> {
  const opening = openings(handle);
  for (;;) {
    const step = opening.next();
    if (step.done === true) return step.value;
    await rest();
  }
}

/** Opens a market line by line. */
function* openings(handle: MarketHandle): Generator<void, MarketData> {
  const bytes = new Uint8Array(handle.tables);
  const rows = new Map<string, readonly ReferenceRow[]>();
  const actions: CorporateAction[] = [];
  const universes: Membership[] = [];
  const series = new Map<string, PriceSeries>();
  let axes: Axes | undefined;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    const line = JSON.parse(new TextDecoder().decode(bytes.slice(from, to))) as Axes | Line; // as `shareMarket` writes it
    if ('rows' in line) for (const [identifier, spells] of line.rows) rows.set(identifier, spells);
    else if ('actions' in line) for (const action of line.actions) actions.push(action);
    else if ('universes' in line) for (const spell of line.universes) universes.push(spell);
    else if ('series' in line)
      series.set(line.series.identifier, {
        ...line.series,
        days: Int32Array.from(line.series.days),
        closes: Float64Array.from(line.series.closes),
      });
    else axes = line;
    from = to + 1;
    yield;
  }
  const { identifiers, columns } = axes!; // the first line
  return {
    ...openPanels(handle, identifiers),
    reference: { columns, rows },
    actions,
    universes,
    ...(series.size === 0 ? {} : { series }),
  };
}

type PanelsOfMarket = Pick<
  MarketData,
  'datasetId' | 'contentHash' | 'adjustment' | 'currency' | 'identifiers' | 'dates' | 'fields'
>;

function openPanels(handle: MarketHandle, identifiers: readonly string[]): PanelsOfMarket {
  const { datasetId, contentHash, adjustment, currency = null } = handle;
  const dates = new Int32Array(handle.dates);
  const cells = dates.length * identifiers.length;
  return {
    datasetId,
    contentHash,
    adjustment,
    currency,
    identifiers,
    dates,
    fields: new Map(handle.fields.map(({ name, values }) => [name, new Float64Array(values, 0, cells)])),
  };
}

/** Opens a handle that has the identifiers and tables of an open market. */
export function reopenMarket(
  handle: MarketHandle,
  { identifiers, reference, actions, universes, series }: MarketData,
): MarketData {
  return {
    ...openPanels(handle, identifiers),
    reference,
    actions,
    universes,
    ...(series === undefined ? {} : { series }),
  };
}

/** JSON escapes line breaks inside a text. */
const NEWLINE = 10;

/** A panel at the start of shared memory is used in place, regardless of the space after it. */
function copyToSharedMemory(values: Float64Array): SharedArrayBuffer {
  return values.buffer instanceof SharedArrayBuffer && values.byteOffset === 0
    ? values.buffer
    : copyToSharedBytes(values);
}

function copyToSharedBytes(view: Int32Array | Float64Array | Uint8Array): SharedArrayBuffer {
  const whole = view.byteOffset === 0 && view.byteLength === view.buffer.byteLength;
  if (view.buffer instanceof SharedArrayBuffer && whole) return view.buffer;
  const shared = new SharedArrayBuffer(view.byteLength);
  new Uint8Array(shared).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return shared;
}
