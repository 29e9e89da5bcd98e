import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';

/** Service on a home without documents and data. */
let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

interface Specs {
  readonly selection: readonly { readonly type: string; readonly example: object }[];
  readonly weighting: readonly { readonly type: string; readonly example: object }[];
}

test('the example of every class of rules and constraints is valid on an empty home', async () => {
  const { body: specs } = await service.ask<Specs>('GET', '/indices/rule-types');
  const listErrors = async (path: string, body: object) =>
    (
      await service.ask<{ findings: { severity: string; path: string; code: string; message: string }[] }>(
        'POST',
        path,
        body,
      )
    ).body.findings.filter(({ severity }) => severity === 'error');
  const index = { id: 'X', name: 'X', calendar: 'XNYS', base_date: '2024-01-02' };
  const equal = { type: 'EqualWeight' };
  for (const { type, example } of specs.selection) {
    const pipeline = { selection: [{ id: 'r', ...example }], weighting: equal };
    expect([type, await listErrors('/indices/validate', { ...index, pipeline })]).toEqual([type, []]);
  }
  for (const { type, example } of specs.weighting)
    expect([type, await listErrors('/indices/validate', { ...index, pipeline: { weighting: example } })]).toEqual([
      type,
      [],
    ]);
  const { body: constraints } = await service.ask<{ specs: Specs['selection'] }>('GET', '/optimise/constraint-types');
  for (const { type, example } of constraints.specs) {
    const set = { id: 'x', name: 'X', constraints: [example] };
    expect([type, await listErrors('/optimise/constraint-sets/validate', set)]).toEqual([type, []]);
  }
});
