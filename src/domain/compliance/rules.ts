import { measureNthLargestIssuer, measureSumAbove, measureSumUpTo } from './issuer-measures.js';
import type { LimitRow } from './limit-row.js';

/** Published concentration rule. */
export interface LimitRule {
  readonly label: string;
  readonly help: string;
  readonly source: string;
  readonly rows: readonly LimitRow[];
}

const createLargestIssuerLimit = (limit: number): LimitRow => ({
  row: 'largest issuer',
  side: 'upper',
  limit,
  unit: 'fraction',
  measure: measureNthLargestIssuer(1),
});

const createSumAboveLimit = (trigger: number, limit: number): LimitRow => ({
  row: `issuers above ${formatPercent(trigger)} together`,
  side: 'upper',
  limit,
  unit: 'fraction',
  measure: measureSumAbove(trigger),
});

/**
 * All published rules, in the order in which forms list them. The weight of an issuer is the sum over its securities.
 */
export const LIMIT_RULES = {
  UCITS_5_10_40: {
    label: 'UCITS 5/10/40',
    help: 'No issuer is above 10%. All issuers above 5% together are at most 40%.',
    source: 'Directive 2009/65/EC, article 52(1) and (2)',
    rows: [createLargestIssuerLimit(0.1), createSumAboveLimit(0.05, 0.4)],
  },
  UCITS_20_35: {
    label: 'UCITS 20/35',
    help: 'For funds that replicate an index: no issuer is above 20%, except one issuer with up to 35%.',
    source: 'Directive 2009/65/EC, article 53',
    rows: [
      createLargestIssuerLimit(0.35),
      {
        row: 'second largest issuer',
        side: 'upper',
        limit: 0.2,
        unit: 'fraction',
        measure: measureNthLargestIssuer(2),
      },
    ],
  },
  RIC_25_5_50: {
    label: 'RIC 25/5/50',
    help: 'No issuer is above 25%. All issuers above 5% together are at most 50%.',
    source: 'Internal Revenue Code, section 851(b)(3)',
    rows: [createLargestIssuerLimit(0.25), createSumAboveLimit(0.05, 0.5)],
  },
  SEC_75_5_10: {
    label: 'Diversified 75-5-10',
    help: 'Positions of at most 5% each add up to at least 75%. The limit of 10% of voting rights is not checked.',
    source: 'Investment Company Act of 1940, section 5(b)(1)',
    rows: [
      {
        row: 'issuers of at most 5% together',
        side: 'lower',
        limit: 0.75,
        unit: 'fraction',
        measure: measureSumUpTo(0.05),
      },
    ],
  },
} as const satisfies Readonly<Record<string, LimitRule>>;

export type LimitRuleName = keyof typeof LIMIT_RULES;
export const LIMIT_RULE_NAMES = Object.keys(LIMIT_RULES) as LimitRuleName[]; // Object.keys returns plain strings.

/** Default rule. */
export const DEFAULT_LIMIT_RULE: LimitRuleName = 'UCITS_5_10_40';

function formatPercent(fraction: number): string {
  return `${fraction * 100}%`;
}
