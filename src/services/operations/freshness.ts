import type { Health } from '#contract/health.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { createStoreFinder } from '#domain/documents/store-of-documents.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { formatDay, parseDay } from '#domain/time/days.js';
import { toLocalDay } from '#domain/time/local-time.js';
import type { DocumentStore } from '#store/port.js';
import { readDataset } from '../stored/dataset-documents.js';

type Freshness = Health['freshness'];

/** Function that compares the data stores in use with their calendars. */
export type FreshnessReader = (served: Pick<Health['store'], 'active' | 'end'>) => Promise<Freshness>;

interface FreshnessDependencies {
  readonly documents: Pick<DocumentStore, 'list'>;
  readonly calendars: Calendars;
  /** Returns the current time in ms since 1970. */
  readonly now: () => number;
}

/**
 * Maximum age in ms of a comparison. Health is requested every few seconds, and a comparison reads every index; another
 * index or session then appears within a minute.
 */
const KEPT_MS = 60_000;

/**
 * Creates a reader of the newest dates of the served store and of each store that an index names. Each store is compared
 * with the calendars of its indices. A comparison is repeated after a minute, and if the served data changes.
 */
export function createFreshnessReader(dependencies: FreshnessDependencies): FreshnessReader {
  let cached: { readonly key: string; readonly until: number; readonly freshness: Freshness } | undefined;
  return async ({ active, end }) => {
    const time = dependencies.now();
    const key = `${active} ${end}`;
    if (cached?.key !== key || cached.until <= time)
      cached = { key, until: time + KEPT_MS, freshness: await compareStores(dependencies, { active, end }, time) };
    return cached.freshness;
  };
}

async function compareStores(
  { documents, calendars }: FreshnessDependencies,
  { active, end }: Parameters<FreshnessReader>[0],
  time: number,
): Promise<Freshness> {
  const { documents: indices } = await documents.list('index', readIndex);
  const findStoreOf = createStoreFinder(new Map(indices.map((index) => [index.id, index])));
  const uses = indices.flatMap(({ id, calendar }) => {
    const storeId = findStoreOf(id) ?? active;
    return storeId === null ? [] : [{ storeId, calendar }];
  });
  const { documents: stores } = await documents.list('store', readDataset);
  const ends = new Map(stores.map(({ store_id: id, end: lastDate }) => [id, lastDate]));
  if (active !== null) ends.set(active, end);
  const pairs = new Map(uses.map((use) => [`${use.storeId} ${use.calendar}`, use]));
  return [...pairs]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, { storeId, calendar: code }]) => {
      const calendar = calendars.get(code);
      const dataThrough = ends.get(storeId) ?? null;
      const lastDay = dataThrough === null ? undefined : parseDay(dataThrough);
      if (calendar === undefined || dataThrough === null || lastDay === undefined) return [];
      const { sessions, tz } = calendar;
      const latest = findLastAtMost(sessions, toLocalDay(tz, time) - 1); // the current day may still trade
      const latestDay = sessions[latest];
      if (latestDay === undefined) return [];
      return [
        {
          store_id: storeId,
          calendar: code,
          data_through: dataThrough,
          latest_session: formatDay(latestDay),
          sessions_behind: Math.max(0, latest - findLastAtMost(sessions, lastDay)),
        },
      ];
    });
}
