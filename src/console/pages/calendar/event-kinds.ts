import type { EventsView } from '#clients/typescript/divisor.js';

export type EventKind = Event['kind'];

type Event = EventsView['events'][number];

/** Returns the summary of an event without the name of its calendar, for example the name of a holiday. */
export const formatEvent = ({ calendar, summary }: Pick<Event, 'calendar' | 'summary'>): string =>
  summary.startsWith(`${calendar}: `) ? summary.slice(`${calendar}: `.length) : summary;

export const formatKindName = (kind: EventKind): string => kind.replaceAll('_', ' ');

/**
 * Returns the kind of an event. A recorded change that is not a closure has the kind of the change, such as `early
 * close`.
 */
export function formatEventKind({ kind, ...event }: Pick<Event, 'kind' | 'calendar' | 'summary'>): string {
  const change = /^(opens|closes|additional session)/.exec(kind === 'closure' ? formatEvent(event) : '')?.[0];
  return change === undefined ? formatKindName(kind) : (CHANGE_WORDS[change] ?? change);
}

const CHANGE_WORDS: Readonly<Record<string, string>> = { opens: 'late opening', closes: 'early close' };

/** Colour of an event. An expiry has its own colour. */
type EventColour = 'plain' | 'good' | 'warning' | 'bad' | 'info' | 'expiry';

/** Colours by kind of event, in the order in which a day lists its events. */
export const EVENT_COLOURS: Readonly<Record<EventKind, EventColour>> = {
  holiday: 'plain',
  early_close: 'warning',
  closure: 'bad',
  announcement: 'info',
  effective: 'good',
  expiry: 'expiry',
};

/** Returns the colour of an event. Only a closed day is red. */
export const getEventColour = (event: Pick<Event, 'kind' | 'calendar' | 'summary'>): EventColour =>
  event.kind === 'closure' && formatEventKind(event) !== 'closure' ? 'warning' : EVENT_COLOURS[event.kind];

export const EVENT_KINDS = Object.keys(EVENT_COLOURS) as readonly EventKind[]; // Object.keys returns plain strings.

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
