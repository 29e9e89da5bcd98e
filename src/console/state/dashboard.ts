import { createStoredList } from './kept.js';
import { addressOf, place } from './place.js';
import { say } from './toasts.js';

/** A chart, table or group of figures that is pinned to the dashboard. */
export interface Pin {
  readonly id: string;
  /** Address of the original page, including the range and other settings. */
  readonly address: string;
  readonly part: string;
  /** Title of the original page. */
  readonly page: string;
  /** Number of dashboard columns that it occupies. */
  readonly width: 1 | 2 | 3;
}

export const PINS_MAX = 24;

const { items, set } = createStoredList<Pin>('divisor.dashboard', PINS_MAX);

export const pins = items;
export const setPins = set;

/** Pins a part of the current page, including the range and other settings. */
export function pinPart(part: string, width: Pin['width'] = 1): void {
  const { path, query } = place.peek();
  addPin({
    address: addressOf(path, Object.fromEntries(query)),
    part,
    page: document.title.replace(/ · Divisor$/, ''),
    width,
  });
  say('good', `${part} was pinned to the dashboard.`);
}

/** Appends a part of any page to the dashboard. */
export const addPin = (pin: Omit<Pin, 'id'>): void => set([...items.peek(), { id: crypto.randomUUID(), ...pin }]);
