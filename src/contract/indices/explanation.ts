import { z } from 'zod';
import { Scalar, ExplainedDatapoint, ExplainedRule } from './explained-rule.js';
import { ConstituentChange, WaitingOrder, NameSolve } from './explained-weight.js';
import { Finding } from '../common.js';
import { Replacement } from './replacement.js';

const DerivedSource = z
  .strictObject({
    source_index_id: z.string(),
    objective: z.string(),
    source_weight: z.number().nullable().meta({
      description:
        "The parent's weight, which the optimisation starts from; null when the parent does not hold the name.",
    }),
    get source() {
      return IndexExplanation;
    },
    solve: NameSolve.nullable().meta({ description: 'Null when the parent does not hold the name.' }),
    findings: z.array(Finding).meta({ description: 'Warnings of the optimisation.' }),
  })
  .meta({
    id: 'DerivedSource',
    description: "The chain behind the parent's weight on the rebalance that was optimised, and the optimisation.",
  });

export const IndexExplanation = z
  .strictObject({
    index_version: z.int().min(1).nullable().optional().meta({
      description: 'Version of the definition that is explained, null of one without versions; absent of a source.',
    }),
    index_id: z.string(),
    identifier: z.string(),
    requested_as_of: z.string().nullable(),
    as_of: z.string().meta({ description: 'Session the explanation holds for.' }),
    rebalance_date: z.string().meta({ description: 'Effective date of the composition in force.' }),
    decision_date: z.string().meta({ description: 'Session whose data decided it.' }),
    reviews: z.array(z.string()).meta({
      description: 'Reviews that decided it, in their order; `rebalance` is that of the document itself.',
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
        raw_total: z.number().meta({ description: 'Sum of the raw weights of all names.' }),
        uncapped_weight: z.number().meta({ description: 'raw / raw_total.' }),
      })
      .nullable(),
    capping: z
      .strictObject({
        cap: z.number().nullable(),
        floor: z.number(),
        scale: z.number().meta({ description: 'weight = min(cap, max(floor, scale * uncapped_weight)).' }),
        capped: z.boolean(),
        rounds: z.array(z.strictObject({ scale: z.number(), capped: z.array(z.string()) })).meta({
          description:
            'Redistribution under a single cap: each round scales the names not yet capped, those then above the cap join.',
        }),
      })
      .nullable(),
    derivation: DerivedSource.nullable().meta({
      description:
        'Of a derived index, whose rules, weighting and capping are those of its source; null on a rule-driven one.',
    }),
    stayed: z.number().meta({
      description:
        'Share of the decided weights still there on the effective date: names may go between the two. The applied weight is the decided one over it.',
    }),
    decided_weight: z.number().nullable().meta({
      description:
        'Decided weight, where it became index shares before the effective close (`rebalance.weights_as: "shares"` with notice); the applied weight is what those are worth. Null otherwise.',
    }),
    weight: z.number().nullable().meta({
      description: 'Applied weight of the composition in force; null when that leaves the name out.',
    }),
    held_weight: z.number().nullable().meta({ description: 'Weight held at the close of as_of; null when not held.' }),
    entered: ConstituentChange.nullable().meta({
      description: 'How it came in last, by as_of; null when it never did.',
    }),
    left: ConstituentChange.nullable().meta({
      description: 'How it left last, by as_of; null when it never did. Earlier than `entered` where it came back.',
    }),
    replacements: z.array(Replacement).meta({
      description: 'Changes between reviews, by as_of, by which it entered or left, in their order.',
    }),
    order: WaitingOrder.nullable().meta({ description: 'What the index waits to trade of it; null for nothing.' }),
    drift: z
      .strictObject({ held_weight: z.number().nullable(), change: z.number() })
      .nullable()
      .meta({ description: 'Weight held at as_of and its change since; null on the rebalance date.' }),
  })
  .meta({ id: 'IndexExplanation' });
export type IndexExplanation = z.infer<typeof IndexExplanation>;
