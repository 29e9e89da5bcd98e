import type { CalendarList, ScheduleQuery, ScheduleView } from '#contract/calendars.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import {
  type CalendarOption,
  type Calendars,
  ClosuresDocument,
  RecordedClosures,
  type UsedCalendars,
} from '#domain/calendars/calendar.js';
import { createCalendarFileName, type LiveCalendars } from '#domain/calendars/exchange-calendars.js';
import { listReviews, listDatedTexts } from '#domain/definition/amendments.js';
import { findBreachRule } from '#domain/definition/compliance.js';
import { type IndexDocument, isOverlayDocument, listSources } from '#domain/definition/index-document.js';
import {
  type Cadence,
  type IndexSchedule,
  type ScheduleDate,
  selectScheduleAround,
  type TriggeredRebalance,
} from '#domain/definition/index-schedule.js';
import { readIndex } from '#domain/definition/index-validation.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { DEFAULT_REVIEW, RebalanceSpec } from '#domain/definition/schedule.js';
import { readLastVersion } from '#store/history/history.js';
import { type DocumentReader, type DocumentStore, parseStored } from '#store/port.js';
import type { Context, FollowingCalendars } from '../shared/context.js';

/**
 * Id of the document with the changed sessions of all calendars. It is written together with the document of each
 * calendar.
 */
export const ALL_CLOSURES = 'all';

/**
 * Returns the changed sessions of all calendars without their hours, in the format of plans. Returns undefined if no
 * changes are recorded.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export async function readRecordedClosures(reader: Pick<DocumentReader, 'get'>): Promise<RecordedClosures | undefined> {
  const storedDocument = await reader.get('recorded-closures', ALL_CLOSURES);
  if (storedDocument === undefined) return undefined;
  const closures = parseStored(storedDocument, RecordedClosures);
  if (closures !== undefined) return closures;
  throw new Refusal('DOCUMENT_UNREADABLE', 'The recorded changes of calendars cannot be read; record them again.');
}

/**
 * Applies recorded changes to calendars whenever they change. @param onFailure called when the changes of an event are
 * unreadable
 */
export function followClosures(
  documents: DocumentStore,
  calendars: LiveCalendars,
  onFailure: (cause: unknown) => void,
): FollowingCalendars {
  const listeners = new Set<(code: string) => void>();
  let last: Promise<void> = Promise.resolve();
  const followClosure = (): Promise<void> => {
    const read = () => applyRecordedClosures(documents, calendars);
    last = last.then(read, read);
    return last;
  };
  documents.subscribe('closures-recorded', ({ calendar: code }) => {
    followClosure().then(() => listeners.forEach((listener) => listener(code)), onFailure);
  });
  return {
    ...calendars,
    follow: followClosure,
    onFollowed(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Applies the recorded changes; unreadable changes are not applied. */
async function applyRecordedClosures(documents: DocumentStore, calendars: LiveCalendars): Promise<void> {
  const { documents: closures } = await documents.list('closures', (body, id) => {
    const document = ClosuresDocument.safeParse(body).data;
    return document && { id, changes: document.changes };
  });
  const byId = new Map(calendars.list().map(({ code }) => [createCalendarFileName(code), code]));
  const recordedClosures: RecordedClosures = {};
  for (const { id, changes } of closures) {
    const code = byId.get(id);
    const version = await readLastVersion(documents, { kind: 'closures', id });
    if (code !== undefined) recordedClosures[code] = { version: Math.max(1, version), changes };
  }
  calendars.record(recordedClosures);
}

export interface CheckedStore {
  readonly datasetId: string;
  /** True if indices without a store use the store: it is active, or will be. */
  readonly isActive: boolean;
}

/**
 * Returns the calendars of the indices that use a store, ordered by code, with their recorded changes. Changes that are
 * unreadable are left out. @cost reads every stored index
 */
export async function readCalendarsInUse(
  documents: Pick<DocumentStore, 'list' | 'get'>,
  { datasetId, isActive }: CheckedStore,
): Promise<UsedCalendars> {
  const { documents: definitions } = await documents.list('index', readIndex);
  const codes = definitions
    .filter(({ store_id: storeId = null }) => (storeId === null ? isActive : storeId === datasetId))
    .map(({ calendar }) => calendar);
  const closures = await readRecordedClosures(documents).catch(() => undefined);
  return { codes: [...new Set(codes)].toSorted(), ...(closures && { closures }) };
}

interface StoredSchedule extends IndexSchedule {
  readonly frequency: RebalanceSpec['frequency'];
}

/**
 * Creates the schedules of indices. A rule-based or derived index has its own schedule. An overlay has the schedules of
 * its underlying indices, and a blend has both. Rebalances that a breach triggered in the latest run are included.
 * @param readIndex returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE
 * @param findIndexRun returns the latest run of an index; undefined if the index was never run
 */
export function createIndexSchedules(
  calendars: Calendars,
  readIndex: (indexId: string) => Promise<IndexDocument>,
  findIndexRun: (indexId: string) => Promise<RunDocument | undefined>,
) {
  const createCadence = (document: IndexDocument, rebalance: RebalanceSpec): Cadence => {
    const calendar = calendars.get(document.calendar);
    if (calendar === undefined)
      throw new Error(`the index ${document.id} uses the calendar ${document.calendar}, which is not known`);
    return { rebalance, calendar };
  };

  /**
   * Returns the review schedules of an index: those of its original text and those of each amended text. Each schedule
   * covers the dates on which the index follows the text.
   */
  function listReviewCadences(index: IndexDocument): Cadence[] {
    const texts = listDatedTexts(index);
    return texts.flatMap(({ document, from, amendment }, k) => {
      const span = { from, until: texts[k + 1]?.from ?? Infinity };
      const reviews = listReviews(document).map(({ id, document: { rebalance } }) => ({
        ...createCadence(document, rebalance),
        isFurther: id !== DEFAULT_REVIEW,
        ...(texts.length === 1 ? {} : span),
      }));
      return amendment?.rebalance === true
        ? [...reviews, createDateCadence(document, amendment.effective_from)]
        : reviews;
    });
  }

  /**
   * Returns the schedule of an amendment that takes effect at once and does not wait for a review. It has only the date
   * of the amendment.
   */
  function createDateCadence(document: IndexDocument, date: string): Cadence {
    const { effective_lag } = document.rebalance;
    const rebalance = RebalanceSpec.parse({ frequency: 'custom', dates: [date], effective_lag, roll: 'following' });
    return { ...createCadence(document, rebalance), isFurther: true };
  }

  /**
   * Returns the rebalances that breaches triggered, if the definition permits them. If an underlying index was never
   * run, they come from the run of the index that contains it.
   */
  async function readCalledRebalances(document: IndexDocument, topId: string): Promise<readonly TriggeredRebalance[]> {
    const rule = findBreachRule(document)?.name ?? null;
    if (rule === null) return [];
    const run = (await findIndexRun(document.id)) ?? (await findIndexRun(topId));
    return (run?.called ?? []).map(({ decision, effective }) => ({
      decision: parseValidDay(decision),
      effective: parseValidDay(effective),
      rule,
    }));
  }

  /** Returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE for an underlying index */
  return async function scheduleOf(document: IndexDocument): Promise<StoredSchedule> {
    const cadences: Cadence[] = [];
    const triggeredRebalances: TriggeredRebalance[] = [];
    const visitedIds = new Set<string>();
    let baseDate = document.base_date;
    async function visitIndex(index: IndexDocument): Promise<void> {
      if (visitedIds.has(index.id)) return;
      visitedIds.add(index.id);
      if (index.base_date > baseDate) baseDate = index.base_date;
      if (!isOverlayDocument(index)) {
        cadences.push(...listReviewCadences(index));
        triggeredRebalances.push(...(await readCalledRebalances(index, document.id)));
        return;
      }
      if (index.overlay.type === 'blend') cadences.push(createCadence(index, index.overlay.rebalance));
      for (const id of listSources(index)) await visitIndex(await readIndex(id));
    }
    await visitIndex(document);
    if (cadences.length === 0) cadences.push(createCadence(document, document.rebalance));
    return {
      baseDay: parseValidDay(baseDate),
      cadences,
      called: triggeredRebalances,
      frequency: cadences[0]!.rebalance.frequency,
    };
  };
}

/** Code of the calendar that forms preselect. */
export const DEFAULT_CALENDAR = 'XNYS';

/** Calendars and schedules as clients see them. */
export interface CalendarViews {
  list(): CalendarList;
  schedule(indexId: string, query: ScheduleQuery): Promise<ScheduleView>;
  /**
   * Returns the first effective date after a day (YYYY-MM-DD). Returns null if the index was deleted, or if no later
   * date is known.
   */
  nextRebalance(indexId: string, after: string): Promise<string | null>;
  /** Returns the first effective date after a day that is today or later. Returns null like `nextRebalance`. */
  comingRebalance(indexId: string, after: string): Promise<string | null>;
}

/**
 * @param readSchedule returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE
 * @param today returns the current day in UTC
 */
export function createCalendarViews(
  { calendars }: Context,
  readSchedule: (indexId: string) => Promise<StoredSchedule>,
  today: () => Day,
): CalendarViews {
  const listing: CalendarList = { calendars: calendars.list().map(toOption), default: DEFAULT_CALENDAR };

  async function findFirstAfter(indexId: string, asOf: Day): Promise<string | null> {
    const schedule = await readSchedule(indexId).catch(ignoreRefusal);
    const [next] = schedule === null ? [] : selectScheduleAround({ schedule, asOf, limit: 1 }).upcoming;
    return next === undefined ? null : formatDay(next.date);
  }

  return {
    list: () => listing,
    nextRebalance: (indexId, after) => findFirstAfter(indexId, parseValidDay(after)),
    comingRebalance: (indexId, after) => findFirstAfter(indexId, Math.max(parseValidDay(after), today() - 1)),
    async schedule(indexId, query) {
      const asOf = parseAsOf(query) ?? today();
      const schedule = await readSchedule(indexId);
      const { recent, upcoming, lookaheadEnd } = selectScheduleAround({ schedule, asOf, limit: query.limit });
      const hasLag = schedule.cadences.some(({ rebalance }) => isNoticed(rebalance));
      return {
        index_id: indexId,
        as_of: formatDay(asOf),
        calendar: schedule.cadences[0]!.calendar.code,
        frequency: schedule.frequency,
        recent: recent.map(({ date }) => formatDay(date)),
        upcoming: upcoming.map(({ date }) => formatDay(date)),
        lookahead_end: formatDay(lookaheadEnd),
        ...(hasLag ? { announcements: listAnnouncements([...recent, ...upcoming]) } : {}),
      };
    },
  };
}

/** Returns true if a schedule announces rebalances before they become effective. */
function isNoticed({ effective_lag: lag, reference, announcement }: RebalanceSpec): boolean {
  return lag > 0 || reference !== undefined || announcement !== undefined;
}

/** Returns null for a refusal: a deleted or unreadable definition has no schedule. */
function ignoreRefusal(failure: unknown): null {
  if (failure instanceof Refusal) return null;
  throw failure;
}

function toOption({
  code,
  name,
  region,
  tz,
  coverage,
  sources = [],
}: CalendarOption): CalendarList['calendars'][number] {
  const { from, publishedTo, to } = coverage;
  return {
    code,
    name,
    region,
    tz,
    coverage: { from: formatDay(from), published_to: formatDay(publishedTo), to: formatDay(to) },
    sources: [...sources],
  };
}

function parseAsOf({ asof, as_of }: ScheduleQuery): Day | undefined {
  if (asof !== undefined && as_of !== undefined && asof !== as_of) {
    const message = `asof is ${asof} and as_of is ${as_of}; they are two names of one date.`;
    throw refuseWithFindings('query', [{ severity: 'error', code: 'BAD_DATE', message, path: 'as_of', value: as_of }]);
  }
  const text = asof ?? as_of;
  return text === undefined ? undefined : parseValidDay(text);
}

/** Returns the announcements by effective date, ascending. */
function listAnnouncements(dates: readonly ScheduleDate[]): Record<string, string> {
  const sortedDates = dates.toSorted((a, b) => a.date - b.date);
  return Object.fromEntries(sortedDates.map(({ date, announcement }) => [formatDay(date), formatDay(announcement)]));
}
