import { Refusal } from '../refusals/refusal.js';
import type { OverlayContext, OverlayPath, OverlaySource, PartName } from './overlay-type.js';

export const BASIS_POINT = 1e-4;

/**
 * Returns the number of days from the previous session to each session, divided by the days per year, [T]. 0 on the
 * first session.
 */
export function computeYearFractions(days: Int32Array, basis: number): Float64Array {
  return Float64Array.from(days, (day, t) => (t === 0 ? 0 : (day - days[t - 1]!) / basis));
}

/**
 * Returns the interest of each session at the rate known at the previous close, [T]. 0 on the first session.
 * @param series null for a rate of 0
 */
export function computeAccruals(context: OverlayContext, series: string | null, basis: number): Float64Array {
  const fractions = computeYearFractions(context.days, basis);
  if (series === null) return fractions.fill(0);
  const rate = context.rate(series);
  return fractions.map((fraction, t) => (t === 0 ? 0 : rate[t - 1]! * fraction));
}

/** Returns the path of an overlay that holds a single index, given its growth over each session. */
export function createWholeHolding(
  context: OverlayContext,
  part: PartName,
  growthOf: (growth: number, t: number) => number,
): OverlayPath {
  const { growth: underlyingGrowth } = context.sources[0]!;
  const growth = underlyingGrowth.map((own, t) => (t === 0 ? 1 : assertPositive(growthOf(own, t), context, t)));
  return {
    growth,
    exposures: [new Float64Array(growth.length).fill(1)],
    exchange: null,
    parts: [{ part, contributions: growth.map((own, t) => own - underlyingGrowth[t]!) }],
    resets: null,
  };
}

/**
 * Subtracts the costs of changing exposures from a path. At each close, the previous exposures after growth are
 * compared with the new ones, and costs are charged on the difference. The first purchase is free.
 * @param bps undefined: no costs
 */
export function subtractCosts(
  path: OverlayPath,
  context: NamedContext & { readonly sources: readonly Pick<OverlaySource, 'growth'>[] },
  bps: number | undefined,
): OverlayPath {
  if (bps === undefined) return path;
  const { sources } = context;
  const { growth: before, exposures } = path;
  const growth = before.map((growthBefore, t) => {
    if (t === 0) return growthBefore;
    let tradedExposure = 0;
    for (let k = 0; k < exposures.length; k++)
      tradedExposure += Math.abs(exposures[k]![t]! - (exposures[k]![t - 1]! * sources[k]!.growth[t]!) / growthBefore);
    return assertPositive(growthBefore * (1 - bps * BASIS_POINT * tradedExposure), context, t);
  });
  const costs = { part: 'costs' as const, contributions: growth.map((own, t) => own - before[t]!) };
  return { ...path, growth, parts: [...path.parts, costs] };
}

/** Id of the overlay, and dates of its sessions, for refusals. */
type NamedContext = Pick<OverlayContext, 'indexId' | 'dateOf'>;

/**
 * Asserts that the level stays positive and returns the growth. @throws Refusal NUMERIC_FAILURE if the level is 0 or
 * less
 */
export function assertPositive(growth: number, { indexId, dateOf }: NamedContext, t: number): number {
  if (growth > 0) return growth;
  const changeText = `${Number((100 * (growth - 1)).toPrecision(6))}%`;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The overlay ${indexId} loses its whole value on ${dateOf(t)}, with a change of ${changeText}. It has no level afterwards.`,
    { index_id: indexId, date: dateOf(t) },
  );
}
