import { createStoredList } from './stored-list.js';

/** Address of the console that is saved under a name. */
export interface SavedView {
  readonly name: string;
  readonly address: string;
}

const VIEWS_MAX = 100;

const { items, set } = createStoredList<SavedView>('divisor.views', VIEWS_MAX);

/** Views saved in this browser. */
export const savedViews = items;

/** Saves a view. If a saved view has the same name, it is replaced. */
export const saveView = (view: SavedView): void =>
  set([...items.peek().filter(({ name }) => name !== view.name), view]);

export const removeView = (name: string): void => set(items.peek().filter((view) => view.name !== name));
