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
  /** Float64 panels [T x N]. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /** UTF-8 JSON of identifiers, reference, actions and universes. */
  readonly tables: SharedArrayBuffer;
}

interface Tables {
  readonly identifiers: string[];
  readonly columns: string[];
  readonly rows: [string, ReferenceRow[]][];
  readonly actions: CorporateAction[];
  readonly universes: Membership[];
}

/** The handle of a market. Panels that already lie in shared memory are not copied. */
export function shareMarket(market: MarketData): MarketHandle {
  const tables: Tables = {
    identifiers: [...market.identifiers],
    columns: [...market.reference.columns],
    rows: [...market.reference.rows].map(([identifier, rows]) => [identifier, [...rows]]),
    actions: [...market.actions],
    universes: [...market.universes],
  };
  return {
    storeId: market.storeId,
    contentHash: market.contentHash,
    adjustment: market.adjustment,
    dates: sharedBytes(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, values: sharedBytes(values) })),
    tables: sharedBytes(new TextEncoder().encode(JSON.stringify(tables))),
  };
}

/** The market of a handle, panels still by reference. @cost parsing the tables: about 1 ms per 10,000 rows. */
export function openMarket(handle: MarketHandle): MarketData {
  const text = new TextDecoder().decode(new Uint8Array(handle.tables).slice());
  const tables = JSON.parse(text) as Tables;
  return {
    storeId: handle.storeId,
    contentHash: handle.contentHash,
    adjustment: handle.adjustment,
    identifiers: tables.identifiers,
    dates: new Int32Array(handle.dates),
    fields: new Map(handle.fields.map(({ name, values }) => [name, new Float64Array(values)])),
    reference: { columns: tables.columns, rows: new Map(tables.rows) },
    actions: tables.actions,
    universes: tables.universes,
  };
}

function sharedBytes(view: Int32Array | Float64Array | Uint8Array): SharedArrayBuffer {
  const whole = view.byteOffset === 0 && view.byteLength === view.buffer.byteLength;
  if (view.buffer instanceof SharedArrayBuffer && whole) return view.buffer;
  const shared = new SharedArrayBuffer(view.byteLength);
  new Uint8Array(shared).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return shared;
}
