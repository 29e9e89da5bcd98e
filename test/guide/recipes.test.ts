import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';

test('the model of the dbt recipe computes the returns between the last levels of months', async () => {
  const pageText = readFileSync('data/guide/recipes.md', 'utf8');
  const [, model = ''] = /models\/monthly_returns\.sql <<'SQL'\n(.*?)\nSQL\n/s.exec(pageText)!;
  const folder = await mkdtemp(join(tmpdir(), 'divisor-recipes-'));
  const rows = ['2024-01-30,90', '2024-01-31,100', '2024-02-01,101', '2024-02-29,110', '2024-03-28,99'];
  await writeFile(join(folder, 'levels.csv'), `date,total\n${rows.join('\n')}\n`);
  const connection = await (await DuckDBInstance.create()).connect();
  const sql = model.replace("{{ source('divisor', 'levels') }}", `read_csv('${join(folder, 'levels.csv')}')`);
  const result = await connection.runAndReadAll(sql);
  connection.closeSync();
  await rm(folder, { recursive: true });
  const returns = result.getRows().map(([, value]) => value);
  expect(returns[0]).toBeNull();
  expect(returns[1]).toBeCloseTo(0.1, 12);
  expect(returns[2]).toBeCloseTo(-0.1, 12);
});
