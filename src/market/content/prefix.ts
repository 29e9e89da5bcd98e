import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { ContentDigests } from '#domain/market/handle.js';
import type { Adjustment, MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { BLOCK_DAYS, DIGEST_BYTES } from '../panels/day-blocks.js';
import { computeHistoryDigest } from './history.js';

/**
 * Identifies all data of a market up to a day: prices, actions, reference values and memberships.
 */
export interface MarketPrefix {
  readonly day: Day;
  readonly adjustment: Adjustment;
  /** Currency that the store declares; null if it declares none. */
  readonly currency: string | null;
  /** SHA-256 (hex) over identifiers, field names and reference columns. */
  readonly axes: string;
  /** Number of days with a bar up to the day. */
  readonly rows: number;
  /** Digests of the panels and the tables for each complete block of days. */
  readonly blocks: Uint8Array;
  readonly history: Uint8Array;
  /** SHA-256 of the panels and of the tables for the days after the last complete block. */
  readonly rest: Uint8Array;
  readonly restHistory: Uint8Array;
}

/**
 * Returns the latest ex-date up to which a market may lack cash actions when its prefix is computed. Returns -Infinity
 * if there is none.
 */
export function findSettledDay({ dates }: Pick<MarketData, 'dates'>, day: Day): number {
  return findLastCompleteDay(dates, day) ?? -Infinity;
}

/** Returns the last day of the last complete block up to a day. */
function findLastCompleteDay(dates: Int32Array, day: Day): number | undefined {
  return dates[countWholeBlocks(findLastAtMost(dates, day) + 1) * BLOCK_DAYS - 1];
}

/**
 * Returns the prefix of a market up to a day. Markets with equal prefixes are bit-identical up to that day.
 * @param digests of the whole market.
 * @cost a pass over fewer than 64 days and over the tables, once for the runs of a market that end on the same day
 */
export function createPrefix(market: MarketData, digests: ContentDigests, day: Day): MarketPrefix {
  const rows = findLastAtMost(market.dates, day) + 1;
  const wholeBlocks = countWholeBlocks(rows);
  return {
    day,
    rows,
    adjustment: market.adjustment,
    currency: market.currency ?? null,
    blocks: digests.blocks.slice(0, wholeBlocks * DIGEST_BYTES),
    history: digests.history.slice(0, wholeBlocks * DIGEST_BYTES),
    ...getRest(market, day),
  };
}

/** Parts of a prefix that are hashed from the market. */
type PrefixRest = Pick<MarketPrefix, 'axes' | 'rest' | 'restHistory'>;

/**
 * Maximum number of days whose hashes are cached. Extending a run needs the day on which it ended and the new last day.
 */
const DAYS_MAX = 4;

/** Cached prefixes of the most recently requested days. */
const restsByMarket = new WeakMap<MarketData, Map<Day, PrefixRest>>();

function getRest(market: MarketData, day: Day): PrefixRest {
  let restsByDay = restsByMarket.get(market);
  if (restsByDay === undefined) restsByMarket.set(market, (restsByDay = new Map()));
  const result = restsByDay.get(day) ?? hashRemainder(market, day);
  restsByDay.delete(day);
  restsByDay.set(day, result);
  if (restsByDay.size > DAYS_MAX) restsByDay.delete(restsByDay.keys().next().value!);
  return result;
}

function hashRemainder(market: MarketData, day: Day): PrefixRest {
  const { dates, fields, identifiers } = market;
  const rows = findLastAtMost(dates, day) + 1;
  const names = [...fields.keys()].toSorted(compareText);
  const from = countWholeBlocks(rows) * BLOCK_DAYS;
  const restHash = createHash('sha256').update(dates.subarray(from, rows));
  for (const name of names)
    restHash.update(fields.get(name)!.subarray(from * identifiers.length, rows * identifiers.length));
  return {
    axes: hashAxes(market),
    rest: restHash.digest(),
    restHistory: computeHistoryDigest(market, { after: findLastCompleteDay(dates, day), to: day }),
  };
}

/** Returns the SHA-256 (hex) over identifiers, field names and reference columns. */
export function hashAxes({ identifiers, fields, reference }: Pick<MarketData, 'identifiers' | 'fields' | 'reference'>) {
  const [names, columns] = [[...fields.keys()], reference.columns].map((list) => list.toSorted(compareText));
  return createHash('sha256')
    .update(toCanonicalJson({ identifiers, fields: names, columns }))
    .digest('hex');
}

/** Short form of a prefix, stored across restarts. */
export interface PrefixMark {
  readonly day: Day;
  readonly axes: string;
  readonly rows: number;
  /** SHA-256 (hexadecimal) over the digests of the prefix. It does not depend on the declared price basis. */
  readonly hash: string;
}

/** Returns the mark of a prefix. @cost equal to that of the prefix */
export function computePrefixMark(market: MarketData, digests: ContentDigests, day: Day): PrefixMark {
  const { axes, rows, blocks, history, rest, restHistory } = createPrefix(market, digests, day);
  const hash = createHash('sha256').update(blocks).update(history).update(rest).update(restHistory).digest('hex');
  return { day, axes, rows, hash };
}

function countWholeBlocks(rows: number): number {
  return Math.floor(rows / BLOCK_DAYS);
}

/** Returns the kind of the first difference between two prefixes. Returns null if they are equal. */
export function comparePrefixes(a: MarketPrefix, b: MarketPrefix): 'names' | 'history' | null {
  if (a.axes !== b.axes) return 'names';
  const hasSameNames =
    a.day === b.day &&
    a.adjustment === b.adjustment &&
    a.currency === b.currency &&
    a.rows === b.rows &&
    (['blocks', 'history', 'rest', 'restHistory'] as const).every((part) => isEqual(a[part], b[part]));
  return hasSameNames ? null : 'history';
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Returns true if reference values that take effect after a day could change results before the day. This happens in
 * two cases: a security without earlier values is no longer treated as an exchange rate, or a currency in which nothing
 * traded becomes part of a pair.
 */
export function changesEarlierDays({ reference: { columns, rows } }: MarketData, day: Day): boolean {
  const currencyColumn = columns.indexOf('CURRENCY');
  for (const spells of rows.values()) {
    const last = spells.at(-1);
    if (last === undefined || last.validFrom === null || last.validFrom <= day) continue;
    const referenceRows = spells.filter(({ validFrom }) => validFrom === null || validFrom <= day);
    if (referenceRows.length === 0) return true;
    if (
      currencyColumn >= 0 &&
      spells.some(({ values }) => values[currencyColumn] !== referenceRows.at(-1)!.values[currencyColumn])
    )
      return true;
  }
  return false;
}
