import { describeAmendments } from './amendment-sentences.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type IndexDocument,
  type OverlayDocument,
  type UniverseSpec,
  type RuleDocument,
} from '../documents/index-document.js';
import { readObjective, readExpectedReturns, type CostsSpec } from '../documents/optimisation-spec.js';
import type { UncertaintySpec } from '../documents/uncertainty-spec.js';
import type { RiskEstimator, RiskModelChoice } from '../risk/risk-estimator.js';
import { findOverlayType } from '../overlays/catalogue.js';
import { LIMITS } from '../refusals/limits.js';
import type { Adjustment } from '../market/market-data.js';
import type { RelaxEntry } from '../constraints/relax-step.js';
import { isBoundPath, type BoundPath } from '../constraints/bound-path.js';
import { describeLimits } from './limit-sentences.js';
import { formatNumber, formatShare } from '../catalogue/sentence-numbers.js';
import { bindPipeline } from './bound-pipeline.js';
import { readDefinitions } from '../documents/definitions.js';
import type { PluginUse } from '../documents/plugin-document.js';
import { isExpressionNode } from '../datapoints/expressions/tree.js';
import { printExpression } from '../datapoints/expressions/print.js';
import { describeRebalance, describeReviews } from './rebalance-sentences.js';
import { describeInherited, describeTreatment } from './treatment-sentences.js';

/** Sections of a methodology, in order. */
export const METHODOLOGY_SECTIONS = [
  'index',
  'universe',
  'selection',
  'weighting',
  'optimisation',
  'overlay',
  'rebalancing',
  'corporate_actions',
  'rounding',
  'amendments',
] as const;
export type MethodologySection = (typeof METHODOLOGY_SECTIONS)[number];

export interface MethodologySentence {
  readonly section: MethodologySection;
  readonly text: string;
}

/** Returns the sentences of a definition without sections. @see listMethodologySentences */
export const createMethodology = (document: IndexDocument, adjustment: Adjustment | null = null): string[] =>
  listMethodologySentences(document, adjustment).map(({ text }) => text);

/**
 * Describes the definition of an index in English sentences, with every parameter, in the order of application.
 * @param adjustment price basis of the store on which the index is computed; null without a store
 */
export function listMethodologySentences(
  document: IndexDocument,
  adjustment: Adjustment | null = null,
): MethodologySentence[] {
  return Object.entries(createSections(document, adjustment)).flatMap(([section, texts]) =>
    texts.map((text) => ({ section: section as MethodologySection, text })),
  );
}

/** Returns the sentences by section, in the order of the sections. */
function createSections(
  document: IndexDocument,
  adjustment: Adjustment | null,
): Readonly<Record<MethodologySection, readonly string[]>> {
  const isRule = isRuleDocument(document);
  const rules = isRule ? describeRules(document) : { universe: [], selection: [], weighting: [] };
  return {
    index: [...describeIndex(document), ...describeMarketValue(document)],
    ...rules,
    optimisation: isDerivedDocument(document)
      ? [...describeDatapoints(document), ...describeDerivation(document.derivation)]
      : [],
    overlay: isOverlayDocument(document) ? describeOverlay(document) : [],
    rebalancing: [
      ...(isOverlayDocument(document) ? [] : describeRebalance(document.rebalance)),
      ...(isRule ? describeReviews(document) : []),
    ],
    corporate_actions: isRule
      ? describeTreatment(document, adjustment)
      : describeInherited(adjustment, isOverlayDocument(document) ? 'underlying index' : 'parent index'),
    rounding: describeDecimals(document),
    amendments: describeAmendments(document, (text) => createMethodology(text, adjustment)),
  };
}

function describeIndex(document: IndexDocument): string[] {
  const { id, name, description, calendar, base_date, base_value, currency } = document;
  return [
    `${name === id ? id : `${name} (${id})`} is an index in ${currency} on the sessions of the exchange calendar ${calendar}.${description === null || description === '' ? '' : ` ${description}`}`,
    `Its level is ${formatNumber(base_value)} at the close of the first session on or after ${base_date} that has a price.`,
  ];
}

function describeMarketValue(document: IndexDocument): string[] {
  const { base_market_value: value, currency } = document;
  if (value === undefined || isOverlayDocument(document)) return [];
  return [
    `Its market value at that close is ${formatNumber(value)} ${currency}; its first divisor is this value over its level.`,
  ];
}

/** Describes the numbers of decimals of an index. */
function describeDecimals({ rounding = {} }: Pick<IndexDocument, 'rounding'>): string[] {
  const { level, weights, shares, divisor } = rounding;
  const publishedRounding = describeRounding([level, 'levels'], [weights, 'weights']);
  const computedRounding = describeRounding([shares, 'index shares'], [divisor, 'the divisor']);
  return [
    ...(publishedRounding === '' ? [] : [`Published values are rounded half away from zero: ${publishedRounding}.`]),
    ...(computedRounding === ''
      ? []
      : [`Values of the calculation are rounded half away from zero: ${computedRounding}.`]),
  ];
}

const describeRounding = (...members: readonly (readonly [decimals: number | undefined, name: string])[]): string =>
  members
    .filter(([decimals]) => decimals !== undefined)
    .map(([decimals, name]) => `${name} to ${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}`)
    .join(' and ');

/** Describes the datapoints that a document defines. */
function describeDatapoints(document: Pick<IndexDocument, 'datapoints' | 'plugins'>): string[] {
  const { datapoints, plugins = {} } = document;
  return [
    ...Array.from(readDefinitions({ datapoints }), ([name, tree]) => `${name} is ${printExpression(tree)}.`),
    ...Object.entries(plugins).map(([name, use]) => describePlugin(name, use)),
  ];
}

function describePlugin(name: string, { plugin, parameters, code }: PluginUse): string {
  const parameterTexts = Object.entries(code?.parameters ?? parameters).map(
    ([key, value]) => `${key} = ${JSON.stringify(value)}`,
  );
  const termsText = parameterTexts.length === 0 ? '' : ` with ${parameterTexts.join(', ')}`;
  const hash = code === undefined ? '' : ` (SHA-256 ${code.sha256})`;
  return `${name} is computed by the plug-in ${plugin}${hash}${termsText}.`;
}

function describeRules(document: RuleDocument) {
  const { rules, weighting } = bindPipeline(document);
  return {
    universe: [describeUniverse(document.universe), ...describeDatapoints(document)],
    selection: rules.map(({ id, rule }) => `Rule ${id}: ${rule.sentence}`),
    weighting: [weighting.sentence, ...describeLimits(document.pipeline.weighting)],
  };
}

/** Describes the effect of an overlay on its underlying indices. */
export function describeOverlay(document: OverlayDocument): string[] {
  const { overlay, source_index_id: source } = document;
  return [
    ...(source === undefined ? [] : [`It is an overlay on the index ${source}.`]),
    'On sessions outside the calendar of an underlying index, its last known level is used.',
    ...findOverlayType(overlay).sentences(overlay),
    ...(overlay.type === 'blend' ? describeRebalance(overlay.rebalance) : []),
  ];
}

function describeUniverse(universe: UniverseSpec | undefined): string {
  return `The universe is ${formatUniverse(universe)}.`;
}

function formatUniverse(universe: UniverseSpec | undefined): string {
  const partTexts = (universe?.of ?? []).map((part) =>
    part.kind === 'index' ? `the constituents of the index ${part.id} as last decided` : formatUniverse(part),
  );
  switch (universe?.kind ?? 'all') {
    case 'all':
      return 'every security with a price on the decision date';
    case 'named':
      return `the membership of ${universe!.id} as of the decision date`;
    case 'list':
      return (universe!.identifiers ?? []).join(', ');
    case 'watchlist':
      return `the securities of the watchlist ${universe!.watchlist_id} at the time of computation`;
    case 'index':
      return `the constituents of the index ${universe!.id} that it has decided by the decision date`;
    case 'union':
      return `the securities in any of (${partTexts.join('; ')})`;
    case 'intersection':
      return `the securities in all of (${partTexts.join('; ')})`;
    case 'difference':
      return `the securities in (${partTexts[0]}) and in none of (${partTexts.slice(1).join('; ')})`;
  }
}

function describeDerivation(derivation: NonNullable<IndexDocument['derivation']>): string[] {
  const { source_index_id, constraints, costs } = derivation;
  const { entry, params } = readObjective(derivation.objective);
  const returns = readExpectedReturns(derivation);
  const cash = entry.cash(params);
  const cashText = returns?.entry.isAboveCash === true && cash !== 0 ? `, above a rate of ${cash}` : '';
  const rows = constraints.map(
    ({ id, type, params }, i) => `Constraint ${id === '' ? i + 1 : id}: ${type} with ${formatParameters(params)}.`,
  );
  return [
    `Its constituents are ${derivation.candidates === 'universe' ? `chosen from the universe of the index ${source_index_id}` : `those of the index ${source_index_id}`}, weighted by the objective ${entry.type}: ${entry.sentence(params)} within the constraints.`,
    ...(returns === null ? [] : [`Expected returns are ${returns.entry.sentence(returns.params)}${cashText}.`]),
    ...describeUncertainty(derivation.uncertainty),
    ...(costs === null || costs === undefined ? [] : [describeTradingCosts(costs)]),
    ...(derivation.risk_model ? [describeRisk(derivation.risk_model)] : []),
    ...(rows.length === 0 ? ['The weights are fully invested and long only.'] : rows),
    ...describeRelaxation(derivation.relax ?? []),
  ];
}

function describeRelaxation(relax: readonly RelaxEntry[]): string[] {
  if (relax.length === 0) return [];
  const entries = relax.map(
    ({ row, steps }) =>
      `${row} to ${steps.map((step) => (typeof step === 'number' ? formatNumber(step) : formatParameters(step))).join(', then ')}`,
  );
  return [
    `If the constraints are infeasible, rows are relaxed step by step until they are feasible: ${entries.join('; then ')}. Each step keeps the earlier ones.`,
  ];
}

function describeUncertainty(uncertainty: UncertaintySpec | null | undefined): string[] {
  if (uncertainty === null || uncertainty === undefined) return [];
  const { returns, covariance } = uncertainty;
  return [
    ...(returns === null
      ? []
      : [
          `Expected returns are the worst within ${returns.radius} standard errors (${SETS[returns.set]}), the standard errors of a mean of ${returns.sessions ?? 'the'} returns${returns.sessions === null ? ' of the window' : ''}.`,
        ]),
    ...(covariance === null
      ? []
      : [
          `Each covariance may differ by ${covariance.radius} times the product of the two volatilities; the worst case is used.`,
        ]),
  ];
}

const SETS: Readonly<Record<NonNullable<UncertaintySpec['returns']>['set'], string>> = {
  ellipsoid: 'an ellipsoid of the shape of the covariance',
  diagonal: 'an ellipsoid of independent errors',
  box: 'each security separately',
};

function describeRisk(model: RiskModelChoice): string {
  if (typeof model === 'string') return `Risk is the stored risk model ${model}.`;
  const { estimator, target, intensity, intensity_method, half_life, sessions } = model;
  const returnsText = `${sessions ?? LIMITS.DERIVED_RISK_SESSIONS} returns up to the decision`;
  if (estimator !== 'shrinkage') return `Risk is a covariance of ${returnsText}, ${describeEstimator(model)}.`;
  const weightText =
    intensity === null
      ? `the intensity of ${intensity_method === 'shape' ? 'securities over securities plus observations' : 'Ledoit and Wolf'}`
      : `intensity ${intensity}`;
  const decayText = half_life === null ? '' : `, with weights that halve every ${half_life} sessions`;
  return `Risk is a covariance of ${returnsText}${decayText}, shrunk towards ${target === 'scaled_identity' ? 'a scaled identity' : 'constant correlation'} with ${weightText}.`;
}

/** Describes an estimator without a shrinkage target, as the end of a sentence. */
function describeEstimator({ estimator, threshold, lags, half_life }: RiskEstimator): string {
  switch (estimator) {
    case 'nonlinear':
      return 'with each eigenvalue shrunk by the analytical formula of Ledoit and Wolf';
    case 'gerber':
      return `by the Gerber statistic of moves beyond ${threshold} standard deviations`;
    case 'denoised':
      return 'with the eigenvalues below the Marchenko-Pastur edge of its correlations replaced by their mean';
    default: {
      const decayText = half_life === null ? '' : `, with weights that halve every ${half_life} sessions`;
      return `with the autocovariances of ${lags} lags by Newey and West${decayText}`;
    }
  }
}

function describeTradingCosts({ linear_bps, impact_coefficient }: CostsSpec): string {
  return `Costs of the trades are subtracted: ${linear_bps} basis points of each traded weight and ${impact_coefficient} times its power of 3/2, from the weights held just before.`;
}

function formatParameter(value: unknown): string {
  if (isExpressionNode(value)) return printExpression(value);
  return isBoundPath(value) ? formatPath(value) : JSON.stringify(value);
}

function formatPath({ base, yearly, times, from }: BoundPath): string {
  const divisorPhrase =
    typeof base === 'number'
      ? formatNumber(base)
      : `that of the source index at its latest review on or before ${base}`;
  const start = typeof base === 'string' ? base : (from ?? 'the base date');
  return `${times === undefined || times === 1 ? '' : `${formatNumber(times)} times `}${divisorPhrase}, changed by ${formatShare(yearly)} per year from ${start}`;
}

function formatParameters(params: Readonly<Record<string, unknown>>): string {
  const parameterTexts = Object.entries(params).map(
    ([name, value]) => `${name.replaceAll('_', ' ')} ${formatParameter(value)}`,
  );
  return parameterTexts.length === 0 ? 'its defaults' : parameterTexts.join(', ');
}
