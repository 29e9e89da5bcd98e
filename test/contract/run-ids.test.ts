import { expect, test } from 'vitest';
import { z } from 'zod';
import { API } from '#contract/api.js';
import type { Route } from '#contract/route.js';

/** Operations without a run id. They use all runs of an index, its published log, or its newest levels as prices. */
const OF_NO_ONE_RUN = [
  'deleteRecord',
  'diffRuns',
  'getOptimisation',
  'getPublishedBundle',
  'getRoll',
  'getTermStructure',
  'listRuns',
  'priceFutures',
  'priceTrs',
  'runSql',
];

const isRunAccepted = ({ query, body }: Route): boolean =>
  [query, body?.schema].some(
    (schema) =>
      schema !== undefined &&
      /"run_ids?"|@/.test(JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))),
  );

test('every operation that needs a stored run states which one', () => {
  const routesWithout = Object.entries(API as Readonly<Record<string, Route>>)
    .filter(([, route]) => route.errors?.includes('RUN_NOT_FOUND') === true && !isRunAccepted(route))
    .map(([id]) => id);
  expect(routesWithout.toSorted()).toEqual(OF_NO_ONE_RUN);
});
