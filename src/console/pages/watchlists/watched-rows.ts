import { useRef } from 'preact/hooks';
import { useResource } from '../../state/resource.js';
import { getChosenStore } from '../../state/stores.js';
import { readYears, type YearPrices } from '../names/last-year.js';
import type { Row, Security } from './watched-columns.js';

/** Maximum number of securities whose prices are read. Each needs a request. */
export const PRICED_MAX = 100;

/** A security of a watchlist without its prices. */
export type ListedSecurity = Pick<Row, keyof Security | 'isMissing'>;

/** Returns securities in the order of their identifiers. Securities that are not in the data store have no values. */
export function listSecurities(all: readonly Security[], identifiers: readonly string[]): readonly ListedSecurity[] {
  const rowById = new Map(all.map((row) => [row.identifier, row]));
  return identifiers.map((identifier) => {
    const row = rowById.get(identifier);
    return { ...(row ?? { ...UNKNOWN, identifier }), isMissing: row === undefined };
  });
}

const UNKNOWN = { name: null, start: null, end: null, sector: null, currency: null, close: null, market_cap: null };

/** Reads the last year of the first securities. Years that were already read are not requested again. */
export function usePricedRows(securities: readonly ListedSecurity[]): readonly Row[] {
  const store = getChosenStore();
  const pricedSecurities = securities.filter(({ isMissing }) => !isMissing).slice(0, PRICED_MAX);
  const read = useRef(new Map<string, YearPrices>());
  const formatKey = ({ identifier, end }: Security) => `${store} ${identifier} ${end}`;
  const years = useResource(
    `years ${pricedSecurities.map(formatKey).join(' ')}`,
    async (signal) => {
      const missing = pricedSecurities.filter((security) => !read.current.has(formatKey(security)));
      const missingYears = await readYears(missing, signal, store);
      for (const security of missing) {
        const year = missingYears.get(security.identifier);
        if (year !== undefined) read.current.set(formatKey(security), year);
      }
      return new Map(pricedSecurities.flatMap((one) => listEntries(one.identifier, read.current.get(formatKey(one)))));
    },
    { follows: false },
  );
  const isAwaited = years.data === undefined && years.trouble === null;
  const pricedIds = new Set(pricedSecurities.map(({ identifier }) => identifier));
  return securities.map((security): Row => {
    const year = years.data?.get(security.identifier) ?? read.current.get(formatKey(security));
    return { ...security, year, isAwaited: isAwaited && year === undefined && pricedIds.has(security.identifier) };
  });
}

const listEntries = (identifier: string, year: YearPrices | undefined): readonly (readonly [string, YearPrices])[] =>
  year === undefined ? [] : [[identifier, year]];
