import { defineObject } from '../../schema/define-object.js';
import { listComparisonReasons } from '../comparison-reasons.js';
import { describeCondition } from '../../datapoints/expressions/sentences.js';
import { Condition } from '../../datapoints/expressions/expression.js';
import { listComparisons, isExpressionNode } from '../../datapoints/expressions/tree.js';
import { TRUE, UNKNOWN } from '../../datapoints/expressions/truth-values.js';
import type { FieldUse } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { createReason } from '../verdicts.js';

export const expressionFilter = defineSelectionClass({
  type: 'ExpressionFilter',
  label: 'Expression filter',
  help: 'Keeps securities for which an expression of datapoints is true.',
  params: defineObject(() => ({
    expression: Condition.meta({
      label: 'Expression',
      help: 'Condition as text, or a tree of all, any, not and comparisons.',
      ref: 'ExpressionNode',
      format: 'condition',
    }),
    missing: parameters.missing.meta({
      label: 'Missing values',
      help: 'Treatment of a security for which the expression is unknown because a datapoint is missing.',
    }),
  })),
  example: {
    id: 'liquid-technology',
    type: 'ExpressionFilter',
    params: {
      expression: {
        node: 'all',
        operands: [
          { node: 'comparison', field: { node: 'field', name: 'SECTOR' }, comparison: 'eq', value: 'Technology' },
          {
            node: 'comparison',
            field: { node: 'field', name: 'VALUE_TRADED', aggregate: 'median', window: 60 },
            comparison: 'ge',
            value: 1_000_000,
          },
        ],
      },
    },
  },
  behaviour({ expression, missing }) {
    const text = describeCondition(expression);
    return {
      reads: listComparisons(expression).flatMap(({ node, path }): FieldUse[] => {
        const nodePath = path === '' ? 'expression' : `expression.${path}`;
        const fieldUse: FieldUse = { field: node.field, path: `${nodePath}.field`, as: 'any', money: false };
        if (!isExpressionNode(node.value)) return [{ ...fieldUse, comparison: node }];
        return [
          { ...fieldUse, as: 'number' },
          { field: node.value, path: `${nodePath}.value`, as: 'number', money: false },
        ];
      }),
      remembers: false,
      sentence: `Keep securities for which this is true: ${text}; ${missing === 'exclude' ? 'securities for which it is unknown are excluded' : 'securities for which it is unknown are kept'}.`,
      select({ cross, columns }) {
        const truths = cross.truths(expression, columns);
        const keptFlags = truths.map((truth) =>
          truth === TRUE || (truth === UNKNOWN && missing === 'include') ? 1 : 0,
        );
        return {
          kept: keptFlags,
          because: (position) =>
            createReason(text, { comparisons: listComparisonReasons(expression, cross, { columns, position }) }),
        };
      },
    };
  },
});
