import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { Check, CHECK_NAMES } from '../check-catalogue.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported.';

export const checksStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('checks'),
    checks: z
      .array(Check)
      .min(1)
      .max(4 * CHECK_NAMES.length)
      .nullable()
      .default(null)
      .meta({
        description:
          'Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data.',
      }),
  })).meta({ id: 'ChecksStep', description: help }),
  help,
  scope: 'read',
  repeats: true,
});
