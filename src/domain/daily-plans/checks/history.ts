import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineCheckKind, defineSeverity } from './check-kind.js';

const help = 'The refresh of the day does not change the history of constituents.';

export const historyCheck = defineCheckKind({
  schema: defineObject(() => ({ check: z.literal('history'), severity: defineSeverity('block') })).meta({
    id: 'HistoryCheck',
    description: help,
  }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, restated }) {
    if (restated === null) return [];
    return (closing?.holdings ?? [])
      .filter(({ identifier }) => restated.has(identifier))
      .map(({ identifier }) => ({
        identifier,
        message: `The source has a changed history of ${identifier}, which was rejected. Its prices are not updated.`,
      }));
  },
});
