import { expect, test } from 'vitest';
import { computePointTurnover, findChosenPoint, findPointTerms } from '#console/pages/optimise/frontier-point.js';

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
