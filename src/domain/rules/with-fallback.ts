import { describeExpression } from '../datapoints/expressions/sentences.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { RuleSpec } from '../documents/pipeline-rows.js';
import type { Selection, SelectionClass, Verdict } from './selection-class.js';

/** Returns a rule that tries its fallback parameters in order while it keeps too few securities. */
export function addFallback(entry: SelectionClass, { params, fallback = [] }: RuleSpec): Selection {
  const first = entry.bind(params);
  if (fallback.length === 0) return first;
  const steps = fallback.map(({ when_fewer_than: least, params: fallbackParams }) => ({
    least,
    rule: entry.bind({ ...params, ...fallbackParams }),
  }));
  const rules = [first, ...steps.map(({ rule }) => rule)];
  const years = Math.max(...rules.map(({ dividendYears = 0 }) => dividendYears));
  return {
    reads: removeDuplicates(rules.flatMap(({ reads }) => reads)),
    remembers: rules.some(({ remembers }) => remembers),
    ...(years === 0 ? {} : { dividendYears: years }),
    sentence: [
      first.sentence,
      ...steps.map(({ least, rule }) => `If fewer than ${least} remain, instead: ${rule.sentence}`),
    ].join(' '),
    select(scope) {
      let verdict = first.select(scope);
      for (const { least, rule } of steps) {
        if (countSelected(verdict) >= least) break;
        verdict = rule.select(scope);
      }
      return verdict;
    },
  };
}

const countSelected = ({ kept }: Verdict): number => kept.reduce((count, is) => count + is, 0);

/** Returns uses without duplicates. */
function removeDuplicates(uses: readonly FieldUse[]): FieldUse[] {
  const earlierUses = new Map(
    uses.toReversed().map((use) => [`${use.path} ${use.as} ${describeExpression(use.field)}`, use]),
  );
  return uses.filter((use) => earlierUses.get(`${use.path} ${use.as} ${describeExpression(use.field)}`) === use);
}
