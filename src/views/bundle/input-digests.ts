import { createHash, type Hash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay, type Day } from '#domain/time/days.js';

/**
 * SHA-256 digests of all inputs, by security and by date. If an input changed, the two together show which security and
 * date.
 */
export interface InputDigests {
  readonly securities: Readonly<Record<string, string>>;
  readonly dates: Readonly<Record<string, string>>;
}

/** Key for inputs without a date. */
export const ALWAYS = 'always';

/**
 * Computes the digests of all inputs.
 * @cost two passes of SHA-256 over the panels
 */
export function computeInputDigests(market: MarketData): InputDigests {
  const { identifiers, dates } = market;
  const names = new Map<string, Hash>(identifiers.map((identifier) => [identifier, createHash('sha256')]));
  const days = new Map<string, Hash>(Array.from(dates, (day) => [formatDay(day), createHash('sha256')]));
  hashPanels(market, names, days);
  const addRow = (table: string, identifier: string, day: Day | null, row: object): void => {
    const statement = `${toCanonicalJson([table, identifier, row])}\n`;
    getHash(names, identifier).update(statement);
    getHash(days, day === null ? ALWAYS : formatDay(day)).update(statement);
  };
  for (const [identifier, rows] of market.reference.rows)
    for (const { validFrom, values } of rows)
      addRow('reference', identifier, validFrom, { columns: market.reference.columns, values, validFrom });
  for (const action of market.actions) addRow('corporate_actions', action.identifier, action.exDay, action);
  for (const spell of market.universes) addRow('universes', spell.identifier, spell.start, spell);
  for (const { identifier, currency, name, days: seriesDays, closes } of market.series?.values() ?? []) {
    addRow('series', identifier, null, { currency, name });
    seriesDays.forEach((day, i) => addRow('series', identifier, day, [day, closes[i]!]));
  }
  return { securities: formatHex(names), dates: formatHex(days) };
}

function hashPanels(
  { identifiers, dates, fields }: MarketData,
  names: Map<string, Hash>,
  days: Map<string, Hash>,
): void {
  const width = identifiers.length;
  const series = new Float64Array(dates.length);
  for (const [field, panel] of fields) {
    identifiers.forEach((identifier, column) => {
      for (let t = 0; t < dates.length; t++) series[t] = panel[t * width + column]!;
      names.get(identifier)!.update(field).update(series);
    });
    dates.forEach((day, t) => {
      days
        .get(formatDay(day))!
        .update(field)
        .update(panel.slice(t * width, (t + 1) * width));
    });
  }
}

function getHash(hashes: Map<string, Hash>, key: string): Hash {
  let hash = hashes.get(key);
  if (hash === undefined) hashes.set(key, (hash = createHash('sha256')));
  return hash;
}

const formatHex = (hashes: ReadonlyMap<string, Hash>): Record<string, string> =>
  Object.fromEntries(
    [...hashes].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, hash]) => [key, hash.digest('hex')]),
  );

/** Returns the keys whose digests differ, in ascending order. A key that exists on one side only is included. */
export function findDifferingKeys(
  statedDigests: Readonly<Record<string, string>>,
  actualDigests: Readonly<Record<string, string>>,
): readonly string[] {
  const keys = new Set([...Object.keys(statedDigests), ...Object.keys(actualDigests)]);
  return [...keys].filter((key) => statedDigests[key] !== actualDigests[key]).toSorted();
}
