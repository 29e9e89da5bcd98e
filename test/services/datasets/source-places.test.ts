import { expect, test } from 'vitest';
import { isSamePlace, openPlace, placesAfter } from '#services/datasets/source-places.js';

const url = (secret: string, host = 'db') => `postgresql://reader${secret}@${host}/prices`;
const createPlaces = (location: string | null, source: string | null) => placesAfter({ location } as never, source);

test('another password, or none, replaces the one that a store is read with; another place does not', () => {
  expect(createPlaces(url(':old'), url(':new'))).toEqual({ location: url(':new'), source: url(':new') });
  expect(createPlaces(url(':old'), url(''))).toEqual({ location: url(''), source: url('') });
  expect(createPlaces(url(':old'), url(':old', 'other'))).toEqual({ source: url(':old', 'other') });
  expect(createPlaces(url(':old'), null)).toEqual({ source: null });
  expect(createPlaces('/prices', '/others')).toEqual({ source: '/others' });
});

test('a version is restored where its place has the password that it needs, or needs none', () => {
  expect(isSamePlace(url(':now'), url(':***'))).toBe(true);
  expect(isSamePlace(url(':now'), url(''))).toBe(false);
  expect(openPlace(url(''), 1)).toBe(url(''));
  expect(openPlace('/prices', 1)).toBe('/prices');
  for (const source of [url(':***'), url(':of-an-earlier-release')])
    expect(() => openPlace(source, 1)).toThrow('postgresql://reader:***@db/prices needs one');
});
