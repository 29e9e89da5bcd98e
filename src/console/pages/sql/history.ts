import { createStoredList } from '../../state/kept.js';

/** A query that was answered. */
export interface PastQuery {
  readonly query: string;
  readonly at: string;
  readonly rows: number;
  readonly seconds: number;
}

const QUERIES_MAX = 50;

const { items, set } = createStoredList<PastQuery>('divisor.sql', QUERIES_MAX);

/** Answered queries of this browser, the newest last. */
export const pastQueries = items;

/** Adds a query; an earlier one with the same text is removed. */
export const noteQuery = (past: PastQuery): void =>
  set([...items.peek().filter(({ query }) => query !== past.query), past]);

export const forgetQueries = (): void => set([]);
