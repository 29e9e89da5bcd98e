import { Amendments } from './amendment.js';
import { RoundingSpec } from './rounding.js';
import { WithholdingTax } from './withholding-tax.js';
import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { RecordedClosures } from '../calendars/closures.js';
import { LIMIT_RULE_NAMES } from '../compliance/rules.js';
import { ConstraintRow } from '../constraints/constraint-row.js';
import { RelaxEntries } from '../constraints/relax-step.js';
import { AssetIdentifier, CurrencyCode, Id, IsoDate } from '../schema/shape.js';
import { optimisationFields } from './optimisation-spec.js';
import { EventsSpec } from './events-spec.js';
import { RuleSpec } from './pipeline-rows.js';
import { ReviewSpec, REVIEWS_MAX } from './review-spec.js';
import { OverlaySpec, listBlendParts } from '../overlays/catalogue.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { LIMITS } from '../refusals/limits.js';
import { NumberExpression } from '../datapoints/expressions/expression.js';
import { NamedPlugins } from './plugin-document.js';
import { WeightingSpec } from './weighting-spec.js';

/** Ids that indices cannot have, because they are parts of routes. */
export const RESERVED_INDEX_IDS = [
  'backtests',
  'calendars',
  'compare',
  'datapoints',
  'preview',
  'overlay-types',
  'rule-types',
  'templates',
  'validate',
  'whatif',
  'sweeps',
] as const;

/** Kinds of universes that combine other universes. */
export const SET_KINDS = ['union', 'difference', 'intersection'] as const;

export const isSetKind = (kind: unknown): kind is (typeof SET_KINDS)[number] =>
  (SET_KINDS as readonly unknown[]).includes(kind);

/** Maximum number of universes in a set. */
const PARTS_MAX = 16;

const NestedUniverse: z.ZodType<UniverseSpec> = z.lazy(() => UniverseSpec);

export const UniverseSpec = defineObject(() => ({
  kind: z
    .enum(['all', 'named', 'list', 'index', 'watchlist', ...SET_KINDS])
    .default('all')
    .meta({
      label: 'Kind',
      help: 'Source of the securities: the market, an index, a list, or a set operation on other universes.',
    }),
  id: z
    .string()
    .min(1)
    .max(64)
    .nullable()
    .optional()
    .meta({
      label: 'Universe',
      help: 'For the kind `named`, a universe of the market. For `index`, an index with its constituents at each decision.',
      format: 'universe',
      when: [{ kind: ['named', 'index'] }],
    }),
  watchlist_id: Id.optional().meta({
    label: 'Watchlist',
    help: 'Stored watchlist for the kind `watchlist`, as it is when the index is computed.',
    format: 'watchlist',
    when: [{ kind: ['watchlist'] }],
  }),
  identifiers: z
    .array(AssetIdentifier)
    .max(20_000)
    .optional()
    .meta({ label: 'Names', help: 'Identifiers of the securities, for the kind `list`.', when: [{ kind: ['list'] }] }),
  of: z
    .array(NestedUniverse)
    .min(2)
    .max(PARTS_MAX)
    .optional()
    .meta({
      label: 'Universes',
      help: 'Universes of a set operation: securities in any of them (union), in all of them (intersection), or only in the first one (difference). An index contributes its last decided constituents.',
      when: [{ kind: [...SET_KINDS] }],
    }),
})).meta({ id: 'UniverseSpec' });

export interface UniverseSpec {
  kind: 'all' | 'named' | 'list' | 'index' | 'watchlist' | (typeof SET_KINDS)[number];
  id?: string | null | undefined;
  watchlist_id?: string | undefined;
  identifiers?: string[] | undefined;
  of?: UniverseSpec[] | undefined;
}

/** Maximum nesting of universes. */
const UNIVERSE_DEPTH_MAX = 4;

/** Returns true if universes are nested too deeply. */
export function isTooDeep(universe: unknown, depth = 1): boolean {
  if (depth > UNIVERSE_DEPTH_MAX) return true;
  const parts = typeof universe === 'object' && universe !== null ? (universe as { of?: unknown }).of : undefined;
  return Array.isArray(parts) && parts.some((part) => isTooDeep(part, depth + 1));
}

/** Returns the watchlists of a universe, including those in sets. */
export function listWatchlists(universe: UniverseSpec | undefined): string[] {
  if (universe === undefined) return [];
  const directWatchlists = universe.kind === 'watchlist' ? [universe.watchlist_id ?? ''] : [];
  return [...directWatchlists, ...(universe.of ?? []).flatMap(listWatchlists)];
}

/** Returns the securities that a universe or its watchlist lists. Returns undefined if it lists none. */
export function findListedIdentifiers(universe: UniverseSpec | undefined): readonly string[] | undefined {
  return universe?.kind === 'list' || universe?.kind === 'watchlist' ? universe.identifiers : undefined;
}

export const TreatmentSpec = defineObject(() => ({
  dividends: z.enum(['price', 'total', 'net']).default('price').meta({
    label: 'Dividends',
    help: 'Return variant: dividends excluded, reinvested, or reinvested after withholding tax.',
  }),
  withholding_tax: WithholdingTax.default(0).meta({
    label: 'Withholding tax',
    help: 'Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }.',
    unit: 'fraction',
    when: [{ dividends: ['net'] }],
  }),
  reinvestment: z.enum(['index', 'constituent']).default('index').meta({
    label: 'Reinvestment',
    help: 'Ordinary dividends are reinvested in the whole index, or in the security that pays them.',
  }),
  special_dividends: z.enum(['adjust', 'constituent', 'reinvest', 'ignore']).default('adjust').meta({
    label: 'Special dividends',
    help: 'Special dividends and returns of capital reduce the previous close and change the divisor (adjust), are reinvested in the security that pays them (constituent, or its synonym reinvest), or are ignored.',
  }),
  rights: z.enum(['subscribe', 'price_only', 'constituent']).optional().meta({
    label: 'Rights issues',
    help: 'The previous close becomes the ex-rights price. Index shares increase by the new shares (subscribe), do not change (price_only), or change so that the value of the holding is constant (constituent). Default: subscribe for weights by market value, otherwise price_only.',
  }),
  splits: z
    .enum(['apply', 'ignore'])
    .default('apply')
    .meta({ label: 'Splits', help: 'Splits are applied. Use ignore only if prices are already adjusted.' }),
  delisting: z
    .enum(['last_price', 'zero', 'action_value'])
    .default('action_value')
    .meta({ label: 'Delisting', help: 'Value at which a delisted security leaves.' }),
  spin_offs: z.enum(['zero_price', 'drop_after_first_session', 'ignore']).default('zero_price').meta({
    label: 'Spin-offs',
    help: 'A spun-off security enters at zero on its ex-date. It stays until the next rebalance, leaves at its first close, or is ignored.',
  }),
  missing_prices: z.enum(['carry', 'exclude', 'fail']).default('carry').meta({
    label: 'Missing prices',
    help: 'If a price is missing, the last price is used (carry), the security is excluded until the next rebalance (exclude), or the run fails (fail).',
  }),
  max_stale_sessions: z.int().min(0).max(10_000).nullable().optional().meta({
    label: 'Longest gap',
    help: 'A constituent leaves after this number of sessions of its calendar without a price. With null, its last price is used until a review or an action removes it. Default: 5, or null if the store has a delisting, an acquisition or a merger.',
    unit: 'sessions',
  }),
  entry_stale_sessions: z.int().min(0).max(60).default(5).meta({
    label: 'Longest gap of an entry',
    help: 'A security is not newly selected after this number of sessions without a price, or after max_stale_sessions if that is less.',
    unit: 'sessions',
  }),
  suspension: z.enum(['last_price', 'zero']).optional().meta({
    label: 'Value of a suspended constituent',
    help: 'A constituent without a price that is removed without an action leaves at its last price, or its value is written off (zero). Default: last_price.',
  }),
  stale_targets: z.enum(['carry', 'defer']).default('carry').meta({
    label: 'Trades without a price',
    help: 'A trade without a price uses the last price (carry), or waits for the next price bar (defer).',
  }),
  on_breach: z.enum(['none', 'rebalance']).optional().meta({
    label: 'On a breach',
    help: 'The index is rebalanced if a limit is exceeded between reviews (rebalance), or nothing happens (none).',
  }),
  breach_rule: z
    .enum(LIMIT_RULE_NAMES)
    .optional()
    .meta({
      label: 'Limits',
      help: 'Published rule. Its breach triggers a rebalance. Default: UCITS_5_10_40.',
      when: [{ on_breach: ['rebalance'] }],
    }),
})).meta({ id: 'TreatmentSpec' });
export type TreatmentSpec = z.infer<typeof TreatmentSpec>;

export const PipelineSpec = defineObject(() => ({
  selection: z.array(RuleSpec).max(64).default([]),
  treatment: TreatmentSpec.prefault({}),
  weighting: WeightingSpec,
})).meta({ id: 'PipelineSpec' });
export type PipelineSpec = z.infer<typeof PipelineSpec>;

export const DerivationPayload = defineObject(() => ({
  source_index_id: Id,
  ...optimisationFields,
  // This only documents the default. The default is applied when the model is estimated, so that stored documents stay
  // as they were written.
  risk_model: optimisationFields.risk_model.meta({ default: { sessions: LIMITS.DERIVED_RISK_SESSIONS } }),
  constraints: z.array(ConstraintRow).max(500).default([]),
  relax: RelaxEntries.optional().meta({
    label: 'Relaxation',
    description:
      'Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards.',
  }),
})).meta({ id: 'DerivationPayload' });
export type DerivationPayload = z.infer<typeof DerivationPayload>;

const DATAPOINTS_MAX = LIMITS.MAX_DATAPOINTS;

/** Expressions by name, for use in the rules of the document. */
const NamedDatapoints = z
  .record(z.string().min(1).max(64), z.union([z.string().min(1).max(LIMITS.MAX_EXPRESSION_LENGTH), NumberExpression]))
  .refine((named) => Object.keys(named).length <= DATAPOINTS_MAX, {
    error: `has more than ${DATAPOINTS_MAX} names`,
  });

/**
 * Index document as written by clients. Its fields have the same names in the code as in the API. The catalogues check
 * the parameters of rules and weightings.
 */
export const IndexDocument = defineObject(() => ({
  id: Id.meta({ label: 'Id', help: '1 to 64 letters, digits, dashes and underscores.' }),
  name: z.string().min(1).max(200).meta({ label: 'Name', help: 'Name that is shown next to the id.' }),
  description: z
    .string()
    .max(10_000)
    .nullable()
    .default(null)
    .meta({ label: 'Description', help: 'Description of the index, free text.', format: 'prose' }),
  calendar: z
    .string()
    .min(1)
    .meta({ label: 'Calendar', help: 'Exchange whose sessions the index uses.', format: 'calendar' }),
  base_date: IsoDate.meta({
    label: 'Base date',
    help: 'The first rebalance is on the first session on or after this date.',
  }),
  base_value: z
    .number()
    .gt(0)
    .max(1e12)
    .default(100)
    .meta({ label: 'Base value', help: 'Level on the first session.', unit: 'points' }),
  base_market_value: z.number().gt(0).max(1e18).optional().meta({
    label: 'Base market value',
    help: 'Market value on the first session. The initial divisor is this value divided by the base value. Default: the base value, so that the initial divisor is 1.',
    unit: 'money',
  }),
  currency: CurrencyCode.default('USD').meta({
    label: 'Currency',
    help: 'ISO 4217 code of the currency of the level. An overlay has the currency into which it converts, otherwise the currency of the underlying index.',
  }),
  store_id: Id.nullable().optional().meta({
    label: 'Data store',
    help: 'Data store on which the index is computed, even if another store is active. Null: the active store.',
    format: 'store',
  }),
  universe: UniverseSpec.optional(),
  rebalance: RebalanceSpec.prefault({}),
  reviews: z.array(ReviewSpec).max(REVIEWS_MAX).optional().meta({
    label: 'Further reviews',
    help: 'Reviews in addition to the rebalance, each with its schedule and scope. On the same date, they run in the order membership, weights, shares.',
  }),
  datapoints: NamedDatapoints.optional().meta({
    description:
      'Expressions of datapoints by name. The document can use these names like datapoints. They have priority over columns of the store.',
  }),
  plugins: NamedPlugins.optional().meta({
    description:
      'Stored plug-ins by name. Each name is a datapoint of the document, and PluginFilter and PluginWeight refer to it.',
  }),
  rounding: RoundingSpec.optional().meta({
    label: 'Rounding',
    help: 'Decimals of levels, divisor, index shares and weights. A half is rounded away from zero.',
    format: 'object',
  }),
  pipeline: PipelineSpec.nullable().default(null),
  events: EventsSpec.optional().meta({ description: 'Changes between reviews. Default: no changes.' }),
  derivation: DerivationPayload.nullable().default(null),
  kind: z
    .literal('overlay')
    .optional()
    .meta({ description: 'Definition of an overlay; only in an overlay on another index.' }),
  source_index_id: Id.optional().meta({
    description: 'Underlying index of an overlay. A blend lists its parts instead.',
  }),
  overlay: OverlaySpec.optional().meta({ description: 'Type and parameters of an overlay on its underlying index.' }),
  amendments: Amendments.optional(),
  closures: RecordedClosures.optional().meta({
    description:
      'Recorded changes of calendars with which a run was computed; only in the documents of runs. Ignored in requests.',
  }),
  tags: z.array(z.string().min(1).max(64)).max(32).default([]).meta({ label: 'Tags', help: 'Free labels.' }),
})).meta({ id: 'IndexDocument' });
export type IndexDocument = z.infer<typeof IndexDocument>;

/** Document that selects and weights by rules. */
export type RuleDocument = IndexDocument & { readonly pipeline: PipelineSpec };
/** Document that optimises another index. */
export type DerivedDocument = IndexDocument & { readonly derivation: DerivationPayload };

/** Document of an index that is computed from other indices. */
export type OverlayDocument = IndexDocument & { readonly overlay: OverlaySpec };

export const isOverlayDocument = (document: IndexDocument): document is OverlayDocument =>
  document.overlay !== undefined;

/** Returns the underlying indices of an overlay. */
export function listSources({ overlay, source_index_id: source }: OverlayDocument): readonly string[] {
  return listBlendParts(overlay)?.map(({ index_id }) => index_id) ?? (source === undefined ? [] : [source]);
}

export const isRuleDocument = (document: IndexDocument): document is RuleDocument => document.pipeline !== null;
export const isDerivedDocument = (document: IndexDocument): document is DerivedDocument => document.derivation !== null;
