import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { runHere } from '../process.js';
import { hasPseudoTerminal } from '../pseudo-terminal.js';

if (!hasPseudoTerminal)
  console.log('The command line is not tried on a terminal: this machine has no `script` of util-linux.');

export let folder: string;
export let home: string;
export const toPath = (name: string) => join(folder, name);

export const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2020-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};
const GRID = {
  '/document/rebalance/frequency': ['monthly', 'quarterly'],
  '/request/transaction_cost_bps': [0, 10, 400],
};

type Line = Record<string, unknown> & { readonly event: string };
export const toLines = (out: string): Line[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
export const readEnding = ({ status, out, err }: { status: number | string; out: string; err: string }) => ({
  status,
  out,
  err: err.replace(/\n$/, ''),
});

/** Imports a store for all tests of the folder: four securities over three and a half years of weekdays. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-commands-'));
  await mkdir(toPath('prices'));
  home = toPath('home');
  const rows = ['date,identifier,CLOSE'];
  for (let day = Date.UTC(2019, 6, 1), i = 0; day < Date.UTC(2023, 0, 1); day += 86_400_000) {
    const date = new Date(day);
    if (date.getUTCDay() % 6 === 0) continue;
    for (const [k, name] of ['A', 'B', 'C', 'D'].entries())
      rows.push(
        `${date.toISOString().slice(0, 10)},${name},${(100 * Math.exp(0.0003 * i + 0.1 * Math.sin(i / (7 + k)) * (k + 1))).toFixed(6)}`,
      );
    i++;
  }
  await writeFile(join(toPath('prices'), 'market.csv'), `${rows.join('\n')}\n`);
  await writeFile(toPath('even.json'), JSON.stringify(INDEX));
  await writeFile(toPath('grid.json'), JSON.stringify(GRID));
  const importedOutcome = await runOnHome(['import', toPath('prices'), '--id', 'desk', '--activate']);
  if (importedOutcome.status !== 0) throw new Error(importedOutcome.err);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

export const runOnHome = (words: readonly string[], homeFolder = home) =>
  runHere([...words, '--home', homeFolder], { DIVISOR_DATA_ROOTS: folder });
