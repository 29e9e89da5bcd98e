import { isInAnyText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { textFollowedOn } from '../documents/text-spans.js';
import type { Composer } from './compositions.js';
import { mergerKey, type OutsideMergers } from './merger-key.js';

/**
 * Returns the mergers by which securities leave an index that holds no acquirer from outside its universe; undefined if
 * they convert into the acquirer.
 * @cost one pass over the universe per session with a merger
 */
export function outsideMergers(
  composer: Pick<Composer, 'document' | 'market' | 'under'>,
  indexId: string,
): OutsideMergers | undefined {
  const document = composer.document(indexId);
  const removesIn = ({ events }: IndexDocument): boolean => events?.acquirer === 'remove';
  if (!isInAnyText(document, removesIn)) return undefined;
  const sm = composer.market(indexId);
  const found = new Set<number>();
  for (const { session, column, action } of sm.actions.related) {
    if (action.type !== 'MERGER' || session <= sm.first) continue;
    const text = textFollowedOn(document, sm.calendar, sm.sessions[session]!);
    if (!removesIn(text.document)) continue;
    const acquirer = sm.columnOf(action.related!);
    const { members } = composer.under(indexId, text.position);
    if (acquirer >= 0 && members(indexId, session)[acquirer] !== 1) found.add(mergerKey(sm, session, column));
  }
  return found;
}
