import { AsyncLocalStorage } from 'node:async_hooks';
import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { decodeUtf8 } from '#base/bytes.js';
import { compareText } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import type { CommitEvent, CommitEvents } from '#domain/definition/commit-events.js';
import { refuseWhileLoading } from '#domain/definition/datasets.js';
import {
  type CorporateAction,
  createIdentity,
  createMarketKey,
  type MarketData,
  type MarketHandle,
  type MarketIdentity,
  type Membership,
  openMarketGently,
  reopenMarket,
} from '#domain/market/market-data.js';
import { allocatePanels, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { computePanelBytesMax } from '../content/market-content.js';
import { reportPanelMemory, transferMarket } from '../panels/market-transfer.js';
import type { VersionFile } from '../read/folder.js';

/** Version of the served store. It never changes: a request that has a reference to it always sees this version. */
export interface ServedMarket {
  readonly handle: MarketHandle;
  /** Identity of the market, in events and in the input of tasks. */
  readonly identity: MarketIdentity;
  /** Data opened in this thread, for lookups. */
  readonly market: MarketData;
  readonly loadedAt: string;
  /** Source files with their state when all of them were read. A refresh need not read unchanged files again. */
  readonly files: readonly VersionFile[];
}

export interface Markets {
  /** Returns the served version; undefined if none is served. */
  served(): ServedMarket | undefined;
  /**
   * Returns the served version. Returns undefined if no store is active; a response then contains less data.
   * @throws Refusal STORE_UNAVAILABLE while the store is being read after a restart
   */
  current(): ServedMarket | undefined;
  /**
   * Returns the served version.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE while the store is being read after a restart
   */
  require(): ServedMarket;
  /**
   * Resolves when the reading of the store after a restart has succeeded or failed. Work that was queued before the
   * restart waits for it, so that the work does not fail while data is being read.
   */
  settled(): Promise<void>;
}

/** Market that a call reads. It is undefined after the end of the call. */
interface Context {
  market: ServedMarket | undefined;
}

const calls = new AsyncLocalStorage<Context | undefined>();

/**
 * Runs a call on a market. All code that the call awaits reads this market, even if another store becomes active. Work
 * that continues after the call does not keep the market in memory.
 */
export async function onMarket<T>(market: ServedMarket, work: () => T | Promise<T>): Promise<T> {
  const context: Context = { market };
  try {
    return await calls.run(context, work);
  } finally {
    context.market = undefined;
  }
}

/** Runs work of the service, such as background work, on the active store. */
export const runOffMarket = <T>(work: () => T): T => calls.run(undefined, work);

/**
 * Returns the market of the current call. Returns undefined outside calls, where code reads the active store. @throws
 * Error after the end of the call
 */
export function getCallMarket(): ServedMarket | undefined {
  const context = calls.getStore();
  if (context === undefined) return undefined;
  if (context.market === undefined) throw new Error('a market was read after the end of the call that it belonged to');
  return context.market;
}

/** Wraps access to markets. It returns the market of the current call if there is one, otherwise the active market. */
export function createCallMarkets<M extends Markets>(active: M): M {
  return {
    ...active,
    served: () => getCallMarket() ?? active.served(),
    current: () => getCallMarket() ?? active.current(),
    require: () => getCallMarket() ?? active.require(),
  };
}

/**
 * Markets of this process by identity. A content remains in memory as long as the identity with which it was added is
 * referenced: by a pending event, the input of a task, or the served market. No explicit release is needed.
 */
function createMarketContents() {
  const contents = new WeakMap<MarketIdentity, ServedMarket>();
  const identities = new Map<string, WeakRef<MarketIdentity>>();

  const findEqual = (identity: MarketIdentity): MarketIdentity | undefined =>
    identities.get(createMarketKey(identity))?.deref();

  return {
    add(market: ServedMarket): void {
      for (const [key, identity] of identities) if (identity.deref() === undefined) identities.delete(key);
      contents.set(market.identity, market);
      identities.set(createMarketKey(market.identity), new WeakRef(market.identity));
    },
    /** Returns the content of the same or an equal identity. Returns undefined if this process does not have it. */
    find(identity: MarketIdentity): ServedMarket | undefined {
      const ownServedMarket = contents.get(identity);
      if (ownServedMarket !== undefined) return ownServedMarket;
      const equalIdentity = findEqual(identity);
      return equalIdentity && contents.get(equalIdentity);
    },
  };
}

/** Lookup of the positions and actions of securities in a market. */
interface MarketLookup {
  /** Returns the column of a security. Returns undefined if the market dataset does not contain it. */
  positionOf(identifier: string): number | undefined;
  /** Returns true if any dataset other than series contains the identifier. */
  holds(identifier: string): boolean;
  /** Returns the actions of a security, by ex-date. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Returns the memberships of a security in any universe. */
  membershipsOf(identifier: string): readonly Membership[];
  /** Returns the first and last date with a CLOSE. Returns null if the security has none. */
  datesOf(identifier: string): { readonly start: Day; readonly end: Day } | null;
  /** Identifiers of all datasets other than series, in code-point order. */
  readonly allIdentifiers: readonly string[];
}

const lookupsByMarket = new WeakMap<MarketData, MarketLookup>();

/** Rows of a table by security. They are cached by table, because versions of a store may share tables. */
const positionsByGroup = new WeakMap<readonly object[], ReadonlyMap<string, readonly object[]>>();

/** Returns the lookup of a market, created at its first use. @cost O(securities + actions) once, then O(1) a call */
export function getLookup(market: MarketData): MarketLookup {
  let lookup = lookupsByMarket.get(market);
  if (lookup === undefined) lookupsByMarket.set(market, (lookup = createLookup(market)));
  return lookup;
}

function createLookup(market: MarketData): MarketLookup {
  const { identifiers, dates } = market;
  const positions = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const actions = groupByIdentifier(market.actions);
  const memberships = groupByIdentifier(market.universes);
  const spans = new Map<string, { readonly start: Day; readonly end: Day } | null>();
  const close = market.fields.get('CLOSE')!;
  const allIdentifiers = new Set([
    ...identifiers,
    ...market.reference.rows.keys(),
    ...actions.keys(),
    ...memberships.keys(),
  ]);

  function findSpan(n: number): { readonly start: Day; readonly end: Day } | null {
    const step = identifiers.length;
    let first = 0;
    while (first < dates.length && Number.isNaN(close[first * step + n])) first += 1;
    if (first === dates.length) return null;
    let last = dates.length - 1;
    while (Number.isNaN(close[last * step + n])) last -= 1;
    return { start: dates[first]!, end: dates[last]! };
  }

  return {
    positionOf: (identifier) => positions.get(identifier),
    holds: (identifier) =>
      positions.has(identifier) ||
      market.reference.rows.has(identifier) ||
      actions.has(identifier) ||
      memberships.has(identifier),
    actionsOf: (identifier) => actions.get(identifier) ?? [],
    membershipsOf: (identifier) => memberships.get(identifier) ?? [],
    datesOf(identifier) {
      const n = positions.get(identifier);
      if (n === undefined) return null;
      let span = spans.get(identifier);
      if (span === undefined) spans.set(identifier, (span = findSpan(n)));
      return span;
    },
    allIdentifiers: allIdentifiers.size === identifiers.length ? identifiers : [...allIdentifiers].sort(compareText),
  };
}

function groupByIdentifier<T extends { readonly identifier: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const positions = positionsByGroup.get(items) as ReadonlyMap<string, readonly T[]> | undefined; // `groups` of this table were stored with its row type
  if (positions !== undefined) return positions;
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.identifier);
    if (group === undefined) groups.set(item.identifier, [item]);
    else group.push(item);
  }
  positionsByGroup.set(items, groups);
  return groups;
}

/**
 * Returns the latest value of a security on or before a day. The value is at most `staleMax` dates of the store old.
 * @returns NaN if there is none
 */
export function findValueAt(market: MarketData, field: string, position: number, day: Day, staleMax: number): number {
  const panel = market.fields.get(field);
  if (panel === undefined) return Number.NaN;
  const step = market.identifiers.length;
  const last = findLastAtMost(market.dates, day);
  for (let t = last; t >= 0 && t >= last - staleMax; t--) {
    const value = panel[t * step + position]!;
    if (value === value) return value;
  }
  return Number.NaN;
}

/**
 * Version of the format of a market as bytes, for machines that cannot read its sources:
 *
 * length of the head, uint32 little-endian | head, JSON | dates | tables | places of actions | panels
 */
const FORMAT = 1;

interface Head {
  readonly format: typeof FORMAT;
  readonly market: Pick<MarketHandle, 'datasetId' | 'contentHash' | 'adjustment' | 'currency'>;
  readonly loadedAt: string;
  /** Number of bytes of each part, in order. `panel` is the size of a single panel. */
  readonly dates: number;
  readonly tables: number;
  readonly actionPlaces: number;
  readonly panel: number;
  readonly fields: readonly string[];
  /** `ContentDigests` in base64. */
  readonly digests: Parts<string> | null;
  readonly files: readonly VersionFile[];
}

interface Parts<T> {
  readonly blocks: T;
  readonly tables: T;
  readonly history: T;
}

/** Maximum size of the head in bytes. The head contains names of source files, each a few hundred bytes. */
const HEAD_BYTES_MAX = 64 << 20;
/** Number of bytes that are copied in one turn of the event loop. Copying them takes a millisecond or two. */
const TURN_BYTES = 8 << 20;

interface OpenedSnapshot {
  readonly handle: MarketHandle;
  readonly loadedAt: string;
  readonly files: readonly VersionFile[];
}

/** Encodes a market as bytes. @cost one copy of the panels, in turns of the event loop */
export async function encodeSnapshot({ handle, market, loadedAt, files }: ServedMarket): Promise<Uint8Array> {
  const panel = market.dates.length * market.identifiers.length * Float64Array.BYTES_PER_ELEMENT;
  const head: Head = {
    format: FORMAT,
    market: createIdentity(handle),
    loadedAt,
    dates: handle.dates.byteLength,
    tables: handle.tables.byteLength,
    actionPlaces: handle.actionPlaces.byteLength,
    panel,
    fields: handle.fields.map(({ name }) => name),
    digests:
      handle.digests === undefined ? null : mapParts(handle.digests, (bytes) => Buffer.from(bytes).toString('base64')),
    files,
  };
  const textBytes = new TextEncoder().encode(JSON.stringify(head));
  const lengthBytes = new Uint8Array(4);
  new DataView(lengthBytes.buffer).setUint32(0, textBytes.length, true);
  const parts = [
    lengthBytes,
    textBytes,
    ...[handle.dates, handle.tables, handle.actionPlaces].map((memory) => new Uint8Array(memory)),
    ...handle.fields.map(({ values }) => new Uint8Array(values, 0, panel)),
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts)
    for (let from = 0; from < part.length; from += TURN_BYTES) {
      const piece = part.subarray(from, from + TURN_BYTES);
      bytes.set(piece, position);
      position += piece.length;
      if (piece.length === TURN_BYTES) await setImmediate();
    }
  return bytes;
}

/**
 * Reads a file of `encodeSnapshot` into shared memory.
 * @throws Refusal DOCUMENT_UNREADABLE if it has another format, OVERLOADED if this machine has too little memory
 */
export async function readSnapshot(path: string): Promise<OpenedSnapshot> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The snapshot of the market is missing.', null, { cause });
  });
  try {
    const { head, end } = await readHead(file);
    const bytes = head.panel * head.fields.length;
    if (bytes > findMemoryLimit().panelBytes && bytes > computePanelBytesMax(head.fields.length))
      throw new Refusal(
        'OVERLOADED',
        `The panels of the data store ${head.market.datasetId} do not fit into this machine.`,
      );
    const sizes = [head.dates, head.tables, head.actionPlaces];
    const memories = [
      ...sizes.map((bytes) => new SharedArrayBuffer(bytes)),
      ...head.fields.map(() => allocatePanels(head.panel, bytes)),
    ];
    await readInto(
      file,
      memories.map((memory) => new Uint8Array(memory)),
      end,
    );
    const [dates, tables, actionPlaces, ...panels] = memories as [
      SharedArrayBuffer,
      SharedArrayBuffer,
      SharedArrayBuffer,
      ...SharedArrayBuffer[],
    ]; // the arrays have equal lengths
    const { market, digests } = head;
    const handle = {
      ...market,
      dates,
      fields: head.fields.map((name, i) => ({ name, values: panels[i]! })),
      tables,
      actionPlaces,
      ...(digests === null
        ? {}
        : { digests: mapParts(digests, (text) => new Uint8Array(Buffer.from(text, 'base64'))) }),
    };
    return { handle, loadedAt: head.loadedAt, files: head.files };
  } finally {
    await file.close();
  }
}

async function readHead(file: FileHandle): Promise<{ readonly head: Head; readonly end: number }> {
  const startBytes = new Uint8Array(4);
  await readInto(file, [startBytes], 0);
  const length = new DataView(startBytes.buffer).getUint32(0, true);
  const textBytes = new Uint8Array(Math.min(length, HEAD_BYTES_MAX));
  await readInto(file, [textBytes], startBytes.length);
  // `encodeSnapshot` wrote the text, and the digest of the file was verified.
  const head = JSON.parse(decodeUtf8(textBytes)) as Head;
  if (head.format !== FORMAT)
    throw new Refusal('DOCUMENT_UNREADABLE', 'The snapshot of the market is of another format.');
  return { head, end: startBytes.length + length };
}

const readInto = (file: FileHandle, pieces: readonly Uint8Array[], offset: number): Promise<void> =>
  transferMarket(pieces, offset, async (some, position) => (await file.readv(some, position)).bytesRead);

const mapParts = <A, B>({ blocks, tables, history }: Parts<A>, map: (value: A) => B): Parts<B> => ({
  blocks: map(blocks),
  tables: map(tables),
  history: map(history),
});

/** Active store that could not be read. */
export interface FailedLoad {
  readonly datasetId: string;
  readonly error: ErrorDetail;
}

/** Holder of the served market. One assignment replaces it, and no other module stores it. */
export interface ServedMarkets extends Markets {
  /**
   * Returns the event that this market is served. The transaction that makes its dataset active publishes the event.
   */
  activation(market: ServedMarket): CommitEvent<'market-activated'>;
  /** Serves the market that the event activates. @throws Error if this process has not loaded its content */
  activate(event: CommitEvents['market-activated']): void;
  /** Updates the declared properties of the served market. Does nothing if it has another content than the event. */
  declare(event: CommitEvents['market-declared']): void;
  /**
   * Returns the memory of a market of this process by its identity. The market is always found if `served` returned the
   * identity and it is still referenced.
   * @throws Refusal NO_DATA_SOURCE if the market was replaced and is no longer referenced
   */
  handleOf(identity: MarketIdentity): MarketHandle;
  /** Returns the content of an identity; undefined if this process does not have it. */
  find(identity: MarketIdentity): ServedMarket | undefined;
  /** Registers an earlier content under its identity. The content is kept as long as the identity is referenced. */
  hold(market: ServedMarket): void;
  serve(market: ServedMarket): void;
  /**
   * Announces the store that was active before a restart. Until it is served or `settle` is called, no response states
   * that there is no data.
   */
  expect(datasetId: string): void;
  /** Returns the id of the announced store. Returns undefined after it was served or `settle` was called. */
  awaited(): string | undefined;
  /** Returns the active store that could not be read. Returns undefined once another store is served. */
  failure(): FailedLoad | undefined;
  /** Reports that the first load has ended. Contains the reason if the previous store could not be read. */
  settle(failure?: FailedLoad): void;
}

/** Creates the holder. @param onServe called when another market is served */
export function createServedMarkets(onServe: () => void = () => {}): ServedMarkets {
  const contents = createMarketContents();
  let currentMarket: ServedMarket | undefined;
  let expectedId: string | undefined;
  let failedLoad: FailedLoad | undefined;
  let settle = () => {};
  const settledPromise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const awaitValue = (): string | undefined => (currentMarket === undefined ? expectedId : undefined);

  function findServedMarket(): ServedMarket | undefined {
    const awaitedId = awaitValue();
    if (awaitedId !== undefined) throw refuseWhileLoading(awaitedId);
    return currentMarket;
  }

  function serve(market: ServedMarket): void {
    contents.add(market);
    currentMarket = market;
    failedLoad = undefined;
    onServe();
  }

  return {
    served: () => currentMarket,
    current: findServedMarket,
    require() {
      const servedMarket = findServedMarket();
      if (servedMarket === undefined) throw createNoDataRefusal(failedLoad);
      return servedMarket;
    },
    awaited: awaitValue,
    failure: () => failedLoad,
    settled: () => settledPromise,
    expect(datasetId) {
      expectedId = datasetId;
    },
    activation(market) {
      contents.add(market);
      return { type: 'market-activated', market: market.identity, loaded_at: market.loadedAt };
    },
    find: contents.find,
    handleOf(identity) {
      const servedMarket = contents.find(identity);
      if (servedMarket !== undefined) return servedMarket.handle;
      throw new Refusal('NO_DATA_SOURCE', `The market of the data store ${identity.datasetId} has been replaced.`);
    },
    activate({ market }) {
      const content = contents.find(market);
      if (content === undefined) throw new Error(`no content of ${createMarketKey(market)} is in this process`);
      serve(content);
    },
    declare({ datasetId, adjustment, currency = null }) {
      if (currentMarket?.identity.datasetId !== datasetId) return;
      const declaredMarket = redeclareMarket(currentMarket, { adjustment, currency });
      if (declaredMarket !== currentMarket) serve(declaredMarket);
    },
    hold: contents.add,
    serve,
    settle(failure) {
      expectedId = undefined;
      failedLoad = failure;
      settle();
    },
  };
}

/** Returns a market with changed declarations of its store. */
export function redeclareMarket(
  served: ServedMarket,
  { adjustment, currency = null }: Pick<MarketIdentity, 'adjustment' | 'currency'>,
): ServedMarket {
  const { handle, market, identity } = served;
  if (identity.adjustment === adjustment && (identity.currency ?? null) === currency) return served;
  const declaration = { adjustment, currency };
  return {
    ...served,
    handle: { ...handle, ...declaration },
    identity: { ...identity, ...declaration },
    market: { ...market, ...declaration },
  };
}

function createNoDataRefusal(failed: FailedLoad | undefined): Refusal {
  if (failed === undefined) return new Refusal('NO_DATA_SOURCE', 'No data store is being served; activate one first.');
  const { datasetId, error } = failed;
  return new Refusal('NO_DATA_SOURCE', describeFailure(failed), { store_id: datasetId, error });
}

/** Describes the error of an active store, and how to fix it. */
export function describeFailure({ datasetId, error }: FailedLoad): string {
  const findings = error.detail?.['findings'];
  const [first] = Array.isArray(findings) ? (findings as readonly { readonly message?: unknown }[]) : [];
  const reason = typeof first?.message === 'string' ? `${error.message} ${first.message}` : error.message;
  return `The active data store ${datasetId} could not be read: ${reason} Fix its source and activate it again, or activate another.`;
}

/**
 * Prepares a loaded market and its lookup for serving. Works in small steps, so that requests for the currently served
 * market do not wait.
 */
export async function prepareServedMarket(
  handle: MarketHandle,
  loadedAt: string,
  files: readonly VersionFile[] = [],
): Promise<ServedMarket> {
  reportPanelMemory(handle.fields.map(({ values }) => values));
  const market = await openMarketGently(handle, setImmediate);
  getLookup(market);
  return { handle, identity: createIdentity(handle), market, loadedAt, files };
}

export function prepareServedAgain(
  handle: MarketHandle,
  { handle: { tables }, market: marketData }: ServedMarket,
  loadedAt: string,
  files: readonly VersionFile[],
): ServedMarket {
  reportPanelMemory(handle.fields.map(({ values }) => values));
  const market = reopenMarket(handle, marketData);
  getLookup(market);
  return { handle: { ...handle, tables }, identity: createIdentity(handle), market, loadedAt, files };
}
