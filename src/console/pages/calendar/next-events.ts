import type { EventsView } from '#clients/typescript/divisor.js';
import { EVENT_KINDS, type EventKind } from './event-kinds.js';

type Event = EventsView['events'][number];

/**
 * Returns the next events of each kind from a day on: the first event with the other events of its kind on its date. The
 * earliest is first.
 */
export function groupNextEvents<E extends Pick<Event, 'date' | 'kind'>>(
  events: readonly E[],
  today: string,
): readonly (readonly [E, ...E[]])[] {
  const nextByKind = new Map<EventKind, [E, ...E[]]>();
  for (const event of events) {
    if (event.date < today) continue;
    const next = nextByKind.get(event.kind);
    if (next === undefined || event.date < next[0].date) nextByKind.set(event.kind, [event]);
    else if (event.date === next[0].date) next.push(event);
  }
  return [...nextByKind.values()].toSorted(
    ([a], [b]) => a.date.localeCompare(b.date) || EVENT_KINDS.indexOf(a.kind) - EVENT_KINDS.indexOf(b.kind),
  );
}
