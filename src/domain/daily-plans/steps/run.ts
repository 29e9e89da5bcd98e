import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Runs every index of the plan with a stored run that is stale or ends before the session, with the settings of that run. Parents are run before derived indices, overlays and blends.';

export const runStep = defineStepKind({
  schema: defineObject(() => ({ type: z.literal('run') })).meta({ id: 'RunStep', description: help }),
  help,
  scope: 'run',
  repeats: true,
});
