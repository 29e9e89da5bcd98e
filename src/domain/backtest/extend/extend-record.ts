import type { DatedSeries } from '../../analytics/relative.js';
import type { Numbers } from '../../numbers/number-types.js';
import { memberOf, type Extending } from '../record/field.js';
import { isPlace, lengthOf, poolsBehind, type AddedNumbers, type StoredNumbers } from '../record/places.js';
import { assertFinite } from '../record/pack.js';
import { readDescription, type Description } from '../record/read.js';
import type { RecordedGaps, RecordedPricing } from '../record/rows.js';
import { BOOK, GAPS, PLAIN, PRICING, REST } from '../record/schema.js';
import type { AddedRecord } from '../record/sources.js';

/** The record of an extended run: a description that refers to stored and to appended arrays. */
export interface ExtendedRecord {
  readonly description: Uint8Array;
  /** Numbers appended to the pools. */
  readonly added: AddedNumbers;
  readonly identifiers: readonly string[];
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
  /** Levels of an external benchmark on all of its dates. */
  readonly benchmark: DatedSeries | null;
  /** Levels of the parent of a derived index on all of its dates. */
  readonly parent: DatedSeries | null;
}

export interface ExtendRecordInput {
  readonly stored: StoredNumbers;
  /** The stored description. */
  readonly description: Uint8Array;
  readonly market: readonly string[];
  readonly added: Omit<AddedRecord, 'before' | 'dates'>;
}

/**
 * @throws CannotResume when portfolio and index begin or cease to hold the same
 * @cost O(H) for each new session, and the description
 */
export function extendRecord({ stored, description, market, added }: ExtendRecordInput): ExtendedRecord {
  const before = readDescription(description);
  const into = extending(stored, before, market);
  const { pools, identifiers } = into;
  const datesOf = (member: 'target' | 'optimised' | 'benchmark'): number => {
    const days = memberOf(memberOf(before.rest, member), 'days');
    return isPlace(days) ? lengthOf(days) : 0;
  };
  const source = {
    ...added,
    dates: stored.dates,
    before: { target: datesOf('target'), optimised: datesOf('optimised'), benchmark: datesOf('benchmark') },
  };
  const plain = PLAIN.extend(before.plain, source, into);
  const rest = REST.extend(before.rest, source, into);
  for (const array of pools.added.f64) assertFinite(array);
  const text = JSON.stringify({ identifiers, plain, rest } satisfies Description);
  return { description: new TextEncoder().encode(text), added: pools.added, identifiers, ...summaryIn(rest, into) };
}

/** Gaps, pricing, benchmark and parent of the whole run, for its summary. */
function summaryIn(
  rest: unknown,
  { pools }: Extending,
): Pick<ExtendedRecord, 'gaps' | 'pricing' | 'benchmark' | 'parent'> {
  const reading = {
    numbers: pools.read,
    portfolioFrame(): never {
      throw new Error('gaps, pricing and levels have no weights');
    },
  };
  const levelsOf = (book: unknown): DatedSeries => ({
    days: BOOK.fields.days.read(memberOf(book, 'days'), reading),
    values: BOOK.fields.levels.read(memberOf(book, 'levels'), reading),
  });
  const benchmark = memberOf(rest, 'benchmark');
  return {
    gaps: GAPS.read(memberOf(rest, 'gaps'), reading),
    pricing: PRICING.read(memberOf(rest, 'pricing'), reading),
    benchmark: benchmark === null ? null : levelsOf(benchmark),
    parent: memberOf(rest, 'optimised') === null ? null : levelsOf(memberOf(rest, 'target')),
  };
}

function extending(stored: StoredNumbers, { identifiers: known }: Description, market: readonly string[]): Extending {
  const identifiers = [...known];
  const placeOf = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const placeOfColumn = (column: number): number => {
    const identifier = market[column]!;
    let place = placeOf.get(identifier);
    if (place === undefined) placeOf.set(identifier, (place = identifiers.push(identifier) - 1));
    return place;
  };
  const pools = poolsBehind(stored);
  const placed = new Map<Numbers, ReturnType<typeof pools.add>>();
  const positions = (columns: ArrayLike<number>): Int32Array => Int32Array.from(columns, placeOfColumn);
  return {
    stored,
    pools,
    identifiers,
    positions,
    isOfPortfolio: () => false,
    place(array, isPositions) {
      let place = placed.get(array);
      if (!place) placed.set(array, (place = pools.add(isPositions ? positions(array) : array)));
      return place;
    },
  };
}
