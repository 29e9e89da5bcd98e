import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RefreshReport } from '#market/judge/refresh.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runHere } from './process.js';

const NAMES = ['A', 'B', 'C', 'D'];
const formatBars = (date: string, names: readonly string[], close = 10) =>
  names.map((name) => `${date},${name},${close}\n`).join('');

test('a nightly refresh of a home stores nothing before its decision, and a split completely', async () => {
  const folder = await createTemporaryFolder();
  const [home, table] = [join(folder, 'home'), join(folder, 'daily', 'market.csv')];
  const runOnHome = (...words: readonly string[]) =>
    runHere([...words, '--home', home, '--data-roots', folder, '--json']);
  const runRefresh = async (...words: readonly string[]) => {
    const { status, out, err } = await runOnHome('refresh', 'daily', ...words);
    const last = out === '' ? {} : (JSON.parse(out.trim().split('\n').at(-1)!) as { result?: RefreshReport });
    return { status, err, result: last.result };
  };
  await mkdir(join(folder, 'daily'));
  const csvBefore = `date,identifier,CLOSE\n${formatBars('2024-01-02', NAMES)}${formatBars('2024-01-03', NAMES, 12)}${formatBars('2024-01-04', NAMES, 11)}`;
  await writeFile(table, csvBefore);
  const importedOutcome = await runOnHome(
    'import',
    join(folder, 'daily'),
    '--id',
    'daily',
    '--activate',
    '--adjustment',
    'splits',
  );
  expect([importedOutcome.status, importedOutcome.err]).toEqual([0, expect.any(String)]);

  const nightlyFlags = ['--fail-on', 'PARTIAL_DATE,HISTORY_CHANGED'];
  await writeFile(table, `${csvBefore}${formatBars('2024-01-05', ['A', 'B'])}`);
  for (let night = 0; night < 2; night++)
    expect(await runRefresh(...nightlyFlags)).toMatchObject({
      status: 3,
      err: expect.stringContaining('PARTIAL_DATE market[2024-01-05]') as string,
    });
  expect((await runRefresh('--dry-run')).result).toMatchObject({ dates_added: 1, rows_added: 2 });

  // A is split 2 for 1 on the next day. The closes of the other securities continue.
  const [, ...rows] = csvBefore.trim().split('\n');
  const restatedRows = rows.map((row) => {
    const [date, name, close] = row.split(',');
    return `${date},${name},${name === 'A' ? Number(close) / 2 : close}\n`;
  });
  const header = 'date,identifier,CLOSE\n';
  await writeFile(
    table,
    `${header}${restatedRows.join('')}${formatBars('2024-01-05', ['B', 'C', 'D'])}${formatBars('2024-01-05', ['A'], 5)}`,
  );
  expect(await runRefresh(...nightlyFlags)).toMatchObject({
    status: 0,
    result: { rows_added: 4, rows_changed: 3, split_restatements: [{ identifier: 'A', ratio: 2, date: '2024-01-05' }] },
  });
  expect((await runRefresh(...nightlyFlags)).result).toMatchObject({ rows_added: 0, rows_changed: 0, findings: [] });
});
