import { createStoredList } from './stored-list.js';

/** A visited page. */
interface Visit {
  /** Path with the data store that was chosen, if any. */
  readonly address: string;
  readonly text: string;
}

const RECENT_MAX = 30;

const { items, set } = createStoredList<Visit>('divisor.visits', RECENT_MAX);

/** Visited pages, newest last. */
export const recentVisits = items;

/** Adds a visit. It replaces an earlier visit of the same page, also with another data store. */
export function addVisit(visit: Visit): void {
  set([...items.peek().filter((other) => getVisitedPath(other) !== getVisitedPath(visit)), visit]);
}

export const getVisitedPath = ({ address }: Visit): string => address.replace(/\?.*/, '');

const INDEX_PAGE = /^\/console\/indices\/([^/?]+)/;

/** Returns the id whose page was visited last. If none was visited, returns the first id. */
export function findLastVisit(ids: readonly string[]): string | undefined {
  const seenIds = items.peek().flatMap(({ address }) => INDEX_PAGE.exec(address)?.[1] ?? []);
  return seenIds.map(decodeURIComponent).findLast((id) => ids.includes(id)) ?? ids[0];
}
