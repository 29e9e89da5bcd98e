import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { ErrorPolicy } from '../../documents/published-error.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated.';

export const publishStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('publish'),
    errors: ErrorPolicy.nullable().default(null).meta({
      description: 'Treatment of published closes that differ from the run. Default: the index is held back.',
    }),
    allow_partial: z
      .boolean()
      .default(false)
      .meta({ description: 'True publishes closes for which constituents have no bar. The entries record this.' }),
  })).meta({ id: 'PublishStep', description: help }),
  help,
  scope: 'publish',
  repeats: true,
});
