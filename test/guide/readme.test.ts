import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../cli/process.js';
import { openShell, type Shell } from './shell.js';

const isRunnable = spawnSync('bash', ['--version']).error === undefined;
if (!isRunnable) console.log('The README is not run: this machine lacks bash.');

const readme = readFileSync('README.md', 'utf8').replaceAll(/\\\n */g, '');
/** The commands from prices to an explanation, in their order. */
const ownPrices = /^## Your own prices.*?(?=^## )/ms.exec(readme)![0];
const steps = [...ownPrices.matchAll(/^ {4}(.*npx divisor .*)$/gm)].map((match) => match[1]!);
const commands = [...new Set([...readme.matchAll(/npx divisor (index [a-z]+|[a-z]+)/g)].map((match) => match[1]!))];

let folder: string;
let shell: Shell | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-readme-'));
  if (isRunnable) shell = await openShell(folder, {});
  // The README assumes a file with the reader's prices.
  await mkdir(join(folder, 'desk'), { recursive: true });
  await writeFile(join(folder, 'desk', 'prices.csv'), formatPrices());
});
afterAll(async () => {
  await shell?.close();
  await rm(folder, { recursive: true, force: true });
});

function formatPrices(): string {
  const days = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
  const rows = days.flatMap((day, i) => [`${day},AAPL,${100 + i}`, `${day},B,${50 - i}`]);
  return ['date,identifier,CLOSE', ...rows, ''].join('\n');
}

describe.skipIf(!isRunnable)('what the README shows', () => {
  test('three commands lead from a file of prices to the explanation of a weight', async () => {
    expect(steps).toHaveLength(3);
    let output = '';
    for (const step of steps) {
      const result = await shell!.run('sh', step);
      ({ output } = result);
      expect(result.exitStatus, output).toBe(0);
    }
    const { result } = JSON.parse(output) as {
      readonly result: { readonly included: boolean; readonly weight: number };
    };
    expect(result).toMatchObject({ included: true, weight: 0.5 }); // one of two equal weights
  });

  test.each(commands)('divisor %s is a command', async (command) => {
    const { status, out } = await runHere([...command.split(' '), '--help']);
    expect([status, out.includes(`divisor ${command}`)]).toEqual([0, true]);
  });
});
