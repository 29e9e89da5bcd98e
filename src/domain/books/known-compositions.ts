import { formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { Refusal } from '../refusals/refusal.js';
import type { Composer, Compositions } from './compositions.js';

/**
 * Returns the compositions of an index up to the last day of its composer. Returns undefined if its universe has no
 * price yet.
 */
export function composeAsKnown(composer: Composer, indexId: string): Compositions | undefined {
  try {
    return composer.compositions(indexId);
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'NO_DATA_IN_RANGE') return undefined;
    throw failure;
  }
}

/**
 * Returns the refusal for a day before the first rebalance of an index.
 * @param title subject of the sentence, for example `The index X`.
 */
export function refuseBeforeFirstRebalance(title: string, { base_date }: IndexDocument, asOf: Day): Refusal {
  const day = formatDay(asOf);
  const why =
    base_date > day
      ? `its base date is ${base_date}`
      : `from its base date ${base_date} to that day the data contains no price for its universe`;
  return new Refusal('NO_DATA_AT_DATE', `${title} has no rebalance on or before ${day}: ${why}.`, { as_of: day });
}
