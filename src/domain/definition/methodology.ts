import { LIMITS } from '../base/limits.js';
import { formatNumber, formatShare } from '../base/numbers.js';
import { describeExpression, printExpression } from '../datapoints/expression-text.js';
import { isExpressionNode, toRequest } from '../datapoints/expression-tree.js';
import type { Adjustment } from '../market/market-data.js';
import type { RiskEstimator, RiskModelChoice } from '../risk/risk-models.js';
import { listDatedTexts } from './amendments.js';
import { type BreachRule, CUSTOM_RULE, findBreachRule } from './compliance.js';
import { type BoundPath, isBoundPath, type RelaxEntry } from './constraint-class.js';
import { countPhaseCloses, type DateRule, type EventsSpec, type PhaseSpec, type RebalanceSpec } from './schedule.js';
import {
  type Amendment,
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type OverlayDocument,
  readDefinitions,
  type RuleDocument,
  type TreatmentSpec,
  type UniverseSpec,
} from './index-document.js';
import {
  type CostsSpec,
  readExpectedReturns,
  readObjective,
  type ScenarioViews,
  type UncertaintySpec,
} from './optimisation.js';
import { findOverlayType } from './overlays.js';
import type { PluginUse } from './plugins.js';
import { bindPipeline, bindRule, bindWeighting, findCountedShares, readShareTerms } from './rule-pipeline.js';
import { countStaleSessions, readPriceSessions, STALE_SESSIONS } from './treatment.js';
import type { LadderCaps, WeightingSpec } from './weighting.js';

/**
 * Describes when each version applies, with the sentences that each amendment adds and removes.
 * @param sentencesOf returns the methodology of one version
 */
function describeAmendments(
  document: IndexDocument,
  sentencesOf: (text: IndexDocument) => readonly string[],
): string[] {
  const texts = listDatedTexts(document);
  return texts.slice(1).flatMap(({ document: text, amendment }, k) => {
    const before = sentencesOf(texts[k]!.document);
    const after = sentencesOf(text);
    const addedSentences = after.filter((sentence) => !before.includes(sentence));
    const removedSentences = before.filter((sentence) => !after.includes(sentence));
    return [
      `${describeOpening(amendment!)}:`, // every version except the first has an amendment
      ...removedSentences.map((sentence) => `No longer applies: ${sentence}`),
      ...addedSentences.map((sentence) => `New: ${sentence}`),
    ];
  });
}

function describeOpening({ effective_from: date, announced, reason, rebalance }: Amendment): string {
  const effectPhrase =
    rebalance === true
      ? `On the first session on or after ${date} the index is rebalanced and follows an amended version`
      : `From the first review on or after ${date} the index follows an amended version`;
  const messages = [
    ...(announced === undefined ? [] : [`announced on ${announced}`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return messages.length === 0 ? effectPhrase : `${effectPhrase} (${messages.join('; ')})`;
}

export interface ChangedSentences {
  readonly removed: string[];
  readonly added: string[];
}

export const compareSentences = (before: readonly string[], after: readonly string[]): ChangedSentences => ({
  removed: subtractSentences(before, after),
  added: subtractSentences(after, before),
});

/** Returns the sentences that one list contains more often than another, as often as the difference. */
function subtractSentences(sentences: readonly string[], others: readonly string[]): string[] {
  const remainingSentences = [...others];
  return sentences.filter((sentence) => {
    const position = remainingSentences.indexOf(sentence);
    if (position !== -1) remainingSentences.splice(position, 1);
    return position === -1;
  });
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

/**
 * Describes when an index is rebalanced and how its weights take effect.
 * @param cause cause of these rebalances, which the first sentence states
 */
function describeRebalance(rebalance: RebalanceSpec, cause?: string): string[] {
  const subject = cause === undefined ? 'It is' : `For ${cause} it is`;
  return [`${subject} ${describeFrequency(rebalance)}.`, ...describeDates(rebalance)];
}

/**
 * Describes the treatment of dates that are not sessions, the dates of a rebalance, and how its weights take effect.
 */
function describeDates(rebalance: RebalanceSpec): string[] {
  const { weights_as: weightsAs, pricing_date: pricing } = rebalance;
  const pricingPhrase =
    pricing === undefined ? 'the session on which they are decided' : `the pricing date, ${describeRule(pricing)}`;
  const asShares =
    weightsAs === 'shares'
      ? `Weights become index shares at the closes of ${pricingPhrase}; until the shares take effect corporate actions adjust them, and prices move their weights.`
      : 'Weights hold exactly at the close of the session on which they take effect, regardless of price changes since the decision.';
  return [
    ...describeRoll(rebalance),
    describeReference(rebalance),
    ...(rebalance.announcement ? [describeAnnouncement(rebalance.announcement)] : []),
    ...(rebalance.effective_lag === 0 && !rebalance.reference ? [] : [asShares]),
    ...(rebalance.phase ? [describePhase(rebalance.phase)] : []),
  ];
}

const ROLL_SENTENCES: Readonly<Record<RebalanceSpec['roll'], string>> = {
  following: 'A date that is not a session moves to the next one.',
  preceding: 'A date that is not a session moves to the one before.',
  unadjusted: 'A date that is not a session stays, with the prices of the latest session before it.',
};

/** Describes the treatment of dates that are not sessions. Returns no sentence if all dates are sessions. */
const describeRoll = ({ frequency, roll }: RebalanceSpec): string[] =>
  frequency === 'none' || frequency === 'daily' ? [] : [ROLL_SENTENCES[roll]];

function describeAnnouncement(rule: DateRule): string {
  const isRelative = rule.rule === 'sessions_before' || (rule.offset ?? 0) !== 0;
  return `It is announced ${isRelative ? '' : 'on '}${describeRule(rule)}.`;
}

function describeReference({ effective_lag: lag, reference }: RebalanceSpec): string {
  if (reference !== undefined)
    return `Weights are decided on data up to the reference date, ${describeRule(reference)}, and earn returns from the session after the effective date.`;
  return lag === 0
    ? 'Weights are decided at the close of the session on which they take effect and earn returns from the next one.'
    : `Weights are decided ${formatSessions(lag)} before they take effect and earn returns from the session after that.`;
}

function describePhase(phase: PhaseSpec): string {
  const closes = countPhaseCloses(phase);
  const stepsText =
    phase.fractions === undefined
      ? `in ${closes} equal steps`
      : `in steps of ${phase.fractions.map((fraction) => formatShare(fraction)).join(', ')}`;
  return `The index shares move to the new ones ${stepsText}, one at each close from the effective date on.`;
}

function describeRule(rule: DateRule): string {
  const { months_before: months = rule.rule === 'last_session' ? 1 : 0 } = rule;
  const beforeText =
    months === 0 ? 'the month' : months === 1 ? 'the month before that' : `the month ${months} months before that`;
  const monthPhrase = `of ${beforeText} of the effective date`;
  const { offset = 0 } = rule;
  if (offset !== 0) return `${describeOffset(offset)} ${describeRule({ ...rule, offset: 0 })}`;
  switch (rule.rule) {
    case 'sessions_before':
      return `${formatSessions(rule.sessions ?? 0)} before the effective date`;
    case 'nth_session':
      return `${describeSession(rule.session!)} ${monthPhrase}`;
    case 'last_session':
      return `the last session ${monthPhrase}`;
    case 'nth_weekday':
      return `the ${NTH_NAMES[rule.nth! - 1]} ${WEEKDAY_NAMES[rule.weekday!]} ${monthPhrase}`;
    case 'day_of_month':
      return `day ${rule.day} ${monthPhrase}`;
    case 'weekday_before':
      return `the last ${WEEKDAY_NAMES[rule.weekday!]} at least ${rule.weeks} ${rule.weeks === 1 ? 'week' : 'weeks'} before the effective date`;
  }
}

const describeOffset = (offset: number): string =>
  `${formatSessions(Math.abs(offset))} ${offset > 0 ? 'after' : 'before'}`;

/** Describes a numbered session of a month: session 5, or session 2 from the end. */
function describeSession(number: number): string {
  if (number === 1) return 'the first session';
  if (number === -1) return 'the last session';
  return `session ${Math.abs(number)}${number < 0 ? ' from the end' : ''}`;
}

const formatSessions = (count: number): string => `${count} ${count === 1 ? 'session' : 'sessions'}`;

function describeReviews({ reviews = [] }: Pick<IndexDocument, 'reviews'>): string[] {
  if (reviews.length === 0) return [];
  return [
    ...reviews.flatMap(({ id, scope, schedule, selection, weighting }) => [
      `By the review ${id} it is ${describeFrequency(schedule)}: ${EFFECT_PHRASES[scope]}.`,
      ...describeDates(schedule).map((sentence) => `Review ${id}: ${sentence}`),
      ...(scope === 'membership' && selection
        ? selection.map((row) => `Review ${id}, rule ${row.id}: ${bindRule(row).sentence}`)
        : []),
      ...(scope !== 'shares' && weighting ? [`Review ${id}: ${bindWeighting(weighting).sentence}`] : []),
    ]),
    'Reviews of one date run in the order membership, weights, shares.',
  ];
}

const EFFECT_PHRASES = {
  membership: 'constituents are selected and weighted again',
  weights: 'current constituents are weighted again',
  shares: 'share counts and float are updated, and the factors of caps stay',
} as const;

const describeFrequency = (rebalance: RebalanceSpec): string =>
  rebalance.frequency === 'none'
    ? 'composed on its base date and never rebalanced'
    : `rebalanced ${describeDays(rebalance)}`;

/** Describes the days of a schedule, for example `monthly on the last session of every month`. */
function describeDays({ frequency, months, weekday, dates, ...anchor }: RebalanceSpec): string {
  switch (frequency) {
    case 'none':
      return 'on its base date only';
    case 'daily':
      return 'on every session';
    case 'weekly':
      return `every week on ${weekday === null ? 'the last session' : WEEKDAY_NAMES[weekday]}`;
    case 'custom':
      return `on its base date${dates.length === 0 ? ' only' : ` and on ${dates.join(', ')}`}`;
    case 'monthly':
    case 'quarterly':
    case 'semi_annual':
    case 'annual': {
      const frequencyPhrase =
        frequency === 'annual' ? 'annually' : frequency === 'semi_annual' ? 'semi-annually' : frequency;
      const rebalanceMonths = months ?? MONTHS_BY_FREQUENCY[frequency];
      const monthsPhrase = rebalanceMonths === undefined ? 'every month' : formatMonths(rebalanceMonths);
      const { offset = 0 } = anchor;
      const dayPhrase = `${offset === 0 ? 'on' : describeOffset(offset)} ${describeAnchor({ weekday, ...anchor })}`;
      return `${frequencyPhrase} ${dayPhrase} of ${monthsPhrase}`;
    }
  }
}

/** Formats months as a list, for example `March, June and September`. */
function formatMonths(months: readonly number[]): string {
  const names = months.map((month) => MONTH_NAMES[month - 1]!); // from 1 to 12
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function describeAnchor({
  anchor,
  nth,
  weekday,
  day,
  session,
}: Pick<RebalanceSpec, 'anchor' | 'nth' | 'weekday' | 'day' | 'session'>): string {
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
    case 'nth_session':
      return describeSession(session!);
  }
}

const REPLACEMENTS: Readonly<Record<EventsSpec['replacement'], (events: EventsSpec) => string>> = {
  none: () =>
    'The proceeds of a constituent that leaves between two rebalances are distributed over the others in proportion to their weights.',
  next_ranked: () =>
    'A constituent that leaves between two rebalances is replaced at that close by the best-ranked security that the last review did not select and that passes the other rules.',
  reserve: ({ reserve = [] }) =>
    `A constituent that leaves between two rebalances is replaced at that close by the first of ${reserve.join(', ')} that has a price and is not a constituent.`,
};

/** Describes the changes of an index between its reviews. */
function describeEvents({ events, pipeline }: RuleDocument): string[] {
  if (events === undefined) return [REPLACEMENTS.none(NO_EVENTS)];
  const { share_changes: changes, threshold, replacement, fast_entry: entry, fast_exit: exit, acquirer } = events;
  const isEffective = changes === 'effective' && findCountedShares(pipeline.weighting) !== null;
  return [
    REPLACEMENTS[replacement](events),
    ...(replacement === 'none'
      ? []
      : [
          'The new constituent enters with its own market value or price if those are the weights, otherwise with the weight of the one that left.',
        ]),
    ...(isEffective
      ? [
          `A change of shares or free float of at least ${formatShare(threshold)} since the counts last adopted applies after the previous close of its date: index shares scale and the divisor adjusts.`,
        ]
      : []),
    ...(exit === undefined
      ? []
      : [
          `Constituents ranked below ${exit.rank} by ${exit.field} leave between reviews, each replaced by the best-ranked security outside the index. ${describeRebalance(exit.schedule, 'these exits').join(' ')}`,
        ]),
    ...(entry === undefined
      ? []
      : [
          `A new security ranked ${entry.rank} or better by ${entry.field} at the close ${entry.after_sessions} sessions after its first price enters at that close in place of the lowest-ranked constituent.`,
        ]),
    ...(acquirer === 'remove'
      ? ['A constituent that merges into a security outside the universe leaves at its last price.']
      : []),
  ];
}

const NO_EVENTS: EventsSpec = { share_changes: 'review', threshold: 0, replacement: 'none', acquirer: 'convert' };

/** Describes the phase-in, caps and floor of a weighting, one sentence each. */
function describeLimits(weighting: WeightingSpec): string[] {
  const { floor, group_caps: groupCaps, ladder_caps: ladder, phase_in: phaseIn } = weighting;
  return [
    ...(phaseIn === undefined
      ? []
      : [
          `Raw weights are multiplied by ${describeExpression(toRequest(phaseIn.field))}, whose changes are phased in over ${phaseIn.steps} reviews in equal steps; a security without a value at an earlier review counts with its next one.`,
        ]),
    ...describeCap(weighting),
    ...(floor === null
      ? []
      : [
          `No constituent's weight is below ${formatShare(floor)} (or one over the number of constituents, if that is less).`,
        ]),
    ...groupCaps.map(
      ({ field, cap: limit, groups }) =>
        `No group of ${field}${groups === null ? '' : ` among ${groups.join(', ')}`} has a total weight above ${formatShare(limit)}.`,
    ),
    ...(ladder === undefined ? [] : describeLadder(ladder, weighting.cap_by)),
  ];
}

function describeCap({ cap, cap_by: by }: WeightingSpec): string[] {
  if (cap === null) return [];
  const spread = 'the excess is distributed over the others in proportion to their weights';
  if (typeof cap === 'number')
    return [
      by === undefined
        ? `No weight is above ${formatShare(cap)} (or one over the number of constituents, if that is more); ${spread}.`
        : `No group of ${by} has a total weight above ${formatShare(cap)} (or one over the number of groups, if that is more); ${spread}.`,
    ];
  const text = describeExpression(toRequest(cap));
  return [
    by === undefined
      ? `No weight is above ${text} of its constituent; ${spread}. A constituent whose cap is 0 or less is not held.`
      : `No group of ${by} has a total weight above the least ${text} among its constituents; ${spread}. A constituent whose cap is 0 or less is not held.`,
  ];
}

function describeLadder({ single, ranked, group }: LadderCaps, by: string | undefined): string[] {
  const [weight, weights] = by === undefined ? ['weight', 'weights'] : [`weight of a ${by}`, `weights of a ${by}`];
  const spread = 'the excess is distributed over the others in proportion to their weights';
  return [
    ...(single === undefined
      ? []
      : [
          `If any ${weight} is above ${formatShare(single.above)}, no ${weight} is above ${formatShare(single.to)}; ${spread}.`,
        ]),
    ...(ranked === undefined
      ? []
      : [
          `If the largest ${weights} are above ${formatRanks(ranked.above)}, they are capped at ${formatRanks(ranked.to)}; ${spread}.`,
        ]),
    ...(group === undefined ? [] : [describeGroupStage(group, { weight, weights })]),
  ];
}

/** Formats limits by rank, for example `35% for the largest and 20% for all others`. */
function formatRanks(limits: readonly number[]): string {
  const last = formatShare(limits.at(-1)!);
  if (limits.length === 1) return `${last} each`;
  return `${limits
    .slice(0, -1)
    .map((limit, rank) => `${formatShare(limit)} for ${rank === 0 ? 'the largest' : `number ${rank + 1}`}`)
    .join(', ')} and ${last} for all others`;
}

function describeGroupStage(
  {
    each_above: each,
    together_above: together,
    to,
    reduce = 'all',
    each_to: line = each,
  }: NonNullable<LadderCaps['group']>,
  { weight, weights }: Readonly<Record<'weight' | 'weights', string>>,
): string {
  const condition = `If the ${weights} above ${formatShare(each)} exceed ${formatShare(together)} in total`;
  if (reduce === 'all')
    return `${condition}, they are scaled to a total of ${formatShare(to)}; the others take the excess in proportion to their weights, each at most ${formatShare(each)}.`;
  const last = reduce === 'smallest' ? '' : ', the last one only as far as the total requires';
  return `${condition}, the smallest such ${weight} is reduced to ${formatShare(line)}, and then the next, until their total is at most ${formatShare(to)}${last}; the ${weights} below ${formatShare(line)} take the excess in proportion, each at most ${formatShare(line)}, and the ${weights} above it the rest.`;
}

/** Returns true if prices are already adjusted for splits. */
function isSplitFree(adjustment: Adjustment | null): boolean {
  return adjustment === 'splits' || adjustment === 'total';
}

/** Sentence for prices that include dividends, whatever the treatment. */
const TOTAL_BASIS =
  'Prices include dividends of every kind, so it is a total return index regardless of its treatment of dividends.';

/** Describes an index that treats events like its source index. */
function describeInherited(adjustment: Adjustment | null, source: string): string[] {
  return [
    `Corporate actions, dividends and missing prices are treated as in the ${source}.`,
    ...(adjustment === 'total' ? [TOTAL_BASIS] : []),
  ];
}

function describeBreach(rule: BreachRule | null, review: string | undefined): string[] {
  if (rule === null) return [];
  const label = rule.name === CUSTOM_RULE ? 'a limit of the index' : rule.label;
  const countText =
    rule.by === null
      ? ''
      : `, by ${rule.by}; a security without ${rule.by === 'ISSUER' ? 'an issuer' : 'a value'} counts as its own`;
  const decisionText =
    review === undefined ? 'a composition is decided at that close' : `the review ${review} decides at that close`;
  return [
    `Between those rebalances ${label} is checked at every close${countText}. ${rule.help} If a price or a corporate action moves the index beyond it, ${decisionText} and takes effect after the same lag as any other.`,
  ];
}

/** Describes the treatment of a constituent that stops trading without a corporate action. */
function describeSilence(treatment: TreatmentSpec): string {
  const { max_stale_sessions: sessions = STALE_SESSIONS, suspension } = treatment;
  const worth = suspension === 'zero' ? 'at a value of zero' : 'at its last price';
  if (sessions === null)
    return `A suspended constituent stays until a review or a corporate action removes it; a review removes it ${worth}.`;
  const isByStore = treatment.max_stale_sessions === undefined;
  const byStore = isByStore
    ? ' On a store with a delisting, an acquisition or a merger it stays until a review or a corporate action removes it.'
    : '';
  return sessions > 1
    ? `A constituent without a price on ${sessions} consecutive sessions of its exchange leaves ${worth}, at the close of the last of them.${byStore}`
    : `A constituent without a price on a session of its exchange leaves ${worth}, at the close of that session.`;
}

const ADJUSTED_PHRASE = 'reduce the previous close of the security and change the divisor';
const REINVESTED_PHRASE = 'buy more of the paying security, in every variant';
const SPECIAL_DIVIDENDS: Readonly<Record<TreatmentSpec['special_dividends'], string>> = {
  adjust: `Special dividends ${ADJUSTED_PHRASE}.`,
  constituent: `Special dividends ${REINVESTED_PHRASE}.`,
  reinvest: `Special dividends ${REINVESTED_PHRASE}.`,
  ignore: 'Special dividends are ignored.',
};

const RIGHTS: Readonly<Record<NonNullable<TreatmentSpec['rights']>, string>> = {
  subscribe:
    'A rights issue reduces the previous close to the theoretical ex-rights price; the index subscribes to the new shares, and the divisor changes.',
  price_only:
    'A rights issue reduces the previous close to the theoretical ex-rights price and changes the divisor; index shares stay.',
  constituent: 'A rights issue keeps the value of the holding at the theoretical ex-rights price.',
};

const SPIN_OFFS: Readonly<Record<TreatmentSpec['spin_offs'], string>> = {
  zero_price: 'enter at a price of zero and leave at the next rebalance unless selected',
  drop_after_first_session: 'enter at a price of zero and leave at their first close, distributed over the whole index',
  ignore: 'are ignored',
};

export function describeMissingPrices(treatment: TreatmentSpec): string {
  return {
    carry: `A missing price is carried forward. ${describeSilence(treatment)}`,
    exclude: 'A constituent with a missing price leaves until the next rebalance.',
    fail: 'A missing price of a constituent fails the calculation.',
  }[treatment.missing_prices];
}

/** Describes the effect of dividends, corporate actions and missing prices on an index. */
function describeTreatment(document: RuleDocument, adjustment: Adjustment | null): string[] {
  const { treatment, weighting } = document.pipeline;
  const eventSentences = describeEvents(document);
  const { dividends, withholding_tax, reinvestment, special_dividends, splits, delisting, spin_offs, stale_targets } =
    treatment;
  const isEarly = treatment.reinvestment_at === 'previous_close';
  const reinvestmentPhrase = `${reinvestment === 'index' ? 'in the whole index' : 'in the paying security'}${isEarly ? ' at the previous close minus the dividend' : ''}`;
  const variantText = {
    price: 'Ordinary dividends are not reinvested (price return).',
    total: `Ordinary dividends are reinvested in full ${reinvestmentPhrase} (total return).`,
    net: `Ordinary dividends are reinvested ${reinvestmentPhrase} after ${describeTax(withholding_tax)} (net total return).`,
  }[dividends];
  const delistingSentence = {
    last_price: 'A delisted security leaves at its last price.',
    zero: 'A security delisted without value is written off.',
    action_value:
      'A delisted security leaves at the value of its corporate action, or at its last price if there is no action.',
  }[delisting];
  return [
    adjustment === 'total'
      ? TOTAL_BASIS
      : `${variantText} ${SPECIAL_DIVIDENDS[special_dividends]} ${RIGHTS[readShareTerms(treatment, weighting).rights]}`,
    `Splits are ${isSplitFree(adjustment) || splits !== 'apply' ? 'ignored, because the prices are already adjusted' : 'applied'}. Spin-offs ${adjustment === 'total' ? SPIN_OFFS.ignore : SPIN_OFFS[spin_offs]}. ${delistingSentence}`,
    `${describeMissingPrices(treatment)} A security whose latest price is ${Math.max(1, readPriceSessions(treatment))} or more sessions old cannot be ${countStaleSessions(treatment) > readPriceSessions(treatment) ? 'newly selected' : 'selected'}.${stale_targets === 'defer' ? ' A security without a price on the day of a rebalance is traded on its next session with one.' : ''}`,
    ...eventSentences,
    ...describeBreach(findBreachRule(document), treatment.breach_review),
  ];
}

function describeTax(tax: TreatmentSpec['withholding_tax']): string {
  if (typeof tax === 'number') return `a withholding tax of ${formatShare(tax)}`;
  const rates = Object.entries(tax.rates).map(([value, rate]) => `${value} ${formatShare(rate)}`);
  const defaultRatePhrases = tax.default === undefined ? [] : [`others ${formatShare(tax.default)}`];
  return `the withholding tax of the ${tax.field} of each security: ${[...rates, ...defaultRatePhrases].join(', ')}`;
}

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

function describeInvestments(rebalance: RebalanceSpec): string[] {
  const { frequency, dates } = rebalance;
  if (frequency === 'none' || (frequency === 'custom' && dates.length === 0))
    return ['The cash is never invested in the index.'];
  const days = frequency === 'custom' ? `on ${dates.join(', ')}` : describeDays(rebalance);
  return [`At the close, the cash is invested in the index ${days}.`, ...describeRoll(rebalance)];
}

/** Describes the effect of an overlay on its underlying indices. */
export function describeOverlay(document: OverlayDocument): string[] {
  const { overlay, source_index_id: source } = document;
  return [
    ...(source === undefined ? [] : [`It is an overlay on the index ${source}.`]),
    'On sessions outside the calendar of an underlying index, its last known level is used.',
    ...findOverlayType(overlay).sentences(overlay),
    ...(overlay.type === 'blend' ? describeRebalance(overlay.rebalance) : []),
    ...(overlay.type === 'held_income' ? describeInvestments(overlay.rebalance) : []),
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
    ...(derivation.scenario_views ? [describeScenarioViews(derivation.scenario_views)] : []),
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

const RELATIONS = { equal: 'equals', at_least: 'is at least', at_most: 'is at most' } as const;

function describeScenarioViews({ sessions, half_life, views }: ScenarioViews): string {
  const prior = half_life === null ? 'equal probabilities' : `probabilities that halve every ${half_life} sessions`;
  const formatPortfolio = (weights: Readonly<Record<string, number>>) =>
    Object.entries(weights)
      .map(([identifier, weight]) => `${weight} ${identifier}`)
      .join(' + ');
  const texts = views.map(
    ({ measure, weights, with: other, relation, value, confidence }) =>
      `the ${measure}${measure === 'cvar' ? ` at ${confidence}` : ''} of ${formatPortfolio(weights)}${other === null ? '' : ` with ${formatPortfolio(other)}`} ${RELATIONS[relation]} ${value}`,
  );
  return `Risk, historical means and tails are those of ${sessions ?? LIMITS.DERIVED_RISK_SESSIONS} returns up to the decision, with the probabilities nearest in relative entropy to ${prior} for which ${texts.join('; ')}.`;
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
