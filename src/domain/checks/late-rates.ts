import type { Calendars } from '../calendars/calendar.js';
import { parseValidDay, type Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { findFirstAtLeast } from '../numbers/search.js';
import {
  isOverlayDocument,
  isRuleDocument,
  findListedIdentifiers,
  listSources,
  type IndexDocument,
  type OverlayDocument,
} from '../documents/index-document.js';
import { findLateSeries } from './overlay-on-market.js';

interface ReachedDocuments {
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly market: MarketData;
  readonly calendars: Pick<Calendars, 'get'>;
}

/**
 * Reports data that begin after the first session of an overlay that needs them. Reports nothing if only a run can
 * determine that session.
 */
export function findLateRates(indexId: string, reached: ReachedDocuments): Finding[] {
  const { documents, market } = reached;
  const document = documents[indexId];
  const day = document !== undefined && isOverlayDocument(document) ? findBeginLimit(indexId, reached) : undefined;
  if (day === undefined) return [];
  return findLateSeries(
    document as OverlayDocument,
    { market, severity: 'error', indexOf: (id) => documents[id] },
    day,
  ); // The document was checked above.
}

/**
 * Returns a day by which an index has certainly begun. For a universe of all or of listed securities, this is the first
 * session on or after the base date with a price bar of one of them. For an overlay, it is the first session on which
 * all underlying indices have begun. Returns undefined if only a run can determine the day.
 * @cost O(securities) for each earlier row
 */
function findBeginLimit(indexId: string, reached: ReachedDocuments): Day | undefined {
  const document = reached.documents[indexId];
  const calendar = document && reached.calendars.get(document.calendar);
  if (document === undefined || calendar === undefined) return undefined;
  const base = parseValidDay(document.base_date);
  if (isRuleDocument(document)) return findFirstPriced(document, base, { ...reached, isSession: calendar.isSession });
  if (!isOverlayDocument(document)) return undefined;
  const underlyingLimits = listSources(document).map((id) => findBeginLimit(id, reached));
  if (underlyingLimits.some((day) => day === undefined)) return undefined;
  const from = Math.max(base, ...(underlyingLimits as Day[])); // The calendar was checked above.
  return calendar.sessions[findFirstAtLeast(calendar.sessions, from)];
}

function findFirstPriced(
  document: IndexDocument,
  base: Day,
  { market, isSession }: ReachedDocuments & { readonly isSession: (day: Day) => boolean },
): Day | undefined {
  const kind = document.universe?.kind ?? 'all';
  const listedIdentifiers = findListedIdentifiers(document.universe);
  if (listedIdentifiers === undefined && kind !== 'all') return undefined;
  const { dates, identifiers, fields, reference } = market;
  const names = new Set(
    listedIdentifiers ?? identifiers.filter((name) => reference.rows.has(name) || !PAIR.test(name)),
  );
  const columns = identifiers.flatMap((name, column) => (names.has(name) ? [column] : []));
  const close = fields.get('CLOSE')!;
  for (let row = findFirstAtLeast(dates, base); row < dates.length; row++)
    if (isSession(dates[row]!) && columns.some((column) => !Number.isNaN(close[row * identifiers.length + column]!)))
      return dates[row];
  return undefined;
}

/** Form of an exchange rate; such identifiers are not constituents. */
const PAIR = /^[A-Z]{6}$/;
