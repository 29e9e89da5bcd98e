import type { EventsView } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';

export type EventKind = Event['kind'];

type Event = EventsView['events'][number];

/** Returns the summary of an event without the name of its calendar, for example the name of a holiday. */
export const wordsOf = ({ calendar, summary }: Pick<Event, 'calendar' | 'summary'>): string =>
  summary.startsWith(`${calendar}: `) ? summary.slice(`${calendar}: `.length) : summary;

/** Badge colours by kind of event, in the order in which a day lists its events. */
export const KINDS_OF_BADGES: Readonly<Record<EventKind, Kind>> = {
  holiday: 'plain',
  closure: 'bad',
  announcement: 'info',
  effective: 'good',
  expiry: 'warning',
};

export const EVENT_KINDS = Object.keys(KINDS_OF_BADGES) as readonly EventKind[]; // Object.keys returns plain strings.
