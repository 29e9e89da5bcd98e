import { expect, test } from 'vitest';
import { RowsFault } from '#market/content/market-content.js';
import { createMarketRows } from '#market/content/market-rows.js';
import { createProblems } from '#market/tables/problems.js';

test('a row above the limit ends the reading with an error that names the limit', () => {
  const rows = createMarketRows(createProblems(), { rowsMax: 1 << 14 });
  const file = rows.beginFile('market', ['identifier', 'date', 'CLOSE'])!;
  const add = () => rows.addCells(file, ['A', new Date(rows.rows * 86_400_000), 1]);
  for (let row = 0; row < 1 << 14; row++) add();
  expect(add).toThrow(new RowsFault('The market has more than 16384 rows; at most 16384 are read.'));
});
