import { createHash, type Hash } from 'node:crypto';
import { compareText } from '#domain/refusals/findings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import { BLOCK_DAYS, DIGEST_BYTES, type CachedBlockDigests } from '../panels/day-blocks.js';

/**
 * Fact about one day from the tables of a store. It is an action, a reference value that takes effect, or a membership
 * that begins or ends.
 */
interface Fact {
  /** Day of the fact; -Infinity if it has always applied. */
  readonly day: number;
  readonly text: string;
}

type Tables = Pick<MarketData, 'dates' | 'reference' | 'actions' | 'universes' | 'series'>;

/**
 * Returns a SHA-256 for each block of days over the facts about its days. Two stores with equal digests up to a block
 * have equal facts about every day up to its end. Memberships never overlap, so that their start and end dates up to a
 * day describe them completely.
 * @param cachedBlockDigests digests to reuse.
 * @cost O(rows of the tables)
 */
export function computeHistoryDigests(
  { dates, ...tables }: Tables,
  cachedBlockDigests?: CachedBlockDigests,
): Uint8Array {
  const blocks = Math.ceil(dates.length / BLOCK_DAYS);
  if (blocks === 0) return new Uint8Array(0); // a refresh may add tables but no bars
  const wholeBlocks = cachedBlockDigests === undefined ? 0 : Math.floor(cachedBlockDigests.days / BLOCK_DAYS); // the last block may have gained days
  const lastHashedDay = wholeBlocks === 0 ? -Infinity : dates[wholeBlocks * BLOCK_DAYS - 1]!;
  const lastDays = Int32Array.from(
    { length: blocks },
    (_, block) => dates[Math.min(dates.length, (block + 1) * BLOCK_DAYS) - 1]!,
  );
  const hashes = Array.from({ length: blocks }, () => createHash('sha256'));
  for (const { day, text } of iterateFacts(tables, {
    after: wholeBlocks === 0 ? undefined : lastHashedDay,
    to: lastDays.at(-1) ?? -Infinity,
  }))
    hashes[findFirstAtLeast(lastDays, day)]!.update(text);
  lastDays.forEach((to, block) =>
    hashSeries(hashes[block]!, tables, { after: block === 0 ? undefined : lastDays[block - 1]!, to }),
  );
  const digests = new Uint8Array(blocks * DIGEST_BYTES);
  hashes.forEach((hash, block) => digests.set(hash.digest(), block * DIGEST_BYTES));
  if (cachedBlockDigests !== undefined) digests.set(cachedBlockDigests.digests.subarray(0, wholeBlocks * DIGEST_BYTES));
  return digests;
}

/** Returns the SHA-256 of the facts and series values within a span of days. */
export function computeHistoryDigest(tables: Omit<Tables, 'dates'>, span: Span): Uint8Array {
  const hash = createHash('sha256');
  for (const { text } of iterateFacts(tables, span)) hash.update(text);
  hashSeries(hash, tables, span);
  return hash.digest();
}

/** Adds the values of series within a span to a hash, with the attributes of each series. */
function hashSeries(hash: Hash, { series }: Pick<Tables, 'series'>, { after, to }: Span): void {
  for (const { identifier, currency, name, days, closes } of series?.values() ?? []) {
    const [first, last] = [after === undefined ? 0 : findLastAtMost(days, after) + 1, findLastAtMost(days, to) + 1];
    if (first < last)
      hash
        .update(JSON.stringify([identifier, currency, name, last - first]))
        .update(days.subarray(first, last))
        .update(closes.subarray(first, last));
  }
}

interface Span {
  /** Start of the span, exclusive. Default: no start; includes values that have always been in effect. */
  readonly after: number | undefined;
  readonly to: number;
}

/** Yields the facts within a span: actions, reference values and memberships, each in the order of their table. */
function* iterateFacts({ reference, actions, universes }: Omit<Tables, 'dates'>, { after, to }: Span): Generator<Fact> {
  const isWithin = (day: number): boolean => day <= to && (after === undefined || day > after);
  for (const action of actions) {
    const { identifier, type, exDay, payDay, announcedDay, related, subscriptionPrice } = action;
    const value = action.isUnpriced ? null : action.value;
    // Treats an announced action as paid, because a paid action was announced earlier. Both statuses give the same
    // figures.
    const status = action.status === 'announced' ? 'paid' : action.status;
    const { scripRatio, electionDay, electionDefault } = action;
    const election = [scripRatio, electionDay, electionDefault];
    const cashMembers = action.cash === undefined ? [] : [{ cash: action.cash }];
    if (isWithin(exDay))
      yield {
        day: exDay,
        text: JSON.stringify([
          identifier,
          type,
          value,
          exDay,
          payDay,
          status,
          announcedDay,
          related,
          subscriptionPrice,
          ...(election.every((term) => term === undefined) ? [] : election),
          ...cashMembers,
        ]),
      };
  }
  const columns = reference.columns.toSorted(compareText);
  const columnPositions = columns.map((column) => reference.columns.indexOf(column));
  for (const identifier of [...reference.rows.keys()].toSorted(compareText)) {
    for (const { validFrom, values } of reference.rows.get(identifier)!) {
      const day = validFrom ?? -Infinity;
      if (isWithin(day))
        yield {
          day,
          text: JSON.stringify([identifier, validFrom, columns, columnPositions.map((place) => values[place] ?? null)]),
        };
    }
  }
  for (const { universe, identifier, start, end } of universes) {
    const day = start ?? -Infinity;
    if (isWithin(day)) yield { day, text: JSON.stringify([universe, identifier, 'in', start]) };
    if (end !== null && isWithin(end)) yield { day: end, text: JSON.stringify([universe, identifier, 'out', end]) };
  }
}
