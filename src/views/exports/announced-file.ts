import { findAnnouncedIndex, type UnannouncedIndex } from '#domain/books/announced-composition.js';
import type { Composer } from '#domain/books/compositions.js';
import { createIndexTerms, simulateIndexBook } from '#domain/books/index-run.js';
import { createIndexShares } from '#domain/books/index-shares.js';
import { findAnnouncement } from '#domain/books/next-rebalance.js';
import { createDatedRounding, findRounding } from '#domain/documents/dated-rounding.js';
import { isOverlayDocument, listSources } from '#domain/documents/index-document.js';
import { readCarriedClose } from '#domain/index-mathematics/growth.js';
import { createExchangeRates } from '#domain/market/exchange-rates.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { addCash, computeUninvestedCash, roundToWholeShares, type IndexFile } from './index-file.js';

/** Announced composition of an index at a close. Index shares are scaled to the market value of the index. */
export interface AnnouncedFile extends IndexFile {
  readonly effective: Day;
}

/**
 * Returns the pro forma file of an index on a session.
 * @param composer composer without data after the session
 * @throws Refusal NO_DATA_AT_DATE if nothing is announced
 * @cost decides and simulates the index up to the session
 */
export function createAnnouncedFile(composer: Composer, { indexId, day }: IndexOnDay): AnnouncedFile {
  const document = composer.document(indexId);
  if (isOverlayDocument(document)) throw createOverlayRefusal(indexId, listSources(document));
  const sm = composer.market(indexId);
  const session = sm.sessionAt(day);
  const announcedIndex = findAnnouncedIndex(composer, { indexId, session });
  if (announcedIndex.effective === null) throw createNotAnnounced(indexId, day, announcedIndex);
  const { effective, compositions } = announcedIndex;
  const composition = compositions.list.at(-1)!;
  const book = simulateIndexBook({ compositions, to: session });
  const { shares } = createIndexShares(book, compositions)(composition);
  const { shares: decimals } = findRounding(createDatedRounding(document, sm.calendar), day + 1);
  const rates = createExchangeRates(sm, document.currency);
  const growth = createIndexTerms(compositions);
  const { columns } = composition;
  const order = [...columns.keys()].toSorted((a, b) => (getName(a) < getName(b) ? -1 : 1));
  const computeColumn = (value: (position: number) => number): Float64Array => Float64Array.from(order, value);
  function getName(position: number): string {
    return sm.identifiers[columns[position]!]!;
  }
  const file = {
    day,
    effective,
    divisor: book.divisor[session - book.from]!,
    names: order.map(getName),
    shares: computeColumn((k) => roundToWholeShares(shares![k]!, decimals)), // only an overlay has no index shares
    price: computeColumn((k) => readCarriedClose(sm, growth, session, columns[k]!)),
    fx: computeColumn((k) => (rates.isNative(columns[k]!) ? 1 : rates.rateAt(session, columns[k]!))),
  };
  const weights = computeColumn((k) => composition.weights[k]!);
  const firstHeldPosition = weights.findIndex((weight) => weight !== 0);
  const marketValue =
    firstHeldPosition < 0
      ? 0
      : (file.shares[firstHeldPosition]! * file.price[firstHeldPosition]! * file.fx[firstHeldPosition]!) /
        weights[firstHeldPosition]!;
  return addCash(file, computeUninvestedCash(weights, marketValue), document.currency);
}

interface IndexOnDay {
  readonly indexId: string;
  /** Session of the index. */
  readonly day: Day;
}

function createNotAnnounced(indexId: string, day: Day, { next }: UnannouncedIndex): Refusal {
  const comingText =
    next === undefined
      ? 'its calendar has no later rebalance'
      : `the next one, effective on ${formatDay(next.date)}, is announced on ${formatDay(findAnnouncement(next))}`;
  return new Refusal(
    'NO_DATA_AT_DATE',
    `No rebalance of ${indexId} is announced on ${formatDay(day)}: ${comingText}.`,
    {
      as_of: formatDay(day),
      announced: next === undefined ? null : formatDay(findAnnouncement(next)),
      effective: next === undefined ? null : formatDay(next.date),
    },
  );
}

function createOverlayRefusal(indexId: string, sources: readonly string[]): Refusal {
  const message = `${indexId} is an overlay and announces no composition. Request the file of ${sources.join(' or ')}.`;
  return new Refusal('NO_DATA_AT_DATE', message, { sources });
}
