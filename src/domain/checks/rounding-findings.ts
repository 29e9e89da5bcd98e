import type { Finding } from '../refusals/findings.js';
import { PRICE_WEIGHT } from '../documents/share-terms.js';
import { createError, isObject, type UncheckedBody } from './index-context.js';

/** Reports rounding settings that lack a required member or have no effect. */
export function checkRounding(body: UncheckedBody): Finding[] {
  const { rounding, base_market_value: base } = body;
  const isOverlay = isObject(body['overlay']);
  const idle = isOverlay ? 'an overlay has no index shares' : describeUnroundedShares(body);
  return [
    ...(isObject(rounding) && rounding['shares'] !== undefined && base === undefined && !isOverlay
      ? [
          createError(
            'REQUIRED',
            'base_market_value',
            'rounding.shares requires base_market_value: otherwise index shares are fractions of a base value.',
          ),
        ]
      : []),
    ...(idle === null ? [] : reportIdleRoundings(rounding, idle)),
    ...(isOverlay && base !== undefined ? [createIdleFinding('base_market_value', idle!)] : []),
    ...(holdsFixedShares(body) && base !== undefined
      ? [createIdleFinding('base_market_value', 'a price-weighted index holds fixed numbers of shares')]
      : []),
  ];
}

function holdsFixedShares({ pipeline }: UncheckedBody): boolean {
  const weighting = isObject(pipeline) ? pipeline['weighting'] : undefined;
  if (!isObject(weighting) || weighting['type'] !== PRICE_WEIGHT) return false;
  const { params } = weighting;
  return !isObject(params) || params['splits'] !== 'keep_weight';
}

/** Returns the reason why divisor and index shares are not rounded. Returns null if they can be. */
function describeUnroundedShares({ pipeline }: UncheckedBody): string | null {
  const treatment = isObject(pipeline) && isObject(pipeline['treatment']) ? pipeline['treatment'] : {};
  return treatment['reinvestment'] === 'constituent'
    ? 'with pipeline.treatment.reinvestment constituent each return variant has separate index shares'
    : null;
}

function reportIdleRoundings(rounding: unknown, why: string): Finding[] {
  if (!isObject(rounding)) return [];
  return ['divisor', 'shares'].flatMap((member) =>
    rounding[member] === undefined ? [] : [createIdleFinding(`rounding.${member}`, why)],
  );
}

function createIdleFinding(path: string, why: string): Finding {
  return { severity: 'warning', code: 'NO_EFFECT', path, message: `${path} has no effect: ${why}.` };
}
