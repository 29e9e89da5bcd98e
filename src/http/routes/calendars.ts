import type { calendarRoutes } from '#contract/calendars.js';
import type { CalendarViews } from '#services/indices/calendars.js';
import type { Handlers } from '../handler.js';

export function createCalendarHandlers(calendars: CalendarViews): Handlers<typeof calendarRoutes> {
  return {
    listCalendars: () => ({ json: calendars.list() }),
    getSchedule: async ({ params, query }) => ({ json: await calendars.schedule(params.index_id, query) }),
  };
}
