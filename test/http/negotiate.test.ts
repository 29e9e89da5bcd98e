import { expect, test } from 'vitest';
import { negotiate } from '#http/handler.js';

const OFFERED_TYPES = ['application/json', 'text/csv', 'application/vnd.apache.arrow.stream'] as const;

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['text/csv', 'text/csv'],
  ['TEXT/CSV; charset=utf-8', 'text/csv'],
  ['text/*', 'text/csv'],
  ['application/*;q=0.1, text/csv;q=0.2', 'text/csv'],
  ['application/json;q=0, */*;q=0.1', 'text/csv'],
  ['text/csv, application/json', 'application/json'],
  ['image/png, application/vnd.apache.arrow.stream;q=0.001', 'application/vnd.apache.arrow.stream'],
])('Accept %s is met by %s', (accept, type) => expect(negotiate(accept, OFFERED_TYPES)).toBe(type));

test.each(['image/png', 'text/csv;q=0', '*/*;q=0', 'text/csv;q=none', 'nonsense'])(
  'Accept %s cannot be met, and the refusal lists the available types',
  (accept) =>
    expect(() => negotiate(accept, OFFERED_TYPES)).toThrow(
      expect.objectContaining({ code: 'NOT_ACCEPTABLE', detail: { accepted: [...OFFERED_TYPES] } }),
    ),
);
