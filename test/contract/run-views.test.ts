import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { API } from '#contract/api.js';
import type { Route } from '#contract/route.js';
import { RUN_VIEW_NEEDS, type RunViewNeed } from '#domain/definition/runs.js';
import { RUN_VIEWS } from '#workers/views/view-run.js';

/** Parameters or body that each need reads. Every route with this need declares them. */
const ARTIFACTS_READ: Partial<Record<RunViewNeed, readonly string[]>> = {
  benchmark: ['benchmark'],
  'group-column': ['by'],
  risk: ['risk', 'risk_model', 'risk_estimator', 'benchmark'],
  factors: ['model', 'risk_model', 'risk_estimator', 'factors'],
  exposures: ['by', 'fields', 'benchmark'],
  issuers: ['rule', 'by'],
  'watched-rows': ['body'],
  scenarios: ['body'],
  memory: ['window', 'half_life', 'against', 'benchmark'],
};

const views = Object.entries<Route>(API).flatMap(([id, route]) =>
  route.view ? [{ id, route, view: route.view }] : [],
);

test.each(views)('$id has the inputs that it needs, and an entry that computes it', ({ route, view }) => {
  const parameters = [...Object.keys(route.query?.shape ?? {}), ...(route.body ? ['body'] : [])];
  expect(
    view.needs.flatMap((need) => (ARTIFACTS_READ[need] ?? []).filter((name) => !parameters.includes(name))),
  ).toEqual([]);
  const isDated = 'start' in (route.query?.shape ?? {}) || 'from' in (route.query?.shape ?? {});
  expect(view.needs.includes('window')).toBe(isDated);
  expect(Object.keys(route.params?.shape ?? {})).toContain('index_id');
  const { file } = RUN_VIEWS[view.name as keyof typeof RUN_VIEWS];
  expect(file !== undefined).toBe(route.success.media !== undefined);
});

test('every need is declared by a route, and described', () => {
  const declaredNeeds = new Set(views.flatMap(({ view }) => view.needs));
  expect(Object.keys(RUN_VIEW_NEEDS).filter((need) => !declaredNeeds.has(need as RunViewNeed))).toEqual([]);
});

test('the steps for a new view mention existing files', () => {
  const [, steps = ''] = readFileSync('docs/CONTRIBUTING.md', 'utf8').split('**A view of a stored run.**');
  const files = steps.split('**A field of the record.**')[0]!.match(/`(src|workers)\/[\w/-]+\.ts`/g) ?? [];
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) expect(readFileSync(file.slice(1, -1), 'utf8').length).toBeGreaterThan(0);
});
