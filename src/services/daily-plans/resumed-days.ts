import type { Calendars } from '#domain/calendars/calendar.js';
import type { DayDocument } from '#domain/daily-plans/day-document.js';
import { parseValidDay } from '#domain/time/days.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { ScheduleReader } from './schedules.js';
import { hasEnded, readDay, type StoredDays } from './stored-days.js';

export interface ResumedDaysDependencies {
  readonly documents: DocumentStore;
  readonly schedules: Pick<ScheduleReader, 'ids'>;
  readonly days: Pick<StoredDays, 'state' | 'changeIn'>;
  readonly now: () => number;
}

/**
 * Makes open days due immediately. A running day becomes due when its round ends. @returns true if any day became due
 */
export async function resumeDays(
  { documents, schedules, days, now }: ResumedDaysDependencies,
  isAwaited: (day: DayDocument) => boolean,
): Promise<boolean> {
  let isDue = false;
  for (const id of await schedules.ids())
    for (const date of (await days.state(id)).open) {
      const isWaiting = (day: DayDocument | undefined): day is DayDocument =>
        day !== undefined && !hasEnded(day) && isAwaited(day);
      if (!isWaiting(await readDay(documents, id, date))) continue;
      isDue = true;
      await documents.transaction(async (tx) => {
        const day = await readDay(tx, id, date);
        if (isWaiting(day)) await days.changeIn(tx, { ...day, next_attempt_at: formatTimestamp(now()) });
      });
    }
  return isDue;
}

/**
 * Returns a test for days that an approval can affect: a day with a step that waits for the approval, and a running
 * day, which may start to wait for it.
 */
export const waitsForApproval =
  (approvalId: number) =>
  ({ state, steps }: DayDocument): boolean =>
    state === 'running' ||
    steps.some(({ items }) =>
      items.some(({ code, detail }) => code === 'APPROVAL_REQUIRED' && detail?.['approval_id'] === approvalId),
    );

/** Returns a test for days on which the exchange of their schedule has no session. */
export const isWithoutSession =
  (code: string, calendars: Pick<Calendars, 'get'>) =>
  ({ plan, date }: DayDocument): boolean =>
    plan.calendar === code && calendars.get(code)?.isSession(parseValidDay(date)) === false;
