import { describe, expect, test } from 'vitest';
import {
  computeOneSidedPrices,
  computeRowCosts,
  computeSensitivities,
  listNextSecurities,
} from '#domain/optimisation/sensitivities.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { type Solution, solveProblem } from '#domain/optimisation/search.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { buildProblem, solvers, type SmallMarket } from '../small-problems.js';

interface Row {
  readonly id: string;
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const MARKET = { names: 20, seed: 4, hasPrevious: true };
const ROWS: readonly Row[] = [
  { id: 'pos', type: 'PositionBounds', params: { upper: 0.09 } },
  { id: 'sec', type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S0'], upper: 0.12 } },
  { id: 'turn', type: 'Turnover', params: { limit: 0.3, reference: 'previous' } },
  { id: 'avg', type: 'WeightedAverage', params: { field: 'X', upper: 45 } },
  { id: 'loose', type: 'ActiveShare', params: { limit: 0.99 } },
];
const OBJECTIVES = [
  { type: 'min_tracking_error' },
  { type: 'min_variance' },
  { type: 'max_utility', risk_aversion: 3 },
  { type: 'max_sharpe', risk_free_rate: 0.01 },
  { type: 'max_diversification' },
] as const;

function solveMarket(market: SmallMarket): { readonly problem: Problem; readonly solution: Solution } {
  const problem = buildProblem(market);
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw new Error('no answer');
  return { problem, solution: outcome.solution };
}

const explainMarket = (market: SmallMarket) => {
  const { problem, solution } = solveMarket(market);
  return { problem, solution, sides: listRowSides(problem, solution) };
};

/** Returns the value of the objective, in the unit of the objective. */
const computeValue = (market: SmallMarket): number => {
  const { problem, solution } = solveMarket(market);
  return problem.objective.entry.sense === 'maximise' ? -solution.objective : solution.objective;
};

describe.each(OBJECTIVES)('the rows of %j', (objective) => {
  const market = { ...MARKET, rows: ROWS, objective };
  const input = explainMarket(market);
  const value = computeValue(market);
  const sensitivities = computeSensitivities(solvers, input);

  test('have the effect that a problem with the other parameter has', () => {
    expect(sensitivities.length).toBeGreaterThan(1);
    for (const { id, parameter, from, to, effect, sentence } of sensitivities) {
      const moveRows = (by: number) =>
        ROWS.map((row) => (row.id === id ? { ...row, params: { ...row.params, [parameter]: by } } : row));
      const movedValue = computeValue({ ...market, rows: moveRows(to) });
      expect(Math.abs(movedValue - value - effect!)).toBeLessThan(1e-9 * Math.max(1, Math.abs(value)));
      const isBetter = input.problem.objective.entry.sense === 'maximise' ? effect! > 0 : effect! < 0;
      expect(isBetter, sentence).toBe(true); // the sensitivity relaxes a bound
      expect(sentence).toContain(objective.type.startsWith('max') ? ' raises the ' : ' lowers the ');
      expect(sentence).toMatch(/^(?:Raising|Lowering) the (?:(?:upper|lower) bound|limit|[a-z ]+) of /);
      expect(from).toBe(ROWS.find((row) => row.id === id)!.params[parameter]);
    }
  });

  test('have the shadow price that a small change of the parameter has, within 1 %', () => {
    for (const { id, parameter, from, shadowPrice } of sensitivities) {
      const step = 1e-5 * Math.abs(from);
      const computeValueAtLimit = (to: number) =>
        computeValue({
          ...market,
          rows: ROWS.map((row) => (row.id === id ? { ...row, params: { ...row.params, [parameter]: to } } : row)),
        });
      const difference = (computeValueAtLimit(from + step) - computeValueAtLimit(from - step)) / (2 * step);
      expect(Math.abs(shadowPrice / difference - 1), `${id} ${parameter}`).toBeLessThan(0.01);
    }
  });

  test('cost the improvement of the problem without them', () => {
    const costs = computeRowCosts(solvers, input);
    expect(costs.map(({ id }) => id)).toEqual(ROWS.map(({ id }) => id));
    for (const { id, cost, without } of costs) {
      const otherValue = computeValue({ ...market, rows: ROWS.filter((row) => row.id !== id) });
      expect(Math.abs(without! - otherValue), id).toBeLessThan(1e-9 * Math.max(1, Math.abs(otherValue)));
      expect(cost, id).toBeGreaterThanOrEqual(-1e-12);
    }
    expect(costs.find(({ id }) => id === 'loose')!.cost).toBe(0);
  });
});

const FLOOR: Row = { id: 'floor', type: 'ExpectedReturn', params: { lower: 0.075 } };

test.each([
  { objective: { type: 'min_variance' }, rows: [FLOOR] },
  { objective: { type: 'max_diversification' }, rows: [FLOOR] },
  { objective: { type: 'max_utility', risk_aversion: 30 }, rows: [FLOOR] },
  { objective: { type: 'max_utility', risk_aversion: 3 }, rows: ROWS.slice(0, 2) },
  { objective: { type: 'max_sharpe', risk_free_rate: 0.01 }, rows: ROWS.slice(0, 2) },
])('the next names of $objective with $rows.0.id are held from their entry return on, and not before', (terms) => {
  const market = { ...MARKET, ...terms };
  const { problem, solution } = explainMarket(market);
  const names = listNextSecurities(problem, solution);
  expect(names.length).toBeGreaterThan(1);
  for (const { identifier, expectedReturn, entryReturn } of names.slice(0, 3)) {
    const missing = entryReturn! - expectedReturn!;
    expect(missing).toBeGreaterThan(0);
    const isHeldWith = (by: number) => {
      const { problem: other, solution: again } = solveMarket({ ...market, raised: { name: identifier, by } });
      return again.weights[other.identifiers.indexOf(identifier)]! > 0;
    };
    expect([isHeldWith(0.999 * missing), isHeldWith(1.001 * missing)]).toEqual([false, true]);
  }
});

test('the next names have no entry return if the limit on the expected return does not bind', () => {
  const { problem, solution } = explainMarket({
    ...MARKET,
    rows: [{ ...FLOOR, params: { lower: -1 } }],
    objective: { type: 'min_variance' },
  });
  const names = listNextSecurities(problem, solution);
  expect(names.length).toBeGreaterThan(0);
  for (const { expectedReturn, entryReturn } of names) expect([expectedReturn, entryReturn]).toEqual([null, null]);
});

describe.each([
  { type: 'max_utility', risk_aversion: 3 },
  { type: 'max_sharpe', risk_free_rate: 0.01 },
] as const)('the next names of %j', (objective) => {
  test('cost the objective what a little of them does', () => {
    const market = { ...MARKET, rows: ROWS.slice(0, 2), objective };
    const { problem, solution } = explainMarket(market);
    const before = computeValue(market);
    for (const { identifier, marginal } of listNextSecurities(problem, solution).slice(0, 3)) {
      const leastRow = { id: 'least', type: 'PositionBounds', params: { identifiers: [identifier], lower: 1e-6 } };
      const slope = (computeValue({ ...market, rows: [...market.rows, leastRow] }) - before) / 1e-6;
      expect(Math.abs(slope / marginal - 1)).toBeLessThan(0.01);
    }
  });
});

test('a row that chooses securities costs the improvement of the search without it, other rows that with the same securities', () => {
  const rows: readonly Row[] = [
    { id: 'n', type: 'Cardinality', params: { maximum: 8 } },
    { id: 'pos', type: 'PositionBounds', params: { upper: 0.15 } },
  ];
  const market = { ...MARKET, names: 16, rows, objective: { type: 'min_variance' } as const };
  const input = explainMarket(market);
  const [choice, bound] = computeRowCosts(solvers, input);
  const freeValue = computeValue({ ...market, rows: rows.slice(1) });
  expect(Math.abs(choice!.without! - freeValue)).toBeLessThan(1e-12);
  const unheldNames = input.problem.identifiers.filter((_, i) => input.solution.weights[i] === 0);
  const exclusionRows = [{ type: 'Exclude', params: { identifiers: unheldNames } }];
  expect(Math.abs(bound!.without! - computeValue({ ...market, rows: exclusionRows }))).toBeLessThan(1e-9);
  for (const { sentence } of computeSensitivities(solvers, input))
    expect(sentence).toContain(', with the same securities held.');
});

test('rows are evaluated within the counted work, always the same ones, and the others are reported', () => {
  const market = { ...MARKET, rows: ROWS.slice(0, 2), objective: { type: 'min_cvar', confidence: 0.9 } } as const;
  const input = explainMarket(market);
  const wholeCosts = computeRowCosts(solvers, input);
  const steps = computeSensitivities(solvers, input);
  expect(wholeCosts.map(({ reason }) => reason)).toEqual([null, null]);
  expect(steps.length).toBeGreaterThan(0);
  for (const workMax of [0, 3e7, 1e10]) {
    const costs = computeRowCosts(solvers, input, workMax);
    const movedSensitivities = computeSensitivities(solvers, input, { workMax });
    expect([computeRowCosts(solvers, input, workMax), computeSensitivities(solvers, input, { workMax })]).toEqual([
      costs,
      movedSensitivities,
    ]);
    const isSpent = costs.map(({ reason }) => reason === 'work_spent');
    costs.forEach((row, k) => {
      if (!isSpent[k]) expect(row).toEqual(wholeCosts[k]);
      else {
        expect(row).toMatchObject({ cost: null, without: null });
        expect(row.sentence).toContain('was not solved');
      }
    });
    movedSensitivities.forEach((step, k) => {
      const { effect, sentence, ...known } = step;
      expect(steps[k]).toMatchObject(known); // the shadow price needs no further solve
      if (effect === null) expect(sentence).toContain('was not solved');
      else expect(step).toEqual(steps[k]);
    });
    const unsolvedCount =
      movedSensitivities.filter(({ effect }) => effect === null).length + isSpent.filter(Boolean).length;
    if (workMax === 0) expect(unsolvedCount).toBe(movedSensitivities.length + costs.length);
    if (workMax === 1e10) expect(unsolvedCount).toBe(0);
  }
});

describe.each(OBJECTIVES)('bounds that others imply, by %j,', (objective) => {
  // S0 contains every fifth security. It holds only its two most expensive securities, and its bound is the sum of
  // their bounds.
  const freeExplanation = explainMarket({ ...MARKET, rows: [], objective });
  const wantedIdentifiers = freeExplanation.problem.identifiers
    .filter((_, i) => i % 5 === 0)
    .toSorted((a, b) => getWeight(b) - getWeight(a));
  const createBaseRows = (upper: number, group: number): readonly Row[] => [
    { id: 'out', type: 'PositionBounds', params: { upper: 0, identifiers: wantedIdentifiers.slice(2) } },
    { id: 'pos', type: 'PositionBounds', params: { upper, identifiers: wantedIdentifiers.slice(0, 2) } },
    { id: 'sec', type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S0'], upper: group } },
  ];

  function getWeight(identifier: string): number {
    return freeExplanation.solution.weights[freeExplanation.problem.identifiers.indexOf(identifier)]!;
  }

  test('cost what a small loosening of each brings: nothing where another still holds', () => {
    // Caps low enough to bind both securities.
    const upperBound = Math.min(0.09, 0.5 * getWeight(wantedIdentifiers[1]!));
    expect(upperBound).toBeGreaterThan(0);
    const createMarket = (upper: number, group: number) => ({
      ...MARKET,
      rows: createBaseRows(upper, group),
      objective,
    });
    const input = explainMarket(createMarket(upperBound, 2 * upperBound));
    const { sides, dependent } = computeOneSidedPrices(solvers, input);
    const value = computeValue(createMarket(upperBound, 2 * upperBound));
    const step = 1e-5;
    const slopes = {
      pos: (computeValue(createMarket(upperBound + step, 2 * upperBound)) - value) / step,
      sec: (computeValue(createMarket(upperBound, 2 * upperBound + step)) - value) / step,
    };
    expect(Math.abs(slopes.sec)).toBeLessThan(1e-8 * Math.max(1, Math.abs(value)));
    const isClose = (price: number, slope: number) => Math.abs(price - slope) <= 0.01 * Math.abs(slope) + 1e-7;
    const list = computeSensitivities(solvers, input, { dependent });
    expect(dependent.size).toBeGreaterThan(1);
    expect(list.map(({ id }) => id)).toContain('pos');
    for (const { id, shadowPrice } of list)
      if (id !== 'out') expect(isClose(shadowPrice, slopes[id as 'pos' | 'sec']), id).toBe(true);
    const findShadowPrice = (label: string) => sides.find((side) => side.label === label)!.shadowPrice;
    expect(findShadowPrice('GroupBounds[sec]:upper:S0')).toBe(0);
    // If only one of the two caps is loosened, the group row is satisfied and the other security changes.
    for (const name of wantedIdentifiers.slice(0, 2)) {
      const rows = createBaseRows(upperBound, 2 * upperBound).flatMap((row): Row[] =>
        row.id !== 'pos'
          ? [row]
          : wantedIdentifiers.slice(0, 2).map((each) => ({
              ...row,
              id: each,
              params: { upper: each === name ? upperBound + step : upperBound, identifiers: [each] },
            })),
      );
      const slope = (computeValue({ ...createMarket(upperBound, 2 * upperBound), rows }) - value) / step;
      expect(isClose(findShadowPrice(`PositionBounds[pos]:upper:${name}`), slope), name).toBe(true);
    }
  });

  test('are distinguished: prices of all others keep their bits', () => {
    const input = explainMarket({ ...MARKET, rows: ROWS, objective });
    const { sides, dependent } = computeOneSidedPrices(solvers, input);
    expect([sides, dependent.size]).toEqual([input.sides, 0]);
  });
});
