import { z } from 'zod';
import { checkKind, percent, severity } from './check-kind.js';

const help = 'Weights are not negative and add up to one.';

export const weights = checkKind({
  schema: z
    .strictObject({
      check: z.literal('weights'),
      severity: severity('block'),
      tolerance: z
        .number()
        .min(0)
        .max(0.1)
        .default(1e-9)
        .meta({ description: 'Largest distance of the sum from one.' }),
    })
    .meta({ id: 'WeightsCheck', description: help }),
  help,
  needsRun: true,
  reads: ['closing'],
  judge({ closing }, { tolerance }) {
    if (closing === null) return [];
    const { holdings } = closing;
    if (holdings.length === 0) return [{ identifier: null, message: 'The index has no constituents.' }];
    const sum = holdings.reduce((total, { weight }) => total + weight, 0);
    const negative = holdings
      .filter(({ weight }) => !(weight >= 0))
      .map(({ identifier, weight }) => ({
        identifier,
        message: `${identifier} has the weight ${percent(weight)}.`,
        measure: { value: weight, limit: 0, unit: 'fraction' } as const,
      }));
    if (Math.abs(sum - 1) <= tolerance) return negative;
    return [
      ...negative,
      {
        identifier: null,
        message: `Weights add up to ${Number(sum.toPrecision(12))}.`,
        measure: { value: Math.abs(sum - 1), limit: tolerance, unit: 'fraction' },
      },
    ];
  },
});
