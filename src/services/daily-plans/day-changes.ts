import type { DocumentStore } from '#store/port.js';
import { formatDayId } from './stored-days.js';

/** Changes of days by any process. */
export interface DayChanges {
  /** Begins to watch a day: no later change is missed. */
  watch(scheduleId: string, date: string): DayWatch;
  close(): void;
}

export interface DayWatch {
  /** Resolves at the next change, or after `waitMs`. */
  next(waitMs: number, signal: AbortSignal): Promise<void>;
}

/** Maximum wait for the notification of a change: an outage of the database may lose a notification. */
const NOTIFICATION_MS = 5_000;

export function followDayChanges(documents: Pick<DocumentStore, 'subscribe'>): DayChanges {
  const watching = new Map<string, Set<() => void>>();
  const end = documents.subscribe('day-changed', ({ schedule_id: scheduleId, date }) => {
    for (const notify of watching.get(formatDayId(scheduleId, date)) ?? []) notify();
  });
  return {
    close: end,
    watch(scheduleId, date) {
      const key = formatDayId(scheduleId, date);
      let hasChanged = false;
      let wake = (): void => {};
      const notify = (): void => {
        hasChanged = true;
        wake();
      };
      const watchers = watching.get(key) ?? new Set();
      watching.set(key, watchers.add(notify));
      return {
        next: (waitMs, signal) =>
          new Promise((resolve) => {
            const timer = setTimeout(finish, Math.max(0, Math.min(waitMs, NOTIFICATION_MS)));
            function finish(): void {
              clearTimeout(timer);
              signal.removeEventListener('abort', finish);
              watchers.delete(notify);
              if (watchers.size === 0 && watching.get(key) === watchers) watching.delete(key);
              resolve();
            }
            wake = finish;
            signal.addEventListener('abort', finish);
            if (hasChanged || signal.aborted) finish();
          }),
      };
    },
  };
}
