import { runIndex, type Terms } from './index-run.js';
import type { Market } from './market.js';
import { hasBars, QUARTERLY, type Rulebook } from './parents.js';
import {
  computeEqualRiskWeights,
  computeProportional,
  rankSecurities,
  sampleCovariance,
  sampleDeviation,
} from './plain-functions.js';

/** Creates a rulebook of one index that is rebalanced at the last close of each quarter. */
const createRulebook =
  (decide: (market: Market, t: number) => ReturnType<Terms['decide']>): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, { months: QUARTERLY, anchor: { day: 'last' }, decide: (t) => decide(market, t) }),
  });

const weightEqually = (securities: readonly number[]) => computeProportional(securities, () => 1);

const listEligible = (market: Market, t: number) => market.listed(t).filter(hasBars(market, t, 253));

const computeRisk = (market: Market, t: number) => (i: number) => sampleDeviation(market.returns(i, t, 252));

/** Number of securities in a third of a universe, rounded up. The fraction has four decimals. */
const countThird = (count: number) => Math.ceil(0.3333 * count);

/** Rules that read only prices, by template id. */
export const SIMPLE_RULEBOOKS: Readonly<Record<string, Rulebook>> = {
  'simple-equal-weight': createRulebook((market, t) => weightEqually(market.listed(t))),
  'simple-inverse-volatility': createRulebook((market, t) => {
    const computeSecurityRisk = computeRisk(market, t);
    return computeProportional(listEligible(market, t), (i) => 1 / computeSecurityRisk(i));
  }),
  'simple-momentum': createRulebook((market, t) => {
    const eligible = listEligible(market, t);
    const computeYear = (i: number) =>
      market.returns(i, t - 21, 231).reduce((growth, value) => growth * (1 + value), 1);
    return weightEqually(rankSecurities(eligible, computeYear).slice(0, countThird(eligible.length)));
  }),
  'simple-low-volatility': createRulebook((market, t) => {
    const eligible = listEligible(market, t);
    const computeSecurityRisk = computeRisk(market, t);
    const calm = rankSecurities(eligible, (i) => -computeSecurityRisk(i));
    return weightEqually(calm.slice(0, countThird(eligible.length)));
  }),
  'simple-risk-parity': createRulebook((market, t) => {
    const computeSecurityRisk = computeRisk(market, t);
    const calm = rankSecurities(listEligible(market, t), (i) => -computeSecurityRisk(i)).slice(0, 30);
    const returns = calm.map((i) => market.returns(i, t, 252, true));
    const covariance = sampleCovariance(returns[0]!.map((_, s) => returns.map((row) => row[s]!)));
    const weights = computeEqualRiskWeights(covariance);
    return new Map(calm.map((i, k) => [i, weights[k]!]));
  }),
};
