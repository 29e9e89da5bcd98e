import { z } from 'zod';
import { comparisonReasons, evaluate, expressionText, TRUE, UNKNOWN } from '../expressions/evaluate.js';
import { comparisonsOf, Expression } from '../expressions/expression.js';
import * as parameters from '../parameters.js';
import { selectionClass } from '../selection-class.js';
import { reason } from '../verdicts.js';

export const expressionFilter = selectionClass({
  type: 'ExpressionFilter',
  label: 'Expression filter',
  help: 'Keeps the names for which an expression over datapoints is true.',
  params: z.strictObject({
    expression: Expression.meta({
      label: 'Expression',
      help: 'Tree of all, any, not and comparisons.',
      ref: 'ExpressionNode',
    }),
    missing: parameters.missing.meta({
      label: 'Missing values',
      help: 'What happens to a name for which the expression is unknown because a datapoint is missing.',
    }),
  }),
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
    const text = expressionText(expression);
    return {
      reads: comparisonsOf(expression).map(({ node, path }) => ({
        field: node.field,
        path: path === '' ? 'expression.field' : `expression.${path}.field`,
        as: 'any',
        money: false,
        comparison: node,
      })),
      remembers: false,
      sentence: `Keep the names for which this holds: ${text}; ${missing === 'exclude' ? 'names for which it is unknown are excluded' : 'names for which it is unknown are kept'}.`,
      select({ cross, columns }) {
        const truths = evaluate(expression, cross, columns);
        const kept = truths.map((truth) => (truth === TRUE || (truth === UNKNOWN && missing === 'include') ? 1 : 0));
        return {
          kept,
          because: (position) =>
            reason(text, { comparisons: comparisonReasons(expression, cross, { columns, position }) }),
        };
      },
    };
  },
});
