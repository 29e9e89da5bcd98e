import { decodeUtf8 } from '#base/text/utf8.js';
import type { DatedSeries } from '../../analytics/relative.js';
import type { Numbers } from '../../numbers/number-types.js';
import { readMember, type RecordExtension } from '../record/field.js';
import {
  isArrayLocation,
  countNumbers,
  openPools,
  type AppendedNumbers,
  type StoredNumbers,
} from '../record/number-places.js';
import { assertFinite } from '../record/pack.js';
import { readDescription, type Description } from '../record/read.js';
import { BOOK, JSON_FIELDS, REBALANCES, ARRAY_FIELDS } from '../record/schema.js';
import type { AppendedRecord } from '../record/sources.js';

/** Record of an extended run: a description that refers to stored and appended arrays. */
export interface ExtendedRecord {
  readonly description: Uint8Array;
  /** Numbers to append to the pools. */
  readonly added: AppendedNumbers;
  /** Rebalances in the form of the description. */
  readonly rebalances: Uint8Array;
  /** Levels of an external benchmark on all dates of the benchmark. */
  readonly benchmark: DatedSeries | null;
}

export interface ExtendRecordInput {
  readonly stored: StoredNumbers;
  /** Stored description as bytes. */
  readonly description: Uint8Array;
  /** Stored rebalances as bytes. */
  readonly rebalances: Uint8Array;
  readonly market: readonly string[];
  readonly added: Omit<AppendedRecord, 'before' | 'dates'>;
}

/**
 * Extends the record of a stored run.
 * @throws CannotResumeError if portfolio and index had equal holdings on only one side of the extension
 * @cost O(H) for each new session, and the description
 */
export function extendRecord({ stored, description, rebalances, market, added }: ExtendRecordInput): ExtendedRecord {
  const before = readDescription(description);
  const extension = createRecordExtension(stored, before, market);
  const { pools, identifiers } = extension;
  const countDates = (member: 'target' | 'optimised' | 'benchmark'): number => {
    const days = readMember(readMember(before.rest, member), 'days');
    return isArrayLocation(days) ? countNumbers(days) : 0;
  };
  const source = {
    ...added,
    dates: stored.dates,
    before: { target: countDates('target'), optimised: countDates('optimised'), benchmark: countDates('benchmark') },
  };
  const jsonFields = JSON_FIELDS.extend(before.plain, source, extension);
  const otherFields = ARRAY_FIELDS.extend(before.rest, source, extension);
  const extendedRebalances = REBALANCES.extend(JSON.parse(decodeUtf8(rebalances)), source, extension);
  for (const array of pools.added.f64) assertFinite(array);
  const benchmark = readMember(otherFields, 'benchmark');
  const encoder = new TextEncoder();
  return {
    description: encoder.encode(
      JSON.stringify({ identifiers, plain: jsonFields, rest: otherFields } satisfies Description),
    ),
    rebalances: encoder.encode(JSON.stringify(extendedRebalances)),
    added: pools.added,
    benchmark: benchmark === null ? null : readLevels(benchmark, extension),
  };
}

/** Returns the levels of a book over the whole run. */
function readLevels(book: unknown, { pools }: RecordExtension): DatedSeries {
  const reading = {
    numbers: pools.read,
    portfolioFrame(): never {
      throw new Error('levels have no weights');
    },
  };
  return {
    days: BOOK.fields.days.read(readMember(book, 'days'), reading),
    values: BOOK.fields.levels.read(readMember(book, 'levels'), reading),
  };
}

function createRecordExtension(
  stored: StoredNumbers,
  { identifiers: storedIdentifiers }: Description,
  market: readonly string[],
): RecordExtension {
  const identifiers = [...storedIdentifiers];
  const positionByIdentifier = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const findPositionOfColumn = (column: number): number => {
    const identifier = market[column]!;
    let position = positionByIdentifier.get(identifier);
    if (position === undefined) positionByIdentifier.set(identifier, (position = identifiers.push(identifier) - 1));
    return position;
  };
  const pools = openPools(stored);
  const referenceByArray = new Map<Numbers, ReturnType<typeof pools.add>>();
  const findPositions = (columns: ArrayLike<number>): Int32Array => Int32Array.from(columns, findPositionOfColumn);
  return {
    stored,
    pools,
    identifiers,
    positions: findPositions,
    isOfPortfolio: () => false,
    place(array, isPositions) {
      let reference = referenceByArray.get(array);
      if (!reference) referenceByArray.set(array, (reference = pools.add(isPositions ? findPositions(array) : array)));
      return reference;
    },
  };
}
