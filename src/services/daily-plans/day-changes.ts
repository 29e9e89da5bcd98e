import type { DocumentStore } from '#store/port.js';
import { formatDayId } from './stored-days.js';

/** Changes of days by any process. */
export interface DayChanges {
  /** Starts to watch a day. The caller sees every change after this call. */
  watch(scheduleId: string, date: string): DayWatch;
  close(): void;
}

export interface DayWatch {
  /** Resolves at the next change, or after `waitMs`. */
  next(waitMs: number, signal: AbortSignal): Promise<void>;
}

/**
 * Maximum wait in ms for a notification of a change. After this time the day is read again, because a database outage
 * can lose a notification.
 */
const NOTIFICATION_MS = 5_000;

export function followDayChanges(documents: Pick<DocumentStore, 'subscribe'>): DayChanges {
  const watchersByDay = new Map<string, Set<() => void>>();
  const unsubscribe = documents.subscribe('day-changed', ({ schedule_id: scheduleId, date }) => {
    for (const notify of watchersByDay.get(formatDayId(scheduleId, date)) ?? []) notify();
  });
  return {
    close: unsubscribe,
    watch(scheduleId, date) {
      const key = formatDayId(scheduleId, date);
      let hasChanged = false;
      let wake = (): void => {};
      const notify = (): void => {
        hasChanged = true;
        wake();
      };
      const watchers = watchersByDay.get(key) ?? new Set();
      watchersByDay.set(key, watchers.add(notify));
      return {
        next: (waitMs, signal) =>
          new Promise((resolve) => {
            const timer = setTimeout(stopWaiting, Math.max(0, Math.min(waitMs, NOTIFICATION_MS)));
            function stopWaiting(): void {
              clearTimeout(timer);
              signal.removeEventListener('abort', stopWaiting);
              watchers.delete(notify);
              if (watchers.size === 0 && watchersByDay.get(key) === watchers) watchersByDay.delete(key);
              resolve();
            }
            wake = stopWaiting;
            signal.addEventListener('abort', stopWaiting);
            if (hasChanged || signal.aborted) stopWaiting();
          }),
      };
    },
  };
}
