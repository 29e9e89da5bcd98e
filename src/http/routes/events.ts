import { EVENT_FORMATS, type eventRoutes, type EventsView } from '#contract/events.js';
import { dayFrom, type Day } from '#domain/days.js';
import type { Events } from '#services/indices/events.js';
import { icalendar } from '#views/icalendar.js';
import type { Handlers } from '../handler.js';

export function eventHandlers(events: Events, today: () => Day): Handlers<typeof eventRoutes> {
  return {
    async listEvents({ query, media: accepted }) {
      const media = query.format === undefined ? accepted : EVENT_FORMATS[query.format];
      const found = await events.list(query);
      if (media === EVENT_FORMATS.json) return { json: found };
      const bytes = new TextEncoder().encode(icalendarOf(found, today()));
      return {
        bytes,
        type: `${media}; charset=utf-8`,
        headers: { 'Content-Disposition': 'attachment; filename="divisor-events.ics"' },
      };
    },
  };
}

function icalendarOf({ events }: EventsView, today: Day): string {
  return icalendar(
    'Divisor: index events',
    today,
    events.map(({ date, kind, index_id: indexId, calendar, effective, summary }) => ({
      uid: `${date}-${kind}-${indexId ?? calendar}${kind === 'announcement' ? `-${effective}` : ''}@divisor`,
      day: dayFrom(date),
      summary,
      category: kind,
    })),
  );
}
