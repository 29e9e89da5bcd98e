import '../../components/badge.css';
import './calendar.css';
import type { EventsView } from '#clients/typescript/divisor.js';
import { Section } from '../../components/layout/page.js';
import { useList } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatWeekday } from '../../words/dates.js';
import { formatEvent, formatEventKind, getEventColour } from './event-kinds.js';

type Event = EventsView['events'][number];

export const EventBadge = ({ event }: { readonly event: Event }) => (
  <span class={`inline-line gap-1 small second one-line badge ${getEventColour(event)}`}>{formatEventKind(event)}</span>
);

/**
 * Maximum number of entries shown, and maximum number of indices named per entry. An entry is one kind of event on one
 * day.
 */
const SHOWN_MAX = 6;
const NAMED_MAX = 3;

export function Coming() {
  const events = useList('events coming');
  const { data } = events;
  if (data === undefined || data.events.length === 0) return null;
  return (
    <Section title="Coming up" aside={<a href="/console/calendar">Calendar</a>}>
      <ComingDays events={data.events} />
    </Section>
  );
}

interface ComingDaysProps {
  readonly events: readonly Event[];
  readonly shown?: number;
}

/** Renders the next days with events. Each kind of event lists its indices or exchanges. */
export const ComingDays = ({ events, shown = SHOWN_MAX }: ComingDaysProps) => (
  <ul class="pile bare-list coming">
    {groupByDay(events)
      .slice(0, shown)
      .map(([first, ...others]) => (
        <li key={`${first.date} ${first.kind}`}>
          <span class="date">
            {first.date} <span class="quiet">{formatWeekday(first.date)}</span>
          </span>
          <EventBadge event={first} />
          <Of events={[first, ...others]} />
        </li>
      ))}
  </ul>
);

function Of({ events }: { readonly events: readonly Event[] }) {
  const moreCount = events.length - NAMED_MAX;
  return (
    <span>
      {events.slice(0, NAMED_MAX).map((event, k) => (
        <span key={event.index_id ?? event.calendar}>
          {k > 0 && ', '}
          {event.index_id === null ? (
            `${event.calendar} ${formatEvent(event)}`
          ) : (
            <a href={formatIndexAddress(event.index_id)}>{event.index_id}</a>
          )}
        </span>
      ))}
      {moreCount > 0 && ` and ${moreCount} more`}
    </span>
  );
}

/** Groups events of the same kind and day. The events must be sorted by date and kind. */
function groupByDay(events: readonly Event[]): readonly (readonly [Event, ...Event[]])[] {
  const days = new Map<string, [Event, ...Event[]]>();
  for (const event of events) {
    const key = `${event.date} ${event.kind}`;
    const knownDay = days.get(key);
    if (knownDay === undefined) days.set(key, [event]);
    else knownDay.push(event);
  }
  return [...days.values()];
}
