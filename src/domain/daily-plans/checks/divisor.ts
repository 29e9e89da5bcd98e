import { z } from 'zod';
import { checkKind, severity, type CheckedComposition } from './check-kind.js';

const help =
  'Market value over divisor is the level at the close, and before the open the level of the previous close: no event changes the level.';

export const divisor = checkKind({
  schema: z
    .strictObject({
      check: z.literal('divisor'),
      severity: severity('block'),
      tolerance: z
        .number()
        .min(0)
        .max(0.1)
        .default(1e-9)
        .meta({ description: 'Largest relative difference, beyond rounding.' }),
    })
    .meta({ id: 'DivisorCheck', description: help }),
  help,
  needsRun: true,
  reads: ['closing', 'opening', 'levels'],
  judge({ closing, opening, levels, date, previous, levelDecimals }, { tolerance }) {
    const problem = (composition: CheckedComposition | null, level: number | null | undefined, when: string) => {
      const value = levelOf(composition);
      if (value === undefined || level == null) return [];
      const rounding = levelDecimals === null ? 0 : Number(`0.5e-${levelDecimals}`) / level;
      const difference = Math.abs(value / level - 1);
      if (difference <= tolerance + rounding) return [];
      const message = `Market value over divisor ${when} is ${value}; the level is ${level}.`;
      return [
        {
          identifier: null,
          message,
          measure: { value: difference, limit: tolerance + rounding, unit: 'fraction' } as const,
        },
      ];
    };
    return [
      ...problem(closing, levels.get(date)?.price, 'at the close'),
      ...problem(opening, levels.get(previous)?.price, 'before the open'),
    ];
  },
});

function levelOf(composition: CheckedComposition | null): number | undefined {
  if (composition === null || composition.divisor === null || composition.holdings.length === 0) return undefined;
  const value = composition.holdings.reduce((sum, { marketValue }) => sum + marketValue, 0);
  return value / composition.divisor;
}
