import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ConstraintSet } from '#domain/documents/constraint-set.js';
import { Finding, skippedFields } from './common.js';

export const SavedConstraintSet = defineObject(() => ({
  constraint_set: ConstraintSet,
  findings: z.array(Finding).meta({ description: 'Warnings that did not prevent the save.' }),
})).meta({ id: 'SavedConstraintSet' });

export const ConstraintSetCollection = defineObject(() => ({
  constraint_sets: z.array(ConstraintSet),
  ...skippedFields,
})).meta({ id: 'ConstraintSetCollection' });
export type ConstraintSetCollection = z.infer<typeof ConstraintSetCollection>;
