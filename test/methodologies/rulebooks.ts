import { runIndex } from './index-run.js';
import type { Rulebook } from './parents.js';
import { computeProportional } from './plain-functions.js';
import {
  runCommittee,
  runEqualWeight,
  createBestInClass,
  createSizeSegments,
  createFixedCount,
  runMidCap50,
  runPriceAverage,
  createAdjustedAverage,
  runIndustryQuotas,
  createFloatBands,
} from './size-rules.js';
import {
  createLowVolatility,
  createMomentumScore,
  createComposite,
  createSectorNeutral,
  createFundamentalWeights,
  factorTilts,
  createStylePair,
  createValueGrowth,
  selectDividend,
  runThematic,
  runEqualRisk,
  runMaximumDiversification,
} from './score-rules.js';

import {
  createDevelopedNet,
  createPhasedFreeFloat,
  createScoreCoverage,
  runBandedFreeFloat,
  runCapped2550,
  runCapped3520,
  runFloatLadder35,
  runFloatRounded40,
  runIndustryCoverage,
  runReinvestedBefore,
  runSectorCapped,
  runTenForty,
} from './cap-rules.js';
import { runRisingDividends } from './dividend-rules.js';
import { runLargest100, createLeadersOfGroups } from './event-rules.js';
import { runGrowth100, runLeaders40, runTwentyCapped } from './review-rules.js';
import { createMinimumVolatility, createMultipleFactors, createParisAligned } from './optimised-rules.js';
import { runHierarchicalRiskParity } from './risk-rules.js';
import { SIMPLE_RULEBOOKS } from './simple-rules.js';

/** Rules by template id. The numbers of securities are scaled to this store. */
export const RULEBOOKS: Readonly<Record<string, Rulebook>> = {
  'committee-large-cap': runCommittee,
  'equal-weight': runEqualWeight,
  'low-volatility': createLowVolatility(150),
  'rising-dividends': runRisingDividends,
  'momentum-score': createMomentumScore(150),
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
  'quality-sector-neutral': createSectorNeutral(150),
  'best-in-class': createBestInClass(150),
  'largest-100': runLargest100,
  'fundamental-weights': createFundamentalWeights(100),
  'factor-tilts': factorTilts,
  'size-segments': createSizeSegments(200),
  'style-pair': createStylePair(150),
  'fixed-count-600': createFixedCount(120, { enter: 110, exit: 150 }),
  'select-dividend': selectDividend,
  'mid-cap-50': runMidCap50,
  'price-average': runPriceAverage,
  'price-average-adjusted': createAdjustedAverage,
  'industry-quotas': runIndustryQuotas,
  'float-bands': createFloatBands(60),
  'thematic-score': runThematic,
  'equal-risk': runEqualRisk,
  'maximum-diversification': runMaximumDiversification,
  'hierarchical-risk-parity': runHierarchicalRiskParity,
  'leaders-40': runLeaders40,
  'supersector-leaders-50': createLeadersOfGroups({ coverage: 0.97, exit: 54 }),
  'growth-100': runGrowth100,
  'ten-forty': runTenForty,
  'sector-capped': runSectorCapped,
  'capped-35-20': runCapped3520,
  'banded-free-float': runBandedFreeFloat,
  'capped-25-50': runCapped2550,
  'float-rounded-40': runFloatRounded40,
  'float-ladder-35': runFloatLadder35,
  'industry-coverage': runIndustryCoverage,
  'score-coverage-75': createScoreCoverage(150),
  'previous-close-reinvestment': runReinvestedBefore,
  'developed-net': createDevelopedNet,
  'phased-free-float': createPhasedFreeFloat,
  'paris-aligned': createParisAligned(100, 0.06),
  'minimum-volatility': createMinimumVolatility(60, 0.05),
  'multiple-factors': createMultipleFactors(60),
  'value-growth-factors': createValueGrowth(150),
  'twenty-capped': runTwentyCapped,
  ...SIMPLE_RULEBOOKS,
};

/** Rules with caps that no weight of the drawn store reaches, so they have a separate store. */
export const CAPPED: Readonly<Record<string, Rulebook>> = {
  'fixed-count-600': RULEBOOKS['fixed-count-600']!,
  'mid-cap-50': runMidCap50,
  'select-dividend': selectDividend,
  'twenty-capped': runTwentyCapped,
};

/**
 * Holds the designated contracts of each month at their production weights. It moves to the next contracts over five
 * closes.
 */
export const runCommodityRoll: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: Array.from({ length: 12 }, (_, k) => k + 1),
    anchor: { day: 'date', date: 7 },
    closes: 5,
    decide: (t) =>
      computeProportional(
        market.members('ROLL', t),
        (i) => market.price(i, t) * market.fact(i, t, 'PRODUCTION_WEIGHT'),
      ),
  }),
});
