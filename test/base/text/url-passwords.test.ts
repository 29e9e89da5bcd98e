import { expect, test } from 'vitest';
import { keepSmallValue } from '#domain/base/findings.js';
import { maskUrlPasswords } from '#base/addresses.js';

test.each([
  ['postgresql://u:secret@host:5432/db', 'postgresql://u:***@host:5432/db'],
  ['postgresql://u:sec@ret@host/db', 'postgresql://u:***@host/db'],
  ['postgresql://u:sec:ret@host/db', 'postgresql://u:***@host/db'],
  ['["postgresql://u:secret@host/db","sqlite:///a/b.db"]', '["postgresql://u:***@host/db","sqlite:///a/b.db"]'],
  ['postgresql://u@host:5432/db', 'postgresql://u@host:5432/db'],
  ['http://127.0.0.1:8080/a@b', 'http://127.0.0.1:8080/a@b'],
])('the masked form of %s is %s', (text, expected) => {
  expect(maskUrlPasswords(text)).toBe(expected);
});

test('an error message does not repeat a password', () => {
  expect(keepSmallValue(['postgresql://u:secret@host/db'])).toEqual({});
  expect(keepSmallValue(['postgresql://u@host/db'])).toEqual({ value: ['postgresql://u@host/db'] });
});
