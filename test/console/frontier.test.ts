import { expect, test } from 'vitest';
import {
  computePointTurnover,
  createPointRows,
  findChosenPoint,
  findPointTerms,
} from '#console/pages/optimise/frontier-point.js';

const createFrontierPoint = (aversion: number | null) => ({
  volatility: 0.1,
  expected_return: 0.1,
  tracking_error: 0,
  weights: { A: 1 },
  risk_aversion: aversion,
});
const frontier = {
  points: [createFrontierPoint(null), createFrontierPoint(4)],
  tangency: { ...createFrontierPoint(6), sharpe: 1 },
};

test('a point of a frontier is optimised by its risk aversion, the first point by minimum variance', () => {
  const chosenPoints = [null, '2', 'tangency', '3'].map((choice) => findChosenPoint(frontier, choice)?.point);
  expect(chosenPoints).toEqual([frontier.points[0], frontier.points[1], frontier.tangency, undefined]);
  expect(findPointTerms(chosenPoints[0]!, { costs: { linear_bps: 5 } })).toEqual({
    costs: { linear_bps: 5 },
    objective: { type: 'min_variance' },
  });
  expect(findPointTerms(chosenPoints[1]!, {})).toEqual({
    objective: { type: 'max_utility', risk_aversion: 4 },
    expected_returns: { type: 'historical' },
  });
  expect(findPointTerms(chosenPoints[2]!, { expected_returns: { type: 'capm' } })!['expected_returns']).toEqual({
    type: 'capm',
  });
  // A run of an earlier version does not record the expected returns.
  expect(findPointTerms({ volatility: 0.1, expected_return: 0.1, tracking_error: 0 }, {})).toBeNull();
});

test('the turnover of a point is half the sum of the weight changes, with the sale of unheld securities', () => {
  const rows = [
    { identifier: 'A', index_weight: 0.7 },
    { identifier: 'B', index_weight: 0.3 },
  ];
  expect(computePointTurnover(frontier.points[0]!, rows)).toBeCloseTo(0.3, 12);
  expect(computePointTurnover({ volatility: 0.1, expected_return: 0.1, tracking_error: 0 }, rows)).toBeNull();
});

test('a weight of a point is at a bound if the bound limits an equal weight in the solution', () => {
  const rows = [
    { identifier: 'A', weight: 0.06, index_weight: 0.08, at_bound: 'upper' },
    { identifier: 'B', weight: 0.03, index_weight: 0.02, at_bound: null },
    { identifier: 'C', weight: 0, index_weight: 0.01, at_bound: 'lower' },
    { identifier: 'D', weight: 0.01, index_weight: 0.01, at_bound: null },
  ].map((row) => ({ ...row, active_weight: row.weight - row.index_weight, risk_contribution: 0, variance_share: 0 }));
  const points = createPointRows(rows as never, { A: 0.05, B: 0.06, C: 0.01 });
  expect(points.map(({ weight, solution_weight: solution, at_bound: bound }) => [weight, solution, bound])).toEqual([
    [0.05, 0.06, null],
    [0.06, 0.03, 'upper'],
    [0.01, 0, null],
    [0, 0.01, 'lower'],
  ]);
});
