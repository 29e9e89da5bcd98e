import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatDay } from '../../time/days.js';
import { defineCheckKind, formatPercent, defineSeverity } from './check-kind.js';

const help = 'Large price moves of constituents have a corporate action.';

export const movesCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('moves'),
    severity: defineSeverity('block'),
    limit: z
      .number()
      .gt(0)
      .max(100)
      .default(0.25)
      .meta({ description: 'Largest price move without a corporate action, a fraction.' }),
  })).meta({ id: 'MovesCheck', description: help }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, closeOn, lastDays, actionsOf }, { limit }) {
    const [before, last] = lastDays(2);
    if (before === undefined || last !== date) return [];
    return (closing?.holdings ?? []).flatMap(({ identifier, weight }) => {
      const [previousClose, close] = [closeOn(identifier, before), closeOn(identifier, date)];
      const move = close / previousClose - 1;
      if (!(Math.abs(move) > limit)) return [];
      const isExplained = actionsOf(identifier).some(
        ({ exDay, status }) => exDay > before && exDay <= date && status !== 'cancelled',
      );
      if (isExplained) return [];
      return [
        {
          identifier,
          message: `${identifier} moved by ${formatPercent(move)} without a corporate action; the limit is ${formatPercent(limit)}.`,
          measure: { value: move, limit, unit: 'fraction' },
          evidence: { previous_date: formatDay(before), previous_close: previousClose, close, weight },
        },
      ];
    });
  },
});
