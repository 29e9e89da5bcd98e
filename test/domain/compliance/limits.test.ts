import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import {
  createLimitRows,
  measureDistanceToBreach,
  type WatchedDate,
  watchLimits,
} from '#domain/definition/limit-monitoring.js';
import {
  computeHeadroom,
  type Holdings,
  LIMIT_RULE_NAMES,
  LIMIT_RULES,
  type LimitRow,
} from '#domain/definition/compliance.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import { IS_SOAK } from '../../soak.js';

const RUNS = IS_SOAK ? 25 : 8;

function createHoldings(weights: readonly number[], issuers: readonly number[] = weights.map((_, i) => i)): Holdings {
  const sums = new Float64Array(Math.max(...issuers) + 1);
  weights.forEach((weight, i) => (sums[issuers[i]!]! += weight));
  return {
    weights: Float64Array.from(weights),
    issuerOf: Int32Array.from(issuers),
    nets: sums,
    issuers: sums.map(Math.abs),
  };
}

/**
 * Returns the holdings after the price of one security has moved. The new weights follow from the definition of a
 * weight.
 */
function movePrice({ weights, issuerOf }: Holdings, name: number, move: number): Holdings {
  const total = 1 + weights[name]! * move;
  const after = Array.from(weights, (weight, i) => (i === name ? weight * (1 + move) : weight) / total);
  return createHoldings(after, [...issuerOf]);
}

const isBeyond = (rows: readonly LimitRow[], holdings: Holdings, tolerance: number) =>
  rows.some((row) => computeHeadroom(row, row.measure.valueOf(holdings)) < -tolerance);

/** Creates random weights that sum to at most 1. Some are large, and some issuers have several securities. */
const createPortfolio = (large: number) =>
  fc
    .record({
      large: fc.array(fc.double({ min: 0.04, max: 0.2, noNaN: true }), { minLength: 0, maxLength: large }),
      small: fc.array(fc.double({ min: 0.01, max: 0.045, noNaN: true }), { minLength: 34, maxLength: 44 }),
      cash: fc.double({ min: 0, max: 0.05, noNaN: true }),
    })
    .map(({ large, small, cash }) => {
      const parts = [...large, ...small];
      const total = parts.reduce((sum, part) => sum + part, 0) * (1 + cash);
      return createHoldings(
        parts.map((part) => part / total),
        parts.map((_, i) => (i % 19 === 18 ? i - 1 : i)),
      );
    });

test.each([
  { rule: 'UCITS_5_10_40', weights: [0.1, 0.1, 0.1, 0.1, ...Array<number>(12).fill(0.05)], headroom: 0 },
  {
    rule: 'UCITS_5_10_40',
    weights: [0.1, 0.1, 0.1, 0.1, 0.051, ...Array<number>(12).fill(0.549 / 12)],
    headroom: -0.051,
  },
  { rule: 'UCITS_5_10_40', weights: [0.12, ...Array<number>(22).fill(0.04)], headroom: -0.02 },
  { rule: 'UCITS_20_35', weights: [0.35, 0.2, 0.2, 0.2, 0.05], headroom: 0 },
  { rule: 'UCITS_20_35', weights: [0.3, 0.21, 0.19, 0.3], headroom: -0.1 },
  { rule: 'RIC_25_5_50', weights: [0.25, 0.25, ...Array<number>(10).fill(0.05)], headroom: 0 },
  { rule: 'SEC_75_5_10', weights: [0.25, ...Array<number>(15).fill(0.05)], headroom: 0 },
  { rule: 'SEC_75_5_10', weights: [0.2, 0.06, ...Array<number>(37).fill(0.02)], headroom: -0.01 },
] as const)('$rule by hand: headroom $headroom', ({ rule, weights, headroom }) => {
  const holdings = createHoldings(weights);
  const leastHeadroom = Math.min(
    ...LIMIT_RULES[rule].rows.map((row) => computeHeadroom(row, row.measure.valueOf(holdings))),
  );
  expect(leastHeadroom).toBeCloseTo(headroom, 12);
});

test('shares of one issuer count together', () => {
  const holdings = createHoldings(
    [0.06, 0.06, ...Array<number>(22).fill(0.04)],
    [0, 0, ...Array.from({ length: 22 }, (_, i) => i + 1)],
  );
  const [largest] = LIMIT_RULES.UCITS_5_10_40.rows;
  expect(largest.measure.valueOf(holdings)).toBeCloseTo(0.12, 12);
});

test('an inverse index is measured by the magnitudes of its issuers, net by issuer', () => {
  const computeValues = (weights: readonly number[], issuers?: readonly number[]) => {
    const holdings = createHoldings(weights, issuers);
    return LIMIT_RULE_NAMES.map((rule) => LIMIT_RULES[rule].rows.map((row) => row.measure.valueOf(holdings)));
  };
  const weights = [0.5, 0.3, 0.16, 0.04];
  expect(computeValues(weights.map((weight) => -weight))).toEqual(computeValues(weights));
  expect(computeValues([0.5, -0.3, 0.16], [0, 0, 1])).toEqual(computeValues([0.2, 0.16]));
});

test('the distance of an inverse index, by hand', () => {
  const rows = LIMIT_RULES.UCITS_5_10_40.rows;
  // Solves 0.025 (1 + x) = 0.1 (1 - 0.025 x). From x = 20 on, the other weights exceed 5 %.
  const nearest = measureDistanceToBreach(rows, createHoldings(Array<number>(40).fill(-0.025)));
  expect(nearest!.name).toBe(0);
  expect(nearest!.move).toBeCloseTo(0.075 / 0.0275, 12);
});

test.each(LIMIT_RULE_NAMES)(
  '%s: no smaller move of any security passes a bound than the one reported, and it does',
  (rule) => {
    const { rows } = LIMIT_RULES[rule];
    let passedCount = 0;
    fc.assert(
      fc.property(createPortfolio(rule === 'SEC_75_5_10' ? 1 : 5), (holdings) => {
        const nearest = measureDistanceToBreach(rows, holdings);
        if (isBeyond(rows, holdings, 1e-12)) return void expect(nearest).toBeNull();
        const reach = nearest === null ? 20 : Math.abs(nearest.move);
        for (let name = 0; name < holdings.weights.length; name++)
          for (let step = 1; step < 7; step++)
            for (const sign of [1, -1]) {
              const move = (sign * reach * step) / 7.001;
              if (move > -1)
                expect(isBeyond(rows, movePrice(holdings, name, move), 1e-9), `${name} by ${move}`).toBe(false);
            }
        if (nearest === null) return;
        passedCount++;
        const further = nearest.move * (1 + 1e-6) + Math.sign(nearest.move) * 1e-7;
        expect(isBeyond(rows, movePrice(holdings, nearest.name, further), 0)).toBe(true);
      }),
      { numRuns: RUNS },
    );
    expect(passedCount).toBeGreaterThan(0);
  },
);

test('with short positions too the distance of every rule is the least move by trial', () => {
  let passedCount = 0;
  const holdings = fc
    .record({
      weights: fc.array(fc.integer({ min: -30, max: 120 }), { minLength: 30, maxLength: 40 }),
      side: fc.constantFrom(1, -1),
      names: fc.constantFrom(1, 2),
    })
    .map(({ weights, side, names }) => {
      const sum = weights.reduce((total, weight) => total + weight, 0);
      return createHoldings(
        weights.map((weight) => (side * weight) / Math.max(sum, 1000)),
        weights.map((_, i) => Math.floor(i / names)),
      );
    });
  fc.assert(
    fc.property(holdings, fc.constantFrom(...LIMIT_RULE_NAMES), (ownHoldings, rule) => {
      const { rows } = LIMIT_RULES[rule];
      const nearest = measureDistanceToBreach(rows, ownHoldings);
      if (isBeyond(rows, ownHoldings, 1e-12)) return void expect(nearest).toBeNull();
      const reach = nearest === null ? 5 : Math.abs(nearest.move);
      ownHoldings.weights.forEach((weight, name) => {
        for (const part of [-0.999, -0.6, -0.3, 0.3, 0.6, 0.999])
          if (part * reach > -1 && 1 + weight * part * reach > 0)
            expect(isBeyond(rows, movePrice(ownHoldings, name, part * reach), 1e-9)).toBe(false);
      });
      if (nearest === null) return;
      passedCount++;
      expect(
        isBeyond(
          rows,
          movePrice(ownHoldings, nearest.name, nearest.move * (1 + 1e-6) + Math.sign(nearest.move) * 1e-7),
          0,
        ),
      ).toBe(true);
    }),
    { numRuns: 4 * RUNS },
  );
  expect(passedCount).toBeGreaterThan(0);
});

test('the distance on each session is that of its close: of two securities, each in its turn', () => {
  const rows = LIMIT_RULES.UCITS_20_35.rows.slice(0, 1);
  const createWatchedDate = (session: number, weights: readonly number[]): WatchedDate => ({
    at: session,
    rows,
    holdings: createHoldings(weights),
    event: null,
  });
  const { distances } = watchLimits(
    [
      createWatchedDate(0, [0.3, 0.25, 0.25, 0.2]),
      createWatchedDate(1, [0.2, 0.34, 0.26, 0.2]),
      createWatchedDate(2, [0.4, 0.6]),
    ],
    {
      from: 0,
      withDistances: true,
    },
  );
  // The distance is one of two changes. The security rises by x, so that w (1 + x) / (1 + w x) = 0.35. Then x is (0.35
  // - w) / (0.65 w). Or another security falls by (w / 0.35 - 1) / v.
  expect(distances.map((distance) => distance?.name ?? null)).toEqual([0, 1, null]);
  expect(distances[0]!.move).toBeCloseTo(0.05 / (0.65 * 0.3), 12);
  expect(distances[1]!.move).toBeCloseTo(0.01 / (0.65 * 0.34), 12);
});

const createConstraint = (type: string, params: Record<string, unknown>): ConstraintRow => ({ id: '', type, params });

test.each([
  createConstraint('PositionBounds', { upper: 0.15 }),
  createConstraint('PositionBounds', { lower: 0.0001 }),
  createConstraint('GroupBounds', { field: 'SECTOR', upper: 0.45 }),
  createConstraint('EffectiveNumber', { minimum: 15 }),
  createConstraint('MinimumHolding', { threshold: 0.0001 }),
  createConstraint('WeightedAverage', { field: 'CARBON', upper: 0.7, missing: 'renormalise' }),
  createConstraint('Concentration5_10_40', { single: 0.2, trigger: 0.06, aggregate: 0.3 }),
])('$type: the distance is the least move by trial', (row) => {
  let passedCount = 0;
  fc.assert(
    fc.property(
      createPortfolio(5),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (holdings, stream) => {
        const identifiers = Array.from(holdings.weights, (_, i) => `N${i}`);
        const values = identifiers.map((_, i) => (i % 7 === 6 ? NaN : (stream.next().value as number)));
        const rows = createLimitRows([row], {
          identifiers,
          numbers: () => Float64Array.from(values),
          categories: () => identifiers.map((_, i) => ['A', 'B', null][i % 3]!),
        });
        const ownHoldings = {
          ...holdings,
          issuers: holdings.weights,
          issuerOf: Int32Array.from(identifiers, (_, i) => i),
        };
        const nearest = measureDistanceToBreach(rows, ownHoldings);
        if (isBeyond(rows, ownHoldings, 1e-12)) return void expect(nearest).toBeNull();
        const reach = nearest === null ? 20 : Math.abs(nearest.move);
        identifiers.forEach((_, name) => {
          for (let step = 1; step < 7; step++)
            for (const sign of [1, -1]) {
              const move = (sign * reach * step) / 7.001;
              if (move > -1) expect(isBeyond(rows, movePrice(ownHoldings, name, move), 1e-9)).toBe(false);
            }
        });
        if (nearest === null) return;
        passedCount++;
        expect(
          isBeyond(
            rows,
            movePrice(ownHoldings, nearest.name, nearest.move * (1 + 1e-6) + Math.sign(nearest.move) * 1e-9),
            0,
          ),
        ).toBe(true);
      },
    ),
    { numRuns: RUNS },
  );
  expect(passedCount).toBeGreaterThan(0);
});

test('the gross exposure of long and short positions and its distance, by hand', () => {
  const context = { identifiers: ['A', 'B', 'C'], numbers: () => new Float64Array(3), categories: () => [] };
  const rows = createLimitRows([createConstraint('GrossExposure', { upper: 2 })], context);
  const holdings = createHoldings([0.9, -0.4, 0.5]);
  expect(rows.map(({ side, limit, measure }) => [side, limit, measure.valueOf(holdings)])).toEqual([['upper', 2, 1.8]]);
  // The short position rises by x: 1.8 + 0.4 x = 2 (1 - 0.4 x). The largest position would have to fall by two ninths.
  const nearest = measureDistanceToBreach(rows, holdings)!;
  expect(nearest.name).toBe(1);
  expect(nearest.move).toBeCloseTo(1 / 6, 12);
});

test.each(['ActiveBounds', 'Turnover', 'ActiveShare', 'TrackingError', 'Beta', 'ExpectedReturn'])(
  '%s is refused: it is not about holdings',
  (type) => {
    const params = {
      ActiveBounds: { lower: -0.1, upper: 0.1 },
      Turnover: { limit: 0.1 },
      TrackingError: { limit: 0.1 },
      ActiveShare: { limit: 0.1 },
      Beta: { lower: 0.9 },
      ExpectedReturn: { lower: 0.05 },
    }[type]!;
    const context = { identifiers: ['A'], numbers: () => new Float64Array(1), categories: () => ['X'] };
    expect(() => createLimitRows([createConstraint('LongOnly', {}), createConstraint(type, params)], context)).toThrow(
      expect.objectContaining({ detail: { findings: [expect.objectContaining({ path: 'rows[1].type' })] } }),
    );
  },
);

test('a breach runs from the first session beyond a bound to the last, and has the cause of its first', () => {
  const rows = LIMIT_RULES.UCITS_20_35.rows.slice(0, 1);
  const holdLargest = (largest: number) => createHoldings([largest, 1 - largest]);
  const dates: WatchedDate[] = [0.3, 0.36, 0.38, 0.35, 0.4, 0.5, 0.36].map((weight, k) => ({
    at: k,
    rows,
    holdings: holdLargest(weight < 0.5 ? 1 - weight : weight),
    event: null,
  }));
  // Weights 0.7, 0.64, 0.62, 0.65, 0.6, 0.5, 0.64: always above 0.35.
  expect(watchLimits(dates, { from: 2 })).toMatchObject({
    dates: [2, 3, 4, 5, 6],
    breachedDates: 5,
    breaches: [{ begin: 0, end: null, worst: { at: 0, value: 0.7 } }],
    rows: [{ least: { at: 3 }, latest: { at: 6, value: expect.closeTo(0.64, 12) as number, limit: 0.35 } }],
  });
  const spread = (weight: number): Holdings => createHoldings([weight, ...Array<number>(5).fill((1 - weight) / 5)]);
  const createWatchedDate = (k: number, weight: number, event: WatchedDate['event'] = null): WatchedDate => ({
    at: k,
    rows,
    holdings: spread(weight),
    event,
  });
  const { breaches, headroom } = watchLimits(
    [
      createWatchedDate(0, 0.3),
      createWatchedDate(1, 0.36),
      createWatchedDate(2, 0.38),
      createWatchedDate(3, 0.35),
      createWatchedDate(4, 0.4, { kind: 'rebalance', before: spread(0.3) }),
      createWatchedDate(5, 0.3),
      createWatchedDate(6, 0.4, { kind: 'rebalance', before: spread(0.36) }),
      createWatchedDate(7, 0.3),
      createWatchedDate(8, 0.4, { kind: 'action', before: spread(0.34) }),
    ],
    { from: 0 },
  );
  expect(breaches.map(({ begin, end, cause }) => [begin, end, cause])).toEqual([
    [1, 2, 'price'],
    [4, 4, 'rebalance'],
    [6, 6, 'price'],
    [8, null, 'action'],
  ]);
  expect(breaches[0]!.worst).toMatchObject({ at: 2, value: 0.38, limit: 0.35 });
  expect(headroom[3]).toBeCloseTo(0, 12);
});
