import { createStoredList } from './kept.js';

/** Note on a day or a period of an index, stored in this browser. */
export interface Note {
  readonly id: string;
  /** Subject: the id of an index, for example. */
  readonly subject: string;
  readonly from: string;
  /** Last day of a period; null for a single day. */
  readonly to: string | null;
  readonly text: string;
}

/** Notes of a browser. */
const NOTES_MAX = 500;

const { items: all, set: keep } = createStoredList<Note>('divisor.notes', NOTES_MAX);

/** Notes about something, the earliest day first. */
export const notesOf = (subject: string): readonly Note[] =>
  all.value.filter((note) => note.subject === subject).toSorted((a, b) => (a.from < b.from ? -1 : 1));

export const addNote = (note: Omit<Note, 'id'>): void => keep([...all.peek(), { ...note, id: crypto.randomUUID() }]);

export const removeNote = (id: string): void => keep(all.peek().filter((note) => note.id !== id));
