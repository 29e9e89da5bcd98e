import { decodeUtf8 } from '#base/memory.js';
import type { Adjustment, CorporateAction, MarketData, Membership, PriceSeries, ReferenceRow } from './market-data.js';

/**
 * Form of a market that can be passed between threads. Panels are passed by reference in shared memory, tables as UTF-8
 * JSON in shared memory. Sending a handle copies only a few strings, whatever the size of the store.
 */
export interface MarketHandle {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Currency declared by the store, as in `MarketData`. */
  readonly currency?: string | null;
  /** Days of the rows, Int32, [T]. */
  readonly dates: SharedArrayBuffer;
  /** Float64 panels, [T x N]. Each is at the start of its memory, which may have space for later days. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /**
   * UTF-8 JSON of identifiers, reference, actions, universes and series: one line for the axes, and one line per batch
   * of rows of a table.
   */
  readonly tables: SharedArrayBuffer;
  /**
   * Position of each action in `tables`, as Int32 rows, [A x 5]. A row contains the ex-date, 1 for an ordinary dividend
   * and 0 for other actions, the first byte, the length, and the column of the security or -1.
   */
  readonly actionPlaces: SharedArrayBuffer;
  /** Digests of the parts of the content, if known. Parts that a later version shares need not be hashed again. */
  readonly digests?: ContentDigests;
  /**
   * Number of days that versions have claimed in the memory of the panels, Int32, [1]. A writer claims days here before
   * it writes them. The memory of a day is therefore written only once, even if the version is discarded. Absent if
   * writing is not permitted.
   */
  readonly taken?: SharedArrayBuffer;
}

/** SHA-256 digests of the parts of the content. */
export interface ContentDigests {
  /** Digests of the panels, 32 bytes per block of days. */
  readonly blocks: Uint8Array;
  /** Digest of the tables other than panels, 32 bytes. */
  readonly tables: Uint8Array;
  /** Digests of the table rows after the previous block of days up to the last day of the block, 32 bytes per block. */
  readonly history: Uint8Array;
}

/** Number of rows of a table per line of JSON. A line takes at most a millisecond to parse. */
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

/** Series with its days and values as plain arrays. */
interface SeriesLine extends Omit<PriceSeries, 'days' | 'closes'> {
  readonly days: number[];
  readonly closes: number[];
}

export type SharedTables = Pick<MarketHandle, 'tables' | 'actionPlaces'>;

/**
 * Returns the handle of a market. Panels in shared memory are not copied.
 * @param shared tables of the market, if they are already shared
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

export function shareTables(
  market: Pick<MarketData, 'identifiers' | 'reference' | 'actions' | 'universes' | 'series'>,
): SharedTables {
  const axes: Axes = { identifiers: [...market.identifiers], columns: [...market.reference.columns] };
  const before = formatLines([axes, ...createSpellLines(market.reference.rows)]);
  const { text: actions, places } = createActionLines(market, new TextEncoder().encode(before).length);
  const tables =
    before +
    actions +
    formatLines([...divideIntoLines(market.universes, (universes) => ({ universes })), ...createSeriesLines(market)]);
  return { tables: copyToSharedBytes(new TextEncoder().encode(tables)), actionPlaces: copyToSharedBytes(places) };
}

function createSeriesLines({ series }: Pick<MarketData, 'series'>): Line[] {
  return [...(series?.values() ?? [])].map(({ days, closes, ...about }) => ({
    series: { ...about, days: [...days], closes: [...closes] },
  }));
}

function formatLines(lines: readonly (Axes | Line)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns the actions as lines of JSON, like the other tables, with the position and length of each action. */
function createActionLines(
  { actions, identifiers }: Pick<MarketData, 'actions' | 'identifiers'>,
  offset: number,
): { readonly text: string; readonly places: Int32Array } {
  const places = new Int32Array(POSITION_WIDTH * actions.length);
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const encoder = new TextEncoder();
  let position = offset;
  let place = 0;
  const lines = divideIntoLines(actions, (items) => {
    const texts = items.map((action) => JSON.stringify(action));
    position += ACTIONS_HEAD.length;
    texts.forEach((text, i) => {
      const bytes = encoder.encode(text).length;
      const { exDay, type, identifier } = items[i]!;
      places.set(
        [exDay, type === 'DIVIDEND' ? 1 : 0, position, bytes, columns.get(identifier) ?? -1],
        POSITION_WIDTH * place++,
      );
      position += bytes + 1; // length of a comma or of the closing bracket
    });
    position += 2; // length of the brace and the line break
    return `${ACTIONS_HEAD}${texts.join(',')}]}\n`;
  });
  return { text: lines.join(''), places };
}

const ACTIONS_HEAD = '{"actions":[';
const POSITION_WIDTH = 5;

/**
 * Returns the market of a handle without ordinary dividends with an ex-date on or before a day. This suffices for
 * sessions after a stored market state; see `alignMarket`.
 * @param opened the market without actions, if it is already open
 * @cost parsing the reference table and universes unless `opened` is given; omitted actions are not parsed
 */
export function openMarketSince(handle: MarketHandle, after: number, opened = openWithoutActions(handle)): MarketData {
  return {
    ...opened,
    actions: listActionsSince(handle, after),
    settledTo: after,
    settledCash: hasSettled(handle, after),
  };
}

export function openWithoutActions(handle: MarketHandle): MarketData {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const first = places.length === 0 ? bytes.length : places[2]! - ACTIONS_HEAD.length;
  const last = places.length === 0 ? bytes.length : places.at(2 - POSITION_WIDTH)! + places.at(3 - POSITION_WIDTH)! + 3;
  return openMarket({ ...handle, tables: joinParts(bytes.subarray(0, first), bytes.subarray(last)) });
}

/** Returns true if an ordinary dividend has an ex-date on or before a day. */
function hasSettled({ actionPlaces }: MarketHandle, after: number): boolean {
  const places = new Int32Array(actionPlaces);
  for (let p = 0; p < places.length; p += POSITION_WIDTH) if (places[p + 1] === 1 && places[p]! <= after) return true;
  return false;
}

/**
 * Returns the actions of a handle without ordinary dividends with an ex-date on or before a day. @cost parsing the
 * returned actions
 */
export function listActionsSince(handle: MarketHandle, after: number): CorporateAction[] {
  return selectActions(handle, (places, p) => places[p + 1] !== 1 || places[p]! > after);
}

/** Returns all actions of some columns. @cost parsing these actions */
export function listActions(handle: MarketHandle, columns: Int32Array): CorporateAction[] {
  const isRequested = new Uint8Array(1 + columns.reduce((highest, column) => Math.max(highest, column), 0));
  for (const column of columns) isRequested[column] = 1;
  return selectActions(handle, (places, p) => isRequested[places[p + 4]!] === 1);
}

/** Returns the actions that satisfy a condition, parsed as one list. */
function selectActions(handle: MarketHandle, isWanted: (all: Int32Array, p: number) => boolean): CorporateAction[] {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const wantedPlaces: number[] = [];
  for (let p = 0; p < places.length; p += POSITION_WIDTH) if (isWanted(places, p)) wantedPlaces.push(p);
  const textBytes = new Uint8Array(wantedPlaces.reduce((sum, p) => sum + places[p + 3]! + 1, 1));
  let position = 0;
  for (const p of wantedPlaces) {
    textBytes[position] = position === 0 ? BRACKET : COMMA;
    textBytes.set(bytes.subarray(places[p + 2]!, places[p + 2]! + places[p + 3]!), position + 1);
    position += places[p + 3]! + 1;
  }
  return wantedPlaces.length === 0
    ? []
    : (JSON.parse(`${decodeUtf8(textBytes.subarray(0, position))}]`) as CorporateAction[]); // in the form that `createActionLines` writes
}

const BRACKET = 91;
const COMMA = 44;

function joinParts(a: Uint8Array, b: Uint8Array): SharedArrayBuffer {
  const joinedBytes = new Uint8Array(new SharedArrayBuffer(a.length + b.length));
  joinedBytes.set(a);
  joinedBytes.set(b, a.length);
  return joinedBytes.buffer;
}

/** Returns lines of securities with their reference rows. A line ends once it has `LINE_ROWS` rows. */
function createSpellLines(reference: MarketData['reference']['rows']): Line[] {
  const lines: Line[] = [];
  let rows: [string, ReferenceRow[]][] = [];
  let heldSpells = 0;
  for (const [identifier, spells] of reference) {
    rows.push([identifier, [...spells]]);
    heldSpells += spells.length;
    if (heldSpells < LINE_ROWS) continue;
    lines.push({ rows });
    rows = [];
    heldSpells = 0;
  }
  return rows.length === 0 ? lines : [...lines, { rows }];
}

function divideIntoLines<T, L>(items: readonly T[], lineOf: (items: T[]) => L): L[] {
  return Array.from({ length: Math.ceil(items.length / LINE_ROWS) }, (_, i) =>
    lineOf(items.slice(i * LINE_ROWS, (i + 1) * LINE_ROWS)),
  );
}

/** Opens the market of a handle. Panels are used in place. @cost parsing the tables: about 1 ms per 10,000 rows. */
export function openMarket(handle: MarketHandle): MarketData {
  const generator = openByLine(handle);
  for (;;) {
    const step = generator.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Opens a market like `openMarket`, in a thread that also has other work. Awaits `rest` after each line of the tables,
 * about `LINE_ROWS` rows, so that the other work can run.
 */
export async function openMarketGently(handle: MarketHandle, rest: () => Promise<void>): Promise<MarketData> {
  const generator = openByLine(handle);
  for (;;) {
    const step = generator.next();
    if (step.done === true) return step.value;
    await rest();
  }
}

function* openByLine(handle: MarketHandle): Generator<void, MarketData> {
  const bytes = new Uint8Array(handle.tables);
  const rows = new Map<string, readonly ReferenceRow[]>();
  const actions: CorporateAction[] = [];
  const universes: Membership[] = [];
  const series = new Map<string, PriceSeries>();
  let axes: Axes | undefined;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    const line = JSON.parse(decodeUtf8(bytes.slice(from, to))) as Axes | Line; // in the form that `shareMarket` writes
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
  const { identifiers, columns } = axes!; // values of the first line
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
  const cellCount = dates.length * identifiers.length;
  return {
    datasetId,
    contentHash,
    adjustment,
    currency,
    identifiers,
    dates,
    fields: new Map(handle.fields.map(({ name, values }) => [name, new Float64Array(values, 0, cellCount)])),
  };
}

/** Opens a handle whose identifiers and tables are those of an open market. */
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

/** JSON escapes line breaks inside texts, so a line break ends a line. */
const NEWLINE = 10;

/** Copies values unless they already begin at the start of shared memory; space after them does not matter. */
function copyToSharedMemory(values: Float64Array): SharedArrayBuffer {
  return values.buffer instanceof SharedArrayBuffer && values.byteOffset === 0
    ? values.buffer
    : copyToSharedBytes(values);
}

function copyToSharedBytes(view: Int32Array | Float64Array | Uint8Array): SharedArrayBuffer {
  const isWholeBuffer = view.byteOffset === 0 && view.byteLength === view.buffer.byteLength;
  if (view.buffer instanceof SharedArrayBuffer && isWholeBuffer) return view.buffer;
  const sharedMemory = new SharedArrayBuffer(view.byteLength);
  new Uint8Array(sharedMemory).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return sharedMemory;
}

/** Identity of a market: its content, and the declarations of its store. */
export type MarketIdentity = Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency' | 'contentHash'>;

/** Returns an identity as a key, equal for markets that give equal results. */
export function createMarketKey({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): string {
  return JSON.stringify([datasetId, adjustment, currency, contentHash]);
}

export function createIdentity({
  datasetId,
  adjustment,
  currency = null,
  contentHash,
}: MarketIdentity): MarketIdentity {
  return { datasetId, adjustment, currency, contentHash };
}
