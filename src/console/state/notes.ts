import { createStoredList } from './stored-list.js';

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
