import { describe, expect, test } from 'vitest';
import { validateIndex } from '#domain/definition/index-validation.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { applyLadder } from '#domain/decide/capping.js';
import { fc } from '../../fast-check.js';
import {
  alignDays,
  CALENDARS,
  createDeciderOf,
  createRuleDocument,
  createGenerator,
  createTableMarket,
} from './rule-market.js';

const sumValues = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

const PARENT = createRuleDocument({ weighting: { type: 'EqualWeight' } }, { id: 'PARENT' });

/** Returns an index document as it is stored. Its expressions are parsed from text. */
function storeIndex(weighting: object, rest: object = {}) {
  const body = {
    id: 'TEST',
    name: 'Test',
    calendar: 'TEST',
    base_date: '2020-01-01',
    ...rest,
    pipeline: { weighting },
  };
  return validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => PARENT });
}

const listErrors = (weighting: object, severity = 'error') =>
  storeIndex(weighting)
    .findings.filter((finding) => finding.severity === severity)
    .map(({ code, path }) => `${code} ${path}`);

function createWeighting(weighting: object): unknown {
  const { document, findings } = storeIndex(weighting);
  if (document === undefined) throw new Error(JSON.stringify(findings));
  return document.pipeline!.weighting;
}

interface Case {
  readonly sizes: readonly number[];
  readonly columns?: Readonly<Record<string, readonly number[]>>;
  readonly issuers?: readonly (string | null)[];
}

/** Decides weights on a market of one session. FieldWeight by SIZE uses the given sizes. */
function decide({ sizes, columns = {}, issuers }: Case, limits: object) {
  const identifiers = sizes.map((_, i) => `S${String(i).padStart(3, '0')}`);
  const rows = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, [values]]));
  const sm = alignDays(
    createTableMarket({
      identifiers,
      fields: { CLOSE: [sizes.map(() => 10)], SIZE: [sizes], ...rows },
      reference: issuers === undefined ? {} : { ISSUER: issuers },
    }),
  );
  const weighting = createWeighting({ type: 'FieldWeight', params: { field: 'SIZE' }, ...limits });
  return createDeciderOf(sm, { weighting }).decide(0, null);
}

function computeWeights(limitCase: Case, limits: object): Map<number, number> {
  const decision = decide(limitCase, limits);
  if (decision.kind !== 'decided') throw new Error(decision.finding.message);
  return new Map(Array.from(decision.columns, (column, i) => [column, decision.weights[i]!]));
}

const closeTo = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12));

/** Limits weights to their caps repeatedly. The other securities receive the excess in proportion to their weights. */
function applyPlainCaps(raw: readonly number[], caps: readonly number[]): number[] {
  const isCapped = raw.map(() => false);
  for (;;) {
    const remainingWeight = 1 - sumValues(caps.filter((_, i) => isCapped[i]));
    const freeWeight = sumValues(raw.filter((_, i) => !isCapped[i]));
    const weights = raw.map((value, i) => (isCapped[i] ? caps[i]! : (value * remainingWeight) / freeWeight));
    const cappedIndex = weights.findIndex((weight, i) => !isCapped[i] && weight > caps[i]! + 1e-14);
    if (cappedIndex < 0) return weights;
    isCapped[cappedIndex] = true;
  }
}

describe('a cap by expression', () => {
  test('by hand: min(0.4, 2 * SHARE) caps each security at its own bound', () => {
    // Raw weights are 0.5, 0.3, 0.2, and caps are 0.4, 0.2, 0.4, which sum to 1. The third security takes the excess of
    // 0.2 and reaches its cap of 0.4.
    const weights = computeWeights(
      { sizes: [5, 3, 2], columns: { SHARE: [0.3, 0.1, 0.4] } },
      { cap: 'min(0.4, 2 * SHARE)' },
    );
    expect([...weights.values()]).toEqual(closeTo([0.4, 0.2, 0.4]));
  });

  test('weight_in caps at a multiple of the weight in another index, and securities outside that index are not held', () => {
    // Every third security has 1/3 of the other index. So the caps are 0.7 for the first and fourth securities and 0
    // for the remaining securities.
    const sizes = [80, 10, 10, 20, 5, 5, 15];
    const weights = computeWeights({ sizes }, { cap: 'min(0.5, 2.1 * weight_in("PARENT"))' });
    expect([...weights.keys()]).toEqual([0, 3, 6]);
    expect([...weights.values()]).toEqual(closeTo([0.5, 0.5 * (20 / 35), 0.5 * (15 / 35)]));
  });

  test('agrees with repeated clipping, holds every cap and sums to 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), fc.integer({ min: 3, max: 40 }), (seed, count) => {
        const random = createGenerator(seed);
        const sizes = Array.from({ length: count }, () => 0.01 + random() ** 4);
        const limit = sizes.map(() => (0.5 + 2 * random()) / count);
        const decision = decide({ sizes, columns: { LIMIT: limit } }, { cap: 'LIMIT * 1' });
        const reach = sumValues(limit.map((cap) => Math.min(cap, 1)));
        if (decision.kind !== 'decided') {
          expect(reach).toBeLessThan(1);
          expect(decision.finding).toMatchObject({ code: 'CAP_INFEASIBLE', path: 'pipeline.weighting.cap' });
          expect(decision.finding.message).toContain('of the required weight 1');
          return;
        }
        expect(sumValues(decision.weights)).toBeCloseTo(1, 11);
        const total = sumValues(sizes);
        const plainWeights = applyPlainCaps(
          sizes.map((size) => size / total),
          limit.map((cap) => Math.min(cap, 1)),
        );
        decision.weights.forEach((weight, i) => {
          expect(weight).toBeLessThanOrEqual(limit[i]! + 1e-11);
          expect(Math.abs(weight - plainWeights[i]!)).toBeLessThan(1e-10);
        });
        const cappedPositions = plainWeights.flatMap((weight, i) => (weight < sizes[i]! / total - 1e-9 ? [i] : []));
        expect(Array.from(decision.capped)).toEqual(expect.arrayContaining(cappedPositions));
      }),
      { numRuns: 100 },
    );
  });

  test('a constituent without a value is not capped, and this is reported', () => {
    const decision = decide({ sizes: [6, 4], columns: { LIMIT: [NaN, 0.3] } }, { cap: 'LIMIT' });
    if (decision.kind !== 'decided') throw new Error(decision.finding.message);
    expect(Array.from(decision.weights)).toEqual(closeTo([0.7, 0.3]));
    expect(decision.findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'NO_WEIGHT_DATA pipeline.weighting.cap',
    ]);
  });

  test('a text that is a number is parsed as a number, and the tree has its text', () => {
    expect(createWeighting({ type: 'EqualWeight', cap: '0.05' })).toMatchObject({ cap: 0.05 });
    expect(createWeighting({ type: 'EqualWeight', cap: 'min(0.09,3*SHARE)' })).toMatchObject({
      cap: { text: 'min(0.09, 3 * SHARE)' },
    });
    expect(listErrors({ type: 'EqualWeight', cap: 'min(0.09, ' })).toEqual(['BAD_EXPRESSION pipeline.weighting.cap']);
    expect(listErrors({ type: 'EqualWeight', cap: 1.5 })).toHaveLength(1);
  });
});

describe('a cap by issuer', () => {
  const issuers = ['A', 'A', 'B', null, null];

  test('by hand: two securities of an issuer share its cap in proportion, and a security without an issuer is an issuer by itself', () => {
    // Issuer A has 0.6 and is capped at 0.4. The other securities take 0.2 in proportion to 0.2, 0.1 and 0.1.
    const weights = computeWeights({ sizes: [4, 2, 2, 1, 1], issuers }, { cap: 0.4, cap_by: 'ISSUER' });
    expect([...weights.values()]).toEqual(closeTo([0.4 * (4 / 6), 0.4 * (2 / 6), 0.3, 0.15, 0.15]));
  });

  test('a cap below one over the number of groups becomes one over that number', () => {
    const weights = computeWeights({ sizes: [4, 2, 2, 1, 1], issuers }, { cap: 0.1, cap_by: 'ISSUER' });
    expect([...weights.values()]).toEqual(closeTo([0.25 * (4 / 6), 0.25 * (2 / 6), 0.25, 0.25, 0.25]));
  });

  test('an expression uses its lowest value in the group', () => {
    const result = { sizes: [4, 2, 2, 1, 1], issuers, columns: { LIMIT: [0.3, 0.2, 1, 1, 1] } };
    const weights = computeWeights(result, { cap: 'LIMIT', cap_by: 'ISSUER' });
    expect([...weights.values()]).toEqual(closeTo([0.2 * (4 / 6), 0.2 * (2 / 6), 0.4, 0.2, 0.2]));
  });

  test('a floor and sector caps hold together with it', () => {
    const weights = computeWeights(
      { sizes: [40, 20, 20, 10, 1], issuers },
      { cap: 0.5, cap_by: 'ISSUER', floor: 0.05 },
    );
    expect([...weights.values()]).toEqual(closeTo([0.5 * (2 / 3), 0.5 * (1 / 3), 0.3, 0.15, 0.05]));
  });
});

/** Applies two stages to weights, by definition. Returns null if the other securities cannot take the excess. */
function applyPlainLadder(
  weights: readonly number[],
  { above, to, each, together, toTogether }: Stages,
): number[] | null {
  const n = weights.length;
  if (Math.max(...weights) > above + 1e-12 && n * to < 1 - 1e-12) return null;
  const first =
    Math.max(...weights) > above + 1e-12 ? applyPlainCaps(weights, Array<number>(n).fill(to)) : [...weights];
  const large = first.map((weight) => weight > each + 1e-12);
  const sum = sumValues(first.filter((_, i) => large[i]));
  if (sum <= together + 1e-12) return first;
  const smallWeights = first.filter((_, i) => !large[i]);
  if (smallWeights.length * each < 1 - toTogether - 1e-12) return null;
  const total = sumValues(smallWeights);
  const filledWeights = applyPlainCaps(
    smallWeights.map((weight) => weight / total),
    smallWeights.map(() => each / (1 - toTogether)),
  );
  let next = 0;
  return first.map((weight, i) => (large[i] ? (weight * toTogether) / sum : filledWeights[next++]! * (1 - toTogether)));
}

interface Stages {
  readonly above: number;
  readonly to: number;
  readonly each: number;
  readonly together: number;
  readonly toTogether: number;
}

const NASDAQ = {
  single: { above: 0.24, to: 0.2 },
  group: { each_above: 0.045, together_above: 0.48, to: 0.4 },
};

describe('caps in stages', () => {
  test('by hand: 30 % becomes 20 %, then 60 % of large weights become 40 %, the others at most 4.5 %', () => {
    // Weights are 30 %, 20 %, 10 %, and twenty of 2 %. Stage 1: the largest is reduced to 20 %, and the other weights
    // grow by 0.8 / 0.7. The second is reduced to 20 % again, so 10 % grows by 0.6 / 0.5 to 12 %, and 2 % to 2.4 %.
    // Stage 2: 20 + 20 + 12 = 52 % > 48 %. So these weights shrink by 40/52, and the others become 60 % / 20 = 3 %.
    const sizes = [30, 20, 10, ...Array<number>(20).fill(2)];
    const weights = [...computeWeights({ sizes }, { ladder_caps: NASDAQ }).values()];
    const large = [20, 20, 12].map((weight) => (weight * 0.4) / 52);
    expect(weights).toEqual(closeTo([...large, ...Array<number>(20).fill(0.03)]));
  });

  test('nothing moves where no limit is exceeded', () => {
    const sizes = [24, 20, ...Array<number>(14).fill(4)];
    const decision = decide({ sizes }, { ladder_caps: NASDAQ });
    if (decision.kind !== 'decided') throw new Error(decision.finding.message);
    expect(Array.from(decision.weights)).toEqual(Array.from(decision.uncapped));
    expect([decision.redistributed, decision.capped.length]).toEqual([0, 0]);
  });

  test('issuers count as one weight and keep the proportions of their securities', () => {
    // Two securities of one issuer have 15 % and 11 %, which is 26 % together.
    const sizes = [15, 11, ...Array<number>(37).fill(2)];
    const result = { sizes, issuers: ['A', 'A', ...Array<null>(37).fill(null)] };
    const weights = [...computeWeights(result, { ladder_caps: { single: NASDAQ.single }, cap_by: 'ISSUER' }).values()];
    expect(weights).toEqual(closeTo([0.2 * (15 / 26), 0.2 * (11 / 26), ...Array<number>(37).fill(0.8 / 37)]));
  });

  test('10/40 with buffers at 9 % and 4.5 % leaves room below the limits', () => {
    const limits = {
      single: { above: 0.09, to: 0.09 },
      group: { each_above: 0.045, together_above: 0.36, to: 0.36 },
    };
    const sizes = [40, 20, 15, 10, 8, 6, ...Array<number>(60).fill(2)];
    const weights = [...computeWeights({ sizes }, { ladder_caps: limits }).values()];
    expect(Math.max(...weights)).toBeLessThanOrEqual(0.09 + 1e-12);
    expect(sumValues(weights.filter((weight) => weight > 0.045 + 1e-12))).toBeLessThanOrEqual(0.36 + 1e-12);
    expect(sumValues(weights)).toBeCloseTo(1, 12);
  });

  test('agrees with the two stages in plain code, and keeps its limits or is refused with both numbers', () => {
    const share = fc.double({ min: 0.02, max: 0.9, noNaN: true });
    const sizes = fc.array(fc.double({ min: 0.01, max: 10, noNaN: true }), { minLength: 2, maxLength: 60 });
    fc.assert(
      fc.property(sizes, share, share, share, share, share, (values, above, a, each, together, b) => {
        const to = above * (0.5 + a / 2);
        const stages = { above, to, each, together, toTogether: together * (0.5 + b / 2) };
        const raw = Float64Array.from(values, (value) => value / sumValues(values));
        const ladder = {
          single: { above, to },
          group: { each_above: each, together_above: together, to: stages.toTogether },
        };
        const result = applyLadder({ raw, groupOf: null, ladder });
        const plainWeights = applyPlainLadder([...raw], stages);
        if (result.kind === 'infeasible') {
          expect(plainWeights).toBeNull();
          expect(result.message).toMatch(/reach only \S+ of the required weight \S+|can take the remaining \S+/);
          return;
        }
        expect(sumValues(result.weights)).toBeCloseTo(1, 11);
        result.weights.forEach((weight, i) => {
          expect(Math.abs(weight - plainWeights![i]!)).toBeLessThan(1e-10);
          expect(weight).toBeCloseTo(result.scaleOf(i) * raw[i]!, 12);
        });
        const large = result.weights.filter((weight) => weight > each + 1e-11);
        expect(sumValues(large)).toBeLessThanOrEqual(together + 1e-10);
      }),
      { numRuns: 300 },
    );
  });

  test('impossible stages skip the rebalance with both numbers', () => {
    const decision = decide({ sizes: [5, 3, 1] }, { ladder_caps: { single: { above: 0.24, to: 0.2 } } });
    if (decision.kind === 'decided') throw new Error('weights were decided');
    expect(decision.finding).toMatchObject({ code: 'CAP_INFEASIBLE', path: 'pipeline.weighting.ladder_caps' });
    expect(decision.finding.message).toContain('3 weights of at most 0.2 reach only 0.6');
  });
});

const SELECT_SECTOR = {
  single: { above: 0.24, to: 0.23 },
  group: { each_above: 0.048, together_above: 0.5, to: 0.5, each_to: 0.045, reduce: 'smallest' },
} as const;

/**
 * Reduces the smallest weight above the line, one after the other, on a sorted list. The excess is handed out in rounds:
 * each round gives every open security its share in proportion to its weight, and closes those that reach their cap.
 */
function applyPlainReduction(values: readonly number[], isPartial: boolean): number[] | null {
  const { single, group } = SELECT_SECTOR;
  const total = sumValues(values);
  const raw = values.map((value) => value / total);
  if (Math.max(...raw) > single.above && raw.length * single.to < 1) return null;
  const first = Math.max(...raw) > single.above ? applyPlainCaps(raw, Array<number>(raw.length).fill(single.to)) : raw;
  const list = raw.map((size, i) => ({ i, size, weight: first[i]!, isDone: false }));
  type Security = (typeof list)[number];
  const handOut = (amount: number, takers: readonly Security[], capOf: (one: Security) => number): number => {
    let left = amount;
    let open = takers.filter((one) => one.weight < capOf(one) - 1e-13);
    while (left > 1e-14 && open.length > 0) {
      const sum = sumValues(open.map(({ weight }) => weight));
      const share = Math.min(left / sum, ...open.map((one) => capOf(one) / one.weight - 1));
      for (const one of open) one.weight *= 1 + share;
      left -= share * sum;
      open = open.filter((one) => one.weight < capOf(one) - 1e-13);
    }
    return left;
  };
  for (;;) {
    const large = list.filter(({ weight }) => weight > group.each_above + 1e-12);
    const excess = sumValues(large.map(({ weight }) => weight)) - group.to;
    if (excess <= 1e-12) return list.map(({ weight }) => weight);
    const smallest = large.toSorted((a, b) =>
      Math.abs(a.weight - b.weight) > 1e-12 ? a.weight - b.weight : a.size - b.size || b.i - a.i,
    )[0]!;
    const room = sumValues(list.map(({ weight }) => Math.max(0, group.each_to - weight)));
    const isKept = isPartial && smallest.weight - excess > group.each_above && excess < room;
    const taken = isKept ? excess : smallest.weight - group.each_to;
    smallest.weight -= taken;
    smallest.isDone = true;
    const others = list.filter(({ isDone }) => !isDone);
    const rest = handOut(taken, others, ({ weight }) => Math.max(group.each_to, weight));
    const above = others.filter(({ weight }) => weight > group.each_to + 1e-12);
    const limits = new Map(above.map((one) => [one, Math.max(single.to, one.weight)]));
    if (handOut(rest, above, (one) => limits.get(one)!) > 1e-12) return null;
    if (isKept) return list.map(({ weight }) => weight);
  }
}

describe('large weights of which the smallest are reduced first', () => {
  const tenOf = (weight: number) => Array<number>(10).fill(weight);
  const sizes = [30, 20, 12, 8, 6, 5, ...tenOf(1.9)];

  test('by hand: the four smallest above 4.8 % are reduced to 4.5 %, and the small ones take the excess', () => {
    // Stage 1: the largest becomes 23 %, and 7 % over 70 % multiplies the others by 1.1: 22, 13.2, 8.8, 6.6, 5.5 and ten
    // of 2.09 %. The six large ones are 79.1 %. 5.5, 6.6, 8.8 and 13.2 become 4.5 %, which frees 1 + 2.1 + 4.3 + 8.7 =
    // 16.1 %. The two largest are 45 %, and the ten have 20.9 + 16.1 = 37 %.
    const weights = [...computeWeights({ sizes }, { ladder_caps: SELECT_SECTOR }).values()];
    expect(weights).toEqual(closeTo([0.23, 0.22, 0.045, 0.045, 0.045, 0.045, ...tenOf(0.037)]));
  });

  test('by hand: until_kept reduces the last one only to 5 %, where the total is 50 %', () => {
    // Before the last step the total is 58.2 %, so 13.2 % is reduced by 8.2 % to 5 %, which is above 4.8 %.
    const group = { ...SELECT_SECTOR.group, reduce: 'smallest_until_kept' };
    const weights = [...computeWeights({ sizes }, { ladder_caps: { ...SELECT_SECTOR, group } }).values()];
    expect(weights).toEqual(closeTo([0.23, 0.22, 0.05, 0.045, 0.045, 0.045, ...tenOf(0.0365)]));
  });

  test('by hand: of weights that the first stage made equal, the one with the least market value is reduced', () => {
    // Three weights become 23 % each, and 25 others have 31 %. The third has the least value before and falls to 4.5 %.
    const three = [26, 40, 29, ...Array<number>(25).fill(0.2)];
    const weights = [...computeWeights({ sizes: three }, { ladder_caps: SELECT_SECTOR }).values()];
    expect(weights).toEqual(closeTo([0.045, 0.23, 0.23, ...Array<number>(25).fill(0.495 / 25)]));
  });

  test('by hand: the excess that exceeds the room of the small weights goes to the others above the line, up to the first cap', () => {
    // 6 % falls by 1.5 %. Eleven weights of 49/11 % take 0.5 % up to 4.5 %, and 22 % takes the other 1 % up to 23 %.
    const few = [23, 22, 6, ...Array<number>(11).fill(49 / 11)];
    const weights = [...computeWeights({ sizes: few }, { ladder_caps: SELECT_SECTOR }).values()];
    expect(weights).toEqual(closeTo([0.23, 0.23, 0.045, ...Array<number>(11).fill(0.045)]));
  });

  test('by hand: eight weights of at most 4.8 % cannot hold the other 61.6 %, which the refusal states', () => {
    const group = { each_above: 0.048, together_above: 0.5, to: 0.5, reduce: 'smallest' } as const;
    const raw = Float64Array.of(0.3, 0.2, 0.12, 0.1, 0.1, 0.08, 0.06, 0.04);
    const message = 'No weight below its maximum can take the remaining 0.616.';
    expect(applyLadder({ raw, groupOf: null, ladder: { group } })).toMatchObject({ kind: 'infeasible', message });
  });

  test('a stage that reduces weights to more than its own limit is refused with both values', () => {
    const listMessages = (ladder_caps: object) =>
      storeIndex({ type: 'EqualWeight', ladder_caps }).findings.map(({ message }) => message);
    const group = { each_above: 0.048, together_above: 0.5, to: 0.5 };
    const path = 'pipeline.weighting.ladder_caps';
    expect(listMessages({ single: { above: 0.2, to: 0.24 } })).toEqual([
      `${path}.single.to is above \`above\`, which is 0.2; it is 0.24.`,
    ]);
    expect(listMessages({ ranked: { above: [0.35, 0.2], to: [0.33, 0.21] } })).toEqual([
      `${path}.ranked.to is above \`above\`, which is [0.35,0.2], at a rank; it is [0.33,0.21].`,
    ]);
    expect(listMessages({ group: { ...group, to: 0.6 } })).toEqual([
      `${path}.group.to is above \`together_above\`, which is 0.5; it is 0.6.`,
    ]);
    expect(listMessages({ group: { ...group, reduce: 'smallest', each_to: 0.05 } })).toEqual([
      `${path}.group.each_to is above \`each_above\`, which is 0.048; it is 0.05.`,
    ]);
  });

  test('agrees with a reduction on a sorted list, and keeps both limits or is refused', () => {
    const skewed = fc.double({ min: 0.05, max: 1, noNaN: true }).map((value) => value ** 4);
    let reduced = 0;
    fc.assert(
      fc.property(fc.array(skewed, { minLength: 5, maxLength: 70 }), fc.boolean(), (values, isPartial) => {
        const raw = Float64Array.from(values, (value) => value / sumValues(values));
        const group = { ...SELECT_SECTOR.group, reduce: isPartial ? 'smallest_until_kept' : 'smallest' } as const;
        const result = applyLadder({ raw, groupOf: null, ladder: { ...SELECT_SECTOR, group } });
        const plainWeights = applyPlainReduction(values, isPartial);
        if (result.kind === 'infeasible') {
          expect(plainWeights).toBeNull();
          expect(result.message).toMatch(/reach only \S+ of the required weight \S+|can take the remaining \S+/);
          return;
        }
        result.weights.forEach((weight, i) => expect(Math.abs(weight - plainWeights![i]!)).toBeLessThan(1e-10));
        expect(sumValues(result.weights)).toBeCloseTo(1, 11);
        expect(sumValues(result.weights.filter((weight) => weight > 0.048 + 1e-11))).toBeLessThanOrEqual(0.5 + 1e-10);
        expect(Math.max(...result.weights)).toBeLessThanOrEqual(0.24 + 1e-11);
        if (result.redistributed > 0) reduced++;
      }),
      { numRuns: 300 },
    );
    expect(reduced).toBeGreaterThan(30);
  });
});

describe('caps by rank', () => {
  test('by hand: 35 % for the largest and 20 % for all others', () => {
    // 50 % becomes 35 %, so the others grow by 65/50: 26 % becomes 20 %, and three of 10 % share 45 %.
    const ladder_caps = { ranked: { above: [0.35, 0.2], to: [0.35, 0.2] } };
    const weights = [...computeWeights({ sizes: [10, 50, 20, 10, 10] }, { ladder_caps }).values()];
    expect(weights).toEqual(closeTo([0.15, 0.35, 0.2, 0.15, 0.15]));
    const kept = decide({ sizes: [35, 20, 15, 15, 15] }, { ladder_caps });
    if (kept.kind !== 'decided') throw new Error(kept.finding.message);
    expect(Array.from(kept.weights)).toEqual(Array.from(kept.uncapped));
  });

  test('by hand: with a buffer the caps are 33 % and 19 % once a limit is exceeded, by issuer', () => {
    // Issuer A has 50 %. It becomes 33 %, and the others grow by 67/50: 26.8 % becomes 19 %, three of 10 % share 48 %.
    const ladder_caps = { ranked: { above: [0.35, 0.2], to: [0.33, 0.19] } };
    const issuers = ['A', 'A', 'B', 'C', 'D', null];
    const weights = computeWeights({ sizes: [30, 20, 20, 10, 10, 10], issuers }, { ladder_caps, cap_by: 'ISSUER' });
    expect([...weights.values()]).toEqual(closeTo([0.33 * 0.6, 0.33 * 0.4, 0.19, 0.16, 0.16, 0.16]));
  });

  test('too few constituents skip the rebalance', () => {
    const decision = decide({ sizes: [5, 3, 1] }, { ladder_caps: { ranked: { above: [0.35, 0.2], to: [0.35, 0.2] } } });
    if (decision.kind === 'decided') throw new Error('weights were decided');
    expect(decision.finding).toMatchObject({ code: 'CAP_INFEASIBLE', path: 'pipeline.weighting.ladder_caps' });
    expect(decision.finding.message).toContain('reach only 0.75 of the required weight 1');
  });
});

test('limits that contradict each other or have no effect are reported in the document', () => {
  const createEqualWeighting = (limits: object) => ({ type: 'EqualWeight', ...limits });
  expect(listErrors(createEqualWeighting({ cap: 0.1, ladder_caps: NASDAQ }))).toEqual([
    'CAP_INFEASIBLE pipeline.weighting.cap',
  ]);
  expect(listErrors(createEqualWeighting({ floor: 0.01, ladder_caps: { ...NASDAQ, third: 1 } }))).toEqual([
    'CAP_INFEASIBLE pipeline.weighting.floor',
    'UNKNOWN_FIELD pipeline.weighting.ladder_caps.third',
  ]);
  expect(listErrors(createEqualWeighting({ ladder_caps: { single: { above: 0.2, to: 0.24 } } }))).toEqual([
    'EMPTY_RANGE pipeline.weighting.ladder_caps.single.to',
  ]);
  expect(listErrors(createEqualWeighting({ ladder_caps: {} }))).toEqual([
    'REQUIRED pipeline.weighting.ladder_caps.single',
  ]);
  const ranked = { above: [0.35, 0.2], to: [0.35, 0.2] };
  const refused = [
    [{ ...NASDAQ, ranked }, 'CAP_INFEASIBLE', 'ranked'],
    [{ ranked: { ...ranked, to: [0.35, 0.25] } }, 'EMPTY_RANGE', 'ranked.to'],
    [{ ranked: { ...ranked, above: [0.2, 0.35] } }, 'EMPTY_RANGE', 'ranked.above'],
    [{ group: { ...NASDAQ.group, each_to: 0.04 } }, 'NO_EFFECT', 'group.each_to'],
    [{ group: { ...NASDAQ.group, each_to: 0.05, reduce: 'smallest' } }, 'EMPTY_RANGE', 'group.each_to'],
    [{ ranked: { ...ranked, by: 'ISSUER' } }, 'UNKNOWN_FIELD', 'ranked.by'],
  ] as const;
  for (const [ladder_caps, code, member] of refused)
    expect(listErrors(createEqualWeighting({ ladder_caps }))).toContain(
      `${code} pipeline.weighting.ladder_caps.${member}`,
    );
  expect(listErrors(createEqualWeighting({ cap_by: 'ISSUER' }), 'warning')).toEqual([
    'NO_EFFECT pipeline.weighting.cap_by',
  ]);
  expect(listErrors(createEqualWeighting({ phase_in: { field: 'FREE_FLOAT', steps: 3, shape: 'linear' } }))).toEqual([
    'UNKNOWN_FIELD pipeline.weighting.phase_in.shape',
  ]);
  expect(listErrors(createEqualWeighting({ phase_in: { field: '1 + is_constituent()', steps: 3 } }))).toEqual([
    'BAD_EXPRESSION pipeline.weighting.phase_in.field',
  ]);
});

test('the methodology states every limit', () => {
  const formatText = (limits: object) => {
    const { document } = storeIndex({ type: 'EqualWeight', ...limits });
    return createMethodology(document!).join(' ');
  };
  expect(formatText({ cap: 'min(0.09, 3 * SHARE)' })).toContain('No weight is above min(0.09, 3 * SHARE)');
  expect(formatText({ cap: 0.09, cap_by: 'ISSUER' })).toContain('No group of ISSUER has a total weight above 9%');
  expect(formatText({ ladder_caps: NASDAQ })).toContain('If any weight is above 24%, no weight is above 20%');
  expect(formatText({ ladder_caps: NASDAQ })).toContain('exceed 48% in total, they are scaled to a total of 40%');
  expect(formatText({ ladder_caps: SELECT_SECTOR })).toContain(
    'the smallest such weight is reduced to 4.5%, and then the next, until their total is at most 50%; the weights below 4.5% take the excess in proportion, each at most 4.5%',
  );
  expect(formatText({ ladder_caps: { ranked: { above: [0.35, 0.2], to: [0.33, 0.19] } } })).toContain(
    'above 35% for the largest and 20% for all others, they are capped at 33% for the largest and 19% for all others',
  );
  expect(formatText({ phase_in: { field: 'FREE_FLOAT', steps: 10 } })).toContain('phased in over 10 reviews');
});
