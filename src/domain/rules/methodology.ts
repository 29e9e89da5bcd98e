import {
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type IndexDocument,
  type OverlayDocument,
  type PipelineSpec,
  type TreatmentSpec,
  type RuleDocument,
} from '../documents/index-document.js';
import { shareTermsOf } from '../documents/share-terms.js';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { objectiveOf, returnsOf, type CostsSpec } from '../documents/optimisation-spec.js';
import type { UncertaintySpec } from '../documents/uncertainty-spec.js';
import type { RiskEstimator, RiskModelChoice } from '../risk/risk-estimator.js';
import { overlayTypeOf } from '../overlays/catalogue.js';
import { breachRuleOf } from '../compliance/breach-watch.js';
import { LIMIT_RULES, type LimitRuleName } from '../compliance/rules.js';
import { LIMITS } from '../refusals/limits.js';
import type { Adjustment } from '../market/market-data.js';
import { universeSentence } from './universe-sentence.js';
import { bindPipeline } from './bound-pipeline.js';
import { numberText, shareText } from '../catalogue/sentence-numbers.js';
import { definitionsOf } from '../documents/definitions.js';
import { isExpressionNode } from '../datapoints/expressions/tree.js';
import { printExpression } from '../datapoints/expressions/print.js';

/**
 * The definition of an index in English sentences, every parameter in them, in the order in which they are applied.
 * @param adjustment price basis of the store it is computed on; null where none is served
 */
export function methodologyOf(document: IndexDocument, adjustment: Adjustment | null = null): string[] {
  const { id, name, description, calendar, base_date, base_value, currency } = document;
  return [
    `${name} (${id}) is an index in ${currency} on the sessions of the exchange calendar ${calendar}.${description === null || description === '' ? '' : ` ${description}`}`,
    `Its level is ${numberText(base_value)} at the close of the first session on or after ${base_date} that has a price.`,
    ...(isRuleDocument(document) ? ruleSentences(document) : []),
    ...(isDerivedDocument(document)
      ? [...datapointSentences(document), ...derivationSentences(document.derivation)]
      : []),
    ...(isOverlayDocument(document) ? overlaySentences(document) : rebalanceSentences(document.rebalance)),
    ...(isRuleDocument(document)
      ? treatmentSentences(document.pipeline, adjustment)
      : inheritedSentences(adjustment, isOverlayDocument(document) ? 'index beneath' : 'parent index')),
  ];
}

/** Each datapoint that a document names, as it is defined. */
function datapointSentences(document: Pick<IndexDocument, 'datapoints'>): string[] {
  return Array.from(definitionsOf(document), ([name, tree]) => `${name} is ${printExpression(tree)}.`);
}

function ruleSentences(document: RuleDocument): string[] {
  const { rules, weighting } = bindPipeline(document);
  const { cap, floor, group_caps } = document.pipeline.weighting;
  return [
    universeSentence(document.universe),
    ...datapointSentences(document),
    ...rules.map(({ id, rule }) => `Rule ${id}: ${rule.sentence}`),
    weighting.sentence,
    ...(cap === null
      ? []
      : [
          `No weight is above ${shareText(cap)} (or one over the number of constituents, if that is more); the excess is spread over the others in proportion to their weights.`,
        ]),
    ...(floor === null
      ? []
      : [
          `No constituent's weight is below ${shareText(floor)} (or one over the number of constituents, if that is less).`,
        ]),
    ...group_caps.map(
      ({ field, cap: limit, groups }) =>
        `No group of ${field}${groups === null ? '' : ` among ${groups.join(', ')}`} weighs more than ${shareText(limit)} together.`,
    ),
  ];
}

/** What an overlay does with what lies beneath it. */
export function overlaySentences(document: OverlayDocument): string[] {
  const { overlay, source_index_id: source } = document;
  return [
    ...(source === undefined ? [] : [`It is an overlay on the index ${source}.`]),
    'On a session that is none of the calendar of what lies beneath, the last known level of that counts.',
    ...overlayTypeOf(overlay).sentences(overlay),
    ...(overlay.type === 'blend' ? rebalanceSentences(overlay.rebalance) : []),
  ];
}

function derivationSentences(derivation: NonNullable<IndexDocument['derivation']>): string[] {
  const { source_index_id, constraints, costs } = derivation;
  const { entry, params } = objectiveOf(derivation.objective);
  const returns = returnsOf(derivation);
  const cash = entry.cash(params);
  const cashAdded = returns?.entry.isAboveCash === true && cash !== 0 ? `, above a rate of ${cash}` : '';
  const rows = constraints.map(
    ({ id, type, params }, i) => `Constraint ${id === '' ? i + 1 : id}: ${type} with ${parameterText(params)}.`,
  );
  return [
    `Its constituents are ${derivation.candidates === 'universe' ? `chosen from the universe of the index ${source_index_id}` : `those of the index ${source_index_id}`}, weighted by the objective ${entry.type}: ${entry.sentence(params)} within the constraints.`,
    ...(returns === null ? [] : [`Expected returns are ${returns.entry.sentence(returns.params)}${cashAdded}.`]),
    ...uncertaintySentences(derivation.uncertainty),
    ...(costs === null || costs === undefined ? [] : [costsSentence(costs)]),
    ...(derivation.risk_model ? [riskSentence(derivation.risk_model)] : []),
    ...(rows.length === 0 ? ['The weights are fully invested and long only.'] : rows),
  ];
}

function uncertaintySentences(uncertainty: UncertaintySpec | null | undefined): string[] {
  if (uncertainty === null || uncertainty === undefined) return [];
  const { returns, covariance } = uncertainty;
  return [
    ...(returns === null
      ? []
      : [
          `Expected returns are the worst within ${returns.radius} standard errors (${SETS[returns.set]}), those of a mean of ${returns.sessions ?? 'the'} returns${returns.sessions === null ? ' of the window' : ''}.`,
        ]),
    ...(covariance === null
      ? []
      : [
          `Each covariance may be wrong by ${covariance.radius} times the product of the two volatilities; the worst of them counts.`,
        ]),
  ];
}

const SETS: Readonly<Record<NonNullable<UncertaintySpec['returns']>['set'], string>> = {
  ellipsoid: 'an ellipsoid of the shape of the covariance',
  diagonal: 'an ellipsoid of independent errors',
  box: 'each name by itself',
};

function riskSentence(model: RiskModelChoice): string {
  if (typeof model === 'string') return `Risk is the stored risk model ${model}.`;
  const { estimator, target, intensity, intensity_method, half_life, sessions } = model;
  const returns = `${sessions ?? LIMITS.DERIVED_RISK_SESSIONS} returns up to the decision`;
  if (estimator !== 'shrinkage') return `Risk is a covariance of ${returns}, ${estimatorWords(model)}.`;
  const weight =
    intensity === null
      ? `the intensity of ${intensity_method === 'shape' ? 'names over names and observations' : 'Ledoit and Wolf'}`
      : `intensity ${intensity}`;
  const decay = half_life === null ? '' : `, their weights halving every ${half_life} sessions`;
  return `Risk is a covariance of ${returns}${decay}, shrunk towards ${target === 'scaled_identity' ? 'a scaled identity' : 'constant correlation'} with ${weight}.`;
}

/** What an estimator without a target does, as the end of a sentence. */
function estimatorWords({ estimator, threshold, lags, half_life }: RiskEstimator): string {
  switch (estimator) {
    case 'nonlinear':
      return 'each of its eigenvalues shrunk by the analytical formula of Ledoit and Wolf';
    case 'gerber':
      return `by the Gerber statistic of moves beyond ${threshold} standard deviations`;
    case 'denoised':
      return 'the eigenvalues below the Marchenko-Pastur edge of its correlations replaced by their mean';
    default: {
      const decay = half_life === null ? '' : `, weights halving every ${half_life} sessions`;
      return `with the autocovariances of ${lags} lags by Newey and West${decay}`;
    }
  }
}

function costsSentence({ linear_bps, impact_coefficient }: CostsSpec): string {
  return `Costs of the trades are taken off: ${linear_bps} basis points of each traded weight and ${impact_coefficient} times its power of 3/2, from the weights held just before.`;
}

function parameterText(params: Readonly<Record<string, unknown>>): string {
  const named = Object.entries(params).map(
    ([name, value]) =>
      `${name.replaceAll('_', ' ')} ${isExpressionNode(value) ? printExpression(value) : JSON.stringify(value)}`,
  );
  return named.length === 0 ? 'its defaults' : named.join(', ');
}

const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const WEEKDAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];
const NTH_NAMES = ['first', 'second', 'third', 'fourth', 'last'];
const MONTHS_BY_FREQUENCY: Readonly<Record<string, readonly number[]>> = {
  quarterly: [3, 6, 9, 12],
  semi_annual: [6, 12],
  annual: [12],
};

function rebalanceSentences(rebalance: RebalanceSpec): string[] {
  const { frequency, roll, effective_lag, weights_as: weightsAs } = rebalance;
  const landing = {
    following: 'A date that is not a session moves to the next one.',
    preceding: 'A date that is not a session moves to the one before.',
    unadjusted: 'A date that is not a session stays, with the prices of the latest session before it.',
  }[roll];
  const lag =
    effective_lag === 0
      ? 'Weights are decided at the close of the session on which they take effect and earn returns from the next one.'
      : `Weights are decided ${effective_lag} ${effective_lag === 1 ? 'session' : 'sessions'} before they take effect and earn returns from the session after that.`;
  const asShares =
    weightsAs === 'shares'
      ? 'Weights become index shares at the closes of the session on which they are decided; until the shares take effect corporate actions adjust them, and prices move their weights.'
      : 'Weights hold exactly at the close of the session on which they take effect, whatever prices did since they were decided.';
  return [
    whenText(rebalance),
    ...(frequency === 'none' || frequency === 'daily' ? [] : [landing]),
    lag,
    ...(effective_lag === 0 ? [] : [asShares]),
  ];
}

function whenText({ frequency, months, weekday, dates, ...anchor }: RebalanceSpec): string {
  switch (frequency) {
    case 'none':
      return 'It is composed on its base date and never rebalanced.';
    case 'daily':
      return 'It is rebalanced on every session.';
    case 'weekly':
      return `It is rebalanced every week on ${weekday === null ? 'the last session' : WEEKDAY_NAMES[weekday]}.`;
    case 'custom':
      return `It is rebalanced on its base date${dates.length === 0 ? ' only' : ` and on ${dates.join(', ')}`}.`;
    case 'monthly':
    case 'quarterly':
    case 'semi_annual':
    case 'annual': {
      const wanted = months ?? MONTHS_BY_FREQUENCY[frequency];
      const of = wanted === undefined ? 'every month' : wanted.map((month) => MONTH_NAMES[month - 1]).join(', ');
      return `It is rebalanced (${frequency.replace('_', '-')}) on ${anchorText({ weekday, ...anchor })} of ${of}.`;
    }
  }
}

function anchorText({ anchor, nth, weekday, day }: Pick<RebalanceSpec, 'anchor' | 'nth' | 'weekday' | 'day'>): string {
  switch (anchor) {
    case 'first_session':
      return 'the first session';
    case 'last_session':
      return 'the last session';
    case 'third_friday':
      return 'the third Friday';
    case 'nth_weekday':
      return `the ${NTH_NAMES[nth! - 1]} ${WEEKDAY_NAMES[weekday!]}`;
    case 'day_of_month':
      return `day ${day}`;
  }
}

/** Whether prices are on one share basis already. */
function isSplitFree(adjustment: Adjustment | null): boolean {
  return adjustment === 'splits' || adjustment === 'total';
}

/** Effect of prices that include dividends, whatever the treatment. */
const TOTAL_BASIS =
  'Prices include dividends of every kind, so that it is a total return index whatever its treatment of dividends.';

function inheritedSentences(adjustment: Adjustment | null, source: string): string[] {
  return [
    `Corporate actions, dividends and missing prices are treated as in the ${source}.`,
    ...(adjustment === 'total' ? [TOTAL_BASIS] : []),
  ];
}

function breachSentences(rule: LimitRuleName | null): string[] {
  if (rule === null) return [];
  return [
    `Between those rebalances ${LIMIT_RULES[rule].label} is watched on every close, by ISSUER, a name without one by itself. ${LIMIT_RULES[rule].help} Where a price or a corporate action takes the index beyond it, a composition is decided on that close and takes effect as many sessions later as any other.`,
  ];
}

/** What happens to a constituent that stops trading without a corporate action. */
const silenceSentence = (sessions: number): string =>
  sessions > 1
    ? `A constituent without a price on ${sessions} consecutive sessions of its exchange leaves at its last price, at the close of the last of them.`
    : 'A constituent without a price on a session of its exchange leaves at its last price, at the close of that session.';

const ADJUSTED = 'reduce the previous close of the security and change the divisor';
const HELD_BY_PAYER = 'buy more of the security that pays them, in every variant';
const SPECIAL_DIVIDENDS: Readonly<Record<TreatmentSpec['special_dividends'], string>> = {
  adjust: `Special dividends ${ADJUSTED}.`,
  constituent: `Special dividends ${HELD_BY_PAYER}.`,
  reinvest: `Special dividends ${HELD_BY_PAYER}.`,
  ignore: 'Special dividends are ignored.',
};

const RIGHTS: Readonly<Record<NonNullable<TreatmentSpec['rights']>, string>> = {
  subscribe:
    'A rights issue reduces the previous close to the theoretical price ex rights; the index subscribes to the new shares, and the divisor changes.',
  price_only:
    'A rights issue reduces the previous close to the theoretical price ex rights and changes the divisor; index shares stay.',
  constituent: 'A rights issue keeps the value of the holding at the theoretical price ex rights.',
};

const SPIN_OFFS: Readonly<Record<TreatmentSpec['spin_offs'], string>> = {
  zero_price: 'enter at a price of zero and leave at the next rebalance unless selected',
  drop_after_first_session: 'enter at a price of zero and leave at their first close, spread over the whole index',
  ignore: 'are ignored',
};

function treatmentSentences({ treatment, weighting }: PipelineSpec, adjustment: Adjustment | null): string[] {
  const {
    dividends,
    withholding_tax,
    reinvestment,
    special_dividends,
    splits,
    delisting,
    spin_offs,
    missing_prices,
    max_stale_sessions,
    stale_targets,
  } = treatment;
  const reinvestedIn = reinvestment === 'index' ? 'in the whole index' : 'in the security that pays them';
  const variant = {
    price: 'Ordinary dividends are not reinvested (price return).',
    total: `Ordinary dividends are reinvested in full ${reinvestedIn} (total return).`,
    net: `Ordinary dividends are reinvested ${reinvestedIn} after a withholding tax of ${shareText(withholding_tax)} (net total return).`,
  }[dividends];
  const leaving = {
    last_price: 'A delisted name leaves at its last price.',
    zero: 'A name delisted without value is written off.',
    action_value: 'A delisted name leaves at the value of its corporate action, or at its last price without one.',
  }[delisting];
  const gaps = {
    carry: `A missing price is carried forward. ${silenceSentence(max_stale_sessions)}`,
    exclude: 'A constituent with a missing price leaves until the next rebalance.',
    fail: 'A missing price of a constituent fails the calculation.',
  }[missing_prices];
  return [
    adjustment === 'total'
      ? TOTAL_BASIS
      : `${variant} ${SPECIAL_DIVIDENDS[special_dividends]} ${RIGHTS[shareTermsOf(treatment, weighting).rights]}`,
    `Splits are ${isSplitFree(adjustment) || splits !== 'apply' ? 'ignored, because the prices are adjusted already' : 'applied'}. Spin-offs ${adjustment === 'total' ? SPIN_OFFS.ignore : SPIN_OFFS[spin_offs]}. ${leaving}`,
    `${gaps} A security whose latest price is ${Math.max(1, max_stale_sessions)} or more sessions old cannot be selected.${stale_targets === 'defer' ? ' A name without a price on the day of a rebalance is traded on its next session with one.' : ''}`,
    'The proceeds of a name that leaves between two rebalances are spread over the others in proportion to their weights.',
    ...breachSentences(breachRuleOf(treatment)),
  ];
}
