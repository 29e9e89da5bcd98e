import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { REVIEW_SCOPES } from '../schedule/review-scopes.js';
import { Id } from '../schema/shape.js';
import { RuleSpec } from './pipeline-rows.js';
import { WeightingSpec } from './weighting-spec.js';

/** Maximum number of reviews of a document in addition to its rebalance. */
export const REVIEWS_MAX = 16;

/** Review in addition to the rebalance of a document. */
export const ReviewSpec = defineObject(() => ({
  id: Id.meta({
    label: 'Id',
    help: 'Id of the review, which snapshots state. `rebalance` is the review of the document itself.',
  }),
  schedule: RebalanceSpec.prefault({}).meta({
    label: 'Schedule',
    help: 'Schedule, in the form of `rebalance` of the document. Required.',
  }),
  scope: z.enum(REVIEW_SCOPES).meta({
    label: 'Scope',
    help: 'Select securities and set weights again (membership), set the weights of the current constituents again (weights), or only update share counts and free float (shares).',
  }),
  selection: z
    .array(RuleSpec)
    .max(64)
    .optional()
    .meta({ label: 'Selection', help: 'Default: the value of the pipeline.', when: [{ scope: ['membership'] }] }),
  weighting: WeightingSpec.optional().meta({
    label: 'Weighting',
    help: 'Default: the value of the pipeline.',
    when: [{ scope: ['membership', 'weights'] }],
  }),
})).meta({ id: 'ReviewSpec' });
export type ReviewSpec = z.infer<typeof ReviewSpec>;
