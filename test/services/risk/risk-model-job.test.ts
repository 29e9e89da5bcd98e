import { expect, test } from 'vitest';
import type { RiskModelPayload } from '#domain/outputs/jobs.js';
import { createHash } from 'node:crypto';
import { EIGENVALUES_PART, MODEL_PARTS, PART_COUNT } from '#domain/risk/estimation.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import type { Attempt } from '#jobs/port/job-kind.js';
import type { Parts } from '#jobs/port/parts.js';
import { createRiskModelJob } from '#services/risk/estimation.js';
import { createTestContext } from '../context.js';

const WHOLE_MAX = 3;
const createRefTo = (name: string) => ({ name, bytes: 8, sha256: name });

function createPartsOutput(outputs: Readonly<Record<string, string>>) {
  const rows = Object.values(outputs).filter((name) => name !== 'figures');
  return { figures: createRefTo(`figures of ${rows.join()}`), rows: rows.map(createRefTo) };
}

/** Outputs of parts that another node has computed. */
type RemoteParts = readonly { artifact: object; files: readonly object[]; parts: readonly number[] }[];

/** Runs a job and records its tasks. @param covered number of securities that can be estimated */
async function runJob(
  identifiers: readonly string[],
  settings: object,
  covered = identifiers.length,
  elsewhere: RemoteParts = [],
) {
  const droppedNames: string[] = [];
  const servedMarket = { market: { identifiers }, identity: { contentHash: 'content' } };
  const context = createTestContext({
    markets: { settled: async () => {}, require: () => servedMarket } as never,
    dataVersions: { at: async () => ({ served: servedMarket }) as never },
    workers: 2,
  });
  const kind = createRiskModelJob(context, WHOLE_MAX);
  const tasks: { readonly task: string; readonly input: Readonly<Record<string, unknown>> }[] = [];
  const attempt = {
    compute: async (task: string, input: Readonly<Record<string, unknown>>) => {
      tasks.push({ task, input });
      if (task === 'risk-model-size') return { securities: covered };
      if (task === 'risk-model-parts') return createPartsOutput(input['outputs'] as Readonly<Record<string, string>>);
      const { covariance } = input;
      return { assetIds: identifiers, diagnostics: {}, factorModel: null, factors: null, excluded: {}, covariance };
    },
    inParts: async ({ count, here }: Parts) => {
      const parts = Array.from({ length: count }, (_, part) => part);
      const ownOutputs = await Promise.all(parts.map(async (part) => ({ ...(await here(part, 0)), parts: [part] })));
      return [...elsewhere, ...ownOutputs.toReversed()];
    },
    drop: async (names: readonly string[]) => void droppedNames.push(...names),
    outputs: (files: readonly string[]) => Object.fromEntries(files.map((file) => [file, file])),
  } as unknown as Attempt;
  const payload: RiskModelPayload = {
    model_id: 'm',
    request: RiskModelRequest.parse({ identifiers, ...settings }),
    identifiers,
    run: null,
  };
  const { result } = await kind.run(payload, attempt);
  return {
    kind,
    payload,
    attempt,
    tasks,
    dropped: droppedNames,
    result,
    names: [...new Set(tasks.map(({ task }) => task))],
  };
}

const LARGE = ['A', 'B', 'C', 'D'];

test('a model of more securities than one thread estimates is computed in parts', async () => {
  for (const estimator of ['shrinkage', 'statistical', 'industries', 'styles']) {
    const { tasks, names } = await runJob(LARGE, { estimator });
    expect(names).toEqual(['risk-model-size', 'risk-model-parts', 'sum-risk-model']);
    const parts = (tasks.at(-1)!.input['files'] as readonly { parts: readonly number[] }[]).flatMap(
      (file) => file.parts,
    );
    expect(parts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: PART_COUNT }, (_, part) => part));
  }
});

test('the matrix consists of the files of its parts in order, each once, whichever node wrote them', async () => {
  const otherParts = {
    artifact: createRefTo('theirs'),
    files: [createRefTo('their 1'), createRefTo('their 2')],
    parts: [1, 2, EIGENVALUES_PART],
  };
  const { result, dropped } = await runJob(LARGE, {}, LARGE.length, [otherParts]);
  const names = Array.from({ length: MODEL_PARTS }, (_, part) =>
    [1, 2].includes(part) ? `their ${part}` : `rows ${part}`,
  );
  const sha256 = createHash('sha256').update(names.join('')).digest('hex');
  expect(result).toMatchObject({ value: { covariance: { sha256, files: names.map(createRefTo) } } });
  expect(dropped.toSorted()).toEqual(['rows 1', 'rows 2']);
});

test('smaller models, and those of other estimators, are computed in one task', async () => {
  expect((await runJob(LARGE.slice(1), {})).names).toEqual(['estimate-risk-model']);
  expect((await runJob(LARGE, {}, WHOLE_MAX)).names).toEqual(['risk-model-size', 'estimate-risk-model']);
  for (const estimator of ['nonlinear', 'gerber', 'denoised', 'newey_west'])
    expect((await runJob(LARGE, { estimator })).names).toEqual(['estimate-risk-model']);
});

test('a model of too many securities is refused, and other nodes compute some parts in one task', async () => {
  await expect(runJob(LARGE, {}, 20_001)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  const { kind, payload, attempt, tasks } = await runJob(LARGE, {});
  const { result } = await kind.runParts!(payload, [3, 5], attempt);
  expect(result).toEqual({
    artifact: createRefTo('figures of rows 3,rows 5'),
    files: [createRefTo('rows 3'), createRefTo('rows 5')],
  });
  expect(tasks.at(-1)!.input).toMatchObject({ parts: [3, 5], universe: { kind: 'names', identifiers: LARGE } });
});
