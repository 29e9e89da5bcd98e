import type { DayDocument, ScheduleState } from '#domain/daily-plans/day-document.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { DocumentStore } from '#store/port.js';
import { formatDayId, readDay, readState } from './stored-days.js';

/** Number of days that are checked in one transaction. */
const DAYS_PER_TRANSACTION = 50;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

export interface PruneTerms {
  readonly scheduleId: string;
  /** Number of days to keep files after the end of a day; null keeps files permanently. */
  readonly keepDays: number | null;
  /** Today's date, YYYY-MM-DD. */
  readonly today: string;
}

/**
 * Removes the files of days that ended more than `keepDays` ago. The names, sizes and hashes of the files remain. Runs
 * once a day.
 * @cost a read of each older day that may still have files
 */
export async function pruneFiles(documents: DocumentStore, { scheduleId, keepDays, today }: PruneTerms): Promise<void> {
  if (keepDays === null) return;
  const { files_from: from, pruned_on: prunedOn } = await readState(documents, scheduleId);
  if (prunedOn === today) return;
  const cutoffDate = formatDay(parseValidDay(today) - keepDays);
  /** Oldest session whose files are kept. */
  let oldestDate = from !== undefined && from > cutoffDate ? from : cutoffDate;
  for (let dayLimit = parseValidDay(cutoffDate); ;) {
    const page = await documents.numbers('schedule-day', scheduleId, { below: dayLimit, limit: DAYS_PER_TRANSACTION });
    const dates = page.map(formatDay).filter((date) => from === undefined || date >= from);
    await documents.transaction(async (tx) => {
      for (const date of dates) {
        // The files of an unreadable day are kept.
        const day = await readDay(tx, scheduleId, date).catch(() => undefined);
        if (day === undefined || !hasFiles(day)) continue;
        const isOld = day.finished_at !== null && day.finished_at.slice(0, DATE_LENGTH) < cutoffDate;
        if (isOld) await tx.put('schedule-day', formatDayId(scheduleId, date), removeFiles(day));
        else oldestDate = date;
      }
    });
    if (dates.length < DAYS_PER_TRANSACTION) break;
    dayLimit = page.at(-1)!;
  }
  await documents.transaction(async (tx) => {
    const state: ScheduleState = await readState(tx, scheduleId);
    // A day may have been performed again meanwhile.
    const files_from = state.files_from !== from && state.files_from !== undefined ? state.files_from : oldestDate;
    await tx.put('schedule-state', scheduleId, { ...state, files_from, pruned_on: today });
  });
}

const hasFiles = ({ steps }: DayDocument): boolean =>
  steps.some(({ items }) => items.some(({ artifact }) => artifact !== null));

const removeFiles = (day: DayDocument): DayDocument => ({
  ...day,
  steps: day.steps.map((step) => ({ ...step, items: step.items.map((item) => ({ ...item, artifact: null })) })),
});
