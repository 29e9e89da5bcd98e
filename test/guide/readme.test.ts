import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from '../real/live.js';
import { runHere } from '../cli/process.js';
import { openShell, type Shell } from './shell.js';

const hasCommand = (command: string) => spawnSync(command, ['--version']).error === undefined;
const isRunnable = hasCommand('curl') && hasCommand('bash');
if (!isRunnable) console.log('The README is not run: this machine lacks curl or bash.');

const readme = readFileSync('README.md', 'utf8').replaceAll(/\\\n */g, '');
const questions = [...readme.matchAll(/^ {4}(curl .*)$/gm)].map((match) => match[1]!);
const commands = [...new Set([...readme.matchAll(/npx divisor ([a-z]+)/g)].map((match) => match[1]!))];

let service: LiveService;
let shell: Shell | undefined;
beforeAll(async () => {
  service = await openLiveService();
  const folder = join(service.folder, 'reader');
  if (isRunnable) shell = await openShell(folder, {});
  // The README assumes a folder with the reader's prices.
  await mkdir(join(folder, 'desk', 'prices'), { recursive: true });
  await writeFile(join(folder, 'desk', 'prices', 'market.csv'), formatPrices());
});
afterAll(async () => {
  await shell?.close();
  await service.close();
});

function formatPrices(): string {
  const days = ['2010-01-04', '2010-01-05', '2010-01-06', '2010-01-07', '2010-01-08'];
  const rows = days.flatMap((day, i) => [`${day},A,${100 + i}`, `${day},B,${50 - i}`]);
  return ['date,identifier,CLOSE', ...rows, ''].join('\n');
}

describe.skipIf(!isRunnable)('what the README shows', () => {
  test.each(questions)('%s', async (question) => {
    const { calls, exitStatus, output } = await shell!.run(
      'sh',
      question.replaceAll(/(?:http:\/\/127\.0\.0\.1|localhost):8080/g, service.url),
    );
    expect(exitStatus, output).toBe(0);
    expect(calls.length, output).toBeGreaterThan(0);
    expect(
      calls.filter(({ status }) => status >= 300),
      output,
    ).toEqual([]);
  });

  test.each(commands)('divisor %s is a command', async (command) => {
    const { status, out } = await runHere([command, '--help']);
    expect([status, out.includes(`divisor ${command}`)]).toEqual([0, true]);
  });
});
