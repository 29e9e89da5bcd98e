import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineCheckKind, defineSeverity } from './check-kind.js';

const help = 'Prices of constituents change. A price that is equal on many sessions is suspect.';

export const stalenessCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('staleness'),
    severity: defineSeverity('warn'),
    sessions: z
      .int()
      .min(2)
      .max(250)
      .default(5)
      .meta({ description: 'Number of sessions with the same price that is reported.' }),
  })).meta({ id: 'StalenessCheck', description: help }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, closeOn, lastDays }, { sessions }) {
    const days = lastDays(sessions);
    if (days.length < sessions) return [];
    return (closing?.holdings ?? []).flatMap(({ identifier }) => {
      const first = closeOn(identifier, days[0]!);
      const isStale = days.every((day) => closeOn(identifier, day) === first);
      const message = `${identifier} has the price ${first} on ${sessions} sessions.`;
      const measure = { value: sessions, limit: sessions, unit: 'sessions' } as const;
      return isStale ? [{ identifier, message, measure }] : [];
    });
  },
});
