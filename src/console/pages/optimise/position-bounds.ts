import type { Finding } from '#clients/typescript/divisor.js';
import { formatCount, formatPercent } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';

/** Initial problem of the page. */
export interface Example {
  readonly text: string;
  readonly rows: readonly JsonObject[];
  readonly terms: JsonObject;
}

/** Upper bound of the example for an index of many securities. */
const UPPER_MIN = 0.05;

/** Upper bound of the example as a multiple of the equal weight. At 1, every weight would be fixed. */
const EQUAL_WEIGHT_MULTIPLE = 1.5;

/**
 * Creates the initial problem. Without constraints, the solution would be the index itself. The bound is soft, because
 * the number of securities that can be held may be smaller.
 * @param securityCount number of securities of the index; null if it is unknown
 */
export function createExample(securityCount: number | null): Example {
  const percent = securityCount === null ? 0 : Math.ceil((100 * EQUAL_WEIGHT_MULTIPLE) / Math.max(1, securityCount));
  const upper = Math.min(1, Math.max(UPPER_MIN, percent / 100));
  return {
    text: `near the index, soft limit of ${formatPercent(upper, 0)} per security`,
    rows: [{ id: 'position-bounds', type: 'PositionBounds', params: { upper, soft: 1 } }],
    terms: { objective: { type: 'min_tracking_error' } },
  };
}

/** Constraint types that replace the full investment. */
const REPLACES_FULL_INVESTMENT: ReadonlySet<unknown> = new Set(['FullInvestment', 'WeightSum']);

/** Difference from a full investment below which a sum of bounds counts as full. */
const TOLERANCE = 1e-9;

/**
 * Returns warnings about upper bounds that leave the weights of a full investment no choice.
 * @param securityCount number of securities that can be held; null if it is unknown
 */
export function listTightBounds(rows: readonly JsonObject[], securityCount: number | null): readonly Finding[] {
  if (securityCount === null || rows.some(({ type }) => REPLACES_FULL_INVESTMENT.has(type))) return [];
  return rows.flatMap(({ type, params }, position) => {
    const { upper, identifiers = null } = isObject(params) ? params : {};
    if (type !== 'PositionBounds' || typeof upper !== 'number' || identifiers !== null) return [];
    const total = securityCount * upper;
    if (total > 1 + TOLERANCE) return [];
    const sum = `${formatCount(securityCount)} securities × ${formatPercent(upper)} = ${formatPercent(total)}`;
    return {
      severity: 'warning',
      code: 'CAP_INFEASIBLE',
      path: `constraints[${position}].params.upper`,
      message:
        total < 1 - TOLERANCE
          ? `${sum}: weights within this bound do not add up to 100%.`
          : `${sum}: every weight is fixed at ${formatPercent(upper)}.`,
    };
  });
}
