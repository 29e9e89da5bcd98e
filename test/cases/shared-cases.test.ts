import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServiceHere, type RunningServer } from '../cli/process.js';
import { isPythonHere } from '../clients/python-user.js';
import { findUnmet } from './expectations.js';
import { runSteps, type Case } from './run-case.js';

/** Small inputs with the result that must come, which are not part of the project. */
const CASES = resolve('../shared/cases');
const cases = existsSync(CASES) ? readCases() : [];
if (cases.length === 0) console.log(`The small cases are skipped: there are none at ${CASES}.`);

/** Constraint classes of the limits that a case describes without naming a class. */
const LIMITS: Readonly<Record<string, { readonly type: string; readonly bound: string }>> = {
  gross: { type: 'GrossExposure', bound: 'upper' },
  'expected_return|return_floor': { type: 'ExpectedReturn', bound: 'lower' },
};

describe.runIf(cases.length > 0)('small cases', () => {
  let folder: string;
  let service: RunningServer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'divisor-cases-'));
    service = await startServiceHere(join(folder, 'home'), ['--data-roots', folder]);
  });
  afterAll(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const needsPython = ({ steps }: Case) => steps.some((step) => 'python' in step);
  const [runnable, skipped] = [true, false].map((isRunnable) =>
    cases.filter(({ content }) => (isPythonHere || !needsPython(content)) === isRunnable),
  ) as [typeof cases, typeof cases];
  if (skipped.length > 0) console.log(`${skipped.length} cases are skipped that need python3.`);

  test.each(runnable)('$name: $content.user', async ({ name, content }) => {
    const { must, wanted, steps } = content;
    const answers = await runSteps(steps, { source: join(CASES, name), folder: join(folder, name), url: service.url });
    expect(must.flatMap((expectation) => findUnmet(expectation, answers))).toEqual([]);
    if (wanted === undefined) return;
    const { type, bound } = LIMITS[wanted.parameter]!;
    const step = steps.find(({ id }) => id === wanted.of) as {
      id: string;
      request: string;
      body: { constraints?: object[] };
    };
    const limit = { id: 'wanted', type, params: { [bound]: wanted.value } };
    const body = { ...step.body, constraints: [...(step.body.constraints ?? []), limit] };
    const limited = await runSteps([{ ...step, body }], {
      source: join(CASES, name),
      folder: join(folder, name),
      url: service.url,
    });
    const expectations = Object.entries(wanted.weights).map(([identifier, value]) => ({
      of: wanted.of,
      at: `assets[identifier=${identifier}].weight`,
      value,
      tolerance: 1e-6,
    }));
    expect(expectations.flatMap((expectation) => findUnmet(expectation, limited))).toEqual([]);
  });
});

function readCases(): { readonly name: string; readonly content: Case }[] {
  const folders = readdirSync(CASES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: group }) =>
    readdirSync(join(CASES, group)).map((entry) => {
      const name = `${group}/${entry}`;
      return { name, content: JSON.parse(readFileSync(join(CASES, name, 'expected.json'), 'utf8')) as Case };
    }),
  );
}
