import { keptList } from './kept.js';

/** Chart, table or figures of a page on the dashboard. */
export interface Pin {
  readonly id: string;
  /** Address of its page, with the range and other choices. */
  readonly address: string;
  readonly part: string;
  /** Title of its page. */
  readonly page: string;
  /** Number of dashboard columns that it occupies. */
  readonly width: 1 | 2 | 3;
}

export const PINS_MAX = 24;

const { items, set } = keptList<Pin>('divisor.dashboard', PINS_MAX);

export const pins = items;
export const setPins = set;

export const pin = (one: Pick<Pin, 'address' | 'part' | 'page'>): void =>
  set([...items.peek(), { ...one, id: crypto.randomUUID(), width: 1 }]);
