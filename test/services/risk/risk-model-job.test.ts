import { expect, test } from 'vitest';
import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import { MODEL_PARTS } from '#domain/risk/model-parts.js';
import { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { Parts } from '#jobs/parts.js';
import { createRiskModelJob } from '#services/risk/risk-model-job.js';

const WHOLE_MAX = 3;
const refTo = (name: string) => ({ name, bytes: 8, sha256: name });

/** Runs a job whose tasks are recorded. @param covered number of securities that can be estimated */
async function ran(identifiers: readonly string[], settings: object, covered = identifiers.length) {
  const served = { market: { identifiers }, identity: { contentHash: 'content' } };
  const kind = createRiskModelJob({
    documents: {} as never,
    artifacts: {} as never,
    markets: { settled: async () => {}, require: () => served } as never,
    dataVersions: { at: async () => ({ served }) as never },
    workers: 2,
    wholeMax: WHOLE_MAX,
  });
  const tasks: { readonly task: string; readonly input: Readonly<Record<string, unknown>> }[] = [];
  const attempt = {
    compute: async (task: string, input: Readonly<Record<string, unknown>>) => {
      tasks.push({ task, input });
      if (task === 'risk-model-size') return { securities: covered };
      if (task === 'risk-model-rows') return { rows: refTo(`rows ${String(input['parts'])}`) };
      return { assetIds: identifiers, diagnostics: {}, factorModel: null, factors: null, excluded: {} };
    },
    inParts: async ({ count, here }: Parts) =>
      Promise.all(Array.from({ length: count }, async (_, part) => ({ artifact: await here(part, 0), parts: [part] }))),
    outputs: (files: readonly string[]) => Object.fromEntries(files.map((file) => [file, file])),
  } as unknown as Attempt;
  const payload: RiskModelPayload = {
    model_id: 'm',
    request: RiskModelRequest.parse({ identifiers, ...settings }),
    identifiers,
    run: null,
  };
  await kind.run(payload, attempt);
  return { kind, payload, attempt, tasks, names: [...new Set(tasks.map(({ task }) => task))] };
}

const LARGE = ['A', 'B', 'C', 'D'];

test('a model of more securities than one thread estimates is computed in parts', async () => {
  for (const estimator of ['shrinkage', 'statistical', 'industries', 'styles']) {
    const { tasks, names } = await ran(LARGE, { estimator });
    expect(names).toEqual(['risk-model-size', 'risk-model-rows', 'sum-risk-model']);
    const files = Array.from({ length: MODEL_PARTS }, (_, part) => {
      const name = `rows ${part}`;
      return { artifact: name, sha256: name, parts: [part] };
    });
    expect(tasks.at(-1)!.input['files']).toEqual(files);
  }
});

test('smaller models, and those of the other estimators, are computed whole', async () => {
  expect((await ran(LARGE.slice(1), {})).names).toEqual(['estimate-risk-model']);
  expect((await ran(LARGE, {}, WHOLE_MAX)).names).toEqual(['risk-model-size', 'estimate-risk-model']);
  for (const estimator of ['nonlinear', 'gerber', 'denoised', 'newey_west'])
    expect((await ran(LARGE, { estimator })).names).toEqual(['estimate-risk-model']);
});

test('a model of too many securities is refused, and other nodes compute some parts in one task', async () => {
  await expect(ran(LARGE, {}, 20_001)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  const { kind, payload, attempt, tasks } = await ran(LARGE, {});
  const { result } = await kind.runParts!(payload, [3, 5], attempt);
  expect(result).toEqual({ artifact: refTo('rows 3,5') });
  expect(tasks.at(-1)!.input).toMatchObject({ parts: [3, 5], universe: { kind: 'names', identifiers: LARGE } });
});
