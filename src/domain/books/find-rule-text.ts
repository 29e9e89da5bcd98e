import { findBreachRule } from '../compliance/breach-watch.js';
import type { LimitRuleName } from '../compliance/rules.js';
import { isInAnyText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { findTextInForce } from '../documents/text-spans.js';
import type { Day } from '../time/days.js';
import type { Composer } from './compositions.js';

/** Returns the rule whose breaches trigger rebalances of an index on a day. */
export function findRuleText(composer: Composer, indexId: string, day: Day): LimitRuleName | null {
  const { calendar } = composer.market(indexId);
  const { document } = findTextInForce(composer.document(indexId), calendar, day);
  return findBreachRule(document.pipeline?.treatment);
}

/** Returns true if breaches trigger rebalances in any version of an index definition. */
export function isWatched(document: IndexDocument): boolean {
  return isInAnyText(document, ({ pipeline }) => findBreachRule(pipeline?.treatment) !== null);
}
