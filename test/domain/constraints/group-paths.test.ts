import { describe, expect, test } from 'vitest';
import { groupBounds } from '#domain/definition/constraints.js';
import { validateConstraints } from '#domain/definition/constraint-sets.js';

const createRow = (params: object) => [{ id: 'g', type: 'GroupBounds', params: { field: 'SECTOR', ...params } }];
const findCodes = (params: object, followPaths = true) =>
  validateConstraints(createRow(params), { path: 'constraints', followPaths }).map(({ code, path }) => [code, path]);

describe('a bound of a group that follows a path', () => {
  test('may begin at a value for all groups, or at the weight of one group on a date', () => {
    expect(findCodes({ upper: { base: 0.3, yearly: -0.07 } })).toEqual([]);
    expect(findCodes({ upper: { base: '2020-01-02', yearly: -0.07 }, groups: ['Energy'] })).toEqual([]);
    expect(findCodes({ upper: { base: '2020-01-02', yearly: -0.07 } })).toEqual([
      ['MISSING_PARAMETER', 'constraints[0].params.groups'],
    ]);
  });

  test('is refused where the problem has a single date', () => {
    expect(findCodes({ upper: { base: 0.3, yearly: -0.07 } }, false)).toEqual([
      ['WRONG_TYPE', 'constraints[0].params.upper'],
    ]);
  });

  test('begins at the weight of its group', () => {
    const params = groupBounds.params.parse({
      field: 'SECTOR',
      groups: ['Energy'],
      upper: { base: '2020-01-02', yearly: 0 },
    });
    const portfolio = {
      weights: Float64Array.of(0.1, 0.2, 0.3, 0.4),
      numbers: () => new Float64Array(4),
      categories: () => ['Energy', null, 'Energy', 'Technology'],
    };
    expect(groupBounds.measureOf!(params, portfolio)).toBeCloseTo(0.4, 15);
  });
});
