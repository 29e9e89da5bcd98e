import { createStoredList } from '../../state/stored-list.js';

/** A successfully answered query. */
export interface PastQuery {
  readonly query: string;
  readonly at: string;
  readonly rows: number;
  readonly seconds: number;
}

const QUERIES_MAX = 50;

const { items, set } = createStoredList<PastQuery>('divisor.sql', QUERIES_MAX);

/** Answered queries of this browser, newest last. */
export const pastQueries = items;

/** Adds a query to the history. If the history already has the same text, the earlier entry is removed. */
export const addQuery = (past: PastQuery): void =>
  set([...items.peek().filter(({ query }) => query !== past.query), past]);

export const forgetQueries = (): void => set([]);
