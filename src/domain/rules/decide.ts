import { listReadsBehind } from './look-back.js';
import { createSpinOffReport } from './unvalued-spin-offs.js';
import { applyStoreDefaults, readPriceSessions, countStaleSessions } from '../documents/stale-sessions.js';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { DecidedComposition, Decider, OutgoingComposition, FailedDecision } from '../books/decider.js';
import type { RuleDocument, TreatmentSpec } from '../documents/index-document.js';
import { isEqual } from '../numbers/number-types.js';
import type { Finding } from '../refusals/findings.js';
import { changesMembers } from '../documents/events-spec.js';
import { isPriceWeighted, hasIndependentWeights } from '../documents/share-terms.js';
import { createExchangeRates, requireRate } from '../market/exchange-rates.js';
import { computeGrowth } from '../index-mathematics/growth.js';
import { createValuation, type Valuation } from '../datapoints/valuation.js';
import { createGrowthTerms, createReturnTerms } from '../index-mathematics/growth-terms.js';
import { findReturnGaps } from '../market/return-gaps.js';
import type { SessionMarket } from '../market/session-market.js';
import { assertNoErrors } from '../refusals/refusal.js';
import { bindPipeline, listReads, type BoundPipeline } from './bound-pipeline.js';
import type { CappedOutcome } from './capping.js';
import { limitWeights, removeZeroCaps } from './limit-weights.js';
import { createCrossSections, type CrossSection, type CrossSections } from '../datapoints/cross-section.js';
import { checkFields, type LocatedUse } from './field-findings.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { Series } from '../datapoints/series.js';
import { addSuspended } from './suspended-securities.js';
import { createPool } from './review-pool.js';
import {
  refuseCap,
  refuseZeroCaps,
  reportMissingData,
  refuseNothingSurvives,
  refuseNothingWeighs,
  reportWithoutCap,
} from './undecided-reasons.js';
import { chooseSecurities, type DecisionInput, type Choice, type WaterfallStep } from './choose.js';
import type { RawWeights, WeighedSecurities } from './weighting-class.js';
import type { IndexWeights } from '../datapoints/expression-section.js';
import { listIndices, type Definitions } from '../datapoints/expressions/reads.js';

export interface RuleDecided extends DecidedComposition {
  readonly waterfall: readonly WaterfallStep[];
  /** Securities that pass the rules but have no weight, columns ascending. */
  readonly unweighted: Int32Array;
}

export interface RuleUndecided extends FailedDecision {
  readonly waterfall: readonly WaterfallStep[];
}

/** Decider for the rules of a document. */
export interface RuleDecider extends Decider {
  /** True if the previous composition affects decisions. If false, incumbents need not be known. */
  readonly remembers: boolean;
  decide(
    session: number,
    incumbents: ArrayLike<number> | null,
    outgoing?: OutgoingComposition | null,
    among?: Int32Array | null,
  ): RuleDecided | RuleUndecided;
  /** Repeats a decision and returns its full derivation, for an explanation. */
  trace(session: number, incumbents: ArrayLike<number> | null, among?: Int32Array | null): Trace;
}

export function isRuleDecider(decider: Decider): decider is RuleDecider {
  return 'trace' in decider;
}

export interface Trace {
  readonly decision: RuleDecided | RuleUndecided;
  readonly cross: CrossSection;
  readonly pipeline: BoundPipeline;
  readonly verdicts: Choice['verdicts'];
  /** Securities that pass every rule, columns ascending. */
  readonly survivors: Int32Array;
  readonly raw: RawWeights | undefined;
  readonly capping: CappedOutcome | undefined;
}

export interface CreateDeciderInput {
  readonly document: RuleDocument;
  readonly market: SessionMarket;
  /** Returns the columns of the universe with a price on a session, ascending. */
  readonly universe: (session: number) => Int32Array;
  /**
   * Returns a number for each column on a session: 1 for a member of the universe, with or without a price. If the
   * function is absent, suspended constituents are not kept.
   */
  readonly members?: (session: number) => Uint8Array;
  /**
   * Returns the weights of any index, by its id, at its last decision on or before a session. Returns null before its
   * first composition.
   */
  readonly indexWeights?: (indexId: string, session: number) => IndexWeights | null;
  /** Returns stored risk models. */
  readonly riskModel?: StoredModels;
  /** Engine for matrix products. Default: plain loops. */
  readonly engine?: Engine;
  /** Results shared with other deciders. Default: none. */
  readonly sharing?: DecisionSharing | undefined;
}

/** Results that deciders share if their definitions have common terms. */
export interface DecisionSharing {
  /** Returns the cross-sections of a market. @param reads datapoints to be read */
  sectionsOf(terms: CrossSectionTerms, reads: readonly LocatedUse[]): CrossSections;
  /** Returns the universe of a document by session. */
  universeOf(
    document: RuleDocument,
    market: SessionMarket,
    ask: (session: number) => Int32Array,
  ): (session: number) => Int32Array;
  /** Returns choices by the selection and weighting of a document. */
  choicesOf(document: RuleDocument, terms: CrossSectionTerms): (asked: DecisionInput, make: () => Choice) => Choice;
}

/**
 * Creates the decider of a valid document on one market. It reads only data dated on or before the decision session.
 * @throws Refusal VALIDATION_FAILED if the market lacks a datapoint, FX_MISSING from a decision that needs a missing
 * rate
 * @cost per decision: securities * (sum of the windows of all rules) cells
 */
export function createDecider({
  document,
  market,
  universe,
  members,
  indexWeights = refuseIndices,
  riskModel = refuseModels,
  engine = referenceEngine,
  sharing = NO_SHARING,
}: CreateDeciderInput): RuleDecider {
  const pipeline = bindPipeline(document);
  const reads = listReads(pipeline);
  assertNoErrors(`index document ${document.id}`, checkFields(reads, market.market, 'error', pipeline.definitions));
  const terms = {
    market,
    treatment: applyStoreDefaults(document.pipeline.treatment, market.market),
    currency: document.currency,
    datapoints: pipeline.definitions,
  };
  const sections = sharing.sectionsOf(terms, reads);
  const findUniverse = sharing.universeOf(document, market, universe);
  const asksIndices = reads.some(({ use }) => listIndices(use.field, pipeline.definitions).length > 0);
  // Choices are not shared, because other definitions may refer to other indices.
  const choose = asksIndices ? NO_SHARING.choicesOf(document, terms) : sharing.choicesOf(document, terms);
  const traceDecision = (session: number, incumbents: ArrayLike<number> | null, among: Int32Array | null = null) => {
    const universe = among ?? findUniverse(session);
    const suspension = { session, universe, incumbents, treatment: terms.treatment, members };
    const fullUniverse = among === null ? addSuspended(market, suspension) : universe;
    const request = { session, universe: fullUniverse, incumbents: pipeline.remembers ? incumbents : null };
    const makeChoice = (): Choice =>
      chooseSecurities({ ...request, document, pipeline, sections, market, engine, riskModel, indexWeights });
    const choice = among === null && fullUniverse === universe ? choose(request, makeChoice) : makeChoice();
    return traceChoice(choice, { document, pipeline, market });
  };
  const listVerdicts = (session: number, incumbents: Int32Array | null) => traceDecision(session, incumbents).verdicts;
  const pool = createPool({
    pipeline,
    sections,
    market,
    engine,
    riskModel,
    universe: findUniverse,
    indexWeights,
    verdictsOn: listVerdicts,
  });
  const isRanked = document.events?.replacement === 'next_ranked';
  const expressions = reads.map(({ use }) => use.field);
  const reportSpinOffs = createSpinOffReport(market, listReadsBehind(expressions, pipeline.definitions).fields);
  return {
    remembers: pipeline.remembers,
    pool,
    decide(session, incumbents, _outgoing, among) {
      const traced = traceDecision(session, incumbents, among).decision;
      const spinOffs = traced.kind === 'decided' ? reportSpinOffs(session, among ?? findUniverse(session)) : [];
      const decision =
        spinOffs.length === 0 || traced.kind !== 'decided'
          ? traced
          : { ...traced, findings: [...traced.findings, ...spinOffs] };
      // A review that keeps the constituents leaves the ranking of their selection in force.
      const selects = among === undefined || among === null;
      if (!isRanked || !selects || decision.kind !== 'decided') return decision;
      return { ...decision, ranking: pool.ranking(session, incumbents === null ? null : Int32Array.from(incumbents)) };
    },
    trace: traceDecision,
  };
}

function refuseIndices(indexId: string): never {
  throw new Error(`the index ${indexId} is not available here`);
}

function refuseModels(modelId: string): never {
  throw new Error(`the risk model ${modelId} is not available here`);
}

const NO_SHARING: DecisionSharing = {
  sectionsOf: createIndexCrossSections,
  universeOf: (_document, _market, ask) => ask,
  choicesOf: () => (_asked, make) => make(),
};

export interface CrossSectionTerms {
  readonly market: SessionMarket;
  readonly treatment: TreatmentSpec;
  /** Currency of the index. */
  readonly currency: string;
  /**
   * Securities read on consecutive sessions, ascending. Their one-year windows are computed as rolling sums; results
   * differ by rounding.
   */
  readonly followed?: Int32Array;
  /** Expressions that the definition contains. Default: none. */
  readonly datapoints?: Definitions;
}

/** Creates the cross-sections of a market with the terms of an index. */
export function createIndexCrossSections({
  market,
  treatment,
  currency,
  followed,
  datapoints = new Map(),
}: CrossSectionTerms): CrossSections {
  const rates = createExchangeRates(market, currency);
  const isForeign = market.identifiers.some((_, column) => !rates.isNative(column));
  const exchange: Series = {
    fill(session, columns, out) {
      for (let i = 0; i < columns.length; i++) out[i] = rates.rateAt(session, columns[i]!);
    },
  };
  const createGrowthReader = (variant: 'total' | 'price') => () =>
    computeGrowth(market, createReturnTerms(treatment, currency, variant));
  // Shares of a rights issue increase a market value, unless the treatment says otherwise.
  const { rights = 'subscribe' } = treatment;
  const holding = createGrowthTerms({ ...treatment, rights }, currency, 'price');
  let valuation: Valuation | undefined;
  const [growth, priceGrowth] = [createGrowthReader('total'), createGrowthReader('price')];
  return createCrossSections(market, {
    exchange: isForeign ? exchange : null,
    growth,
    gaps: () => findReturnGaps(market, growth()),
    price: { growth: priceGrowth, gaps: () => findReturnGaps(market, priceGrowth()) },
    maxStaleSessions: readPriceSessions(treatment),
    suspendedSessions: countStaleSessions(treatment),
    valuation: () => (valuation ??= createValuation(market, holding)),
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

function traceChoice(choice: Choice, { document, pipeline, market }: DecideInput): Trace {
  const { cross, waterfall, verdicts, survivors, raw } = choice;
  const tracedChoice = { cross, pipeline, verdicts, survivors, raw, capping: undefined };
  if (raw === undefined)
    return { ...tracedChoice, decision: { ...refuseNothingSurvives(waterfall, tracedChoice), waterfall } };
  if (raw.kind === 'refused') {
    const { path = '', ...rest } = raw.finding;
    const weightingPath = path === '' ? 'pipeline.weighting' : `pipeline.weighting.${path}`;
    const finding: Finding = { severity: 'error', ...rest, path: weightingPath };
    return { ...tracedChoice, decision: { kind: 'refused', code: raw.code, finding, waterfall } };
  }
  if (choice.columns.length === 0)
    return { ...tracedChoice, decision: { ...refuseNothingWeighs(tracedChoice), waterfall } };

  const { columns, unweighted, uncapped, uncappedNames, capOf } = removeZeroCaps(choice, pipeline);
  if (columns.length === 0)
    return { ...tracedChoice, decision: { ...refuseZeroCaps(choice.columns.length), waterfall } };
  const { weighting } = document.pipeline;
  const capping = limitWeights({ weighting, pipeline, cross, columns, raw: uncapped, capOf });
  if (capping.kind === 'infeasible') return { ...tracedChoice, decision: { ...refuseCap(capping), waterfall } };
  const decision: RuleDecided = {
    kind: 'decided',
    columns,
    weights: capping.weights,
    uncapped,
    cap: capping.cap,
    capped: capping.capped.map((position) => columns[position]!),
    redistributed: capping.redistributed,
    findings: [
      ...(unweighted.length === 0 ? [] : [reportMissingData(unweighted, market.identifiers)]),
      ...(raw.warnings ?? []).map((warning): Finding => ({
        severity: 'warning',
        ...warning,
        path: `pipeline.weighting.${warning.path}`,
      })),
      ...(uncappedNames.length === 0 ? [] : [reportWithoutCap(uncappedNames, market.identifiers)]),
    ],
    // Fixed numbers of shares are kept if no limit changes them.
    ...(isPriceWeighted(document.pipeline.weighting) && isEqual(capping.weights, uncapped)
      ? createBasket(choice, columns, raw)
      : {}),
    ...(changesMembers(document.events) && columns.length === choice.columns.length
      ? computeWorth(document, raw.values, capping)
      : {}),
    waterfall,
    unweighted,
  };
  return { ...tracedChoice, capping, decision };
}

/** Returns the money value and the numbers of shares of a composition with fixed numbers of shares. */
function createBasket(
  { survivors }: Choice,
  columns: Int32Array,
  { values, shares }: WeighedSecurities,
): Pick<RuleDecided, 'basket' | 'fixedShares'> {
  return {
    basket: values.reduce((sum, value) => sum + value, 0),
    ...(shares === undefined
      ? {}
      : { fixedShares: Float64Array.from(columns, (column) => shares[survivors.indexOf(column)]!) }),
  };
}

/**
 * Returns the market value, or the price, per unit of weight. It is computed from a security whose weight no limit
 * changes.
 */
function computeWorth(
  { pipeline: { weighting } }: RuleDocument,
  values: Float64Array,
  { capped, scaleOf, weights }: CappedOutcome,
): { readonly worth?: number } {
  if (!hasIndependentWeights(weighting)) return {};
  const freePosition = weights.findIndex((_, position) => !capped.includes(position));
  return { worth: values.reduce((sum, value) => sum + value, 0) / (freePosition < 0 ? 1 : scaleOf(freePosition)) };
}
