import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { Decided, Decider, Undecided } from '../books/decider.js';
import type { RuleDocument, TreatmentSpec } from '../documents/index-document.js';
import { isEqual } from '../numbers/number-types.js';
import type { Finding } from '../refusals/findings.js';
import { holdsPrices } from '../documents/share-terms.js';
import { exchangeRates, requireRate } from '../market/exchange-rates.js';
import { growthOf } from '../index-mathematics/growth.js';
import { growthTerms } from '../index-mathematics/growth-terms.js';
import { returnGaps } from '../market/return-gaps.js';
import type { SessionMarket } from '../market/session-market.js';
import { assertNoErrors, Refusal } from '../refusals/refusal.js';
import { bindPipeline, readsOf, type BoundPipeline } from './bound-pipeline.js';
import type { Capped } from './capping.js';
import type { CapInfeasible } from './solve-grouping.js';
import { limitWeights, withoutZeroCaps } from './limit-weights.js';
import { createCrossSections, type CrossSection, type CrossSections } from '../datapoints/cross-section.js';
import { fieldFindings, type PlacedUse } from './field-findings.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { Series } from '../datapoints/series.js';
import { chooseOn, type AskedDecision, type Choice, type WaterfallStep } from './choose.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { RawWeights } from './weighting-class.js';
import type { IndexWeights } from '../datapoints/expression-section.js';
import { expressionWords } from '../datapoints/expressions/sentences.js';
import { indicesIn, type Definitions } from '../datapoints/expressions/reads.js';

export interface RuleDecided extends Decided {
  readonly waterfall: readonly WaterfallStep[];
  /** Survivors of the rules that have no weight, columns ascending. */
  readonly unweighted: Int32Array;
}

export interface RuleUndecided extends Undecided {
  readonly waterfall: readonly WaterfallStep[];
}

/** Decides by the rules of a document. */
export interface RuleDecider extends Decider {
  /** Whether the previous composition bears on a decision: when not, incumbents need not be known. */
  readonly remembers: boolean;
  decide(session: number, incumbents: ArrayLike<number> | null): RuleDecided | RuleUndecided;
  /** The same decision with everything that led to it, for an explanation. */
  trace(session: number, incumbents: ArrayLike<number> | null): Trace;
}

export function isRuleDecider(decider: Decider): decider is RuleDecider {
  return 'trace' in decider;
}

export interface Trace {
  readonly decision: RuleDecided | RuleUndecided;
  readonly cross: CrossSection;
  readonly pipeline: BoundPipeline;
  readonly verdicts: Choice['verdicts'];
  /** Survivors of every rule, columns ascending. */
  readonly survivors: Int32Array;
  readonly raw: RawWeights | undefined;
  readonly capping: Capped | undefined;
}

export interface CreateDeciderInput {
  readonly document: RuleDocument;
  readonly market: SessionMarket;
  /** Columns of the universe that are priceable on a session, ascending. */
  readonly universe: (session: number) => Int32Array;
  /** Another index as it was last decided on or before a session; null before its first composition. */
  readonly indexWeights?: (indexId: string, session: number) => IndexWeights | null;
  /** A stored risk model. */
  readonly riskModel?: StoredModels;
  /** Engine of matrix products; plain loops unless given. */
  readonly engine?: Engine;
  /** What other deciders have worked out; nothing unless given. */
  readonly sharing?: DecisionSharing | undefined;
}

/** What deciders of definitions that have terms in common share. */
export interface DecisionSharing {
  /** Cross-sections of a market. @param reads what they are asked for */
  sectionsOf(terms: CrossSectionTerms, reads: readonly PlacedUse[]): CrossSections;
  /** The universe of a document by session. */
  universeOf(
    document: RuleDocument,
    market: SessionMarket,
    ask: (session: number) => Int32Array,
  ): (session: number) => Int32Array;
  /** Choices by the selection and weighting of a document. */
  choicesOf(document: RuleDocument, terms: CrossSectionTerms): (asked: AskedDecision, make: () => Choice) => Choice;
}

/**
 * The decider of a valid document on one market. Only data dated on or before the decision session is read.
 * @throws Refusal VALIDATION_FAILED when the market lacks a datapoint, FX_MISSING from a decision that needs a rate it
 *   lacks
 * @cost per decision: names * (sum of the rules' windows) cells read
 */
export function createDecider({
  document,
  market,
  universe,
  indexWeights = noIndices,
  riskModel = noModels,
  engine = referenceEngine,
  sharing = notShared,
}: CreateDeciderInput): RuleDecider {
  const pipeline = bindPipeline(document);
  const reads = readsOf(pipeline);
  assertNoErrors(`index document ${document.id}`, fieldFindings(reads, market.market, 'error', pipeline.definitions));
  const terms = {
    market,
    treatment: document.pipeline.treatment,
    currency: document.currency,
    datapoints: pipeline.definitions,
  };
  const sections = sharing.sectionsOf(terms, reads);
  const universeOf = sharing.universeOf(document, market, universe);
  const asksIndices = reads.some(({ use }) => indicesIn(use.field, pipeline.definitions).length > 0);
  // Other indices may be defined otherwise wherever choices are shared.
  const chosen = asksIndices ? notShared.choicesOf(document, terms) : sharing.choicesOf(document, terms);
  const trace = (session: number, incumbents: ArrayLike<number> | null) => {
    const asked = { session, universe: universeOf(session), incumbents: pipeline.remembers ? incumbents : null };
    const choice = chosen(asked, () =>
      chooseOn({ ...asked, document, pipeline, sections, market, engine, riskModel, indexWeights }),
    );
    return decideOn(choice, { document, pipeline, market });
  };
  return {
    remembers: pipeline.remembers,
    decide: (session, incumbents) => trace(session, incumbents).decision,
    trace,
  };
}

function noIndices(indexId: string): never {
  throw new Error(`the index ${indexId} cannot be asked here`);
}

function noModels(modelId: string): never {
  throw new Error(`the risk model ${modelId} cannot be asked here`);
}

const notShared: DecisionSharing = {
  sectionsOf: crossSectionsOf,
  universeOf: (_document, _market, ask) => ask,
  choicesOf: () => (_asked, make) => make(),
};

export interface CrossSectionTerms {
  readonly market: SessionMarket;
  readonly treatment: TreatmentSpec;
  /** Of the index. */
  readonly currency: string;
  /**
   * Names that are read on sessions that follow each other, ascending: their windows of a year are summed as they roll on,
   * and differ by rounding.
   */
  readonly followed?: Int32Array;
  /** Expressions that the definition names; none unless given. */
  readonly datapoints?: Definitions;
}

/** Datapoints of a market on the terms of an index. */
export function crossSectionsOf({
  market,
  treatment,
  currency,
  followed,
  datapoints = new Map(),
}: CrossSectionTerms): CrossSections {
  const rates = exchangeRates(market, currency);
  const isForeign = market.identifiers.some((_, column) => !rates.isNative(column));
  const exchange: Series = {
    fill(session, columns, out) {
      for (let i = 0; i < columns.length; i++) out[i] = rates.rateAt(session, columns[i]!);
    },
  };
  const growthWith = (variant: 'total' | 'price') => () => growthOf(market, growthTerms(treatment, currency, variant));
  const [growth, priceGrowth] = [growthWith('total'), growthWith('price')];
  return createCrossSections(market, {
    exchange: isForeign ? exchange : null,
    growth,
    gaps: () => returnGaps(market, growth()),
    price: { growth: priceGrowth, gaps: () => returnGaps(market, priceGrowth()) },
    maxStaleSessions: treatment.max_stale_sessions,
    followed: followed ?? null,
    datapoints,
    requireRates(session, columns) {
      if (isForeign) for (const column of columns) requireRate(rates, market, session, column);
    },
  });
}

interface DecideInput {
  readonly document: RuleDocument;
  readonly pipeline: BoundPipeline;
  readonly market: SessionMarket;
}

function decideOn(choice: Choice, { document, pipeline, market }: DecideInput): Trace {
  const { cross, waterfall, verdicts, survivors, raw } = choice;
  const traced = { cross, pipeline, verdicts, survivors, raw, capping: undefined };
  if (raw === undefined) return { ...traced, decision: { ...nothingSurvives(waterfall, traced), waterfall } };
  if (raw.kind === 'refused') {
    const { path = '', ...rest } = raw.finding;
    const place = path === '' ? 'pipeline.weighting' : `pipeline.weighting.${path}`;
    const finding: Finding = { severity: 'error', ...rest, path: place };
    return { ...traced, decision: { kind: 'refused', code: raw.code, finding, waterfall } };
  }
  if (choice.columns.length === 0) return { ...traced, decision: { ...nothingWeighs(traced), waterfall } };

  const { columns, unweighted, uncapped, uncappedNames, capOf } = withoutZeroCaps(choice, pipeline);
  if (columns.length === 0) return { ...traced, decision: { ...everyCapIsZero(choice.columns.length), waterfall } };
  const { weighting } = document.pipeline;
  const capping = limitWeights({ weighting, pipeline, cross, columns, raw: uncapped, capOf });
  if (capping.kind === 'infeasible') return { ...traced, decision: { ...cannotBeCapped(capping), waterfall } };
  const decision: RuleDecided = {
    kind: 'decided',
    columns,
    weights: capping.weights,
    uncapped,
    cap: capping.cap,
    capped: capping.capped.map((position) => columns[position]!),
    redistributed: capping.redistributed,
    findings: [
      ...(unweighted.length === 0 ? [] : [notHeld(unweighted, market.identifiers)]),
      ...(uncappedNames.length === 0 ? [] : [withoutCap(uncappedNames, market.identifiers)]),
    ],
    // Fixed numbers of shares are held as long as no limit changes them.
    ...(holdsPrices(document.pipeline.weighting) && isEqual(capping.weights, uncapped)
      ? { basket: raw.values.reduce((sum, value) => sum + value, 0) }
      : {}),
    waterfall,
    unweighted,
  };
  return { ...traced, capping, decision };
}

type Selected = Pick<Trace, 'cross' | 'pipeline' | 'verdicts' | 'survivors'>;

function nothingSurvives(waterfall: readonly WaterfallStep[], { cross, pipeline, verdicts }: Selected): Undecided {
  const last = waterfall.find(({ remaining }) => remaining === 0)!;
  if (last.ruleId === null) return undecided('empty', 'universe', ['The universe has no name that can be priced.']);
  const at = last.position - 1;
  const lacking = { cross, columns: verdicts[at]!.scope.columns, reads: pipeline.rules[at]!.rule.reads };
  const where = `No name is left after the rule ${last.ruleId} (${last.ruleType})`;
  return undecided('empty', `pipeline.selection[${at}]`, whyNothing(where, lacking), last.ruleId);
}

function nothingWeighs({ cross, pipeline, survivors }: Selected): Undecided {
  const where = `None of the ${survivors.length} surviving names has a weight: their datapoints are missing or not positive`;
  const lacking = { cross, columns: survivors, reads: pipeline.weighting.reads };
  return undecided('refused', 'pipeline.weighting', whyNothing(where, lacking));
}

/** @param said what happened, and beyond that what is worth telling where nothing came before */
function undecided(
  kind: Undecided['kind'],
  path: string,
  [message, more]: readonly [string, (() => string)?],
  rowId?: string,
): Undecided {
  const row = rowId === undefined && kind === 'refused' ? {} : { row_id: rowId ?? null };
  const finding: Finding = { severity: 'error', code: 'NO_WEIGHT_DATA', message, path, ...row };
  const explain = () => {
    const whole = { ...finding, message: `${message}${more!()}` };
    return new Refusal('EMPTY_INDEX', whole.message, { findings: [whole] });
  };
  return { kind, code: 'EMPTY_INDEX', finding, ...(more === undefined ? {} : { explain }) };
}

interface Lacking {
  readonly cross: CrossSection;
  /** Names that were asked about, at least one. */
  readonly columns: Int32Array;
  readonly reads: readonly FieldUse[];
}

/** A sentence with the datapoint that no name has, and from when on one of them can have it. */
function whyNothing(what: string, { cross, columns, reads }: Lacking): readonly [string, (() => string)?] {
  const lacks = ({ field, as, money }: FieldUse) =>
    as === 'number' && (money ? cross.money : cross.numbers)(field, columns).every((value) => Number.isNaN(value));
  const missing = reads.find(lacks);
  if (missing === undefined) return [`${what}.`];
  const text = expressionWords(missing.field);
  const known = () => {
    const days = Array.from(columns, (column) => cross.read(missing.field, column).knownFrom ?? '').filter(Boolean);
    return days.length === 0
      ? ''
      : ` It can be known from ${days.toSorted()[0]!} on: their bars begin too late for it.`;
  };
  return [`${what}: none of the ${columns.length} names has ${text}.`, known];
}

function cannotBeCapped({ message, stated }: Pick<CapInfeasible, 'message' | 'stated'>): Undecided {
  return {
    kind: 'refused',
    code: 'VALIDATION_FAILED',
    finding: { severity: 'error', code: 'CAP_INFEASIBLE', message, path: `pipeline.weighting.${stated}` },
  };
}

const everyCapIsZero = (count: number): Undecided =>
  cannotBeCapped({ message: `The cap of each of the ${count} constituents is 0 or less.`, stated: 'cap' });

/** Names listed in the message about names without a weight. */
const NAMES_LISTED_MAX = 10;

function notHeld(columns: Int32Array, identifiers: readonly string[]): Finding {
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${columns.length} surviving ${columns.length === 1 ? 'name has' : 'names have'} no weight and ${columns.length === 1 ? 'is' : 'are'} not held: ${listed(columns, identifiers)}.`,
    path: 'pipeline.weighting',
  };
}

function withoutCap(columns: Int32Array, identifiers: readonly string[]): Finding {
  const [count, verb] = columns.length === 1 ? ['1 constituent', 'is'] : [`${columns.length} constituents`, 'are'];
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${count} without a value of the cap ${verb} not capped: ${listed(columns, identifiers)}.`,
    path: 'pipeline.weighting.cap',
  };
}

function listed(columns: Int32Array, identifiers: readonly string[]): string {
  const first = Array.from(columns.subarray(0, NAMES_LISTED_MAX), (column) => identifiers[column]!).join(', ');
  return columns.length > NAMES_LISTED_MAX ? `${first} and ${columns.length - NAMES_LISTED_MAX} more` : first;
}
