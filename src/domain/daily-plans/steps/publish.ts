import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { ErrorPolicy } from '../../documents/published-error.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Publishes the closes of every index through the session, parents first. A close is published once, however often the step is performed.';

export const publish = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('publish'),
    errors: ErrorPolicy.nullable().default(null).meta({
      description: 'Treatment of published closes that differ in the run. Default: they hold the index back.',
    }),
    allow_partial: z
      .boolean()
      .default(false)
      .meta({ description: 'Publish closes for which constituents have no bar; their entries record it.' }),
  })).meta({ id: 'PublishStep', description: help }),
  help,
  scope: 'publish',
  repeats: true,
});
