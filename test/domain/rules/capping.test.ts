import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { applyCaps, type CapInput, type CappedOutcome } from '#domain/decide/capping.js';

const cap = (input: Partial<CapInput> & Pick<CapInput, 'raw'>): CappedOutcome => {
  const result = applyCaps({ cap: null, floor: null, groups: [], ...input });
  if (result.kind === 'infeasible') throw new Error(result.message);
  return result;
};

const sumValues = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
const normalise = (values: readonly number[]) => Float64Array.from(values, (value) => value / sumValues(values));

const rawWeights = fc
  .array(fc.double({ min: 0.001, max: 10, noNaN: true }), { minLength: 1, maxLength: 40 })
  .map(normalise);
const fraction = fc.double({ min: 0.01, max: 1, noNaN: true });

describe('the single cap', () => {
  test('equals the golden vector', () => {
    const { weights, capped, redistributed } = cap({ raw: Float64Array.of(0.5, 0.24, 0.14, 0.12), cap: 0.3 });
    [0.3, 0.3, 0.21538461538461537, 0.18461538461538463].forEach((weight, i) =>
      expect(weights[i]).toBeCloseTo(weight, 14),
    );
    expect(Array.from(capped)).toEqual([0, 1]);
    expect(redistributed).toBeCloseTo(0.2, 14);
  });

  test('moves nothing if no security exceeds it, whatever the weights sum to by rounding', () => {
    fc.assert(
      fc.property(rawWeights, (raw) => {
        expect(cap({ raw, cap: 1 }).redistributed).toBe(0);
        expect(cap({ raw, cap: Math.max(...raw) }).redistributed).toBe(0);
      }),
    );
    // A cap is reported even if it changes weights by only a millionth.
    expect(cap({ raw: Float64Array.of(0.500001, 0.499999), cap: 0.5 }).redistributed).toBeCloseTo(1e-6, 14);
  });

  test('a security that lands on the cap by redistribution is not capped', () => {
    const raw = normalise([1000, 600, 200, 100]); // first golden date: the weight of B becomes 0.4
    const { weights, capped } = cap({ raw, cap: 0.4 });
    expect(weights[1]).toBeCloseTo(0.4, 12);
    expect(Array.from(capped)).toEqual([0]);
  });

  test('it is the fixed point: min(cap, lambda u) with sum 1, in which capping again changes nothing', () => {
    fc.assert(
      fc.property(rawWeights, fraction, (raw, limit) => {
        const { weights, cap: effective, scaleOf, capped, redistributed } = cap({ raw, cap: limit });
        expect(effective).toBe(Math.max(limit, 1 / raw.length));
        expect(Math.abs(sumValues(weights) - 1)).toBeLessThan(1e-12);
        weights.forEach((weight, i) => {
          expect(weight).toBeLessThanOrEqual(effective! + 1e-12);
          expect(Math.abs(weight - Math.min(effective!, scaleOf(i) * raw[i]!))).toBeLessThan(2e-12);
        });
        expect(redistributed).toBeCloseTo(sumValues(raw.map((u, i) => Math.abs(u - weights[i]!))) / 2, 12);
        for (const position of capped) expect(weights[position]).toBe(effective);
        cap({ raw: weights, cap: limit }).weights.forEach((weight, i) => expect(weight).toBeCloseTo(weights[i]!, 11));
      }),
    );
  });

  test('its rounds replayed by hand give the weights', () => {
    fc.assert(
      fc.property(rawWeights, fraction, (raw, limit) => {
        const { weights, rounds, cap: effective } = cap({ raw, cap: limit });
        const members = new Set<number>();
        for (const round of rounds) {
          for (const position of round.joined) expect(raw[position]! * round.scale).toBeGreaterThan(effective!);
          round.joined.forEach((position) => members.add(position));
        }
        const replayedWeights = raw.map((u, i) => (members.has(i) ? effective! : u * rounds.at(-1)!.scale));
        expect(Array.from(replayedWeights)).toEqual(Array.from(weights));
      }),
    );
  });

  test('the order of securities does not matter', () => {
    fc.assert(
      fc.property(rawWeights, fraction, (raw, limit) => {
        const reversedWeights = cap({ raw: raw.toReversed(), cap: limit }).weights.toReversed();
        cap({ raw, cap: limit }).weights.forEach((weight, i) => expect(weight).toBeCloseTo(reversedWeights[i]!, 13));
      }),
    );
  });

  test('without a cap nothing changes', () => {
    expect(cap({ raw: Float64Array.of(0.7, 0.3) })).toMatchObject({
      weights: Float64Array.of(0.7, 0.3),
      cap: null,
      redistributed: 0,
    });
  });
});

describe('a floor', () => {
  test('weights are clip(lambda u, floor, cap) with sum 1 for one lambda', () => {
    fc.assert(
      fc.property(rawWeights, fraction, fraction, (raw, limit, share) => {
        const floor = limit * share * 0.999;
        const { weights, scaleOf, cap: effective, floor: used } = cap({ raw, cap: limit, floor });
        expect(used).toBe(Math.min(floor, 1 / raw.length));
        expect(Math.abs(sumValues(weights) - 1)).toBeLessThan(1e-12);
        weights.forEach((weight, i) =>
          expect(weight).toBeCloseTo(Math.min(effective!, Math.max(used, scaleOf(0) * raw[i]!)), 12),
        );
      }),
    );
  });

  test('by hand: 0.90, 0.06, 0.04 with a floor of 0.10 gives 0.80, 0.10, 0.10', () => {
    const { weights } = cap({ raw: Float64Array.of(0.9, 0.06, 0.04), floor: 0.1 });
    expect(Array.from(weights)).toEqual([expect.closeTo(0.8, 14), expect.closeTo(0.1, 14), expect.closeTo(0.1, 14)]);
  });

  test('a floor above equal weight gives equal weights', () => {
    for (const weight of cap({ raw: Float64Array.of(0.7, 0.2, 0.1), floor: 0.9 }).weights)
      expect(weight).toBeCloseTo(1 / 3, 14);
  });
});

describe('group caps', () => {
  test('by hand: a group of 0.6 capped at 0.45 is scaled down and the rest grows in proportion', () => {
    const raw = Float64Array.of(0.4, 0.2, 0.3, 0.1);
    const { weights } = cap({
      raw,
      groups: [{ groupOf: Int32Array.of(0, 0, 1, 2), caps: Float64Array.of(0.45, 0.45, 0.45) }],
    });
    expect(Array.from(weights)).toEqual([0.3, 0.15, 0.4125, 0.1375].map((weight) => expect.closeTo(weight, 13)));
  });

  test('a group that is pushed over its cap by the redistribution is capped too', () => {
    const raw = Float64Array.of(0.6, 0.3, 0.1);
    const { weights } = cap({
      raw,
      groups: [{ groupOf: Int32Array.of(0, 1, 2), caps: Float64Array.of(0.4, 0.4, 0.4) }],
    });
    expect(Array.from(weights)).toEqual([0.4, 0.4, 0.2].map((weight) => expect.closeTo(weight, 13)));
  });

  test('caps that cannot sum to 1 are infeasible, with both numbers', () => {
    const result = applyCaps({
      raw: Float64Array.of(0.5, 0.5),
      cap: null,
      floor: null,
      groups: [{ groupOf: Int32Array.of(0, 1), caps: Float64Array.of(0.3, 0.4) }],
    });
    expect(result).toEqual({
      kind: 'infeasible',
      message: 'The group caps reach only 0.7 of the required weight 1.',
      stated: 'group_caps',
    });
  });

  test('caps that just reach 1 hold', () => {
    const { weights } = cap({
      raw: Float64Array.of(0.7, 0.1, 0.1, 0.1),
      groups: [{ groupOf: Int32Array.of(0, 1, 2, 3), caps: new Float64Array(4).fill(0.25) }],
    });
    for (const weight of weights) expect(weight).toBeCloseTo(0.25, 12);
  });

  /** Random securities in up to 4 sectors and 3 countries, with random caps that leave some slack. */
  const groupedWeights = fc.integer({ min: 4, max: 30 }).chain((n) =>
    fc.record({
      raw: fc.array(fc.double({ min: 0.01, max: 10, noNaN: true }), { minLength: n, maxLength: n }).map(normalise),
      sectors: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: n, maxLength: n }),
      countries: fc.array(fc.integer({ min: -1, max: 2 }), { minLength: n, maxLength: n }),
      sectorCap: fc.double({ min: 0.3, max: 0.9, noNaN: true }),
      countryCap: fc.double({ min: 0.4, max: 0.9, noNaN: true }),
      limit: fc.option(fc.double({ min: 0.2, max: 1, noNaN: true }), { nil: null }),
    }),
  );

  test('no group is above its cap, no name above the single cap, and the weights sum to 1', () => {
    fc.assert(
      fc.property(groupedWeights, ({ raw, sectors, countries, sectorCap, countryCap, limit }) => {
        const groups = [
          { groupOf: Int32Array.from(sectors), caps: new Float64Array(4).fill(sectorCap) },
          { groupOf: Int32Array.from(countries), caps: new Float64Array(3).fill(countryCap) },
        ];
        const result = applyCaps({ raw, cap: limit, floor: null, groups });
        if (result.kind === 'infeasible') return;
        expect(Math.abs(sumValues(result.weights) - 1)).toBeLessThan(1e-10);
        for (const { groupOf, caps } of groups) {
          caps.forEach((groupCap, group) =>
            expect(sumValues(result.weights.filter((_, i) => groupOf[i] === group))).toBeLessThanOrEqual(
              groupCap + 1e-11,
            ),
          );
        }
        if (result.cap !== null)
          for (const weight of result.weights) expect(weight).toBeLessThanOrEqual(result.cap + 1e-12);
        result.weights.forEach((weight, i) =>
          expect(weight).toBeCloseTo(Math.min(result.cap ?? 1, result.scaleOf(i) * raw[i]!), 11),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('names of one group that no cap binds keep their proportions', () => {
    fc.assert(
      fc.property(groupedWeights, ({ raw, sectors, sectorCap }) => {
        const result = applyCaps({
          raw,
          cap: null,
          floor: null,
          groups: [{ groupOf: Int32Array.from(sectors), caps: new Float64Array(4).fill(sectorCap) }],
        });
        if (result.kind === 'infeasible') return;
        for (let i = 0; i < raw.length; i++) {
          for (let j = 0; j < i; j++)
            if (sectors[i] === sectors[j])
              expect(result.weights[i]! * raw[j]!).toBeCloseTo(result.weights[j]! * raw[i]!, 12);
        }
      }),
    );
  });

  test('the answer is the closest in relative entropy: no small feasible move lowers it', () => {
    const raw = normalise([8, 5, 4, 2, 1, 1]);
    const groups = [
      { groupOf: Int32Array.of(0, 0, 1, 1, 2, 2), caps: Float64Array.of(0.5, 0.5, 0.5) },
      { groupOf: Int32Array.of(0, 1, 0, 1, 0, 1), caps: Float64Array.of(0.55, 0.55) },
    ];
    const { weights } = cap({ raw, cap: 0.35, groups });
    const computeEntropy = (w: Float64Array) => sumValues(w.map((weight, i) => weight * Math.log(weight / raw[i]!)));
    const isFeasible = (w: Float64Array) =>
      w.every((weight) => weight <= 0.35 && weight > 0) &&
      groups.every(({ groupOf, caps }) =>
        caps.every((groupCap, group) => sumValues(w.filter((_, i) => groupOf[i] === group)) <= groupCap),
      );
    const leastEntropy = computeEntropy(weights);
    for (let i = 0; i < 6; i++) {
      for (let j = 0; j < 6; j++) {
        for (let k = 0; k < 6; k++) {
          const movedWeights = weights.slice();
          movedWeights[i]! += 2e-5;
          movedWeights[j]! -= 1e-5;
          movedWeights[k]! -= 1e-5;
          if (isFeasible(movedWeights)) expect(computeEntropy(movedWeights)).toBeGreaterThan(leastEntropy - 1e-12);
        }
      }
    }
  });
});
