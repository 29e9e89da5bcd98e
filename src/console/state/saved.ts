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

/** Note about a day or a period of an index. It is stored in this browser. */
export interface Note {
  readonly id: string;
  /** Subject of the note, for example the id of an index. */
  readonly subject: string;
  readonly from: string;
  /** Last day of a period; null for a single day. */
  readonly to: string | null;
  readonly text: string;
}

/** Maximum number of notes per browser. */
const NOTES_MAX = 500;

const { items: all, set: keep } = createStoredList<Note>('divisor.notes', NOTES_MAX);

/** Returns the notes about a subject, sorted by date. */
export const listNotes = (subject: string): readonly Note[] =>
  all.value.filter((note) => note.subject === subject).toSorted((a, b) => (a.from < b.from ? -1 : 1));

export const addNote = (note: Omit<Note, 'id'>): void => keep([...all.peek(), { ...note, id: crypto.randomUUID() }]);

export const removeNote = (id: string): void => keep(all.peek().filter((note) => note.id !== id));

/** Address of the console that is saved under a name. */
export interface SavedView {
  readonly name: string;
  readonly address: string;
}

const VIEWS_MAX = 100;

const { items: viewItems, set: setViews } = createStoredList<SavedView>('divisor.views', VIEWS_MAX);

/** Views saved in this browser. */
export const savedViews = viewItems;

/** Saves a view. If a saved view has the same name, it is replaced. */
export const saveView = (view: SavedView): void =>
  setViews([...viewItems.peek().filter(({ name }) => name !== view.name), view]);

export const removeView = (name: string): void => setViews(viewItems.peek().filter((view) => view.name !== name));
