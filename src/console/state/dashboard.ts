import { createStoredList } from './stored-list.js';
import { formatKeptAddress } from './stores.js';
import { showToast } from './toasts.js';

/** Chart, table or group of figures that is pinned to the dashboard. */
export interface Pin {
  readonly id: string;
  /** Address of the page from which it was pinned, with the data store, the range and other settings. */
  readonly address: string;
  readonly part: string;
  /** Title of the original page. */
  readonly page: string;
  /** Width in thirds of the dashboard. */
  readonly width: 1 | 1.5 | 2 | 3;
}

export const PINS_MAX = 24;

const PLACE = 'divisor.dashboard';
const { items, set } = createStoredList<Pin>(PLACE, PINS_MAX);

export const pins = items;
export const setPins = set;

/** Returns true if the user has pinned something or removed everything. */
export const isArranged = (): boolean => localStorage.getItem(PLACE) !== null;

/** Pins a part of the current page with its data store, its range and other settings. */
export function pinPart(part: string, width: Pin['width'] = 1): void {
  addPin({
    address: formatKeptAddress(),
    part,
    page: document.title.replace(/ · Divisor$/, ''),
    width,
  });
  showToast('good', `${part} was pinned to the dashboard.`);
}

/** Appends a part of any page to the dashboard. */
export const addPin = (pin: NewPin): void => set([...items.peek(), createPin(pin)]);

export type NewPin = Omit<Pin, 'id'>;

export const createPin = (pin: NewPin): Pin => ({ id: crypto.randomUUID(), ...pin });
