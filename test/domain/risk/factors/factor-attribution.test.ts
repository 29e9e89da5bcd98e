import { describe, expect, test } from 'vitest';
import { toMonthNumber } from '#domain/base/time.js';
import { attributeToFactors, type AttributionModel } from '#domain/risk/factor-attribution.js';
import { golden, N, names, createStyleMarket, createStyleWindow, T } from './style-market.js';

const market = createStyleMarket();
const window = createStyleWindow(market, [0, T - 1]);
const first = window.sm.sessions.indexOf(market.dates[0]!);
const close = market.fields.get('CLOSE')!;
const computeReturn = (t: number, i: number) => close[t * N + i]! / close[(t - 1) * N + i]! - 1;
/** Weights used in the golden file. */
const heldWeights = Float64Array.from(names, (i) => Math.sin(i + 1) / 10 + 1 / N);
const computeHeldReturn = (t: number) => names.reduce((sum, i) => sum + heldWeights[i]! * computeReturn(t, i), 0);

/** Returns the attribution of periods that end on consecutive sessions. Every period begins with the same weights. */
function attributePeriods(model: AttributionModel, [from, to]: readonly [number, number], cost = 0) {
  const ends = Array.from({ length: to - from + 1 }, (_, p) => from + p);
  return attributeToFactors({
    window,
    model,
    sessions: Int32Array.from(ends, (t) => first + t),
    columns: Int32Array.from(names),
    returns: Float64Array.from(ends, (t) => computeHeldReturn(t) - cost),
    days: Int32Array.from(ends, (t) => window.sm.sessions[first + t]!),
    weightsBefore: () => heldWeights,
  });
}

const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

describe('the return of a session', () => {
  test('is attributed to styles with the returns that numpy computes', () => {
    const { factors, contributions, specific, other, coveredWeight } = attributePeriods('styles', [400, 400]);
    expect(factors.slice(0, 5)).toEqual(['MARKET', 'Sector 0', 'Sector 1', 'Sector 2', 'SIZE']);
    // No security pays a dividend, so the dividend factor has no return.
    expect(factors.at(-1)).toBe('DIVIDEND');
    const expected = [...golden.attribution.contributions, 0];
    expect(contributions).toHaveLength(expected.length);
    expected.forEach((value, k) => expect(contributions[k], factors[k]!).toBeCloseTo(value, 12));
    expect(specific).toBeCloseTo(golden.attribution.specific, 12);
    expect(other).toBeCloseTo(0, 14);
    expect(coveredWeight).toBe(1);
  });

  test('is attributed to market and sectors as the means of their securities', () => {
    const t = 310;
    const sectors = [0, 1, 2].map((s) => {
      const members = names.filter((i) => i % 3 === s);
      return {
        weight: sum(members.map((i) => heldWeights[i]!)),
        mean: sum(members.map((i) => computeReturn(t, i))) / members.length,
      };
    });
    const mean = sum(sectors.map((sector) => sector.mean)) / 3;
    const { contributions, exposures, specific } = attributePeriods('market_sector', [t, t]);
    expect(contributions[0]).toBeCloseTo(sum(heldWeights) * mean, 12);
    sectors.forEach((sector, s) => {
      expect(exposures[1 + s]).toBeCloseTo(sector.weight, 12);
      expect(contributions[1 + s]).toBeCloseTo(sector.weight * (sector.mean - mean), 12);
    });
    const residuals = names.map((i) => heldWeights[i]! * (computeReturn(t, i) - sectors[i % 3]!.mean));
    expect(specific).toBeCloseTo(sum(residuals), 12);
  });
});

test('factors, specific and other returns of months add up to the total return, and costs are part of the other return', () => {
  const [plainAttribution, costlyAttribution] = [0, 0.0005].map((cost) => attributePeriods('styles', [300, 360], cost));
  for (const attribution of [plainAttribution!, costlyAttribution!]) {
    expect(attribution.reconciles).toBe(true);
    expect(sum(attribution.contributions) + attribution.specific + attribution.other).toBeCloseTo(
      attribution.totalReturn,
      12,
    );
  }
  expect(plainAttribution!.other).toBeCloseTo(0, 12);
  expect(costlyAttribution!.other).toBeLessThan(-0.02);
});

test('a security without a regression is part of the other return, and counts as not covered', () => {
  const absentAttribution = attributeToFactors({
    window,
    model: 'market_sector',
    sessions: Int32Array.of(first + 310),
    columns: Int32Array.from(names, (i) => (i === 0 ? -1 : i)),
    returns: Float64Array.of(computeHeldReturn(310)),
    days: Int32Array.of(window.sm.sessions[first + 310]!),
    weightsBefore: () => heldWeights,
  });
  expect(absentAttribution.other).toBeCloseTo(heldWeights[0]! * computeReturn(310, 0), 12);
  const gross = sum(heldWeights.map(Math.abs));
  expect(absentAttribution.coveredWeight).toBeCloseTo(1 - Math.abs(heldWeights[0]!) / gross, 12);
});

test('months with returns of too few securities are reported with both numbers, and their return is part of the other return', () => {
  const threeCloses = close.map((value, k) => (k % N < 3 ? value : NaN));
  const fewWindow = createStyleWindow({ ...market, fields: new Map([...market.fields, ['CLOSE', threeCloses]]) }, [
    0,
    T - 1,
  ]);
  const ends = Array.from({ length: 60 }, (_, p) => 300 + p);
  const { unexplained, months, other, totalReturn, coveredWeight } = attributeToFactors({
    window: fewWindow,
    model: 'market_sector',
    sessions: Int32Array.from(ends, (t) => first + t),
    columns: Int32Array.of(0, 1, 2),
    returns: Float64Array.from(ends, (t) => (computeReturn(t, 0) + computeReturn(t, 1) + computeReturn(t, 2)) / 3),
    days: Int32Array.from(ends, (t) => window.sm.sessions[first + t]!),
    weightsBefore: () => new Float64Array(3).fill(1 / 3),
  });
  const heldMonths = new Set(ends.map((t) => toMonthNumber(window.sm.sessions[first + t]!)));
  expect(months).toBe(heldMonths.size);
  // The market and three sectors are four factors. So four securities would leave no degrees of freedom.
  expect(unexplained).toEqual(Array.from(heldMonths, () => ({ names: 3, needed: 5 })));
  expect(other).toBeCloseTo(totalReturn, 12);
  expect(coveredWeight).toBe(0);
});
