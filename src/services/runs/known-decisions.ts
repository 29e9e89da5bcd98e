import { assertScheduled } from '#domain/books/decision-seats.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  type IndexDocument,
  isSetKind,
} from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { EarlierContentReferences } from '#jobs/tasks/references.js';

export interface DecisionSpan {
  readonly market: MarketData;
  /** Last date on which decisions are made; null for the last date of the market. */
  readonly end: string | null;
  readonly documents: Readonly<Record<string, IndexDocument>>;
}

/**
 * Refuses decisions on data as it was known if the first available version is later than all decisions.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 */
export function assertSomeVersion(
  { knownOn, earlier }: EarlierContentReferences,
  { market, end, documents }: DecisionSpan,
): void {
  assertScheduled(documents);
  const firstKnownOn = earlier.at(-1)?.knownOn ?? knownOn;
  const last = findLastDay(market, end);
  if (firstKnownOn <= last) return;
  const message = `No decision up to ${formatDay(last)} can be made on known data: the first available version of the data store ${market.datasetId} was known on ${formatDay(firstKnownOn)}.`;
  throw refuseUnknown(message, { datasetId: market.datasetId, decision: last, first: firstKnownOn });
}

/**
 * Makes the check of `assertSomeVersion`. Also refuses a definition if its first decision is certainly earlier than the
 * first version. A universe that follows another index is known only after it was computed.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 * @cost of a row of closes per definition
 */
export function assertFirstVersion(
  earlierContents: EarlierContentReferences,
  span: DecisionSpan & { readonly calendars: Calendars },
): void {
  assertSomeVersion(earlierContents, span);
  const { market, end, documents, calendars } = span;
  const { datasetId } = market;
  const firstKnownOn = earlierContents.earlier.at(-1)?.knownOn ?? earlierContents.knownOn;
  for (const document of Object.values(documents)) {
    const day = findFirstSession(document, market, calendars);
    if (day === undefined || day >= firstKnownOn || day > findLastDay(market, end)) continue;
    const message = `The decision of ${formatDay(day)}, the first of the index ${document.id}, is before the first available version of the data store ${datasetId}, known on ${formatDay(firstKnownOn)}.`;
    throw refuseUnknown(message, { datasetId, decision: day, first: firstKnownOn });
  }
}

/** Returns the session on which an index begins. Returns undefined if only the computation can determine it. */
function findFirstSession(document: IndexDocument, market: MarketData, calendars: Calendars): Day | undefined {
  const { dates, identifiers } = market;
  const calendar = calendars.get(document.calendar);
  const closes = market.fields.get('CLOSE');
  if (calendar === undefined || closes === undefined) return undefined;
  let row = findFirstAtLeast(dates, parseValidDay(document.base_date));
  while (row < dates.length && !calendar.isSession(dates[row]!)) row++;
  const day = dates[row];
  if (day === undefined) return undefined;
  const isMember = createMembershipTest(document, market, day);
  const isBegun = identifiers.some(
    (identifier, column) => isMember?.(identifier) === true && closes[row * identifiers.length + column]! > 0,
  );
  return isBegun ? day : undefined;
}

/** Format of identifiers of exchange rates. A universe does not contain exchange rates. */
const FIRST_USE_RATE = /^[A-Z]{6}$/;

/**
 * Returns a function that tests whether a security is in the universe of an index on a day. Returns undefined if
 * another index may determine the universe.
 */
function createMembershipTest(
  document: IndexDocument,
  { universes }: MarketData,
  day: Day,
): ((identifier: string) => boolean) | undefined {
  if (isDerivedDocument(document) || isOverlayDocument(document)) return undefined;
  const { universe } = document;
  if (universe?.kind === 'index' || isSetKind(universe?.kind)) return undefined;
  if (universe?.kind === 'list' || universe?.kind === 'watchlist') {
    const names = new Set(universe.identifiers);
    return (identifier) => names.has(identifier);
  }
  if (universe?.kind !== 'named') return (identifier) => !FIRST_USE_RATE.test(identifier);
  const members = new Set(
    universes.flatMap(({ universe: name, identifier, start, end }) =>
      name === universe.id && (start === null || start <= day) && (end === null || day < end) ? [identifier] : [],
    ),
  );
  return (identifier) => members.has(identifier);
}

const findLastDay = ({ dates }: MarketData, end: string | null): Day =>
  Math.min(dates.at(-1)!, end === null ? Infinity : parseValidDay(end));

interface DecisionTimes {
  readonly datasetId: string;
  readonly decision: Day;
  readonly first: Day;
}

function refuseUnknown(message: string, { datasetId, decision, first }: DecisionTimes): Refusal {
  const detail = { store_id: datasetId, decision_date: formatDay(decision), first_known_on: formatDay(first) };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}
