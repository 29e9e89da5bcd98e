import { createStoredList } from './kept.js';

/** Address of the console with a name. */
export interface SavedView {
  readonly name: string;
  readonly address: string;
}

const VIEWS_MAX = 100;

const { items, set } = createStoredList<SavedView>('divisor.views', VIEWS_MAX);

/** Views that were saved in this browser. */
export const savedViews = items;

/** Saves an address, replacing one with the same name. */
export const saveView = (view: SavedView): void =>
  set([...items.peek().filter(({ name }) => name !== view.name), view]);

export const removeView = (name: string): void => set(items.peek().filter((view) => view.name !== name));
