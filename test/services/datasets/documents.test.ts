import { expect, test } from 'vitest';
import { removePassword } from '#domain/definition/datasets.js';

test.each([
  ['postgresql://u:secret@host:5432/db', 'postgresql://u:***@host:5432/db'],
  ['postgresql://u:sec@ret@host/db?sslmode=require', 'postgresql://u:***@host/db?sslmode=require'],
  ['postgresql://u:sec ret@host/db', 'postgresql://u:***@host/db'],
  ['postgresql://u:p%40ss@host/db', 'postgresql://u:***@host/db'],
  ['postgresql://u@host/db', 'postgresql://u@host/db'],
  ['sqlite:///data/a%20b.db', 'sqlite:///data/a%20b.db'],
  ['/data/a:b@c', '/data/a:b@c'],
])('a place %s is shown as %s', (location, expected) => {
  expect(removePassword(location)).toBe(expected);
});
