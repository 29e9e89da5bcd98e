import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { Id } from '../../schema/shape.js';
import { FINDING_CODES } from '../../refusals/findings.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session.';

export const refreshStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('refresh'),
    store_id: Id.nullable()
      .optional()
      .meta({ description: 'Data store. Default: the active store.', example: 'europe' }),
    fail_on: z
      .array(z.enum(FINDING_CODES))
      .max(FINDING_CODES.length)
      .default([])
      .meta({ description: 'Finding codes that reject the whole refresh.', example: ['HISTORY_CHANGED'] }),
  })).meta({ id: 'RefreshStep', description: help }),
  help,
  scope: 'data',
  repeats: true,
});
