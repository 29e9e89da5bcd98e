import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { readReference, type ReferenceTable } from '#domain/market/market-data.js';
import { formatDay, toWeekday, type Day } from '#domain/time/days.js';
import { isTimeZone, toInstant } from '#domain/time/local-time.js';
import { createDayReader, isUtc, parseOffsetMinutes } from '../formats/time-zones.js';
import { isTimeOfDay } from '../formats/cells.js';
import type { Problem, Problems } from '../tables/problems.js';
import { BLOCK_BITS, BLOCK_ROWS } from './row-blocks.js';

/** Statements about the time zone of the days of a market. */
export interface ZoneTerms {
  /** Time zone, or code of the calendar, that the mapping states. */
  readonly timeZone?: string | null | undefined;
  /** Calendars of the service. Default: none. */
  readonly calendars?: Pick<Calendars, 'get' | 'list'> | undefined;
}

/** Rows whose days may be codes of instants. */
interface DatedRows {
  readonly identifiers: readonly string[];
  readonly codeBlocks: readonly Int32Array[];
  readonly dayBlocks: readonly Int32Array[];
  readonly rows: number;
}

/** Instants of a market. Their days are known once the exchanges of the securities are. */
export interface InstantDays {
  /** Returns a code that takes the place of the day of an instant. @param ms since 1970 */
  codeOf(ms: number): Day;
  /**
   * Replaces the codes by days. Returns false, with a finding, if no statement determines the time zone, or if the
   * statement contradicts the sessions.
   */
  resolve(rows: DatedRows, reference: ReferenceTable | undefined, problems: Problems): boolean;
}

/** First code of an instant: far above the last day of the API. */
const CODE_MIN = 2 ** 30;

/** Maximum number of instants that are tested for the time zones in which all of them are midnight. */
const TESTED_INSTANTS_MAX = 200;

/** Maximum number of time zones in a message. */
const LISTED_ZONES_MAX = 5;

const MS_PER_DAY = 86_400_000;

export const TIME_ZONE_PATH = 'mapping.time_zone';

/**
 * Creates the collector of instants. The time zone is that of the mapping, otherwise that of the exchange of the
 * security. Instants that all are midnight in UTC are days if the mapping states no time zone.
 */
export function createInstantDays({ timeZone, calendars }: ZoneTerms): InstantDays {
  const codes = new Map<number, Day>();
  const instants: number[] = [];

  function findCode(ms: number): Day {
    let code = codes.get(ms);
    if (code === undefined) {
      codes.set(ms, (code = CODE_MIN + instants.length));
      instants.push(ms);
    }
    return code;
  }

  /** Returns the time zones and the calendars of the securities by code. A time zone that no statement gives is undefined. */
  function findZones({ identifiers }: DatedRows, reference: ReferenceTable | undefined) {
    const exchanges = identifiers.map((identifier) => findExchange(identifier, instants, reference));
    const exchangeCalendars = exchanges.map((code) => (code === undefined ? undefined : calendars?.get(code)));
    const statedZone = timeZone == null ? undefined : (calendars?.get(timeZone)?.tz ?? timeZone);
    if (statedZone === undefined && !instants.some(isTimeOfDay))
      return { zones: identifiers.map(() => 'UTC'), calendars: exchangeCalendars };
    return { zones: exchangeCalendars.map((calendar) => statedZone ?? calendar?.tz), calendars: exchangeCalendars };
  }

  return {
    codeOf: findCode,
    resolve(rows, reference, problems) {
      if (instants.length === 0) return true;
      if (timeZone != null && calendars?.get(timeZone) === undefined && !isZone(timeZone)) {
        problems.error(createUnknownZone(timeZone));
        return false;
      }
      const { zones, calendars: exchangeCalendars } = findZones(rows, reference);
      const unknown = zones.indexOf(undefined);
      if (unknown >= 0) {
        const ownInstants = listInstants(rows, unknown, instants);
        problems.error(createZoneQuestion(ownInstants, rows.identifiers[unknown]!, calendars));
        return false;
      }
      const days = createZoneDays(instants, zones as readonly string[]); // every zone was found
      const conflict = findSessionConflict(rows, exchangeCalendars, instants, days);
      if (conflict !== undefined) {
        problems.error(createSessionConflict(conflict, zones[conflict.code]!, rows.identifiers[conflict.code]!));
        return false;
      }
      visitCodes(rows, (block, slot, code, position) => {
        rows.dayBlocks[block]![slot] = days(code, position);
      });
      return true;
    },
  };
}

const isZone = (zone: string) => isTimeZone(zone) || parseOffsetMinutes(zone) !== undefined;

const createUnknownZone = (zone: string): Problem => ({
  code: 'NOT_IN_CHOICES',
  path: TIME_ZONE_PATH,
  message: `${JSON.stringify(zone.slice(0, 80))} is neither a time zone, such as Asia/Tokyo, nor the code of a calendar, such as XTKS.`,
  value: zone,
});

/** Returns the exchange of a security at the last instant. */
function findExchange(
  identifier: string,
  instants: readonly number[],
  reference: ReferenceTable | undefined,
): string | undefined {
  if (reference === undefined) return undefined;
  const lastDay = Math.floor(instants.reduce((a, b) => Math.max(a, b)) / MS_PER_DAY);
  const exchange = readReference(reference, identifier, 'EXCHANGE', lastDay + 1);
  return typeof exchange === 'string' ? exchange : undefined;
}

/** Returns a function for the day of an instant in the zone of a security. Days are computed once for each zone. */
function createZoneDays(instants: readonly number[], zones: readonly string[]) {
  const daysByZone = new Map(
    [...new Set(zones)].map((zone) => [zone, Int32Array.from(instants, createDayReader(zone))]),
  );
  return (code: number, position: number): Day => daysByZone.get(zones[code]!)![position]!;
}

/** Calls a function for each row with an instant. @param visit receives the position of the instant */
function visitCodes(
  { codeBlocks, dayBlocks, rows }: DatedRows,
  visit: (block: number, slot: number, code: number, position: number) => void,
): void {
  for (let row = 0; row < rows; row++) {
    const [block, slot] = [row >>> BLOCK_BITS, row & (BLOCK_ROWS - 1)];
    const day = dayBlocks[block]![slot]!;
    const code = codeBlocks[block]![slot]!;
    if (day >= CODE_MIN && code >= 0) visit(block, slot, code, day - CODE_MIN);
  }
}

/** Returns the instants of one security, or all instants if its own are days in UTC. */
function listInstants(rows: DatedRows, of: number, instants: readonly number[]): readonly number[] {
  const positions = new Set<number>();
  visitCodes(rows, (_block, _slot, code, position) => {
    if (code === of) positions.add(position);
  });
  const ownInstants = [...positions].map((position) => instants[position]!);
  return ownInstants.some(isTimeOfDay) ? ownInstants : instants;
}

interface SessionConflict {
  readonly code: number;
  readonly count: number;
  readonly day: Day;
}

/**
 * Returns the bars that the time zone moves from sessions to other days, if no bar of the market is on
 * a day without a session in UTC. Without the calendar of its exchange, a security has sessions from Monday to Friday.
 */
function findSessionConflict(
  rows: DatedRows,
  calendars: readonly (Calendar | undefined)[],
  instants: readonly number[],
  days: (code: number, position: number) => Day,
): SessionConflict | undefined {
  const isClosed = (code: number, day: Day): boolean => {
    const calendar = calendars[code];
    if (calendar === undefined) return toWeekday(day) >= SATURDAY;
    return day >= calendar.coverage.from && day <= calendar.coverage.to && !calendar.isSession(day);
  };
  let closedInUtc = 0;
  let conflict: SessionConflict | undefined;
  visitCodes(rows, (_block, _slot, code, position) => {
    if (isClosed(code, Math.floor(instants[position]! / MS_PER_DAY))) closedInUtc += 1;
    const day = days(code, position);
    if (isClosed(code, day)) conflict = { code, day, ...conflict, count: (conflict?.count ?? 0) + 1 };
  });
  return closedInUtc === 0 ? conflict : undefined;
}

const createSessionConflict = ({ count, day }: SessionConflict, zone: string, identifier: string): Problem => ({
  code: 'NOT_A_SESSION',
  path: TIME_ZONE_PATH,
  message: `In the time zone ${zone}, ${count === 1 ? '1 bar is' : `${count} bars are`} on days without a session (the first is ${identifier} on ${formatDay(day)}); as days in UTC, every bar is on a session. State the time zone of the days as time_zone of the mapping (--time-zone), UTC for days in UTC.`,
  value: zone,
});

/** Position of Saturday among the weekdays. */
const SATURDAY = 5;

/** Returns the question for the time zone. It names the zones of exchanges in which every instant is midnight. */
function createZoneQuestion(
  instants: readonly number[],
  identifier: string,
  calendars: ZoneTerms['calendars'],
): Problem {
  const first = instants.find(isTimeOfDay)!; // otherwise the instants are days
  const zones = findMidnightZones(instants, calendars);
  const listed = zones.slice(0, LISTED_ZONES_MAX).join(', ');
  const remainder = zones.length > LISTED_ZONES_MAX ? ` and ${zones.length - LISTED_ZONES_MAX} more` : '';
  const midnightText = zones.length === 0 ? '' : ` Every instant is midnight in ${listed}${remainder}.`;
  const weekendDays = new Set(
    instants.map((ms) => Math.floor(ms / MS_PER_DAY)).filter((day) => toWeekday(day) >= SATURDAY),
  ).size;
  const weekendText = weekendDays === 0 ? '' : ` In UTC, ${weekendDays} of the days are on a weekend.`;
  return {
    code: 'REQUIRED',
    path: TIME_ZONE_PATH,
    message: `The dates are instants in UTC, such as ${new Date(first).toISOString()}, and their local day depends on the time zone of the exchange, which neither the data nor the reference column EXCHANGE states for ${identifier}.${midnightText}${weekendText} State time_zone of the mapping (--time-zone), for example Asia/Tokyo or XTKS.`,
    value: new Date(first).toISOString(),
    ...(zones.length === 0 ? {} : { accepted: zones }),
  };
}

/** Returns the time zones of exchanges in which every instant is midnight. */
function findMidnightZones(instants: readonly number[], calendars: ZoneTerms['calendars']): readonly string[] {
  const step = Math.max(1, Math.ceil(instants.length / TESTED_INSTANTS_MAX));
  const tested = instants.filter((_, i) => i % step === 0);
  const zones = new Set((calendars?.list() ?? []).map(({ tz }) => tz).filter((zone) => !isUtc(zone)));
  return [...zones]
    .filter((zone) => {
      const readDay = createDayReader(zone);
      return tested.every((ms) => toInstant({ day: readDay(ms), time: '00:00', zone }) === ms);
    })
    .toSorted();
}
