import { z } from 'zod';
import { ConstraintSet } from '#domain/documents/constraint-set.js';
import { Finding, skippedFields } from './common.js';

export const SavedConstraintSet = z
  .strictObject({
    constraint_set: ConstraintSet,
    findings: z.array(Finding).meta({ description: 'Warnings that did not prevent the save.' }),
  })
  .meta({ id: 'SavedConstraintSet' });

export const ConstraintSetCollection = z
  .strictObject({ constraint_sets: z.array(ConstraintSet), ...skippedFields })
  .meta({ id: 'ConstraintSetCollection' });
export type ConstraintSetCollection = z.infer<typeof ConstraintSetCollection>;
