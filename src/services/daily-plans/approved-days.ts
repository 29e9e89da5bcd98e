import type { DayDocument } from '#domain/daily-plans/day-document.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { ScheduleReader } from './schedules.js';
import { hasEnded, readDay, type StoredDays } from './stored-days.js';

export interface ApprovedDaysDependencies {
  readonly documents: DocumentStore;
  readonly schedules: Pick<ScheduleReader, 'ids'>;
  readonly days: Pick<StoredDays, 'state' | 'changeIn'>;
  readonly now: () => number;
}

/** Makes the days due whose steps wait for an approval. @returns true if there is one */
export async function resumeApproved(
  { documents, schedules, days, now }: ApprovedDaysDependencies,
  approvalId: number,
): Promise<boolean> {
  let isDue = false;
  for (const id of await schedules.ids())
    for (const date of (await days.state(id)).open) {
      const isWaiting = (day: DayDocument | undefined): day is DayDocument =>
        day !== undefined && !hasEnded(day) && day.state !== 'running' && waitsFor(day, approvalId);
      if (!isWaiting(await readDay(documents, id, date))) continue;
      isDue = true;
      await documents.transaction(async (tx) => {
        const day = await readDay(tx, id, date);
        if (isWaiting(day)) await days.changeIn(tx, { ...day, next_attempt_at: formatTimestamp(now()) });
      });
    }
  return isDue;
}

const waitsFor = ({ steps }: DayDocument, approvalId: number): boolean =>
  steps.some(({ items }) =>
    items.some(({ code, detail }) => code === 'APPROVAL_REQUIRED' && detail?.['approval_id'] === approvalId),
  );
