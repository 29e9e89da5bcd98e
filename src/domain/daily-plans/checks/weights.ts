import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineCheckKind, formatPercent, defineSeverity } from './check-kind.js';

const help = 'Weights, including cash, add up to 1, and are not negative in an index without short positions.';

export const weightsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('weights'),
    severity: defineSeverity('block'),
    tolerance: z.number().min(0).max(0.1).default(1e-9).meta({ description: 'Largest difference of the sum from 1.' }),
  })).meta({ id: 'WeightsCheck', description: help }),
  help,
  needsRun: true,
  reads: ['closing'],
  judge({ closing, decimals, maySellShort }, { tolerance }) {
    if (closing === null) return [];
    const { holdings, cash } = closing;
    if (holdings.length === 0 && cash.weight === 0)
      return [{ identifier: null, message: 'The index has no constituents.' }];
    const sum = holdings.reduce((total, { weight }) => total + weight, cash.weight);
    const negativeHoldings = holdings
      .filter(({ weight }) => (maySellShort ? Number.isNaN(weight) : !(weight >= 0)))
      .map(({ identifier, weight }) => ({
        identifier,
        message: `${identifier} has the weight ${formatPercent(weight)}.`,
        measure: { value: weight, limit: 0, unit: 'fraction' } as const,
      }));
    // Each rounded weight contributes its rounding error.
    const rounding = decimals.weights === null ? 0 : (holdings.length + 1) * Number(`0.5e-${decimals.weights}`);
    if (Math.abs(sum - 1) <= tolerance + rounding) return negativeHoldings;
    return [
      ...negativeHoldings,
      {
        identifier: null,
        message: `Weights add up to ${Number(sum.toPrecision(12))}.`,
        measure: { value: Math.abs(sum - 1), limit: tolerance + rounding, unit: 'fraction' },
      },
    ];
  },
});
