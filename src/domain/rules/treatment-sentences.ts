import type { RuleDocument, TreatmentSpec } from '../documents/index-document.js';
import { readPriceSessions, STALE_SESSIONS, countStaleSessions } from '../documents/stale-sessions.js';
import { describeEvents } from './events-sentences.js';
import { readShareTerms } from '../documents/share-terms.js';
import { findBreachRule } from '../compliance/breach-watch.js';
import { LIMIT_RULES, type LimitRuleName } from '../compliance/rules.js';
import type { Adjustment } from '../market/market-data.js';
import { formatShare } from '../catalogue/sentence-numbers.js';

/** Returns true if prices are already adjusted for splits. */
function isSplitFree(adjustment: Adjustment | null): boolean {
  return adjustment === 'splits' || adjustment === 'total';
}

/** Sentence for prices that include dividends, whatever the treatment. */
const TOTAL_BASIS =
  'Prices include dividends of every kind, so it is a total return index regardless of its treatment of dividends.';

/** Describes an index that treats events like its source index. */
export function describeInherited(adjustment: Adjustment | null, source: string): string[] {
  return [
    `Corporate actions, dividends and missing prices are treated as in the ${source}.`,
    ...(adjustment === 'total' ? [TOTAL_BASIS] : []),
  ];
}

function describeBreach(rule: LimitRuleName | null): string[] {
  if (rule === null) return [];
  return [
    `Between those rebalances ${LIMIT_RULES[rule].label} is checked at every close, by ISSUER; a security without an issuer counts as its own. ${LIMIT_RULES[rule].help} If a price or a corporate action moves the index beyond it, a composition is decided at that close and takes effect after the same lag as any other.`,
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

/** Describes the price of a constituent on a session without a price. */
export function describeMissingPrices(treatment: TreatmentSpec): string {
  return {
    carry: `A missing price is carried forward. ${describeSilence(treatment)}`,
    exclude: 'A constituent with a missing price leaves until the next rebalance.',
    fail: 'A missing price of a constituent fails the calculation.',
  }[treatment.missing_prices];
}

/** Describes the effect of dividends, corporate actions and missing prices on an index. */
export function describeTreatment(document: RuleDocument, adjustment: Adjustment | null): string[] {
  const { treatment, weighting } = document.pipeline;
  const eventSentences = describeEvents(document);
  const { dividends, withholding_tax, reinvestment, special_dividends, splits, delisting, spin_offs, stale_targets } =
    treatment;
  const reinvestmentPhrase = reinvestment === 'index' ? 'in the whole index' : 'in the paying security';
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
    ...describeBreach(findBreachRule(treatment)),
  ];
}

/** Describes a withholding tax. */
function describeTax(tax: TreatmentSpec['withholding_tax']): string {
  if (typeof tax === 'number') return `a withholding tax of ${formatShare(tax)}`;
  const rates = Object.entries(tax.rates).map(([value, rate]) => `${value} ${formatShare(rate)}`);
  const defaultRatePhrases = tax.default === undefined ? [] : [`others ${formatShare(tax.default)}`];
  return `the withholding tax of the ${tax.field} of each security: ${[...rates, ...defaultRatePhrases].join(', ')}`;
}
