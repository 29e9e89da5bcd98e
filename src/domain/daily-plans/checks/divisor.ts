import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import type { Day } from '../../time/days.js';
import { defineCheckKind, defineSeverity, type CheckedComposition } from './check-kind.js';

const help =
  'The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level.';

export const divisorCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('divisor'),
    severity: defineSeverity('block'),
    tolerance: z
      .number()
      .min(0)
      .max(0.1)
      .default(1e-9)
      .meta({ description: 'Largest relative difference, in addition to rounding.' }),
  })).meta({ id: 'DivisorCheck', description: help }),
  help,
  needsRun: true,
  reads: ['closing', 'opening', 'levels'],
  judge({ closing, opening, levels, date, previous, decimals }, { tolerance }) {
    const reportDifference = (composition: CheckedComposition | null, day: Day, when: string) => {
      const value = computeLevel(composition);
      const level = composition === null ? undefined : levels.get(day)?.[composition.variant];
      if (value === undefined || level == null) return [];
      const rounding =
        computeRoundingError(decimals.level, level) + computeRoundingError(decimals.divisor, composition!.divisor!); // the composition has a value, so its divisor is not null
      const difference = Math.abs(value / level - 1);
      if (difference <= tolerance + rounding) return [];
      const message = `The market value divided by the divisor ${when} is ${value}; the level is ${level}.`;
      return [
        {
          identifier: null,
          message,
          measure: { value: difference, limit: tolerance + rounding, unit: 'fraction' } as const,
        },
      ];
    };
    return [
      ...reportDifference(closing, date, 'at the close'),
      ...reportDifference(opening, previous, 'before the open'),
    ];
  },
});

/** Returns the relative error of a value that is rounded to decimals. */
const computeRoundingError = (decimals: number | null, value: number): number =>
  decimals === null ? 0 : Number(`0.5e-${decimals}`) / Math.abs(value);

function computeLevel(composition: CheckedComposition | null): number | undefined {
  if (composition === null || composition.divisor === null) return undefined;
  const { holdings, cash, divisor: by } = composition;
  if (holdings.length === 0 && cash.weight === 0) return undefined;
  return holdings.reduce((sum, { marketValue }) => sum + marketValue, cash.marketValue) / by;
}
