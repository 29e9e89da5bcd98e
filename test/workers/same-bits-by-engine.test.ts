import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readMethodologies } from '#cli/compose/package-files.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { BacktestFields } from '#domain/definition/runs.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createTemplateDocuments } from '#domain/definition/methodology-templates.js';
import { OptimisationRequest } from '#domain/definition/optimisation-requests.js';
import { shareMarket } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import type { ThreadPool } from '#jobs/port/compute-pool.js';
import { RUN_FILES } from '#jobs/tasks/runs.js';
import { createPool } from '#jobs/pool.js';
import { listNativeSets } from '#kernels/engines/native-kernels.js';
import { openNumericEngine } from '#kernels/engines/open-engine.js';
import { computeContentHash } from '#market/content/content-hash.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { readFolderContent } from '../market/store-folder.js';
import { drawStore, writeStore } from '../methodologies/store.js';
import { IS_SOAK } from '../soak.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';
import { writeOutputs } from './task-outputs.js';

/** Names of the runs in `npm test`. The soak performs all runs. */
const QUICK = new Set(['hierarchical-risk-parity', 'PositionBounds', '{}']);

const BASE_DATE = '2015-04-01';
const calendars = openCalendars();
const folder = join(await openTemporaryFolders()(), 'store');
await writeStore(drawStore(), folder);
const content = await readFolderContent(folder);
const { identifiers } = content;
const handle = shareMarket({
  ...content,
  datasetId: 'drawn',
  contentHash: await computeContentHash(content),
  adjustment: 'none',
  currency: 'USD',
});
const writtenOutputs = await writeOutputs();
/** Pools by engine. Each thread loads the program only once for all tests. */
const pools = new Map<string, ThreadPool>();
afterAll(async () => {
  for (const pool of pools.values()) await pool.close();
  await writtenOutputs.remove();
});

/** Function that runs a task in a thread of a pool. It returns the hashes of the stored results. */
type GoldenTask = (pool: ThreadPool) => Promise<unknown>;

const backtests = readMethodologies().flatMap((template): (readonly [string, GoldenTask])[] => {
  const bodies = createTemplateDocuments(template, { baseDate: BASE_DATE });
  const documents: Record<string, IndexDocument> = {};
  for (const body of bodies) {
    const { document } = validateIndex(body, { calendars: calendars.list(), indexOf: (id) => documents[id] });
    documents[document!.id] = document!; // the templates of the package are valid
  }
  return Object.values(documents).map(({ id, name }) => [
    template.id,
    async (pool) => {
      const plan = { runId: id, name, indexId: id, documents, request: BacktestFields.parse({}) };
      const input = { market: handle, plan, engineVersion: 'any', outputs: writtenOutputs.outputs(...RUN_FILES) };
      const { columns, prices, checkpoint } = await pool.run({ lane: 'heavy', task: 'backtest', input }).output;
      return [id, columns.sha256, prices?.sha256, checkpoint?.sha256];
    },
  ]);
});

const models = [
  {},
  { intensity_method: 'ledoit_wolf' },
  { half_life: 40, target: 'scaled_identity' },
  { intensity: 0 },
  { estimator: 'statistical', factors: 3 },
  { estimator: 'industries' },
  { start: '2017-12-01', intensity_method: 'ledoit_wolf' }, // fewer observations than securities
].map((settings): readonly [string, GoldenTask] => [
  JSON.stringify(settings),
  async (pool) => {
    const request = RiskModelRequest.parse({ identifiers, ...settings });
    const outputs = writtenOutputs.outputs('covariance', 'factors');
    const input = { market: handle, universe: { kind: 'names', identifiers } as const, request, outputs };
    const { covariance, factors, diagnostics } = await pool.run({ lane: 'heavy', task: 'estimate-risk-model', input })
      .output;
    return [covariance.sha256, factors?.sha256, diagnostics];
  },
]);

const index = IndexDocument.parse({
  id: 'CAP',
  name: 'Cap',
  calendar: 'XNYS',
  base_date: BASE_DATE,
  pipeline: { weighting: { type: 'MarketCapWeight' } },
});
const optimisations = CONSTRAINT_CLASSES.map(({ type, example }): readonly [string, GoldenTask] => [
  type,
  async (pool) => {
    const request = OptimisationRequest.parse({ index_id: index.id, constraint_set_id: type, start: '2016-06-01' });
    const terms = {
      runId: type,
      documents: { CAP: index },
      constraints: [ConstraintRow.parse(example)],
      request,
      measuredBy: null,
    };
    const input = { ...terms, market: handle, outputs: writtenOutputs.outputs('result') };
    return (await pool.run({ lane: 'heavy', task: 'optimise', input }).output).result.sha256;
  },
]);

/** Returns results by position. In place of a refusal it returns the message. */
async function computeOnNumerics(
  numerics: string,
  goldens: readonly (readonly [string, GoldenTask])[],
): Promise<unknown[]> {
  const pool = pools.get(numerics) ?? createPool({ workers: 1, numerics });
  pools.set(numerics, pool);
  const results: unknown[] = [];
  for (const [name, run] of goldens)
    results.push([
      name,
      await run(pool).catch((failure: unknown) => {
        if (failure instanceof Refusal) return failure.message;
        throw failure;
      }),
    ]);
  return results;
}

function listNativeEngines() {
  try {
    return listNativeSets().map((set) => `native:${set}` as const);
  } catch (failure) {
    console.log(`Stored results are not compared with native kernels: ${(failure as Error).message}`);
    return [];
  }
}

describe.skipIf(listNativeEngines().length === 0)(
  'native kernels of each instruction set store the bits of WebAssembly',
  () => {
    test.each([
      ['runs of the published methodologies', backtests],
      ['risk models', models],
      ['optimisations with each constraint', optimisations],
    ])('as %s', { timeout: 1_800_000 }, async (kind, all) => {
      const goldens = all.filter(([name]) => IS_SOAK || QUICK.has(name));
      const plainResults = await computeOnNumerics('wasm', goldens);
      expect(plainResults).toHaveLength(goldens.length);
      const storedResults = plainResults.filter(
        (result) => !/^[A-Z].* /.test(String((result as [string, unknown])[1])),
      );
      expect(storedResults.length).toBeGreaterThan(goldens.length / 2);
      if (IS_SOAK)
        console.log(`${storedResults.length} stored, ${goldens.length - storedResults.length} refused, ${kind}`);
      for (const engine of listNativeEngines()) {
        expect((await openNumericEngine(engine)).asAsked).toBe(true);
        expect(await computeOnNumerics(engine, goldens), engine).toEqual(plainResults);
      }
    });
  },
);
