import { z } from 'zod';
import { LIMIT_RULE_NAMES } from '../compliance/rules.js';
import { ConstraintRow } from '../constraints/constraint-row.js';
import { AssetIdentifier, CurrencyCode, Id, IsoDate } from '../schema/shape.js';
import { optimisationFields } from './optimisation-spec.js';
import { OverlaySpec, blendParts } from '../overlays/catalogue.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';

/**
 * The index document as clients write it. A document is the client's own text: its fields keep the names of the wire
 * wherever it travels. Parameters of rules and weightings are checked by their catalogue entries.
 */
export const RESERVED_INDEX_IDS = [
  'backtests',
  'calendars',
  'compare',
  'preview',
  'overlay-types',
  'rule-types',
  'validate',
  'whatif',
  'sweeps',
] as const;

export const UniverseSpec = z
  .strictObject({
    kind: z
      .enum(['all', 'named', 'list', 'index', 'watchlist'])
      .default('all')
      .meta({ label: 'Kind', help: 'Every name of the market, or fewer.' }),
    id: z
      .string()
      .min(1)
      .max(64)
      .nullable()
      .optional()
      .meta({
        label: 'Universe',
        help: 'Of the kind `named` a universe of the market, of `index` an index: its constituents at each decision.',
        format: 'universe',
        when: [{ kind: ['named', 'index'] }],
      }),
    watchlist_id: Id.optional().meta({
      label: 'Watchlist',
      help: 'Stored watchlist of the kind `watchlist`, as it is when used.',
      format: 'watchlist',
      when: [{ kind: ['watchlist'] }],
    }),
    identifiers: z
      .array(AssetIdentifier)
      .max(20_000)
      .optional()
      .meta({ label: 'Names', help: 'Asset identifiers of the kind `list`.', when: [{ kind: ['list'] }] }),
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
    field: z.string().min(1).meta({ label: 'Grouped by', description: 'Reference column.' }),
    cap: z.number().gt(0).max(1).meta({ label: 'Cap', description: 'Largest weight of a group.', unit: 'fraction' }),
    groups: z
      .array(z.string())
      .nullable()
      .default(null)
      .meta({ label: 'Groups', description: 'Those that are capped; each of them unless given.' }),
  })
  .meta({ id: 'GroupCap' });
export type GroupCap = z.infer<typeof GroupCap>;

export const WeightingSpec = z
  .strictObject({
    type: z.string().min(1).meta({ description: 'Weighting class; see /indices/rule-types.' }),
    params: z.record(z.string(), z.unknown()).default({}),
    cap: z
      .number()
      .gt(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ label: 'Cap', help: 'Largest weight of a name; none unless given.', unit: 'fraction' }),
    floor: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ label: 'Floor', help: 'Least weight of a name; none unless given.', unit: 'fraction' }),
    group_caps: z.array(GroupCap).max(100).default([]).meta({
      label: 'Caps of groups',
      help: 'Largest weights of groups.',
    }),
  })
  .meta({ id: 'WeightingSpec' });
export type WeightingSpec = z.infer<typeof WeightingSpec>;

export const TreatmentSpec = z
  .strictObject({
    dividends: z
      .enum(['price', 'total', 'net'])
      .default('price')
      .meta({ label: 'Dividends', help: 'Return variant: left out, reinvested, or reinvested after withholding tax.' }),
    withholding_tax: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({
        label: 'Withholding tax',
        help: 'Share of dividends that is lost, in the net variant.',
        unit: 'fraction',
        when: [{ dividends: ['net'] }],
      }),
    special_dividends: z
      .enum(['reinvest', 'ignore'])
      .default('reinvest')
      .meta({ label: 'Special dividends', help: 'Returns of capital, too: reinvested in every variant, or left out.' }),
    splits: z
      .enum(['apply', 'ignore'])
      .default('apply')
      .meta({ label: 'Splits', help: 'Applied; left out only where prices are adjusted already.' }),
    delisting: z
      .enum(['last_price', 'zero', 'action_value'])
      .default('action_value')
      .meta({ label: 'Delisting', help: 'What a name that leaves is worth.' }),
    spin_offs: z
      .enum(['zero_price', 'ignore'])
      .default('zero_price')
      .meta({ label: 'Spin-offs', help: 'Whether a spun-off name enters, at zero, on its ex-date.' }),
    missing_prices: z.enum(['carry', 'exclude', 'fail']).default('carry').meta({
      label: 'Missing prices',
      help: 'Carry the last price, leave the name out until the next rebalance, or fail.',
    }),
    max_stale_sessions: z.int().min(0).max(60).default(5).meta({
      label: 'Longest gap',
      help: 'Without a bar for longer on its own calendar, a name leaves.',
      unit: 'sessions',
    }),
    stale_targets: z
      .enum(['carry', 'defer'])
      .default('carry')
      .meta({ label: 'Trades without a bar', help: 'At the carried price, or at the next bar.' }),
    on_breach: z.enum(['none', 'rebalance']).optional().meta({
      label: 'On a breach',
      help: 'Rebalance when a limit is passed between reviews, or do nothing (none).',
    }),
    breach_rule: z
      .enum(LIMIT_RULE_NAMES)
      .optional()
      .meta({
        label: 'Limits',
        help: 'Published rule whose breach calls for a rebalance; UCITS_5_10_40 unless given.',
        when: [{ on_breach: ['rebalance'] }],
      }),
  })
  .meta({ id: 'TreatmentSpec' });
export type TreatmentSpec = z.infer<typeof TreatmentSpec>;

export const PipelineSpec = z
  .strictObject({
    selection: z.array(RuleSpec).max(64).default([]),
    treatment: TreatmentSpec.prefault({}),
    weighting: WeightingSpec,
  })
  .meta({ id: 'PipelineSpec' });
export type PipelineSpec = z.infer<typeof PipelineSpec>;

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
    id: Id.meta({ label: 'Id', help: '1 to 64 letters, digits, dashes and underscores.' }),
    name: z.string().min(1).max(200).meta({ label: 'Name', help: 'Shown beside the id.' }),
    description: z
      .string()
      .max(10_000)
      .nullable()
      .default(null)
      .meta({ label: 'Description', help: 'Free text.', format: 'prose' }),
    calendar: z
      .string()
      .min(1)
      .meta({ label: 'Calendar', help: 'Exchange whose sessions are those of the index.', format: 'calendar' }),
    base_date: IsoDate.meta({
      label: 'Base date',
      help: 'First rebalance: the first session on or after it.',
    }),
    base_value: z
      .number()
      .gt(0)
      .max(1e12)
      .default(100)
      .meta({ label: 'Base value', help: 'Level on the first session.', unit: 'points' }),
    currency: CurrencyCode.default('USD').meta({
      label: 'Currency',
      help: 'ISO 4217 code of the level. An overlay has that into which it converts, else that of the index beneath.',
    }),
    universe: UniverseSpec.optional(),
    rebalance: RebalanceSpec.prefault({}),
    pipeline: PipelineSpec.nullable().default(null),
    derivation: DerivationPayload.nullable().default(null),
    kind: z.literal('overlay').optional().meta({ description: 'Given by an index on another alone.' }),
    source_index_id: Id.optional().meta({ description: 'Index beneath an overlay; a blend names its own.' }),
    overlay: OverlaySpec.optional().meta({ description: 'What an overlay does with the index beneath it.' }),
    tags: z.array(z.string().min(1).max(64)).max(32).default([]).meta({ label: 'Tags', help: 'Free labels.' }),
  })
  .meta({ id: 'IndexDocument' });
export type IndexDocument = z.infer<typeof IndexDocument>;

/** A document that selects and weighs by rules. */
export type RuleDocument = IndexDocument & { readonly pipeline: PipelineSpec };
/** A document that optimises another index. */
export type DerivedDocument = IndexDocument & { readonly derivation: DerivationPayload };

/** A document of an index on others. */
export type OverlayDocument = IndexDocument & { readonly overlay: OverlaySpec };

export const isOverlayDocument = (document: IndexDocument): document is OverlayDocument =>
  document.overlay !== undefined;

/** Indices beneath an overlay. */
export function sourcesOf({ overlay, source_index_id: source }: OverlayDocument): readonly string[] {
  return blendParts(overlay)?.map(({ index_id }) => index_id) ?? (source === undefined ? [] : [source]);
}

export const isRuleDocument = (document: IndexDocument): document is RuleDocument => document.pipeline !== null;
export const isDerivedDocument = (document: IndexDocument): document is DerivedDocument => document.derivation !== null;
