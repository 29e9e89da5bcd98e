import type { RuleDocument, TreatmentSpec } from '../documents/index-document.js';
import { priceSessions, STALE_SESSIONS, staleSessions } from '../documents/stale-sessions.js';
import { eventsSentences } from './events-sentences.js';
import { shareTermsOf } from '../documents/share-terms.js';
import { breachRuleOf } from '../compliance/breach-watch.js';
import { LIMIT_RULES, type LimitRuleName } from '../compliance/rules.js';
import type { Adjustment } from '../market/market-data.js';
import { shareText } from '../catalogue/sentence-numbers.js';

/** Whether prices are on one share basis already. */
function isSplitFree(adjustment: Adjustment | null): boolean {
  return adjustment === 'splits' || adjustment === 'total';
}

/** Effect of prices that include dividends, whatever the treatment. */
const TOTAL_BASIS =
  'Prices include dividends of every kind, so that it is a total return index whatever its treatment of dividends.';

/** Of an index that treats events as the one it is built on. */
export function inheritedSentences(adjustment: Adjustment | null, source: string): string[] {
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
function silenceSentence(treatment: TreatmentSpec): string {
  const { max_stale_sessions: sessions = STALE_SESSIONS, suspension } = treatment;
  const worth = suspension === 'zero' ? 'at a value of zero' : 'at its last price';
  if (sessions === null)
    return `A suspended constituent stays until a review or a corporate action removes it, and a review removes it ${worth}.`;
  const isByStore = treatment.max_stale_sessions === undefined;
  const byStore = isByStore
    ? ' On a store with a delisting, an acquisition or a merger it stays until a review or a corporate action removes it.'
    : '';
  return sessions > 1
    ? `A constituent without a price on ${sessions} consecutive sessions of its exchange leaves ${worth}, at the close of the last of them.${byStore}`
    : `A constituent without a price on a session of its exchange leaves ${worth}, at the close of that session.`;
}

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

/** What dividends, corporate actions and missing prices do to an index. */
export function treatmentSentences(document: RuleDocument, adjustment: Adjustment | null): string[] {
  const { treatment, weighting } = document.pipeline;
  const between = eventsSentences(document);
  const {
    dividends,
    withholding_tax,
    reinvestment,
    special_dividends,
    splits,
    delisting,
    spin_offs,
    missing_prices,
    stale_targets,
  } = treatment;
  const reinvestedIn = reinvestment === 'index' ? 'in the whole index' : 'in the security that pays them';
  const variant = {
    price: 'Ordinary dividends are not reinvested (price return).',
    total: `Ordinary dividends are reinvested in full ${reinvestedIn} (total return).`,
    net: `Ordinary dividends are reinvested ${reinvestedIn} after ${taxText(withholding_tax)} (net total return).`,
  }[dividends];
  const leaving = {
    last_price: 'A delisted name leaves at its last price.',
    zero: 'A name delisted without value is written off.',
    action_value: 'A delisted name leaves at the value of its corporate action, or at its last price without one.',
  }[delisting];
  const gaps = {
    carry: `A missing price is carried forward. ${silenceSentence(treatment)}`,
    exclude: 'A constituent with a missing price leaves until the next rebalance.',
    fail: 'A missing price of a constituent fails the calculation.',
  }[missing_prices];
  return [
    adjustment === 'total'
      ? TOTAL_BASIS
      : `${variant} ${SPECIAL_DIVIDENDS[special_dividends]} ${RIGHTS[shareTermsOf(treatment, weighting).rights]}`,
    `Splits are ${isSplitFree(adjustment) || splits !== 'apply' ? 'ignored, because the prices are adjusted already' : 'applied'}. Spin-offs ${adjustment === 'total' ? SPIN_OFFS.ignore : SPIN_OFFS[spin_offs]}. ${leaving}`,
    `${gaps} A security whose latest price is ${Math.max(1, priceSessions(treatment))} or more sessions old cannot be ${staleSessions(treatment) > priceSessions(treatment) ? 'newly selected' : 'selected'}.${stale_targets === 'defer' ? ' A name without a price on the day of a rebalance is traded on its next session with one.' : ''}`,
    ...between,
    ...breachSentences(breachRuleOf(treatment)),
  ];
}

/** A withholding tax in words. */
function taxText(tax: TreatmentSpec['withholding_tax']): string {
  if (typeof tax === 'number') return `a withholding tax of ${shareText(tax)}`;
  const rates = Object.entries(tax.rates).map(([value, rate]) => `${value} ${shareText(rate)}`);
  const others = tax.default === undefined ? [] : [`others ${shareText(tax.default)}`];
  return `the withholding tax of the ${tax.field} of each security: ${[...rates, ...others].join(', ')}`;
}
