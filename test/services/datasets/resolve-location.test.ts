import { expect, test } from 'vitest';
import { isSameLocation, resolveSourceLocation, updateLocations } from '#services/stores/stores.js';

const formatUrl = (secret: string, host = 'db') => `postgresql://reader${secret}@${host}/prices`;
const updateStoreLocations = (location: string | null, source: string | null) =>
  updateLocations({ location } as never, source);

test('another password, or none, replaces the one that a store is read with; another location does not', () => {
  expect(updateStoreLocations(formatUrl(':old'), formatUrl(':new'))).toEqual({
    location: formatUrl(':new'),
    source: formatUrl(':new'),
  });
  expect(updateStoreLocations(formatUrl(':old'), formatUrl(''))).toEqual({
    location: formatUrl(''),
    source: formatUrl(''),
  });
  expect(updateStoreLocations(formatUrl(':old'), formatUrl(':old', 'other'))).toEqual({
    source: formatUrl(':old', 'other'),
  });
  expect(updateStoreLocations(formatUrl(':old'), null)).toEqual({ source: null });
  expect(updateStoreLocations('/prices', '/others')).toEqual({ source: '/others' });
});

test('a version is restored if its location has the password that it needs, or needs none', () => {
  expect(isSameLocation(formatUrl(':now'), formatUrl(':***'))).toBe(true);
  expect(isSameLocation(formatUrl(':now'), formatUrl(''))).toBe(false);
  expect(resolveSourceLocation(formatUrl(''), 1)).toBe(formatUrl(''));
  expect(resolveSourceLocation('/prices', 1)).toBe('/prices');
  for (const source of [formatUrl(':***'), formatUrl(':of-an-earlier-release')])
    expect(() => resolveSourceLocation(source, 1)).toThrow('postgresql://reader:***@db/prices needs one');
});
