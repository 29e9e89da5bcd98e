import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, triggerAtMostSingle } from '../parameters.js';

export const concentrationRic = defineConstraintClass({
  type: 'ConcentrationRIC',
  label: 'Concentration 25/50',
  help: 'United States RIC limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: defineConstraintParams({
    single: createFraction({ label: 'Single', help: 'Maximum weight of one security.' }).default(0.25),
    trigger: createFraction({
      label: 'Trigger',
      help: 'Weight above which a security is included in the aggregate.',
    }).default(0.05),
    aggregate: createFraction({
      label: 'Aggregate',
      help: 'Maximum total weight of the securities above the trigger.',
    }).default(0.5),
  }).refine(...triggerAtMostSingle),
  example: { id: 'ric', type: 'ConcentrationRIC', params: {} },
  toRows: ({ single, trigger, aggregate }) => [{ form: 'concentration', single, trigger, aggregate, member: null }],
});
