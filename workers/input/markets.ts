import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { RecordedClosures } from '#domain/calendars/calendar.js';
import { correctCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';
import type { MarketData } from '#domain/market/market-data.js';
import {
  createMarketKey,
  type MarketHandle,
  openMarket,
  openMarketSince,
  openWithoutActions,
} from '#domain/market/market-handle.js';
import type { EarlierContentFiles, HashedFile } from '#jobs/tasks/messages.js';
import { decodeChange } from '#market/content/content-copy.js';
import { type ContentChange, createDatedMarkets } from '#market/content/versions.js';
import { reportPanelMemory } from '#market/panels/shared-market.js';
import { openCalendars } from '#market/serve/calendar-files.js';

/**
 * Opens the earlier contents of a market from the changes that lead back to them. @cost a read of the files at the
 * first use
 */
export function openEarlierContents(
  market: MarketData,
  files: EarlierContentFiles | undefined,
): { readonly known?: DatedMarkets } {
  if (files === undefined) return {};
  let datedMarkets: DatedMarkets | undefined;
  const openDatedMarkets = ({ knownOn, earlier }: EarlierContentFiles): DatedMarkets =>
    createDatedMarkets(market, {
      knownOn,
      earlier: earlier.map((file) => ({ knownOn: file.knownOn, change: readChange(file) })),
    });
  return { known: { at: (day) => (datedMarkets ??= openDatedMarkets(files)).at(day) } };
}

/** Reads a change from a file. @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged */
export function readChange(file: HashedFile): ContentChange {
  return decodeChange(readBytes(file));
}

/**
 * Reads the bytes of a file, and checks their hash.
 * @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged
 */
export function readBytes({ path, sha256 }: HashedFile): Uint8Array {
  const bytes = readIfThere(path);
  if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw refuseDamagedContent('a file of it is missing or damaged');
  return bytes;
}

export function refuseDamagedContent(reason: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The earlier content of the data store cannot be read: ${reason}.`);
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // an absent file is reported like a damaged one
  }
}

/**
 * Maximum number of open store versions per thread. They are the served version, and its predecessor while work on it
 * ends.
 */
const OPEN_MARKETS_MAX = 2;

const openMarketsByKey = new Map<string, MarketData>();

/**
 * Returns the market of a handle, which each thread opens once. Data derived from the market (alignments, growth
 * factors) is cached with it.
 * @cost of `openMarket` at the first use
 */
export function openCachedMarket(handle: MarketHandle): MarketData {
  const market = openMarketsByKey.get(createMarketKey(handle)) ?? openMarket(handle);
  keepOpen(market);
  return market;
}

/**
 * Maximum number of start days for which a thread keeps the latest market open. The runs of a store end on few days.
 */
const START_DAYS_MAX = 4;

/** Latest market with its variants, by day. A variant does not contain the data that was final before the day. */
let latestMarket:
  | { readonly key: string; readonly opened: MarketData; readonly byDay: Map<number, MarketData> }
  | undefined;

/**
 * Opens a market like `openMarketSince`. The tables are parsed once for all runs that are extended on a market, and
 * derived data is cached per start day.
 */
export function openCachedSince(handle: MarketHandle, after: number): MarketData {
  const key = createMarketKey(handle);
  if (latestMarket?.key !== key) latestMarket = { key, opened: openWithoutActions(handle), byDay: new Map() };
  const { opened, byDay } = latestMarket;
  const market = byDay.get(after) ?? openMarketSince(handle, after, opened);
  byDay.delete(after);
  byDay.set(after, market);
  if (byDay.size > START_DAYS_MAX) byDay.delete(byDay.keys().next().value!);
  return market;
}

/** Keeps a market open that this thread created. Later work may use it. */
export function keepOpen(market: MarketData): void {
  openMarketsByKey.delete(createMarketKey(market));
  openMarketsByKey.set(createMarketKey(market), market);
  if (openMarketsByKey.size > OPEN_MARKETS_MAX) openMarketsByKey.delete(openMarketsByKey.keys().next().value!);
  reportPanelMemory([...market.fields.values()].map(({ buffer }) => buffer));
}

/**
 * Maximum number of sets of recorded changes whose calendars are cached. Consecutive tasks usually have the same set.
 */
const CACHED_SETS_MAX = 4;

let calendars: ExchangeCalendars | undefined;
const calendarsByKey = new Map<string, ExchangeCalendars>();

/**
 * Returns the calendars of the service with recorded changes. A thread opens them once per set of changes. The changes
 * come from the task, so that its results depend only on its input.
 */
export function openCachedCalendars(closures: RecordedClosures = {}): ExchangeCalendars {
  calendars ??= openCalendars();
  if (Object.keys(closures).length === 0) return calendars;
  const key = toCanonicalJson(closures);
  const exchangeCalendars = calendarsByKey.get(key) ?? correctCalendars(calendars, closures);
  calendarsByKey.delete(key);
  calendarsByKey.set(key, exchangeCalendars);
  if (calendarsByKey.size > CACHED_SETS_MAX) calendarsByKey.delete(calendarsByKey.keys().next().value!);
  return exchangeCalendars;
}
