import type { EventsView } from '#clients/typescript/divisor.js';
import { formatKind, getColour } from './event-kinds.js';
import '../../components/badge.css';
import './calendar.css';

type Event = EventsView['events'][number];

/** Renders the kind of an event in its colour. */
export const EventBadge = ({ event }: { readonly event: Event }) => (
  <span class={`badge ${getColour(event)}`}>{formatKind(event)}</span>
);
