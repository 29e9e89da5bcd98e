import { describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { defineQuery, type Route } from '#contract/route.js';
import { listErrorCodes } from '#contract/openapi.js';

const ROUTES = Object.entries(API as Readonly<Record<string, Route>>);

/** Operations without `store_id`. They use the store of each index or run, the active store, or stores that they name. */
const OTHER_STORES = ['replayRun', 'startRerun', 'syncData', 'importStore'];

describe('the data store of a request', () => {
  test('can be named on every route that needs a market, unless a run or the path names it', () => {
    const undeclaredRoutes = ROUTES.filter(
      ([id, { errors = [], onStore, path }]) =>
        errors.includes('NO_DATA_SOURCE') &&
        onStore === undefined &&
        !errors.includes('STORE_MISMATCH') &&
        !path.includes('{store_id}') &&
        !OTHER_STORES.includes(id),
    );
    expect(undeclaredRoutes.map(([id]) => id)).toEqual([]);
  });

  test('is a query parameter of declared routes, with the errors of an unreadable store', () => {
    for (const [id, route] of ROUTES.filter(([, { onStore }]) => onStore !== undefined)) {
      expect([id, 'store_id' in (defineQuery(route)?.shape ?? {})]).toEqual([id, route.onStore === 'query']);
      expect([id, listErrorCodes(route)]).toEqual([id, expect.arrayContaining(['STORE_NOT_FOUND', 'STORE_LOADING'])]);
    }
  });
});
