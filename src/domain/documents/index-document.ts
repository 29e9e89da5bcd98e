import { z } from 'zod';
import { AssetIdentifier, CurrencyCode, Id, IsoDate } from '../shape.js';
import { optimisationFields } from './optimisation-spec.js';

/**
 * The index document as clients write it. A document is the client's own text: its fields keep the names of the wire
 * wherever it travels. Parameters of rules and weightings are checked by their catalogue entries.
 */
export const RESERVED_INDEX_IDS = [
  'backtests',
  'calendars',
  'compare',
  'preview',
  'rule-types',
  'validate',
  'whatif',
  'sweeps',
] as const;

export const UniverseSpec = z
  .strictObject({
    kind: z.enum(['all', 'named', 'list', 'index', 'watchlist']).default('all'),
    id: z.string().min(1).max(64).nullable().optional(),
    watchlist_id: Id.optional().meta({ description: 'Stored watchlist of the kind `watchlist`, as it is when used.' }),
    identifiers: z.array(AssetIdentifier).max(20_000).optional(),
  })
  .meta({ id: 'UniverseSpec' });
export type UniverseSpec = z.infer<typeof UniverseSpec>;

/** Names that a universe lists, its own or those of its watchlist; undefined where it lists none. */
export function listedNames(universe: UniverseSpec | undefined): readonly string[] | undefined {
  return universe?.kind === 'list' || universe?.kind === 'watchlist' ? universe.identifiers : undefined;
}

export const RuleSpec = z
  .strictObject({
    id: z.string().min(1).max(64).meta({ description: 'Client-assigned, unique within the pipeline.' }),
    type: z.string().min(1).meta({ description: 'Rule class; see /indices/rule-types.' }),
    params: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'RuleSpec' });
export type RuleSpec = z.infer<typeof RuleSpec>;

export const GroupCap = z
  .strictObject({
    field: z.string().min(1),
    cap: z.number().gt(0).max(1),
    groups: z.array(z.string()).nullable().default(null),
  })
  .meta({ id: 'GroupCap' });
export type GroupCap = z.infer<typeof GroupCap>;

export const WeightingSpec = z
  .strictObject({
    type: z.string().min(1).meta({ description: 'Weighting class; see /indices/rule-types.' }),
    params: z.record(z.string(), z.unknown()).default({}),
    cap: z.number().gt(0).max(1).nullable().default(null),
    floor: z.number().min(0).max(1).nullable().default(null),
    group_caps: z.array(GroupCap).max(100).default([]),
  })
  .meta({ id: 'WeightingSpec' });
export type WeightingSpec = z.infer<typeof WeightingSpec>;

export const TreatmentSpec = z
  .strictObject({
    dividends: z.enum(['price', 'total', 'net']).default('price'),
    withholding_tax: z.number().min(0).max(1).default(0),
    special_dividends: z.enum(['reinvest', 'ignore']).default('reinvest'),
    splits: z.enum(['apply', 'ignore']).default('apply'),
    delisting: z.enum(['last_price', 'zero', 'action_value']).default('action_value'),
    spin_offs: z.enum(['zero_price', 'ignore']).default('zero_price'),
    missing_prices: z.enum(['carry', 'exclude', 'fail']).default('carry'),
    max_stale_sessions: z.int().min(0).max(60).default(5),
    stale_targets: z.enum(['carry', 'defer']).default('carry'),
  })
  .meta({ id: 'TreatmentSpec' });
export type TreatmentSpec = z.infer<typeof TreatmentSpec>;

export const RebalanceSpec = z
  .strictObject({
    frequency: z
      .enum(['none', 'daily', 'weekly', 'monthly', 'quarterly', 'semi_annual', 'annual', 'custom'])
      .default('quarterly'),
    anchor: z
      .enum(['first_session', 'last_session', 'third_friday', 'nth_weekday', 'day_of_month'])
      .default('last_session'),
    months: z.array(z.int().min(1).max(12)).min(1).max(12).nullable().default(null),
    weekday: z.int().min(0).max(4).nullable().default(null),
    nth: z.int().min(1).max(5).nullable().default(null),
    day: z.int().min(1).max(31).nullable().default(null),
    roll: z.enum(['following', 'preceding', 'unadjusted']).default('following'),
    effective_lag: z.int().min(0).max(60).default(0),
    dates: z.array(IsoDate).max(10_000).default([]),
  })
  .meta({ id: 'RebalanceSpec' });
export type RebalanceSpec = z.infer<typeof RebalanceSpec>;

export const PipelineSpec = z
  .strictObject({
    selection: z.array(RuleSpec).max(64).default([]),
    treatment: TreatmentSpec.prefault({}),
    weighting: WeightingSpec,
  })
  .meta({ id: 'PipelineSpec' });
export type PipelineSpec = z.infer<typeof PipelineSpec>;

export const ConstraintRow = z
  .strictObject({
    type: z.string().min(1).meta({ description: 'Constraint class; see /optimise/constraint-types.' }),
    id: z.string().max(64).default(''),
    params: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'ConstraintRow' });
export type ConstraintRow = z.infer<typeof ConstraintRow>;

export const DerivationPayload = z
  .strictObject({
    source_index_id: Id,
    ...optimisationFields,
    constraints: z.array(ConstraintRow).max(500).default([]),
  })
  .meta({ id: 'DerivationPayload' });
export type DerivationPayload = z.infer<typeof DerivationPayload>;

export const IndexDocument = z
  .strictObject({
    id: Id,
    name: z.string().min(1).max(200),
    description: z.string().max(10_000).nullable().default(null),
    calendar: z.string().min(1).meta({ description: 'Exchange MIC from /indices/calendars.' }),
    base_date: IsoDate,
    base_value: z.number().gt(0).max(1e12).default(100),
    currency: CurrencyCode.default('USD'),
    universe: UniverseSpec.optional(),
    rebalance: RebalanceSpec.prefault({}),
    pipeline: PipelineSpec.nullable().default(null),
    derivation: DerivationPayload.nullable().default(null),
    tags: z.array(z.string().min(1).max(64)).max(32).default([]),
  })
  .meta({ id: 'IndexDocument' });
export type IndexDocument = z.infer<typeof IndexDocument>;

/** A document that selects and weighs by rules. */
export type RuleDocument = IndexDocument & { readonly pipeline: PipelineSpec };
/** A document that optimises another index. */
export type DerivedDocument = IndexDocument & { readonly derivation: DerivationPayload };

export const isRuleDocument = (document: IndexDocument): document is RuleDocument => document.pipeline !== null;
export const isDerivedDocument = (document: IndexDocument): document is DerivedDocument => document.derivation !== null;
