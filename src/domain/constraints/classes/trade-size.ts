import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, reference } from '../parameters.js';
import { readTradeBounds } from '../scope.js';

export const tradeSize = defineConstraintClass({
  type: 'TradeSize',
  label: 'Trade size',
  help: 'No weight differs from the reference portfolio by more than a bound.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    upper: createFraction({ label: 'Upper', help: 'Largest change of one weight.' }, { most: 2 }),
    reference,
  }),
  example: { id: 'trade', type: 'TradeSize', params: { upper: 0.02 } },
  toRows: ({ upper, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return context.identifiers.map((_, name) =>
      readTradeBounds({ name, from: from.weights[name]!, room: upper, parameter: 'upper', slope: 1 }, context),
    );
  },
});
