import type { eventRoutes, EventsView } from '#contract/events.js';
import { JSON_TYPE } from '#contract/media-formats.js';
import { parseValidDay, type Day } from '#domain/time/days.js';
import type { Events } from '#services/indices/events.js';
import { formatCalendar } from '#views/icalendar.js';
import type { Handlers } from '../handler.js';

export function createEventHandlers(events: Events, today: () => Day): Handlers<typeof eventRoutes> {
  return {
    async listEvents({ query, media }) {
      const result = await events.list(query);
      if (media === JSON_TYPE) return { json: result };
      const bytes = new TextEncoder().encode(formatIcalendar(result, today()));
      return {
        bytes,
        type: `${media}; charset=utf-8`,
        headers: { 'Content-Disposition': 'attachment; filename="divisor-events.ics"' },
      };
    },
  };
}

function formatIcalendar(view: EventsView, today: Day): string {
  const { events, from, to, covered_from: coveredFrom, covered_to: coveredTo } = view;
  const coverage =
    coveredFrom === null
      ? ''
      : ` All calendars of the indices cover ${coveredFrom} to ${coveredTo}: outside, events are missing.`;
  const description = `Events from ${from} to ${to}.${coverage}`;
  return formatCalendar(
    { name: 'Divisor: index events', description, stamp: today },
    events.map(({ date, kind, index_id: indexId, calendar, effective, summary }) => ({
      uid: `${date}-${kind}-${indexId ?? calendar}${kind === 'announcement' ? `-${effective}` : ''}@divisor`,
      day: parseValidDay(date),
      summary: formatSummary(summary, indexId),
      category: kind,
    })),
  );
}

/**
 * Adds the id of the index to the summary. Several indices can have the same name, and a calendar entry shows nothing
 * else about the index.
 */
function formatSummary(summary: string, indexId: string | null): string {
  return indexId === null || summary.startsWith(`${indexId}: `) ? summary : `${summary} (${indexId})`;
}
