import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { readTradeBounds } from '../scope.js';

export const liquidity = defineConstraintClass({
  type: 'Liquidity',
  label: 'Liquidity',
  help: 'No trade from the previous solved weights exceeds a fraction of the median value traded over a number of sessions. A security without a known value traded is not traded.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  tradesFromPrevious: true,
  params: defineConstraintParams({
    notional: z
      .number()
      .gt(0)
      .max(1e15)
      .meta({ label: 'Notional', help: 'Size of the portfolio, in the index currency.', unit: 'money' }),
    participation: z
      .number()
      .gt(0)
      .max(1)
      .default(0.2)
      .meta({ label: 'Participation', help: 'Maximum fraction of the value traded.', unit: 'fraction' }),
    days: z
      .number()
      .gt(0)
      .max(252)
      .default(1)
      .meta({ label: 'Days', help: 'Maximum number of days for a trade.', unit: 'days' }),
    window: z
      .int()
      .min(1)
      .max(2520)
      .default(60)
      .meta({ label: 'Window', help: 'Number of trailing sessions of the median.', unit: 'sessions' }),
  }),
  example: { id: 'liquid', type: 'Liquidity', params: { notional: 50_000_000, participation: 0.2, days: 2 } },
  toRows: ({ notional, participation, days, window }, context) => {
    const tradedValues = context.medianValueTraded(window);
    context.missing({ field: 'VALUE_TRADED', values: tradedValues, effect: 'they are not traded' });
    const from = context.reference('previous');
    if (from === null) return [];
    return context.identifiers.map((_, name) => {
      const median = Number.isNaN(tradedValues[name]!) ? 0 : tradedValues[name]!;
      const slope = (days * median) / notional;
      return readTradeBounds(
        {
          name,
          from: from.weights[name]!,
          room: participation * slope,
          parameter: 'participation',
          slope,
          further: {
            slopes: { days: (participation * median) / notional, notional: (-participation * slope) / notional },
            valueOf: (params) => computeMaximumTrade(median, params as unknown as LiquidityTerms), // parsed parameters of this class
          },
        },
        context,
      );
    });
  },
});

interface LiquidityTerms {
  readonly notional: number;
  readonly participation: number;
  readonly days: number;
}

/** Returns the maximum weight change of a security, given the median value that is traded per day. */
function computeMaximumTrade(median: number, { notional, participation, days }: LiquidityTerms): number {
  return participation * ((days * median) / notional);
}
