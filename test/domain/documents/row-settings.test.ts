import { describe, expect, test } from 'vitest';
import { checkConstraintSet, type ConstraintSet, readConstraintSet } from '#domain/definition/constraint-sets.js';
import { listConstraintSpecs } from '#domain/definition/constraints.js';

const average = { id: 'carbon', type: 'WeightedAverage', params: { field: 'CARBON', upper: 0.5 } };
const turnover = { id: 'turn', type: 'Turnover', params: { limit: 0.1 } };
const body = { id: 'core', name: 'Core', constraints: [average, turnover] };

const readParam = (set: ConstraintSet | undefined, row: number, name: string) => set?.constraints[row]?.params[name];

describe('a row that leaves a changed default open', () => {
  test('states the default of today where a set is accepted, and the earlier one where an earlier version stored it', () => {
    const constraintSet = checkConstraintSet(body).set;
    expect(readParam(constraintSet, 0, 'missing')).toBe('renormalise');
    expect(readParam(readConstraintSet(body), 0, 'missing')).toBe('zero');
    expect(readParam(readConstraintSet(constraintSet), 0, 'missing')).toBe('renormalise');
  });

  test('of turnover stays open in a set, which is of no index: a run measures it from the index', () => {
    expect(readParam(checkConstraintSet(body).set, 1, 'reference')).toBeUndefined();
  });

  test('keeps what a client states', () => {
    const stating = { ...body, constraints: [{ ...average, params: { ...average.params, missing: 'zero' } }] };
    expect(readParam(checkConstraintSet(stating).set, 0, 'missing')).toBe('zero');
  });

  test('has the default of today in the catalogue', () => {
    const spec = listConstraintSpecs().find(({ type }) => type === 'WeightedAverage')!;
    expect(spec.parameters.find(({ name }) => name === 'missing')).toMatchObject({
      default: 'renormalise',
      required: false,
    });
  });
});
