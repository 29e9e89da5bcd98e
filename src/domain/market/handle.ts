import {
  type Adjustment,
  type CorporateAction,
  type MarketData,
  type Membership,
  type ReferenceRow,
} from './market-data.js';
import type { PriceSeries } from './series.js';

/**
 * A market as it crosses threads: panels by reference in shared memory, the tables once as UTF-8 JSON in shared memory.
 * Sending a handle copies nothing but a few names, whatever the size of the store.
 */
export interface MarketHandle {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** As `MarketData.currency`. */
  readonly currency?: string | null;
  /** Int32 days, [T]. */
  readonly dates: SharedArrayBuffer;
  /** Float64 panels [T x N], each at the beginning of memory that may have room for days to come. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /**
   * UTF-8 JSON of identifiers, reference, actions, universes and series: a line for the axes and one for so many rows
   * of a table.
   */
  readonly tables: SharedArrayBuffer;
  /**
   * Where each action lies in the tables: Int32 rows of ex day, 1 when it pays cash, first byte, length, and column of
   * its name or -1, [A x 5].
   */
  readonly actionPlaces: SharedArrayBuffer;
  /**
   * Digests of the parts of the content, where they are known: what a later version shares need not be hashed again.
   */
  readonly digests?: ContentDigests;
  /**
   * Int32 [1], days of the panels' memory that some version has taken. Whoever writes days behind those of a version
   * takes them here first, so that the memory of a day is written once, whatever becomes of the version. Absent where
   * nobody may.
   */
  readonly taken?: SharedArrayBuffer;
}

/** Identity of a market: its content, and its store's declarations. */
export type MarketIdentity = Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency' | 'contentHash'>;

/** An identity as a key: equal for markets on which everything is computed alike. */
export function marketKey({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): string {
  return JSON.stringify([datasetId, adjustment, currency, contentHash]);
}

/** Identity of a market without its content. */
export function identityOf({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): MarketIdentity {
  return { datasetId, adjustment, currency, contentHash };
}

/** SHA-256 of the parts that a content hash is made of. */
export interface ContentDigests {
  /** 32 bytes a block of days. */
  readonly blocks: Uint8Array;
  /** 32 bytes of the tables beside the panels. */
  readonly tables: Uint8Array;
  /** 32 bytes a block of days, of what the tables tell of the days after the block before up to its last one. */
  readonly history: Uint8Array;
}

/** Rows of a table on one line of JSON: a millisecond of parsing at most. */
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

/** A series with its days and values as plain lists. */
interface SeriesLine extends Omit<PriceSeries, 'days' | 'closes'> {
  readonly days: number[];
  readonly closes: number[];
}

/** The tables of a market in shared memory. */
export type SharedTables = Pick<MarketHandle, 'tables' | 'actionPlaces'>;

/**
 * The handle of a market. Panels that already lie in shared memory are not copied.
 * @param shared its tables, where they are shared already
 */
export function shareMarket(market: MarketData, shared: SharedTables = shareTables(market)): MarketHandle {
  return {
    datasetId: market.datasetId,
    contentHash: market.contentHash,
    adjustment: market.adjustment,
    currency: market.currency ?? null,
    dates: sharedBytes(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, values: sharedPanel(values) })),
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
  return { tables: sharedBytes(new TextEncoder().encode(tables)), actionPlaces: sharedBytes(places) };
}

function seriesLines({ series }: Pick<MarketData, 'series'>): Line[] {
  return [...(series?.values() ?? [])].map(({ days, closes, ...about }) => ({
    series: { ...about, days: [...days], closes: [...closes] },
  }));
}

function textOf(lines: readonly (Axes | Line)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Lines of actions as of other tables, and where each of them begins and how long it is. */
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
      at += bytes + 1; // a comma, or the bracket behind the last
    });
    at += 2; // the brace and the line break
    return `${ACTIONS_HEAD}${texts.join(',')}]}\n`;
  });
  return { text: lines.join(''), places };
}

const ACTIONS_HEAD = '{"actions":[';
const PLACE_WIDTH = 5;

/**
 * The market of a handle without the ordinary dividends of ex days up to one: enough to see it from a mark on, see
 * `alignMarket`.
 * @param opened the same without any action, where it is open
 * @cost of the reference table and the universes, unless those are open; actions that are left out are not parsed
 */
export function openMarketSince(handle: MarketHandle, after: number, opened = openWithoutActions(handle)): MarketData {
  return { ...opened, actions: actionsSince(handle, after), settledTo: after, settledCash: hasSettled(handle, after) };
}

/** The market of a handle without its actions. */
export function openWithoutActions(handle: MarketHandle): MarketData {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const first = places.length === 0 ? bytes.length : places[2]! - ACTIONS_HEAD.length;
  const last = places.length === 0 ? bytes.length : places.at(2 - PLACE_WIDTH)! + places.at(3 - PLACE_WIDTH)! + 3;
  return openMarket({ ...handle, tables: joined(bytes.subarray(0, first), bytes.subarray(last)) });
}

/** Whether an ordinary dividend was paid on an ex day up to one. */
function hasSettled({ actionPlaces }: MarketHandle, after: number): boolean {
  const places = new Int32Array(actionPlaces);
  for (let p = 0; p < places.length; p += PLACE_WIDTH) if (places[p + 1] === 1 && places[p]! <= after) return true;
  return false;
}

/** The actions of a handle without the ordinary dividends of ex days up to one. @cost of those that are not left out */
export function actionsSince(handle: MarketHandle, after: number): CorporateAction[] {
  return actionsWhere(handle, (places, p) => places[p + 1] !== 1 || places[p]! > after);
}

/** Every action of some columns. @cost of those actions */
export function actionsOf(handle: MarketHandle, columns: Int32Array): CorporateAction[] {
  const isAsked = new Uint8Array(1 + columns.reduce((highest, column) => Math.max(highest, column), 0));
  for (const column of columns) isAsked[column] = 1;
  return actionsWhere(handle, (places, p) => isAsked[places[p + 4]!] === 1);
}

/** The actions at some places, parsed as one list. */
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

function joined(a: Uint8Array, b: Uint8Array): SharedArrayBuffer {
  const both = new Uint8Array(new SharedArrayBuffer(a.length + b.length));
  both.set(a);
  both.set(b, a.length);
  return both.buffer;
}

/** Names with their rows; one of many rows is a line by itself. */
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

/** The market of a handle, panels still by reference. @cost parsing the tables: about 1 ms per 10,000 rows. */
export function openMarket(handle: MarketHandle): MarketData {
  const opening = openings(handle);
  for (;;) {
    const step = opening.next();
    if (step.done === true) return step.value;
  }
}

/** As `openMarket`, for a thread that others wait for: `rest` is awaited after every few thousand rows. */
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

/** The market of a handle whose identifiers and tables are those of a market that is open. */
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

/** JSON writes a line break inside a text as an escape. */
const NEWLINE = 10;

/** A panel at the beginning of shared memory lies where it is, whatever room is behind it. */
function sharedPanel(values: Float64Array): SharedArrayBuffer {
  return values.buffer instanceof SharedArrayBuffer && values.byteOffset === 0 ? values.buffer : sharedBytes(values);
}

function sharedBytes(view: Int32Array | Float64Array | Uint8Array): SharedArrayBuffer {
  const whole = view.byteOffset === 0 && view.byteLength === view.buffer.byteLength;
  if (view.buffer instanceof SharedArrayBuffer && whole) return view.buffer;
  const shared = new SharedArrayBuffer(view.byteLength);
  new Uint8Array(shared).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return shared;
}
