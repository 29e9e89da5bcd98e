import type { Adjustment, CorporateAction, MarketData, Membership, ReferenceRow } from './market-data.js';

/**
 * A market as it crosses threads: panels by reference in shared memory, the tables once as UTF-8 JSON in shared memory.
 * Sending a handle copies nothing but a few names, whatever the size of the store.
 */
export interface MarketHandle {
  readonly storeId: string;
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Int32 days, [T]. */
  readonly dates: SharedArrayBuffer;
  /** Float64 panels [T x N], each at the beginning of memory that may have room for days to come. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /** UTF-8 JSON of identifiers, reference, actions and universes: a line for the axes and one for so many rows of a table. */
  readonly tables: SharedArrayBuffer;
  /** Digests of the parts of the content, where they are known: what a later version shares need not be hashed again. */
  readonly digests?: ContentDigests;
  /**
   * Int32 [1], days of the panels' memory that some version has taken. Whoever writes days behind those of a version takes
   * them here first, so that the memory of a day is written once, whatever becomes of the version. Absent where nobody may.
   */
  readonly taken?: SharedArrayBuffer;
}

/** SHA-256 of the parts that a content hash is made of. */
export interface ContentDigests {
  /** 32 bytes a block of days. */
  readonly blocks: Uint8Array;
  /** 32 bytes of the tables beside the panels. */
  readonly tables: Uint8Array;
}

/** Rows of a table on one line of JSON: a millisecond of parsing at most. */
const LINE_ROWS = 500;

interface Axes {
  readonly identifiers: string[];
  readonly columns: string[];
}

type Line = { readonly rows: [string, ReferenceRow[]][] } | { readonly actions: CorporateAction[] } | { readonly universes: Membership[] };

/** The handle of a market. Panels that already lie in shared memory are not copied. @param tables its tables, where they are shared already */
export function shareMarket(market: MarketData, tables = shareTables(market)): MarketHandle {
  return {
    storeId: market.storeId,
    contentHash: market.contentHash,
    adjustment: market.adjustment,
    dates: sharedBytes(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, values: sharedPanel(values) })),
    tables,
  };
}

function shareTables(market: MarketData): SharedArrayBuffer {
  const axes: Axes = { identifiers: [...market.identifiers], columns: [...market.reference.columns] };
  const lines: (Axes | Line)[] = [
    axes,
    ...spellLines(market.reference.rows),
    ...inLines(market.actions, (actions) => ({ actions })),
    ...inLines(market.universes, (universes) => ({ universes })),
  ];
  return sharedBytes(new TextEncoder().encode(lines.map((line) => JSON.stringify(line)).join('\n')));
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

function inLines<T>(items: readonly T[], lineOf: (items: T[]) => Line): Line[] {
  return Array.from({ length: Math.ceil(items.length / LINE_ROWS) }, (_, i) => lineOf(items.slice(i * LINE_ROWS, (i + 1) * LINE_ROWS)));
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
  let axes: Axes | undefined;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    const line = JSON.parse(new TextDecoder().decode(bytes.slice(from, to))) as Axes | Line; // as `shareMarket` writes it
    if ('rows' in line) for (const [identifier, spells] of line.rows) rows.set(identifier, spells);
    else if ('actions' in line) for (const action of line.actions) actions.push(action);
    else if ('universes' in line) for (const spell of line.universes) universes.push(spell);
    else axes = line;
    from = to + 1;
    yield;
  }
  const { identifiers, columns } = axes!; // the first line
  return { ...openPanels(handle, identifiers), reference: { columns, rows }, actions, universes };
}

type PanelsOfMarket = Pick<MarketData, 'storeId' | 'contentHash' | 'adjustment' | 'identifiers' | 'dates' | 'fields'>;

function openPanels(handle: MarketHandle, identifiers: readonly string[]): PanelsOfMarket {
  const { storeId, contentHash, adjustment } = handle;
  const dates = new Int32Array(handle.dates);
  const cells = dates.length * identifiers.length;
  return { storeId, contentHash, adjustment, identifiers, dates, fields: new Map(handle.fields.map(({ name, values }) => [name, new Float64Array(values, 0, cells)])) };
}

/** The market of a handle whose identifiers and tables are those of a market that is open. */
export function reopenMarket(handle: MarketHandle, { identifiers, reference, actions, universes }: MarketData): MarketData {
  return { ...openPanels(handle, identifiers), reference, actions, universes };
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
