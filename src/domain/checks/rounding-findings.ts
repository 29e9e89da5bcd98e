import type { Finding } from '../refusals/findings.js';
import { PRICE_WEIGHT } from '../documents/share-terms.js';
import { resolveTreatment } from '../documents/treatment.js';
import { createError, isObject, type IndexContext, type UncheckedBody } from './index-context.js';

/** Reports rounding settings that lack a required member or have no effect. */
export function checkRounding(body: UncheckedBody, { indexOf }: Pick<IndexContext, 'indexOf'>): Finding[] {
  const { rounding, base_market_value: base } = body;
  const isOverlay = isObject(body['overlay']);
  const idle = isOverlay ? 'an overlay has no index shares' : describeUnroundedShares(body, indexOf);
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

/**
 * Returns the reason why divisor and index shares are not rounded. Returns null if they can be. A derived index has the
 * treatment of its source.
 */
function describeUnroundedShares(body: UncheckedBody, indexOf: IndexContext['indexOf']): string | null {
  const effect = 'each return variant has separate index shares, which follow from weights';
  const { pipeline, derivation } = body;
  const treatment = isObject(pipeline) && isObject(pipeline['treatment']) ? pipeline['treatment'] : {};
  if (treatment['reinvestment'] === 'constituent') return `with pipeline.treatment.reinvestment constituent ${effect}`;
  const sourceId = isObject(derivation) ? derivation['source_index_id'] : undefined;
  const source = typeof sourceId === 'string' ? indexOf(sourceId) : undefined;
  const inherited = source && resolveTreatment(source, indexOf);
  return inherited?.reinvestment === 'constituent'
    ? `the source index ${source!.id} has treatment.reinvestment constituent, with which ${effect}`
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
