import { keptList } from './kept.js';

/** A page that was seen. */
interface Visit {
  readonly address: string;
  readonly text: string;
}

const RECENT_MAX = 6;

const { items, set } = keptList<Visit>('divisor.visits', RECENT_MAX);

/** Pages seen, the newest last. */
export const recent = items;

export function noteVisit(visit: Visit): void {
  set([...items.peek().filter(({ address }) => address !== visit.address), visit]);
}
