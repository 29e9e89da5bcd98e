import type { EventsView } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';

export type EventKind = Event['kind'];

type Event = EventsView['events'][number];

/** Returns the summary of an event without its calendar: the name of a holiday, the hours of a half day. */
export const wordsOf = ({ calendar, summary }: Pick<Event, 'calendar' | 'summary'>): string =>
  summary.startsWith(`${calendar}: `) ? summary.slice(`${calendar}: `.length) : summary;

/** Colours of the kinds of events, in the order of a day. */
export const KINDS_OF_BADGES: Readonly<Record<EventKind, Kind>> = {
  holiday: 'plain',
  closure: 'bad',
  announcement: 'info',
  effective: 'good',
  expiry: 'warning',
};

export const EVENT_KINDS = Object.keys(KINDS_OF_BADGES) as readonly EventKind[]; // Object.keys returns plain strings.
