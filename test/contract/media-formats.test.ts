import { expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { defineQuery, getFormats, listMediaTypes, type Route } from '#contract/route.js';

const formatRoutes = Object.entries<Route>(API).filter(([, route]) => listMediaTypes(route).length > 1);

test('every route with several media types accepts a format for each', () => {
  expect(formatRoutes.length).toBeGreaterThan(8);
  for (const [name, route] of formatRoutes) expect(defineQuery(route)?.shape, name).toHaveProperty('format');
  for (const [name, route] of formatRoutes.filter(([, { success }]) => success.schema !== undefined))
    expect([...getFormats(route).values()], name).toEqual(listMediaTypes(route));
});
