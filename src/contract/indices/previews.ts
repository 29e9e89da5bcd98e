import { z } from 'zod';
import { AsKnownOn, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { SWAP_RULES, type SwapRule } from '#domain/books/compositions.js';
import { CHANGE_EVENTS, type ChangeEvent } from '#domain/books/constituent-changes.js';
import { BREACH_RULE_NAMES } from '#domain/definition/compliance.js';
import { REBALANCE_CAUSES } from '#domain/definition/index-schedule.js';
import { EXPOSURE_REASONS } from '#domain/definition/overlay-type.js';
import { THRESHOLDS, type ThresholdType } from '#domain/definition/selection.js';
import { FindingPayload, SeriesPayload } from '../payloads.js';
import { definitionRun } from '../run.js';
import { IndexDocumentBody } from './definitions.js';

export const ExceededLimit = defineObject(() => ({
  label: z.string().meta({ description: 'Label of the bound, as in the binding constraints.' }),
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if it has none.' }),
  type: z.string().meta({ description: 'Type of the constraint.' }),
  side: z.enum(['lower', 'upper', 'eq']).meta({ description: 'Bound that is violated; `eq` for an equality.' }),
  unit: z.enum(['fraction', 'count', 'value']).meta({ description: 'Unit of `value` and `limit`.' }),
  value: z.number().meta({ description: 'Value of the solution.' }),
  limit: z.number().meta({ description: 'Bound as requested.' }),
})).meta({ id: 'ExceededLimit', description: 'Soft bound that a solution violates.' });
export type ExceededLimit = z.infer<typeof ExceededLimit>;

const Scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

const ExplainedDatapoint = defineObject(() => ({
  path: z.string().meta({ description: 'Path in the definition that refers to the datapoint.' }),
  field: z.string().meta({ description: 'Description of the value that was read.' }),
  value: Scalar,
  from: z.string().nullable().meta({
    description:
      'First date that was read. It equals `to` for a single value, and is null for a value that is always valid.',
  }),
  to: z.string().nullable().meta({ description: 'Last date that was read.' }),
  observations: z.int().min(0).meta({
    description:
      'Number of values between these dates. For VOLATILITY, MOMENTUM, BETA and windows of RETURN, the number of returns between bars on consecutive sessions.',
  }),
  known_from: z.string().nullable().meta({
    description:
      'First session on which the datapoint can have a value: the first bar plus half of the window and the lag. Present only if the value is missing because the bars of the security started too late.',
  }),
})).meta({ id: 'ExplainedDatapoint' });

const ExplainedThreshold = defineObject(() => ({
  type: z.enum(Object.keys(THRESHOLDS) as [ThresholdType, ...ThresholdType[]]).meta({
    description: `${Object.entries(THRESHOLDS)
      .map(([type, { help }]) => `\`${type}\` ${help}`)
      .join('; ')}.`,
  }),
  rank: z.int().nullable().meta({ description: 'Last rank that satisfies the threshold; null without a ranking.' }),
  value: z.number().nullable().meta({
    description: 'Bound; for a ranking, the value of the security at that rank. Null if there is none.',
  }),
  met: z.boolean().meta({ description: 'True if the security satisfied the threshold.' }),
  distance: z.number().nullable().meta({
    description:
      'Change of the value of the security that would satisfy the threshold. 0 if it is satisfied; null if the value is not a number.',
  }),
})).meta({ id: 'ExplainedThreshold', description: 'Threshold of a rule for a security.' });

const ExplainedRule = defineObject(() => ({
  position: z.int().min(1),
  rule_id: z.string(),
  rule_type: z.string(),
  constituent: z.boolean().meta({ description: 'True if the previous composition contained the security.' }),
  kept: z.boolean(),
  test: z.string().meta({ description: 'The condition in words.' }),
  value: Scalar.meta({ description: 'Value of the security; null if missing.' }),
  threshold: z.number().nullable().meta({
    description:
      'Bound of the value. For a ranking, the value of the last security that satisfies the applicable threshold.',
  }),
  rank: z.int().nullable(),
  cutoff: z.int().nullable().meta({
    description: 'Last rank that satisfies the applicable threshold. With a buffer, it differs for constituents.',
  }),
  incumbent: z.boolean().meta({ description: 'True if the security stayed because it was a constituent.' }),
  distance: z.number().nullable().meta({
    description:
      'Distance of the value of an excluded security from its threshold. 0 for a kept security; null if the value is not a number.',
  }),
  thresholds: z.array(ExplainedThreshold).meta({
    description:
      'All thresholds for the security, beginning with the decisive threshold. `threshold`, `cutoff` and `distance` refer to the decisive threshold.',
  }),
  comparisons: z
    .array(
      z.strictObject({
        path: z.string(),
        test: z.string(),
        value: Scalar,
        outcome: z.boolean().nullable().meta({ description: 'Result of the comparison; null if unknown.' }),
      }),
    )
    .meta({ description: 'Comparisons of an expression with the value of the security.' }),
})).meta({ id: 'ExplainedRule' });

const SolvedRow = defineObject(() => ({
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if there is none.' }),
  index: z.int().nullable().meta({ description: 'Position of the constraint; null for an implicit constraint.' }),
  type: z.string(),
  label: z.string(),
  side: z.enum(['lower', 'upper', 'eq']),
  kind: z.enum(['eq', 'ineq']),
  unit: z.enum(['fraction', 'count', 'value']),
  value: z.number().meta({ description: 'Value of the constraint at the solved weights.' }),
  limit: z.number().meta({ description: 'Bound of this side.' }),
  slack: z.number().min(0).meta({ description: 'Distance between value and bound.' }),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
  shadow_price: z
    .number()
    .meta({ description: 'Multiplier of the constraint: change of the objective per unit of the bound.' }),
  coefficient: z.number().nullable().meta({
    description:
      'Change of the value of the constraint per unit of the weight. Null if the constraint does not depend on the weight directly.',
  }),
  force: z.number().meta({
    description: 'Contribution of the constraint to the derivative of the objective with respect to the weight.',
  }),
})).meta({ id: 'SolvedRow', description: 'One side of a constraint that includes the security.' });

const NameSolve = defineObject(() => ({
  rows: z.array(SolvedRow).meta({
    description:
      'Every constraint of the security, binding or not, in the order of the request, with lower bounds first.',
  }),
  lower: z.number().nullable().meta({
    description:
      'Minimum feasible weight of the security, including selection constraints; null if there is no minimum.',
  }),
  upper: z.number().nullable().meta({
    description:
      'Maximum feasible weight of the security, including selection constraints; null if there is no maximum.',
  }),
  centre: z.number().meta({
    description: 'Reference weight of the objective: source_weight for the tracking error, otherwise 0.',
  }),
  stiffness: z.number().meta({
    description:
      'Second derivative of the objective with respect to the weight. For the tracking error, twice the sum of the variance of the security and the tie-breaking term.',
  }),
  pull: z.number().meta({
    description:
      'Derivative of the other terms of the objective. For the tracking error, twice the sum of the covariances of the security with the active weights of the other securities.',
  }),
  force: z.number().meta({ description: 'Sum of the forces of all constraints and of the selection of securities.' }),
  free_weight: z.number().nullable().meta({
    description: 'centre - (pull + force) / stiffness, which is the weight without bounds. Null if stiffness is 0.',
  }),
  held_by: z.enum(['free', 'lower', 'upper', 'fixed', 'kink']).meta({
    description:
      '`free`: the weight equals free_weight. `lower`, `upper`, `fixed`: the weight is at a bound. `kink`: the weight is at the weight before trading, or at a soft bound.',
  }),
  held_at: z.number().nullable().meta({ description: 'Bound or kink of the weight; null if the weight is free.' }),
  solved_weight: z.number().meta({ description: 'free_weight or held_at, whichever applies.' }),
  scale: z.number().meta({
    description: 'Scaling factor after weights that are zero up to rounding were removed; 1 if there were none.',
  }),
})).meta({
  id: 'NameSolve',
  description: 'Balance of forces that determines the solved weight of the security, or the bound that determines it.',
});

const ConstituentChange = defineObject(() => ({
  date: z.string().meta({ description: 'Session of the change, at its close.' }),
  event: z.enum(Object.keys(CHANGE_EVENTS) as [ChangeEvent, ...ChangeEvent[]]).meta({
    description: `${Object.entries(CHANGE_EVENTS)
      .map(([event, words]) => `\`${event}\` ${words}`)
      .join('; ')}.`,
  }),
  ex_date: z.string().nullable().meta({ description: 'Ex-date of the corporate action; null if there is none.' }),
  related: z
    .string()
    .nullable()
    .meta({ description: 'Security that replaces this security, or from which it originates.' }),
  ratio: z.number().nullable().meta({
    description:
      'Shares received per share. If the security left, shares of `related`. If the security originates from `related`, shares of the security per share of `related`.',
  }),
  weight: z.number().meta({
    description:
      'Weight in the index; negative for a short position. For an exit, the weight at the price paid, before the trades of the close. For an entry, the weight after the trades.',
  }),
  price: z.number().meta({ description: 'Price paid per share, in `currency`.' }),
  currency: z.string().meta({ description: 'Currency of the security.' }),
  last_bar: z.string().nullable().meta({ description: 'Day of the latest bar of the security up to the change.' }),
  ordered_on: z.string().nullable().meta({
    description: 'Rebalance of the order if the order waited for a bar; otherwise null.',
  }),
})).meta({ id: 'ConstituentChange', description: 'Entry of a security into the index, or exit from it.' });

const WaitingOrder = defineObject(() => ({
  date: z.string().meta({ description: 'Rebalance that placed the order.' }),
  side: z.enum(['buy', 'sell']),
  target_weight: z.number().meta({ description: 'Weight of the order.' }),
  reason: z.enum(['no_price', 'stale_price', 'delisted']),
})).meta({ id: 'WaitingOrder', description: 'Order that waits for a bar, with `stale_targets: "defer"`.' });

const RULES = Object.keys(SWAP_RULES) as [SwapRule, ...SwapRule[]]; // Object.keys returns plain strings.

/** Security that entered the index between reviews, and the constituent that it replaced. */
const Replacement = defineObject(() => ({
  date: z.string().meta({ description: 'Effective date. The change takes effect at its close.' }),
  rule: z.enum(RULES).meta({
    description: `${RULES.map((rule) => `\`${rule}\`: ${SWAP_RULES[rule]}`).join('; ')}.`,
  }),
  entered: z.string().meta({ description: 'Security that entered.' }),
  left: z.string().meta({ description: 'Constituent that left.' }),
  decision_date: z.string().meta({ description: 'Session whose data was used.' }),
  ranked_on: z.string().nullable().meta({
    description:
      'Session whose data ranked the security. For `next_ranked`, the reference date of the review that did not select it. Null for a reserve list.',
  }),
  rank: z.int().min(1).meta({
    description:
      'Rank of the security that entered. For `next_ranked`, the rank among the securities that the review did not select. For `reserve`, the position in the list. Otherwise the rank by the datapoint of the rule.',
  }),
  left_rank: z.int().min(1).nullable().meta({
    description:
      'Rank of the constituent by the same datapoint. Null if it left because of an event such as a merger, or has no value.',
  }),
})).meta({ id: 'Replacement' });

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
  findings: z.array(FindingPayload).meta({ description: 'Warnings of the optimisation.' }),
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

/** Figures of the weights in an optimisation: of the index weights or of the solution. */
export const WeightFiguresPayload = defineObject(() => ({
  objective_value: z
    .number()
    .nullable()
    .meta({ description: 'Objective in its measure, including costs; null if it is undefined for the weights.' }),
  expected_return: z
    .number()
    .nullable()
    .meta({ description: 'Annualised expected return before costs; null without expected returns.' }),
  volatility: z.number().meta({ description: 'Annualised volatility, with the risk model of the optimisation.' }),
  tracking_error: z.number().meta({ description: 'Annualised tracking error against the index.' }),
  turnover: z.number().meta({ description: 'One-way turnover against the index weights.' }),
})).meta({ id: 'WeightFigures' });

export const PreviewRequest = defineObject(() => ({
  as_of: IsoDate.nullable().default(null).meta({
    description: 'Decision date. Default: the base date of the index; for a derived index, the first rebalance.',
  }),
  as_known_on: AsKnownOn,
  run_id: definitionRun,
})).meta({ id: 'PreviewRequest' });

export const PreviewDocumentRequest = defineObject(() => ({
  document: IndexDocumentBody,
  as_of: IsoDate.nullable().default(null).meta({
    description: 'Decision date. Default: the base date of the document; for a derived index, the first rebalance.',
  }),
  as_known_on: AsKnownOn,
})).meta({ id: 'PreviewDocumentRequest' });

export const LevelSketchRequest = defineObject(() => ({ document: IndexDocumentBody })).meta({
  id: 'LevelSketchRequest',
});

export const LevelSketchPayload = defineObject(() => ({
  level: SeriesPayload.meta({
    description:
      'Levels of some sessions of the last three years of the served store, beginning with the base value. Rules that use the previous composition, such as buffers, start with no constituents.',
  }),
  volatility: SeriesPayload.meta({
    description:
      'Annualised volatility of the level over the 60 sessions up to each session, as a fraction; null before 60 returns.',
  }),
  exposure: SeriesPayload.nullable().meta({
    description: 'Fraction in the underlying index after each close; null for an index without a target exposure.',
  }),
})).meta({ id: 'LevelSketch' });
export type LevelSketchPayload = z.infer<typeof LevelSketchPayload>;

export const PreviewStep = defineObject(() => ({
  position: z.int().min(0).meta({ description: 'Position of the step. 0 is the universe, and rules follow in order.' }),
  remaining: z.int().min(0).meta({ description: 'Number of securities that remain after the step.' }),
  excluded: z.array(z.string()).meta({ description: 'Securities that this step removed; empty for the universe.' }),
  rule_id: z.string().nullable(),
  rule_type: z.string().nullable(),
})).meta({ id: 'PreviewStep' });

export const PreviewAsset = defineObject(() => ({
  identifier: z.string(),
  included: z.boolean().meta({ description: 'True if the security is in the index.' }),
  weight: z.number().nullable().meta({ description: 'Final weight; null if the security is not held.' }),
  excluded_by: z.string().nullable().meta({
    description:
      'Id of the first rule that excluded the security. Null for a selected security without a weight, and for a derived index.',
  }),
  excluded_at: z.int().nullable().meta({
    description:
      'Position of the step that excluded the security. For a selected security without a weight, the number of steps.',
  }),
  uncapped_weight: z
    .number()
    .nullable()
    .meta({ description: 'Weight before capping; null if the cap does not limit the weight.' }),
  capped: z.boolean(),
  source_weight: z.number().nullable().meta({ description: 'Weight in the parent; derived indices only.' }),
  solved_weight: z
    .number()
    .nullable()
    .meta({ description: 'Solved weight, which equals `weight`; derived indices only.' }),
  weight_delta: z.number().nullable().meta({ description: 'Solved weight less source weight; derived indices only.' }),
})).meta({ id: 'PreviewAsset' });

export const PreviewConstraint = defineObject(() => ({
  label: z.string(),
  kind: z.enum(['eq', 'ineq']),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
  slack: z.number().min(0).meta({ description: 'Distance to the bound in `unit`.' }),
  unit: z.enum(['fraction', 'count', 'value']),
  relaxed_by: z.number().nullable().meta({
    description:
      'Change of the bound if the constraint was relaxed according to its priority; null if the constraint is satisfied as defined.',
  }),
})).meta({ id: 'PreviewConstraint' });

export const PooledScenariosPayload = defineObject(() => ({
  dates: z.array(z.string()).meta({ description: 'Session of each scenario.' }),
  probabilities: z.array(z.number()).meta({ description: 'Probability of each scenario; they sum to 1.' }),
  relative_entropy: z.number().meta({
    description: 'Relative entropy to the prior: the sum of p ln(p / q) over the scenarios.',
  }),
  bound: z.number().meta({
    description:
      'Lower bound of the relative entropy of all probabilities that satisfy the views. The multipliers prove it by duality.',
  }),
  gap: z.number().meta({ description: 'Relative entropy less the bound.' }),
  effective_scenarios: z.number().meta({
    description: 'Effective number of scenarios: 1 divided by the sum of the squared probabilities.',
  }),
  views: z
    .array(
      z.strictObject({
        view: z.int().min(0).meta({ description: 'Position in the request.' }),
        prior: z.number().meta({ description: 'Measure of the view under the prior.' }),
        posterior: z.number().meta({ description: 'Measure of the view under the probabilities.' }),
        multiplier: z.number().meta({
          description: 'Change of the relative entropy per unit of the value of the view; 0 if the view does not bind.',
        }),
      }),
    )
    .meta({ description: 'Each view under the prior and under the probabilities.' }),
})).meta({ id: 'PooledScenarios', description: 'Scenario probabilities by entropy pooling, with their proof.' });

const PreviewSolve = defineObject(() => ({
  source_index_id: z.string(),
  objective: z.string(),
  rebalance_date: z.string().meta({ description: 'Latest rebalance of the parent on or before as_of.' }),
  before: WeightFiguresPayload.meta({ description: 'Figures of the index weights.' }),
  after: WeightFiguresPayload.meta({ description: 'Figures of the solved weights.' }),
  binding: z.array(z.string()).meta({ description: 'Labels of binding constraints.' }),
  constraints: z.array(PreviewConstraint).meta({
    description:
      'Every constraint, binding or not. A row with one bound per security or group has an entry for each binding one; if none is binding, for the tightest.',
  }),
  exceeded: z.array(ExceededLimit).meta({ description: 'Soft bounds that the solved weights violate.' }),
  scenario_views: PooledScenariosPayload.nullable().meta({
    description: 'Probabilities of the scenarios for `scenario_views`; otherwise null.',
  }),
})).meta({ id: 'PreviewSolve' });

type ExposureReason = keyof typeof EXPOSURE_REASONS; // Object.keys returns plain strings.

const PreviewOverlay = defineObject(() => ({
  type: z.string().meta({ description: 'Type of the overlay.' }),
  index_ids: z.array(z.string()).meta({ description: 'Underlying indices.' }),
  exposure: z
    .strictObject({
      exposure: z.number().meta({ description: 'Exposure after the close of resolved_date.' }),
      target: z.number().meta({ description: 'Target exposure.' }),
      before: z
        .number()
        .nullable()
        .meta({ description: 'Exposure after the previous close; null on the first session.' }),
      volatility: z.number().nullable().meta({
        description: 'Annual volatility from which the target was computed; null before the first return.',
      }),
      reason: z.enum(Object.keys(EXPOSURE_REASONS) as [ExposureReason, ...ExposureReason[]]).meta({
        description: Object.entries(EXPOSURE_REASONS)
          .map(([reason, help]) => `${reason}: ${help}`)
          .join('; '),
      }),
    })
    .optional()
    .meta({ description: 'Derivation of the exposure of a risk control; absent for other types.' }),
})).meta({ id: 'PreviewOverlay' });

const PreviewLimits = defineObject(() => ({
  rule: z
    .enum(BREACH_RULE_NAMES)
    .meta({ description: 'Published rule of concentration; CUSTOM for limits of the index itself.' }),
  headroom: z.number().meta({
    description:
      'Distance of the decided weights from the nearest bound. Negative beyond the bound; this does not trigger a rebalance.',
  }),
})).meta({ id: 'PreviewLimits' });

export const PreviewResponse = defineObject(() => ({
  index_version: z.int().min(1).nullable().meta({
    description: 'Version of the stored index; null for a document of the request.',
  }),
  index_id: z.string(),
  as_of: z.string().meta({ description: 'Date as requested.' }),
  resolved_date: z.string().nullable().meta({
    description: 'Latest session with data on or before as_of; null before the first market date of the store.',
  }),
  assets: z.array(PreviewAsset).meta({
    description: 'Securities: first the included securities by weight, then the excluded securities by step.',
  }),
  weights: z.record(z.string(), z.number()).meta({ description: 'Final weights by identifier.' }),
  total_weight: z.number(),
  cap: z.number().nullable().meta({ description: 'Applied cap; always null for a derived index.' }),
  cap_redistributed: z.number(),
  steps: z
    .array(PreviewStep)
    .nullable()
    .meta({ description: 'Steps of the selection; null for a derived index and an overlay.' }),
  solve: PreviewSolve.nullable().meta({
    description: 'Optimisation; null for a rule-based index and an overlay.',
  }),
  overlay: PreviewOverlay.optional().meta({
    description:
      'State of an overlay. Assets and weights are then its holdings after the close of resolved_date, through all underlying indices, and last its cash as `CASH/USD` (negative if money is borrowed). They sum to 1. `steps` has these holdings as its universe.',
  }),
  limits: PreviewLimits.optional().meta({
    description: 'Rule that triggers rebalances of the index on a breach.',
  }),
  replacements: z.array(Replacement).optional().meta({
    description:
      'Changes of constituents between reviews (`events`) that were decided on resolved_date. Assets and weights are the result of the rules.',
  }),
  findings: z
    .array(FindingPayload)
    .meta({ description: 'Warnings, for example about selected securities without a weight.' }),
})).meta({ id: 'PreviewResponse' });
/** A computed preview; the response adds the version. */
export type PreviewResponse = Omit<z.infer<typeof PreviewResponse>, 'index_version'>;

const defineNumber = (description: string) => z.number().meta({ description });

const PackReconciliation = defineObject(() => ({
  announced: z
    .string()
    .meta({ description: 'Session of the announcement, with the closes at which its orders are valued.' }),
  accounts: z
    .array(
      z
        .strictObject({
          name: z.string(),
          value_announced: defineNumber('Value of cash and holdings at the closes of the announcement.'),
          orders: z
            .array(
              z
                .strictObject({
                  identifier: z.string(),
                  shares_announced: defineNumber('Shares of the orders of the announcement; negative for a sale.'),
                  shares: defineNumber('Shares of the orders of as_of.'),
                  change: defineNumber('Shares of the orders of as_of less shares of the orders of the announcement.'),
                  price_announced: defineNumber('Close of the announcement, on the share basis of as_of.'),
                  price: defineNumber('Close of as_of.'),
                })
                .meta({ id: 'ReconciledOrder' }),
            )
            .meta({ description: 'All securities with an order on either date, by identifier.' }),
        })
        .meta({ id: 'ReconciledAccount' }),
    )
    .meta({ description: 'Accounts, in the order of the pack.' }),
})).meta({
  id: 'PackReconciliation',
  description:
    'Orders of the announcement compared with the orders of as_of, for the same holdings. The differences are the effect of prices since the announcement. Null before the announcement.',
});

export const RebalancePack = defineObject(() => ({
  index_id: z.string(),
  index_version: z.int().nullable().meta({ description: 'Version of the definition; null if it has no versions.' }),
  requested_as_of: z.string().nullable().meta({ description: 'Requested date; null if omitted.' }),
  as_of: z.string().meta({
    description:
      'Session with the closes at which orders are valued: the latest session with data on or before the requested date. A finding reports a session that differs from the requested date.',
  }),
  effective: z.string().nullable().meta({
    description: 'Effective date of the next rebalance or change of constituents; null if the calendar contains none.',
  }),
  decision: z.string().meta({ description: 'Session of the decision.' }),
  basis: z.enum(['announced', 'indicative', 'in_force']).meta({
    description:
      'Target weights: the announced weights for `effective`; before the announcement, the result of the rules on as_of, or the latest solution of a derived index.',
  }),
  replacements: z.array(Replacement).meta({
    description:
      'Changes of constituents that the orders execute in addition to the decision of a review: changes between reviews, and replacements of securities that left while the review was pending.',
  }),
  accounts: z.array(
    z
      .strictObject({
        name: z.string(),
        value: defineNumber(
          'Value of cash and holdings before the trades. All amounts are in the currency of the index.',
        ),
        cash_after: defineNumber('Cash after trades and costs.'),
        turnover: defineNumber('Half the traded value divided by the value.'),
        cost: defineNumber('Expected cost of the trades.'),
        drift_after: defineNumber(
          'Half the sum of the absolute differences between achieved and target weights, which result from lots.',
        ),
        trades: z
          .array(
            z
              .strictObject({
                identifier: z.string(),
                side: z.enum(['buy', 'sell']),
                shares: z.number(),
                price: defineNumber('Latest close in the currency of the index.'),
                value: z.number(),
                weight_before: defineNumber('Fraction of the value before the trades.'),
                weight_target: z.number(),
                weight_after: defineNumber('Fraction of the value after trades and costs.'),
                adv_shares: z.number().nullable().meta({ description: 'Mean volume; null if unknown.' }),
                adv_share: z.number().nullable().meta({ description: 'shares / adv_shares: 1 is a whole day.' }),
                days_to_trade: z.number().nullable().meta({ description: 'shares / (participation * adv_shares).' }),
                cost: defineNumber('value * (spread_bps / 2 + impact_bps * sqrt(shares / adv_shares)) / 10,000.'),
                reason: z.enum(['add', 'delete', 'reweight']),
              })
              .meta({ id: 'PackTrade' }),
          )
          .meta({ description: 'By identifier.' }),
      })
      .meta({ id: 'PackedAccount' }),
  ),
  days_to_trade: z
    .strictObject({ p50: z.number().nullable(), p90: z.number().nullable(), max: z.number().nullable() })
    .meta({
      id: 'DaysToTrade',
      description: 'Distribution over the traded securities of all accounts; quantiles of type 7.',
    }),
  liquidation: z
    .array(z.strictObject({ days: z.int().meta({ description: 'Trading days.' }), share: z.number() }))
    .meta({
      description:
        'Fraction of the initial holdings of all accounts that is sold within a number of days; empty if the accounts hold nothing.',
    }),
  capacity: z
    .array(z.strictObject({ days: z.int().meta({ description: 'Trading days.' }), aum: z.number().nullable() }))
    .meta({
      description: 'Largest AUM that can be invested within this number of days; null if a security has no volume.',
    }),
  reconciliation: PackReconciliation.nullable().meta({
    description: 'Changes since the announcement; null on or before its date.',
  }),
  findings: z.array(FindingPayload),
})).meta({ id: 'RebalancePack' });

export const WhatIfRequest = defineObject(() => ({
  index_id: Id.nullable().default(null).meta({ description: 'Id of a stored index that is the base.' }),
  document: IndexDocumentBody.nullable()
    .default(null)
    .meta({ description: 'Document that is the base, instead of index_id.' }),
  patch: z
    .record(z.string(), z.unknown())
    .nullable()
    .default(null)
    .meta({ description: 'Changes to the base: a JSON merge patch (RFC 7396), which replaces whole arrays.' }),
  changed: IndexDocumentBody.nullable()
    .default(null)
    .meta({ description: 'Complete changed document, instead of patch.' }),
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Decision date of both definitions. Default: the latest date of the store.' }),
  as_known_on: AsKnownOn,
})).meta({
  id: 'WhatIfRequest',
  description: 'Exactly one of index_id and document, and exactly one of patch and changed, are required.',
});

const WeightChange = defineObject(() => ({
  identifier: z.string(),
  before: z.number(),
  after: z.number(),
  change: z.number(),
})).meta({ id: 'WeightChange' });
const WhatIfSide = defineObject(() => ({
  index_id: z.string(),
  constituents: z.int().min(0),
  largest: z.number(),
  effective_assets: z.number(),
  gross_constituents: z.int().min(0).meta({ description: 'Securities with a position, long or short.' }),
  cap: z.number().nullable(),
  cap_redistributed: z.number(),
  cause: z.enum(REBALANCE_CAUSES).nullable().meta({
    description:
      'Trigger of a rebalance that was decided on that date: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null if there was no rebalance.',
  }),
  limits: PreviewLimits.optional().meta({
    description: 'Rule that triggers rebalances of the index on a breach.',
  }),
})).meta({ id: 'WhatIfSide' });

export const WhatIfResponse = defineObject(() => ({
  as_of: z.string(),
  resolved_date: z.string().nullable(),
  before: WhatIfSide,
  after: WhatIfSide,
  added: z.array(WeightChange),
  removed: z.array(WeightChange),
  changed: z.array(WeightChange),
  turnover: z.number().meta({ description: 'One-way turnover: half the sum of the absolute changes.' }),
  findings: z.array(FindingPayload).meta({ description: 'Warnings about the changed document.' }),
})).meta({ id: 'WhatIfResponse' });
export type WhatIfResponse = z.infer<typeof WhatIfResponse>;
