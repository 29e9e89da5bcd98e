import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { listComparisonReasons } from '../comparison-reasons.js';
import { describeComparison } from '../../datapoints/expressions/sentences.js';
import { TRUE, UNKNOWN } from '../../datapoints/expressions/truth-values.js';
import { COMPARISONS, type ComparisonNode, toNode } from '../../datapoints/expressions/tree.js';
import { ComparisonValue, checkValue } from '../../datapoints/expressions/expression.js';
import { toRequest } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { describeMissingPolicy, createReason } from '../verdicts.js';

export const fieldFilter = defineSelectionClass({
  type: 'FieldFilter',
  label: 'Field filter',
  help: 'Keeps securities whose datapoint satisfies one comparison. It is a short form of ExpressionFilter.',
  params: defineObject(() => ({
    field: parameters.field,
    comparison: z.enum(COMPARISONS).meta({ label: 'Comparison' }),
    value: ComparisonValue,
    missing: parameters.missing,
  })).superRefine(({ comparison, value }, context) => {
    const problem = value === undefined ? undefined : checkValue(comparison, value);
    if (problem !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['value'],
        input: value,
        params: { finding: problem.code },
        message: problem.message,
      });
  }),
  example: { id: 'dollars', type: 'FieldFilter', params: { field: 'CURRENCY', comparison: 'eq', value: 'USD' } },
  behaviour({ field, comparison, value, missing }) {
    const node: ComparisonNode = {
      node: 'comparison',
      field: toNode(toRequest(field)),
      comparison,
      value,
    };
    const text = describeComparison(node);
    return {
      reads: [{ field: node.field, path: 'field', as: 'any', money: false, comparison: node }],
      remembers: false,
      sentence: `Keep securities with ${text}; ${describeMissingPolicy(missing)}.`,
      select({ cross, columns }) {
        const truths = cross.truths(node, columns);
        const keptFlags = truths.map((truth) =>
          truth === TRUE || (truth === UNKNOWN && missing === 'include') ? 1 : 0,
        );
        return {
          kept: keptFlags,
          because(position) {
            const [met] = listComparisonReasons(node, cross, { columns, position });
            const threshold = typeof value === 'number' ? value : null;
            const isOnLine = threshold !== null && typeof met!.value === 'number' && comparison !== 'ne';
            const isKept = keptFlags[position] === 1;
            const distance = isKept ? 0 : isOnLine ? Math.abs((met!.value as number) - threshold) : null;
            const bound = { type: 'comparison', rank: null, value: threshold, met: isKept, distance } as const;
            return createReason(text, { value: met!.value, thresholds: threshold === null ? [] : [bound], distance });
          },
        };
      },
    };
  },
});
