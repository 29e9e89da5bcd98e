import { setImmediate } from 'node:timers/promises';
import type { EventsQuery, EventsView } from '#contract/calendars.js';
import { assertOrder } from '#domain/base/schema.js';
import { type Calendars, describeChange } from '#domain/calendars/calendar.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { compareText } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import {
  EVENT_KINDS,
  type EventWindow,
  type IndexSchedule,
  listEarlyCloses,
  listExpiries,
  listHolidays,
  listRebalanceEvents,
} from '#domain/definition/index-schedule.js';
import type { Listing } from '#store/port.js';
import type { Context } from '../shared/context.js';
import { addUnreadable, countSkipped } from '../shared/documents.js';
import { requireIndex } from './documents.js';

export interface Events {
  /** Lists dated events. @throws Refusal INVALID_RANGE, VALIDATION_FAILED; INDEX_NOT_FOUND, DOCUMENT_UNREADABLE for a requested index */
  list(query: EventsQuery): Promise<EventsView>;
}

type Event = EventsView['events'][number];

/**
 * Maximum number of events in a response. It is enough for 200 indices with monthly reviews over two years; a calendar
 * file then has 3 MB.
 */
const EVENTS_MAX = 10_000;

/** Maximum length of a window in days. */
const DAYS_MAX = 3660;

/** Number of indices whose dates are computed in one turn of the event loop: about 10 ms. */
const INDICES_PER_TURN = 32;

const EVENT_KIND_NAMES = Object.keys(EVENT_KINDS);

/**
 * @param computeSchedule returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE for an
 * underlying index
 * @param today returns the current day in UTC
 */
export function createEvents(
  { documents, calendars }: Context,
  computeSchedule: (document: IndexDocument) => Promise<IndexSchedule>,
  today: () => Day,
): Events {
  async function readIndices(ids: readonly string[]): Promise<Listing<IndexDocument>> {
    if (ids.length === 0) return documents.list('index', readIndex);
    const indexDocuments = await Promise.all(ids.map(async (id) => (await requireIndex(documents, id)).document));
    return { documents: indexDocuments, ...countSkipped([]) };
  }

  /**
   * Returns the schedule of an index. Returns null if the index has no schedule because an underlying index was
   * deleted.
   */
  const readSchedule = (index: IndexDocument): Promise<IndexSchedule | null> =>
    computeSchedule(index).catch((failure: unknown) => {
      if (failure instanceof Refusal) return null;
      throw failure;
    });

  return {
    async list({ from: firstDate, to: lastDate, index_ids: ids, kinds }) {
      const window = createWindow({ first: firstDate, last: lastDate }, today());
      const { documents: indices, ...skippedIndices } = await readIndices(ids);
      const events: Event[] = [];
      for (const [at, stored] of indices.entries()) {
        const schedule = calendars.get(stored.calendar) === undefined ? null : await readSchedule(stored);
        if (schedule !== null) events.push(...listEvents(stored, window, schedule));
        if (at % INDICES_PER_TURN === INDICES_PER_TURN - 1) await setImmediate();
      }
      const codes = [...new Set(indices.map(({ calendar }) => calendar))].toSorted(compareText);
      const coverage = codes.flatMap((code) => calendars.get(code)?.coverage ?? []);
      for (const code of codes) events.push(...listExchangeEvents(code, window, calendars));
      const selectedEvents = events
        .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
        .toSorted(compareEvents);
      return {
        from: formatDay(window.from),
        to: formatDay(window.to),
        indices: indices.length,
        events: selectedEvents.slice(0, EVENTS_MAX),
        covered_from: coverage.length === 0 ? null : formatDay(Math.max(...coverage.map(({ from }) => from))),
        covered_to: coverage.length === 0 ? null : formatDay(Math.min(...coverage.map(({ to }) => to))),
        events_total: selectedEvents.length,
        ...addUnreadable(skippedIndices, 0),
      };
    },
  };
}

/** Returns the window of a request. @throws Refusal INVALID_RANGE; VALIDATION_FAILED for a window that is too long */
function createWindow(
  { first, last }: { readonly first: string | undefined; readonly last: string | undefined },
  today: Day,
): EventWindow {
  const from = first === undefined ? today : parseValidDay(first);
  const to = last === undefined ? from + LIMITS.SCHEDULE_LOOKAHEAD_DAYS : parseValidDay(last);
  assertOrder({ start: formatDay(from), end: formatDay(to) }, ['from', 'to']);
  if (to - from > DAYS_MAX)
    throw refuseWithFindings('query', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        message: `from ${formatDay(from)} to ${formatDay(to)} is ${to - from} days (limit ${DAYS_MAX}).`,
        path: 'to',
      },
    ]);
  return { from, to };
}

function listEvents({ id, name }: IndexDocument, window: EventWindow, schedule: IndexSchedule) {
  return listRebalanceEvents(window, schedule).map(({ day, kind, effective, cause, rule, calendar }): Event => {
    const eventText = kind === 'effective' ? 'rebalance effective' : `composition of ${formatDay(effective)} decided`;
    return {
      date: formatDay(day),
      kind,
      index_id: id,
      calendar,
      effective: formatDay(effective),
      cause,
      rule,
      summary: `${name}: ${eventText}${rule === null ? '' : ` after a breach of ${rule}`}`,
    };
  });
}

function listExchangeEvents(code: string, window: EventWindow, calendars: Calendars): Event[] {
  const calendar = calendars.get(code);
  if (calendar === undefined) return [];
  const createEvent = (kind: Event['kind'], summary: string) => (day: Day) => ({
    date: formatDay(day),
    kind,
    index_id: null,
    calendar: code,
    effective: null,
    cause: null,
    rule: null,
    summary: `${code}: ${summary}`,
  });
  const { from, to } = window;
  const recordedChanges = (calendar.recorded?.changes ?? []).filter(
    ({ date }) => parseValidDay(date) >= from && parseValidDay(date) <= to,
  );
  const recordedDays = new Set(recordedChanges.map(({ date }) => parseValidDay(date)));
  return [
    ...listHolidays(window, calendar)
      .filter((day) => !recordedDays.has(day))
      .map((day) => createEvent('holiday', calendar.closureOn?.(day) ?? 'closed')(day)),
    ...listEarlyCloses(window, calendar)
      .filter(({ day }) => !recordedDays.has(day))
      .map(({ day, closes, name }) => createEvent('early_close', `closes ${closes}: ${name}`)(day)),
    ...recordedChanges.map((change) => createEvent('closure', describeChange(change))(parseValidDay(change.date))),
    ...listExpiries(window, calendar).map(createEvent('expiry', 'index futures expire')),
  ];
}

function compareEvents(a: Event, b: Event): number {
  return (
    compareText(a.date, b.date) ||
    EVENT_KIND_NAMES.indexOf(a.kind) - EVENT_KIND_NAMES.indexOf(b.kind) ||
    compareText(a.index_id ?? a.calendar, b.index_id ?? b.calendar)
  );
}
