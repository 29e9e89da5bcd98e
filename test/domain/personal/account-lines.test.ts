import { expect, test } from 'vitest';
import { findAccountId } from '#domain/personal/read-account.js';

test('the id of a JSON line is the id of its parsed account, wherever and however it is written', () => {
  const lines = [
    '{"account_id":"A1","lots":[{"identifier":"account_id","shares":1}]}',
    '{"lots":[{"identifier":"x\\"account_id\\":\\"B\\""}], "account_id" :\t"A2"}',
    '{"account_id":"A","account_id":"A3"}',
    '{"\\u0061ccount_id":"A4"}',
    '{"account_id":"\\u0041\\u0035"}',
    '{"account_id":7}',
    '{"cash":1}',
    'text',
  ];
  expect(lines.map((line) => findAccountId(Buffer.from(line)))).toEqual([
    'A1',
    'A2',
    'A3',
    'A4',
    'A5',
    undefined,
    undefined,
    undefined,
  ]);
});
