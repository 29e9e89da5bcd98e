import type { EventsView } from '#clients/typescript/divisor.js';
import type { BadgeKind } from '../../components/badge.js';

export type EventKind = Event['kind'];

type Event = EventsView['events'][number];

/** Returns the summary of an event without the name of its calendar, for example the name of a holiday. */
export const formatEvent = ({ calendar, summary }: Pick<Event, 'calendar' | 'summary'>): string =>
  summary.startsWith(`${calendar}: `) ? summary.slice(`${calendar}: `.length) : summary;

/**
 * Returns the kind of an event. A recorded change that is not a closure has the kind of the change, such as `early
 * close`.
 */
export function formatKind({ kind, ...event }: Pick<Event, 'kind' | 'calendar' | 'summary'>): string {
  const change = /^(opens|closes|additional session)/.exec(kind === 'closure' ? formatEvent(event) : '')?.[0];
  return change === undefined ? kind : (CHANGE_WORDS[change] ?? change);
}

const CHANGE_WORDS: Readonly<Record<string, string>> = { opens: 'late opening', closes: 'early close' };

/** Badge colours by kind of event, in the order in which a day lists its events. */
export const KINDS_OF_BADGES: Readonly<Record<EventKind, BadgeKind>> = {
  holiday: 'plain',
  closure: 'bad',
  announcement: 'info',
  effective: 'good',
  expiry: 'warning',
};

/** Returns the badge colour of an event. Only a closed day is red. */
export const getBadge = (event: Pick<Event, 'kind' | 'calendar' | 'summary'>): BadgeKind =>
  event.kind === 'closure' && formatKind(event) !== 'closure' ? 'warning' : KINDS_OF_BADGES[event.kind];

export const EVENT_KINDS = Object.keys(KINDS_OF_BADGES) as readonly EventKind[]; // Object.keys returns plain strings.
