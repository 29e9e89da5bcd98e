import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { secondSourceFields } from '../checks/second-source.js';
import { defineStepKind } from '../step-kind.js';

const { series, ...fields } = secondSourceFields;
const help =
  'Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index.';

export const compareStep = defineStepKind({
  schema: defineObject(() => ({ type: z.literal('compare'), second_source: series, ...fields })).meta({
    id: 'CompareStep',
    description: help,
  }),
  help,
  scope: 'read',
  repeats: true,
});
