import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const SESSIONS = 1258; // of the New York Stock Exchange from 2019-01-02 to 2023-12-29
const INDICES = ['PRICE-20', 'CAPPED-25', 'EQUAL', 'RISK-15', 'DECREMENT-5'];

const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasNumpy) console.log('The proof is compared with JavaScript only: this machine lacks Python or numpy.');
const SCRIPTS = [
  { script: 'levels.mjs', program: process.execPath, skipped: false },
  { script: 'levels.py', program: 'python3', skipped: !hasNumpy },
];

let folder: string;
let copy: string;
let proof: { readonly status: number | null; readonly out: string };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'divisor-proof-'));
  copy = join(folder, 'copy');
  proof = run(process.execPath, ['data/proof/proof.mjs', join(folder, 'proof')]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  return { status, out: `${stdout}${stderr}` };
}

function copyWith(file: string, start: string, line: string): void {
  cpSync(join(folder, 'proof'), copy, { recursive: true, force: true });
  const lines = readFileSync(join(copy, file), 'utf8').split('\n');
  const position = lines.findIndex((text) => text.startsWith(start));
  expect(position, start).toBeGreaterThan(0);
  writeFileSync(join(copy, file), lines.with(position, line).join('\n'));
}

test('the proof of the levels compares every session of five indices, and finds them equal to 1e-12', () => {
  expect(proof.status, proof.out).toBe(0);
  for (const name of INDICES) expect(proof.out).toMatch(new RegExp(`^${name} +${SESSIONS} sessions`, 'm'));
  expect(proof.out).toMatch(/Largest difference \d\.\de-1[3-9]; at most 1e-12 is allowed: equal\n$/);
});

test('the market of the proof has every kind of event for which the guide states a rule of the level', () => {
  const actions = readFileSync(join(folder, 'proof/corporate_actions.csv'), 'utf8');
  for (const type of ['DIVIDEND', 'SPECIAL_DIVIDEND', 'SPLIT', 'SPIN_OFF', 'ACQUISITION', 'DELISTING', 'MERGER'])
    expect(actions).toContain(`,${type},`);
});

describe.each(SCRIPTS)('$script', ({ script, program, skipped }) => {
  const compare = (of: string) => run(program, [`data/proof/${script}`, of]);

  test.skipIf(skipped)('agrees with the service', () => {
    expect(compare(join(folder, 'proof'))).toMatchObject({ status: 0 });
  });

  test.skipIf(skipped)('a changed close is reported with its first session, and the status is 1', () => {
    const row = readFileSync(join(folder, 'proof/market.csv'), 'utf8').match(/^[A-Z]+,2021-05-04,.*$/m)![0];
    const [identifier, day, close, ...rest] = row.split(',');
    copyWith('market.csv', `${identifier},${day}`, [identifier, day, Number(close) + 0.01, ...rest].join(','));
    const { status, out } = compare(copy);
    expect(status, out).toBe(1);
    expect(out).toMatch(/^EQUAL .*first on 2021-05-04$/m);
    expect(out).toContain('DIFFERENT');
  });

  test.skipIf(skipped)('a level that is 2e-12 too high is different, and a level that is no number too', () => {
    const day = '2022-03-01';
    const level = readFileSync(join(folder, 'proof/levels.csv'), 'utf8').match(/^PRICE-20,2022-03-01,(.*)$/m)![1]!;
    for (const wrong of [Number(level) * (1 + 2e-12), 'none']) {
      copyWith('levels.csv', `PRICE-20,${day}`, `PRICE-20,${day},${wrong}`);
      expect(compare(copy)).toMatchObject({ status: 1 });
    }
  });

  test.skipIf(skipped)('a missing session of the levels ends the comparison with the name of the index', () => {
    copyWith('levels.csv', 'RISK-15,2020-06-01', 'RISK-15,2020-05-31,1');
    expect(compare(copy)).toMatchObject({ status: 1, out: expect.stringContaining('RISK-15') });
  });

  test('imports nothing of the project', () => {
    const text = readFileSync(`data/proof/${script}`, 'utf8');
    const imported = [...text.matchAll(/^(?:import .*from '(.*)'|from (\S+) import|import (\S+)).*$/gm)].map(
      ([, module, source, name]) => module ?? source ?? name,
    );
    const allowed = ['node:fs', 'node:path', 'csv', 'sys', 'datetime', 'pathlib', 'numpy'];
    expect(imported.filter((name) => !allowed.includes(name!))).toEqual([]);
  });
});

test('the script in numpy has less than 200 lines', () => {
  expect(readFileSync('data/proof/levels.py', 'utf8').trimEnd().split('\n').length).toBeLessThan(200);
});
