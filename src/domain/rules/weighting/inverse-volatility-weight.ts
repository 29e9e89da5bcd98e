import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { estimatePeriodsPerYear } from '../../calendars/periods-per-year.js';
import { computeDeviation } from '../../datapoints/aggregates.js';
import { createLatestRequest, LAG_SESSIONS_MAX } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import { isConstant } from '../../numbers/constant.js';
import * as parameters from '../parameters.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

export const inverseVolatilityWeight = defineWeightingClass({
  type: 'InverseVolatilityWeight',
  label: 'Inverse volatility weight',
  help: 'Weights in proportion to the inverse of annualised volatility. The volatility uses the returns between price bars on consecutive sessions.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing sessions of the volatility.', unit: 'sessions' }),
    minimum_observations: z.int().min(2).max(LAG_SESSIONS_MAX).default(60).meta({
      label: 'Minimum observations',
      help: 'A security needs at least this number of returns.',
      unit: 'sessions',
    }),
  })),
  example: { type: 'InverseVolatilityWeight', params: { window: 252, minimum_observations: 60 } },
  behaviour({ window, minimum_observations }) {
    const field = createLatestRequest('RETURN', { aggregate: 'std', window });
    const value = useNumber(field);
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to the inverse of their volatility over ${window} sessions; a security needs ${minimum_observations} returns between price bars on consecutive sessions.`,
      formula: '1 / VOLATILITY',
      weigh({ cross, columns }) {
        const deviations = cross.statistic(field, computeDeviation, minimum_observations, columns);
        const year = Math.sqrt(estimatePeriodsPerYear(cross.market.calendar.sessions));
        const volatilities = deviations.map((found) => found * year);
        return createWeights(
          volatilities.map((volatility, position) =>
            deviations[position]! > 0 && !isConstant(deviations[position]!) ? 1 / volatility : 0,
          ),
          (position) => ({ VOLATILITY: Number.isNaN(volatilities[position]!) ? null : volatilities[position]! }),
        );
      },
    };
  },
});
