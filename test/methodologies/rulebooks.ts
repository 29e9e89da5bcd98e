import { runIndex } from './index-run.js';
import type { Rulebook } from './parents.js';
import { proportional } from './plain.js';
import {
  committee,
  equalWeight,
  createBestInClass,
  sizeSegments,
  createFixedCount,
  midCap50,
  priceAverage,
  createAdjustedAverage,
  industryQuotas,
  floatBands,
} from './size-rules.js';
import {
  lowVolatility,
  momentumScore,
  createComposite,
  sectorNeutral,
  fundamentalWeights,
  factorTilts,
  stylePair,
  selectDividend,
  thematic,
  equalRisk,
  maximumDiversification,
} from './score-rules.js';

import { createDevelopedNet, createPhasedFreeFloat, tenForty } from './cap-rules.js';
import { risingDividends } from './dividend-rules.js';
import { largest100, leadersOfGroups } from './event-rules.js';
import { growth100, leaders40 } from './review-rules.js';
import { minimumVolatility, parisAligned } from './optimised-rules.js';
import { hierarchicalRiskParity } from './risk-rules.js';

/** Rulebooks by template id, with the numbers of securities of this store. */
export const RULEBOOKS: Readonly<Record<string, Rulebook>> = {
  'committee-large-cap': committee,
  'equal-weight': equalWeight,
  'low-volatility': lowVolatility(150),
  'rising-dividends': risingDividends,
  'momentum-score': momentumScore(150),
  'quality-composite': createComposite(150, [
    { name: 'RETURN_ON_EQUITY', sign: 1 },
    { name: 'ACCRUALS_RATIO', sign: -1 },
    { name: 'FINANCIAL_LEVERAGE', sign: -1 },
  ]),
  'value-composite': createComposite(150, [
    { name: 'BOOK_TO_PRICE', sign: 1 },
    { name: 'EARNINGS_TO_PRICE', sign: 1 },
    { name: 'SALES_TO_PRICE', sign: 1 },
  ]),
  'quality-sector-neutral': sectorNeutral(150),
  'best-in-class': createBestInClass(150),
  'largest-100': largest100,
  'fundamental-weights': fundamentalWeights(100),
  'factor-tilts': factorTilts,
  'size-segments': sizeSegments(200),
  'style-pair': stylePair(150),
  'fixed-count-600': createFixedCount(120, { enter: 110, exit: 150 }),
  'select-dividend': selectDividend,
  'mid-cap-50': midCap50,
  'price-average': priceAverage,
  'price-average-adjusted': createAdjustedAverage,
  'industry-quotas': industryQuotas,
  'float-bands': floatBands(60),
  'thematic-score': thematic,
  'equal-risk': equalRisk,
  'maximum-diversification': maximumDiversification,
  'hierarchical-risk-parity': hierarchicalRiskParity,
  'leaders-40': leaders40,
  'supersector-leaders-50': leadersOfGroups({ coverage: 0.97, exit: 54 }),
  'growth-100': growth100,
  'ten-forty': tenForty,
  'developed-net': createDevelopedNet,
  'phased-free-float': createPhasedFreeFloat,
  'paris-aligned': parisAligned(100, 0.06),
  'minimum-volatility': minimumVolatility(60, 0.05),
};

/** Rulebooks with caps that no weight of the drawn store reaches. */
export const CAPPED: Readonly<Record<string, Rulebook>> = {
  'fixed-count-600': RULEBOOKS['fixed-count-600']!,
  'mid-cap-50': midCap50,
  'select-dividend': selectDividend,
};

/** Holds the designated contracts of each month at their production weights, rolled over five closes. */
export const commodityRoll: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: Array.from({ length: 12 }, (_, k) => k + 1),
    anchor: { day: 'date', date: 7 },
    closes: 5,
    decide: (t) =>
      proportional(market.members('ROLL', t), (i) => market.price(i, t) * market.fact(i, t, 'PRODUCTION_WEIGHT')),
  }),
});
