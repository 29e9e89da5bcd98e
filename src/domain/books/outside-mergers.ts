import { isInAnyText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { findTextInForce } from '../documents/text-spans.js';
import type { Day } from '../time/days.js';
import type { Composer } from './compositions.js';
import { createMergerKey, type OutsideMergers } from './merger-key.js';

type UniverseComposer = Pick<Composer, 'document' | 'market' | 'under'>;

/**
 * Returns true if any version of an index definition removes securities that merge into securities outside the
 * universe.
 */
export const hasAcquirerRemoval = (document: IndexDocument): boolean => isInAnyText(document, isRemovingAcquirers);

const isRemovingAcquirers = ({ events }: IndexDocument): boolean => events?.acquirer === 'remove';

/**
 * Returns the mergers by which securities leave an index that does not hold acquirers from outside its universe.
 * Returns undefined if merged securities convert into the acquirer.
 * @cost one pass over the universe per session with a merger
 */
export function findOutsideMergers(composer: UniverseComposer, indexId: string): OutsideMergers | undefined {
  if (!hasAcquirerRemoval(composer.document(indexId))) return undefined;
  const sm = composer.market(indexId);
  const results = new Set<number>();
  for (const { session, column, action } of sm.actions.related) {
    if (action.type !== 'MERGER' || session <= sm.first) continue;
    const merger = { session, day: sm.sessions[session]!, related: action.related! };
    if (isOutside(composer, indexId, merger)) results.add(createMergerKey(sm, session, column));
  }
  return results;
}

interface Merger {
  /** Session on which universe membership is evaluated. */
  readonly session: number;
  /** Ex-date. */
  readonly day: Day;
  /** Identifier of the acquirer. */
  readonly related: string;
}

/** Returns true if a merger removes the merged security from the index. */
export function isOutside(composer: UniverseComposer, indexId: string, { session, day, related }: Merger): boolean {
  const sm = composer.market(indexId);
  const text = findTextInForce(composer.document(indexId), sm.calendar, day);
  if (!isRemovingAcquirers(text.document)) return false;
  const acquirer = sm.columnOf(related);
  return acquirer >= 0 && composer.under(indexId, text.position).members(indexId, session)[acquirer] !== 1;
}
