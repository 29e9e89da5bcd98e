import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { AssetIdentifier, CurrencyCode, defineObject, Id, IsoDate } from '../base/schema.js';
import { type CalendarOption, type Calendars, RecordedClosures } from '../calendars/calendar.js';
import { type Definitions, NumberExpression } from '../datapoints/expression-checks.js';
import { type ExpressionNode, toNode, toRequest } from '../datapoints/expression-tree.js';
import type { MarketData } from '../market/market-data.js';
import { createParameterSpecs, type ParameterSpec } from './catalogue.js';
import { BreachLimits, LIMIT_RULE_NAMES } from './compliance.js';
import { CONSTRAINT_ROWS_MAX, ConstraintRow, RelaxEntries } from './constraint-class.js';
import { findConstraintClass } from './constraints.js';
import { EventsSpec, RebalanceSpec, REVIEW_SCOPES } from './schedule.js';
import { optimisationFields } from './optimisation.js';
import { listBlendParts, OverlaySpec } from './overlays.js';
import { listPluginDefinitions, NamedPlugins } from './plugins.js';
import { WeightingSpec } from './weighting.js';

export const AMENDABLE_MEMBERS = [
  'universe',
  'rebalance',
  'reviews',
  'pipeline',
  'derivation',
  'overlay',
  'events',
  'rounding',
] as const;

/** Members of a treatment that determine the series of an index. */
export const FIXED_TREATMENT = ['dividends', 'reinvestment', 'reinvestment_at'] as const;

/** Maximum number of amendments of an index: two per year for half a century. */
export const AMENDMENTS_MAX = 100;

/** Change of a methodology from a date on. The history before that date is unchanged. */
export const Amendment = defineObject(() => ({
  effective_from: IsoDate.meta({
    label: 'Effective from',
    help: 'The new version applies from the first review on or after this date. Earlier reviews use the previous version.',
  }),
  announced: IsoDate.optional().meta({ label: 'Announced', help: 'Date on which clients were informed.' }),
  reason: z.string().min(1).max(2_000).optional().meta({ label: 'Reason', help: 'Free text.', format: 'prose' }),
  rebalance: z.boolean().optional().meta({
    label: 'Rebalance',
    help: 'True rebalances on the first session on or after the date, instead of at the next review.',
  }),
  changes: z.record(z.string(), z.unknown()).meta({
    label: 'Changes',
    description: `JSON merge patch (RFC 7396) of the document. It can change the members ${AMENDABLE_MEMBERS.join(', ')}. Arrays are replaced as a whole.`,
  }),
})).meta({ id: 'Amendment' });
export type Amendment = z.infer<typeof Amendment>;

const Amendments = z.array(Amendment).max(AMENDMENTS_MAX).meta({
  label: 'Amendments',
  description: 'Changes of the methodology by date, earliest first. The history before each date does not change.',
});

/** Maximum number of decimals: the digits of a float64. */
const DECIMALS_MAX = 15;

const defineDecimals = (label: string, help: string) =>
  z.int().min(0).max(DECIMALS_MAX).optional().meta({ label, help, unit: 'decimals' });

/** Numbers of decimals to which an index is rounded, halves away from zero. A value without a member is not rounded. */
export const RoundingSpec = defineObject(() => ({
  level: defineDecimals(
    'Level',
    'Decimals of published, exported and printed levels. The calculation uses full precision.',
  ),
  divisor: defineDecimals('Divisor', 'Decimals of the divisor in the calculation. It is rounded whenever it changes.'),
  shares: defineDecimals(
    'Index shares',
    'Decimals of index shares in the calculation. They are rounded whenever they change. Requires base_market_value.',
  ),
  weights: defineDecimals(
    'Weights',
    'Decimals of published, exported and printed weights. The calculation uses full precision.',
  ),
})).meta({ id: 'RoundingSpec' });
export type RoundingSpec = z.infer<typeof RoundingSpec>;

const rateSchema = z.number().min(0).max(1);

/** Maximum number of field values with a separate rate; it exceeds the number of countries. */
const RATES_MAX = 1_000;

export const WithholdingRatesSpec = defineObject(() => ({
  field: z
    .string()
    .min(1)
    .max(64)
    .meta({ label: 'Field', description: 'Reference column of the store, such as COUNTRY.' }),
  rates: z
    .record(z.string().min(1).max(64), rateSchema)
    .refine((rates) => Object.keys(rates).length <= RATES_MAX, { error: `has more than ${RATES_MAX} values` })
    .meta({ label: 'Rates', description: 'Fractions that are withheld, by the value of the field.' }),
  default: rateSchema.optional().meta({
    label: 'Other values',
    description: 'Fraction for values without a rate. Default: such a value is an error (NO_RATE).',
  }),
})).meta({ id: 'WithholdingRates' });

/** Fraction of ordinary dividends that is withheld in the net variant. */
export const WithholdingTaxSpec = z.union([rateSchema, WithholdingRatesSpec]);

const FALLBACKS_MAX = 8;

export const RuleFallback = defineObject(() => ({
  when_fewer_than: z.int().min(1).max(20_000).meta({
    description: 'The parameters are used if the previous parameters keep fewer securities than this number.',
  }),
  params: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Parameters that replace parameters of the rule. All other parameters do not change.' }),
})).meta({ id: 'RuleFallback' });
export type RuleFallback = z.infer<typeof RuleFallback>;

export const RuleSpec = defineObject(() => ({
  id: z.string().min(1).max(64).meta({ description: 'Id of the rule, unique within the pipeline.' }),
  type: z.string().min(1).meta({ description: 'Rule class; see /indices/rule-types.' }),
  params: z.record(z.string(), z.unknown()).default({}),
  fallback: z
    .array(RuleFallback)
    .max(FALLBACKS_MAX)
    .optional()
    .meta({ description: 'Parameters that are tried, in order, if the rule keeps too few securities.' }),
})).meta({ id: 'RuleSpec' });
export type RuleSpec = z.infer<typeof RuleSpec>;

/** Maximum number of reviews of a document in addition to its rebalance. */
export const REVIEWS_MAX = 16;

/** Maximum number of selection rules of a pipeline or a review. */
export const RULES_MAX = 64;

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
    .max(RULES_MAX)
    .optional()
    .meta({ label: 'Selection', help: 'Default: the value of the pipeline.', when: [{ scope: ['membership'] }] }),
  weighting: WeightingSpec.optional().meta({
    label: 'Weighting',
    help: 'Default: the value of the pipeline.',
    when: [{ scope: ['membership', 'weights'] }],
  }),
})).meta({ id: 'ReviewSpec' });
export type ReviewSpec = z.infer<typeof ReviewSpec>;

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

const PARTS_MAX = 16;
export const ALL_PARTS_MAX = 256;

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

const UNIVERSE_DEPTH_MAX = 4;

export function isTooDeep(universe: unknown, depth = 1): boolean {
  if (depth > UNIVERSE_DEPTH_MAX) return true;
  const parts = typeof universe === 'object' && universe !== null ? (universe as { of?: unknown }).of : undefined;
  return Array.isArray(parts) && parts.some((part) => isTooDeep(part, depth + 1));
}

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
  withholding_tax: WithholdingTaxSpec.default(0).meta({
    label: 'Withholding tax',
    help: 'Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }.',
    unit: 'fraction',
    when: [{ dividends: ['net'] }],
  }),
  reinvestment: z.enum(['index', 'constituent']).default('index').meta({
    label: 'Reinvestment',
    help: 'Ordinary dividends are reinvested in the whole index, or in the security that pays them.',
  }),
  reinvestment_at: z.enum(['close', 'previous_close']).optional().meta({
    label: 'Price of the reinvestment',
    help: 'Dividends are reinvested at the close of their ex-date, or at the previous close minus the dividend. This includes special dividends that are reinvested in the security that pays them. Default: close.',
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
  breach_limits: BreachLimits.optional().meta({
    label: 'Own limits',
    help: 'Limits of the index, instead of a published rule. Their breach triggers a rebalance. Weights are added up as in the caps, by `cap_by`.',
    ref: 'BreachLimits',
    when: [{ on_breach: ['rebalance'] }],
  }),
  breach_review: Id.optional().meta({
    label: 'Review after a breach',
    help: 'Review of `reviews` that a breach triggers, such as one that sets the weights of the current constituents again. Default: the rebalance of the document.',
    when: [{ on_breach: ['rebalance'] }],
  }),
})).meta({ id: 'TreatmentSpec' });
export type TreatmentSpec = z.infer<typeof TreatmentSpec>;

export const PipelineSpec = defineObject(() => ({
  selection: z.array(RuleSpec).max(RULES_MAX).default([]),
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
  constraints: z.array(ConstraintRow).max(CONSTRAINT_ROWS_MAX).default([]),
  relax: RelaxEntries.optional().meta({
    label: 'Relaxation',
    description:
      'Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards.',
  }),
})).meta({ id: 'DerivationPayload' });
export type DerivationPayload = z.infer<typeof DerivationPayload>;

const DATAPOINTS_MAX = LIMITS.MAX_DATAPOINTS;

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
  calendar: z.string().min(1).meta({
    label: 'Calendar',
    help: 'Exchange whose sessions the index uses. `any(XLON,XNYS)` has the sessions on which any of several exchanges is open, `all(XLON,XNYS)` those on which all are open.',
    format: 'calendar',
  }),
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

export type RuleDocument = IndexDocument & { readonly pipeline: PipelineSpec };
export type DerivedDocument = IndexDocument & { readonly derivation: DerivationPayload };

export type OverlayDocument = IndexDocument & { readonly overlay: OverlaySpec };

export const isOverlayDocument = (document: IndexDocument): document is OverlayDocument =>
  document.overlay !== undefined;

/** Returns the underlying indices of an overlay. */
export function listSources({ overlay, source_index_id: source }: OverlayDocument): readonly string[] {
  return listBlendParts(overlay)?.map(({ index_id }) => index_id) ?? (source === undefined ? [] : [source]);
}

export const isRuleDocument = (document: IndexDocument): document is RuleDocument => document.pipeline !== null;
export const isDerivedDocument = (document: IndexDocument): document is DerivedDocument => document.derivation !== null;

export interface IndexContext {
  readonly calendars: readonly CalendarOption[];
  /** Returns a calendar. Review dates are checked against its sessions. */
  readonly calendarOf?: Calendars['get'] | undefined;
  /** Returns a stored document. Returns undefined if it does not exist or cannot be read. */
  readonly indexOf: (id: string) => IndexDocument | undefined;
  readonly replaces?: IndexDocument | undefined;
  /** Current market: missing data give a warning. */
  readonly market?: MarketData | undefined;
}

/** JSON object of unknown content. */
export type UncheckedBody = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is UncheckedBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function createErrorFinding(
  code: Finding['code'],
  path: string,
  message: string,
  rest: Partial<Finding> = {},
): Finding {
  return { severity: 'error', code, path, message, ...rest };
}

/** Reports unknown members of an object as errors, because a document would silently drop them. */
export function findUnknownMembers(value: unknown, accepted: readonly string[], path: string): Finding[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((name) => !accepted.includes(name))
    .map((name) => {
      const message = `Unknown member ${path}.${name}; the accepted names are ${accepted.join(', ')}.${suggestName(name, accepted)}`;
      return createErrorFinding('UNKNOWN_FIELD', `${path}.${name}`, message, { accepted: [...accepted] });
    });
}

/** Fields of the parts of a definition that no rule class describes. */
export interface DefinitionFields {
  readonly index: readonly ParameterSpec[];
  readonly universe: readonly ParameterSpec[];
  readonly rebalance: readonly ParameterSpec[];
  readonly reviews: readonly ParameterSpec[];
  readonly treatment: readonly ParameterSpec[];
  readonly weighting: readonly ParameterSpec[];
  readonly derivation: readonly ParameterSpec[];
  readonly events: readonly ParameterSpec[];
}

const IDENTITY = {
  id: true,
  name: true,
  calendar: true,
  base_date: true,
  base_value: true,
  base_market_value: true,
  currency: true,
  rounding: true,
  store_id: true,
  description: true,
  tags: true,
} as const;

/** Returns the fields of a definition other than its rule classes, for forms. */
export function createDefinitionFields(): DefinitionFields {
  return {
    index: createParameterSpecs(IndexDocument.pick(IDENTITY)),
    universe: createParameterSpecs(UniverseSpec),
    rebalance: createParameterSpecs(RebalanceSpec),
    reviews: createParameterSpecs(IndexDocument.pick({ reviews: true })),
    treatment: createParameterSpecs(TreatmentSpec),
    weighting: createParameterSpecs(WeightingSpec.omit({ type: true, params: true })),
    derivation: createParameterSpecs(DerivationPayload.pick({ relax: true })),
    events: createParameterSpecs(EventsSpec),
  };
}

const NO_DEFINITIONS: Definitions = new Map();

const expressionsByDatapoints = new WeakMap<object, Definitions>();
const definitionsWithPlugins = new WeakMap<object, { readonly own: Definitions; readonly all: Definitions }>();

type DefinedParts = Pick<IndexDocument, 'datapoints' | 'plugins'>;

/**
 * Returns the expressions and plug-ins that a document defines, by name. @cost none for a document that was used before
 */
export function readDefinitions({ datapoints, plugins }: DefinedParts): Definitions {
  const datapointDefinitions = datapoints === undefined ? NO_DEFINITIONS : listExpressions(datapoints);
  if (plugins === undefined) return datapointDefinitions;
  const entry = definitionsWithPlugins.get(plugins);
  if (entry?.own === datapointDefinitions) return entry.all;
  const all = new Map([...datapointDefinitions, ...listPluginDefinitions(plugins)]);
  definitionsWithPlugins.set(plugins, { own: datapointDefinitions, all });
  return all;
}

function listExpressions(datapoints: NonNullable<IndexDocument['datapoints']>): Definitions {
  const result =
    expressionsByDatapoints.get(datapoints) ??
    new Map(
      Object.entries(datapoints).map(([name, given]): [string, ExpressionNode] => [name, toNode(toRequest(given))]),
    );
  expressionsByDatapoints.set(datapoints, result);
  return result;
}

type Version = 'earlier' | 'today';

/**
 * Returns rows with explicit values for parameters whose defaults have changed. Documents that are accepted now state
 * them; other rows were stored by an earlier version, whose default is still the default of the class.
 * @param version version of the defaults to add
 */
export function stateRowDefaults<R extends readonly ConstraintRow[]>(
  rows: R,
  version: Version,
  { isDerivation = false } = {},
): R {
  const findMissing = ({ type, params }: ConstraintRow) => {
    const changed = findConstraintClass(type)?.changedDefault;
    const applies = changed !== undefined && (isDerivation || !changed.isOfDerivations);
    return applies && params[changed.parameter] === undefined ? changed : undefined;
  };
  if (rows.every((row) => findMissing(row) === undefined)) return rows;
  return rows.map((row) => {
    const missing = findMissing(row);
    return missing === undefined ? row : { ...row, params: { ...row.params, [missing.parameter]: missing[version] } };
  }) as readonly ConstraintRow[] as R; // the result has the same number of rows, each of the same form
}

/** Returns an index with explicit values for the parameters whose defaults have changed. */
export function stateIndexDefaults(document: IndexDocument, version: Version): IndexDocument {
  const { derivation } = document;
  if (derivation === null) return document;
  const constraints = stateRowDefaults(derivation.constraints, version, { isDerivation: true });
  return constraints === derivation.constraints
    ? document
    : { ...document, derivation: { ...derivation, constraints } };
}

/** Stored watchlist; its id is the key of the document. */
export const WatchlistDocument = defineObject(() => ({
  name: z.string(),
  description: z.string().nullable(),
  identifiers: z.array(AssetIdentifier),
}));
export type WatchlistDocument = z.infer<typeof WatchlistDocument>;
