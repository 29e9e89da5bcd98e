import { describe, expect, test } from 'vitest';
import type { ConstraintSetCollection, ConstraintTypes } from '#contract/optimise.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { service } from './set-up.js';

export function describeConstraintSets(): void {
  describe('constraint sets', () => {
    const core = {
      id: 'core',
      name: 'Core',
      constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.2 } }],
    };

    test('are created once, replaced, read as they were stored and deleted', async () => {
      expect((await service.ask('POST', '/optimise/constraint-sets', core)).status).toBe(200);
      const refusal = await service.refusal('POST', '/optimise/constraint-sets', core);
      expect([refusal.status, refusal.code]).toEqual([422, 'VALIDATION_FAILED']);
      const message =
        'A constraint set is already stored under the id core. Choose another id, or replace the constraint set.';
      expect(refusal.detail).toMatchObject({ findings: [{ code: 'DUPLICATE_ID', path: 'id', message }] });
      const read = await service.ask('GET', '/optimise/constraint-sets/core');
      expect((await service.ask('PUT', '/optimise/constraint-sets/core', read.body)).body).toMatchObject({
        constraint_set: read.body as object,
        findings: [],
      });
      expect(
        (await service.ask<ConstraintSetCollection>('GET', '/optimise/constraint-sets')).body.constraint_sets.map(
          ({ id }) => id,
        ),
      ).toContain('core');
      expect((await service.refusal('PUT', '/optimise/constraint-sets/other', core)).code).toBe('ID_MISMATCH');
      expect((await service.ask('DELETE', '/optimise/constraint-sets/core')).status).toBe(204);
      expect((await service.refusal('GET', '/optimise/constraint-sets/core')).code).toBe('CONSTRAINT_SET_NOT_FOUND');
    });

    test('are refused with every row error, and validated without being stored', async () => {
      const badSet = {
        id: 'bad',
        name: 'Bad',
        constraints: [
          { type: 'Nope' },
          { id: 'x', type: 'PositionBounds', params: { lower: 0.3, upper: 0.2 } },
          { id: 'x', type: 'LongOnly' },
        ],
      };
      const { body } = await service.ask<{
        valid: boolean;
        findings: { code: string; path: string; row_id: string | null }[];
      }>('POST', '/optimise/constraint-sets/validate', badSet);
      expect(body.valid).toBe(false);
      expect(body.findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
        'UNKNOWN_TYPE constraints[0].type',
        'EMPTY_RANGE constraints[1].params.upper',
        'DUPLICATE_ROW_ID constraints[2].id',
      ]);
      expect((await service.refusal('POST', '/optimise/constraint-sets', badSet)).detail).toMatchObject({
        findings: body.findings,
      });
    });

    test('the catalogue names the parameters of each class in both forms', async () => {
      const { types, specs } = (await service.ask<ConstraintTypes>('GET', '/optimise/constraint-types')).body;
      expect(Object.keys(types)).toEqual(CONSTRAINT_CLASSES.map(({ type }) => type));
      for (const { type, parameters } of specs) expect(types[type]).toEqual(parameters.map(({ name }) => name));
    });
  });
}
