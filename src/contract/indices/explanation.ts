import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Scalar, ExplainedDatapoint, ExplainedRule } from './explained-rule.js';
import { ConstituentChange, WaitingOrder, NameSolve } from './explained-weight.js';
import { Finding } from '../common.js';
import { Replacement } from './replacement.js';

const DerivedSource = defineObject(() => ({
  source_index_id: z.string(),
  objective: z.string(),
  source_weight: z.number().nullable().meta({
    description: 'Weight in the parent, from which the optimisation starts; null if the security is not a candidate.',
  }),
  get source() {
    return IndexExplanation;
  },
  solve: NameSolve.nullable().meta({
    description: 'Explanation of the weight in the solution; null if the security is not a candidate.',
  }),
  findings: z.array(Finding).meta({ description: 'Warnings of the optimisation.' }),
})).meta({
  id: 'DerivedSource',
  description: 'Explanation of the weight in the parent, at the rebalance that was optimised, and of the optimisation.',
});

export const IndexExplanation = defineObject(() => ({
  index_version: z.int().min(1).nullable().optional().meta({
    description: 'Version of the explained definition. Null if it has no versions; absent for a source.',
  }),
  index_id: z.string(),
  identifier: z.string(),
  requested_as_of: z.string().nullable(),
  as_of: z.string().meta({ description: 'Session of the explanation.' }),
  rebalance_date: z.string().meta({ description: 'Effective date of the composition in force.' }),
  decision_date: z.string().meta({ description: 'Session whose data was used.' }),
  reviews: z.array(z.string()).meta({
    description: 'Reviews that decided the composition, in order. `rebalance` is the review of the document itself.',
  }),
  in_universe: z.boolean(),
  included: z.boolean(),
  excluded_by: z.string().nullable(),
  datapoints: z.array(ExplainedDatapoint),
  rules: z.array(ExplainedRule),
  weighting: z
    .strictObject({
      type: z.string(),
      formula: z.string(),
      parts: z.record(z.string(), Scalar).meta({ description: 'Values of the formula.' }),
      raw: z.number().meta({ description: 'Raw weight.' }),
      raw_total: z.number().meta({ description: 'Sum of the raw weights of all securities.' }),
      uncapped_weight: z.number().meta({ description: 'raw / raw_total.' }),
    })
    .nullable(),
  capping: z
    .strictObject({
      cap: z.number().nullable(),
      floor: z.number(),
      scale: z.number().meta({ description: 'weight = min(cap, max(floor, scale * uncapped_weight)).' }),
      capped: z.boolean(),
      rounds: z
        .array(
          z.strictObject({
            scale: z.number(),
            capped: z.array(z.string()).meta({ description: 'Securities that reach the cap in the round.' }),
          }),
        )
        .meta({
          description:
            'Redistribution under a single cap. Each round scales the uncapped securities, and then caps the securities above the cap.',
        }),
    })
    .nullable(),
  derivation: DerivedSource.nullable().meta({
    description:
      'Optimisation of a derived index. Rules, weighting and capping then describe the source. Null for a rule-based index.',
  }),
  stayed: z.number().meta({
    description:
      'Fraction of the decided weights that is still held on the effective date, because securities can leave before it. The applied weight is the decided weight divided by this fraction.',
  }),
  decided_weight: z.number().nullable().meta({
    description:
      'Decided weight, if it was converted to index shares before the effective close (`rebalance.weights_as: "shares"` with notice). The applied weight is then the weight of these shares. Otherwise null.',
  }),
  weight: z.number().nullable().meta({
    description: 'Applied weight of the composition in force; null if the security is excluded.',
  }),
  held_weight: z
    .number()
    .nullable()
    .meta({ description: 'Weight held at the close of as_of; null if the security is not held.' }),
  entered: ConstituentChange.nullable().meta({
    description: 'Last entry into the index on or before as_of; null if there is none.',
  }),
  left: ConstituentChange.nullable().meta({
    description:
      'Last exit from the index on or before as_of; null if there is none. It is earlier than `entered` if the security re-entered.',
  }),
  replacements: z.array(Replacement).meta({
    description: 'Changes between reviews by which the security entered or left on or before as_of, in order.',
  }),
  order: WaitingOrder.nullable().meta({ description: 'Pending order for the security; null if there is none.' }),
  drift: z
    .strictObject({ held_weight: z.number().nullable(), change: z.number() })
    .nullable()
    .meta({ description: 'Weight held on as_of and its change since the rebalance; null on the rebalance date.' }),
})).meta({ id: 'IndexExplanation' });
export type IndexExplanation = z.infer<typeof IndexExplanation>;
