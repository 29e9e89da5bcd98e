import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLUGIN_EXAMPLES } from '#contract/plugins.js';
import { computeFileBytes } from '#domain/risk/estimation.js';
import type { RiskModelDocument } from '#domain/risk/risk-models.js';
import { verifyBundle } from '#engine/main.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import { listHomeFolders } from '#store/home/home.js';
import { verifyHome } from '#store/home/verify.js';
import type { ArtifactRef } from '#store/port.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { readTar } from '#views/bundle/tar.js';
import { runService, type RunningService } from '../services/running-service.js';
import { addFiles, addHashes } from './rewritten-bundle.js';
import { createFrame } from '../table-frame.js';

/**
 * Service for bundles of runs that read more than a market: plug-ins, stored risk models and earlier versions of the
 * data.
 */
let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

async function requireBody<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await service.ask<T>(method, path, body);
  expect([path, answer.status, answer.status >= 300 && answer.body]).toEqual([path, expect.any(Number), false]);
  return answer.body;
}

async function runJob(path: string, body: unknown): Promise<void> {
  const { job_id: id } = await requireBody<{ job_id: string }>('POST', path, body);
  expect(await service.waitForJob(id)).toMatchObject({ error: null, status: 'succeeded' });
}

async function downloadBundle(id: string): Promise<Uint8Array> {
  const answer = await service.download(`/analytics/${id}/published/bundle`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect([answer.status, answer.status === 200 ? '' : new TextDecoder().decode(bytes)]).toEqual([200, '']);
  return bytes;
}

const listFaultKinds = async (bundle: Uint8Array) => [
  ...new Set((await verifyBundle(bundle)).faults.map(({ kind }) => kind)),
];
const listFileNames = (bundle: Uint8Array) => [...readTar(bundle).keys()];

const editFile = (bundle: Uint8Array, name: string, from: string, to: string) =>
  addFiles(bundle, (files) => {
    const text = new TextDecoder().decode(files.get(name));
    expect(text).toContain(from);
    return { [name]: new TextEncoder().encode(text.replaceAll(from, to)) };
  });

describe('on a synthetic market', () => {
  const rules = {
    name: 'Proved',
    calendar: 'XNYS',
    base_date: '2023-02-01',
    rebalance: { frequency: 'monthly' },
  };

  async function bundleIndex(document: { readonly id: string }): Promise<Uint8Array> {
    await requireBody('PUT', `/indices/${document.id}`, document);
    await runJob(`/analytics/${document.id}/backtest`, { end: '2023-05-31' });
    await requireBody('POST', `/analytics/${document.id}/publish`, {});
    return downloadBundle(document.id);
  }

  beforeAll(async () => {
    await runJob('/data/synthetic', { store_id: 's', seed: 5, assets: 20, start: '2022-01-03', end: '2023-06-30' });
  });

  test('the closes of plug-ins are recomputed, and a changed source or parameter is detected', async () => {
    await requireBody('PUT', '/plugins/near-high', PLUGIN_EXAMPLES['near-high']);
    await requireBody('PUT', '/plugins/damped-cap', PLUGIN_EXAMPLES['damped-cap']);
    const bundle = await bundleIndex({
      ...rules,
      id: 'PLUGGED',
      plugins: { HIGH: { plugin: 'near-high', parameters: { minimum: 0.8 } }, DAMPED: { plugin: 'damped-cap' } },
      pipeline: {
        selection: [{ id: 'high', type: 'PluginFilter', params: { plugin: 'HIGH' } }],
        weighting: { type: 'PluginWeight', params: { plugin: 'DAMPED' } },
      },
    } as { id: string });
    expect(await verifyBundle(bundle)).toMatchObject({ ok: true, faults: [] });
    expect(await listFaultKinds(editFile(bundle, 'plan.json', 'Math.pow(size, power)', 'Math.pow(size, 0.4)'))).toEqual(
      ['file', 'close'],
    );
    const hiddenChange = addHashes(editFile(bundle, 'plan.json', '"minimum":0.8', '"minimum":0.99'));
    expect(await listFaultKinds(hiddenChange)).toEqual(['signature', 'close']);
    // A plug-in that does not end is stopped. This is reported as an error of the plug-in.
    const loop = addHashes(editFile(bundle, 'plan.json', 'return Array.from(cap', 'for (;;); return Array.from(cap'));
    const verdict = await verifyBundle(loop);
    expect(verdict.faults.at(-1)!.message).toMatch(/The plug-in damped-cap took more than .* steps/);
  });

  test('the covariances of a stored risk model are in the bundle, and a changed one is detected', async () => {
    // the ten securities with the most prices before June
    const { data } = await requireBody<{ data: [string][] }>('POST', '/sql', {
      query:
        "SELECT identifier FROM prices WHERE date < '2023-06-01' AND CLOSE IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 10",
    });
    await requireBody('PUT', '/indices/PARENT', {
      ...rules,
      id: 'PARENT',
      base_date: '2022-02-01',
      universe: { kind: 'list', identifiers: data.map(([name]) => name) },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    await runJob('/analytics/PARENT/backtest', { end: '2023-05-31' });
    await runJob('/risk-models/own/estimate', { index_id: 'PARENT', end: '2023-01-31' });
    const bundle = await bundleIndex({ ...leastDocument, id: 'LEAST' });
    expect(listFileNames(bundle)).toContain('model-0.f64');
    expect(await verifyBundle(bundle)).toMatchObject({ ok: true, faults: [] });
    const changedBundle = addFiles(bundle, (files) => {
      const bytes = files.get('model-0.f64')!.slice();
      new Float64Array(bytes.buffer)[0]! *= 2;
      return { 'model-0.f64': bytes };
    });
    expect(await listFaultKinds(changedBundle)).toEqual(['file', 'close']);
    expect(await listFaultKinds(addHashes(changedBundle))).toEqual(['signature', 'close']);
    await writeInSeveralFiles(bundle, changedBundle);
  });

  const leastDocument = {
    ...rules,
    derivation: { source_index_id: 'PARENT', objective: { type: 'min_variance' }, risk_model: 'own' },
  };

  /** Repeats the checks with a model that is stored in parts. So its matrix is in several files. */
  async function writeInSeveralFiles(before: Uint8Array, after: Uint8Array): Promise<void> {
    const model = await requireBody<Model>('GET', '/risk-models/own');
    const ownModel = await rebuildDividedModel(model.asset_ids.length);
    expect(await requireBody<Model>('GET', '/risk-models/own')).toEqual({
      ...model,
      content_hash: expect.any(String) as string,
    });
    const bundle = await bundleIndex({ ...leastDocument, id: 'DIVIDED' });
    const readLevels = async (id: string) =>
      (await requireBody<{ levels: object }>('GET', `/analytics/${id}/levels`)).levels;
    expect(await readLevels('DIVIDED')).toEqual(await readLevels('LEAST'));
    const { checks } = await requireBody<Checks>('GET', '/analytics/DIVIDED/reconcile');
    expect(checks.filter(({ name, holds }) => holds && name.startsWith('stored risk model own, file'))).toHaveLength(
      ownModel.length,
    );
    expect(await verifyBundle(bundle)).toMatchObject({ ok: true, faults: [] });
    const matrix = readTar(before).get('model-0.f64')!;
    expect(Buffer.compare(readTar(bundle).get('model-0.f64')!, matrix)).toBe(0);
    const damagedBundle = addFiles(bundle, () => ({ 'model-0.f64': readTar(after).get('model-0.f64')! }));
    expect(await listFaultKinds(addHashes(damagedBundle))).toEqual(['signature', 'close']);
    expect((await verifyHome(openHome())).flatMap(({ damaged: faults }) => faults)).toEqual([]);
    expect((await service.ask('DELETE', '/risk-models/own')).status).toBe(204);
    await service.restart(async () => {}, 'handed on');
    expect(ownModel.filter((name) => existsSync(join(openHome().artifacts, name)))).toEqual([]);
    expect(await verifyBundle(await downloadBundle('DIVIDED'))).toMatchObject({ ok: true, faults: [] }); // checked with the files of the run
  }

  const openHome = () => listHomeFolders(join(service.root, 'home'));

  /** Divides the matrix of a stored model into files, one per part. @returns the names of the files */
  async function rebuildDividedModel(assets: number): Promise<readonly string[]> {
    let names: string[] = [];
    await service.restart(async () => {
      const documents = await openDocumentStore({ folder: openHome().documents });
      const artifacts = await openArtifacts(openHome().artifacts);
      const { body } = (await documents.get('risk-model', 'own')) as { body: RiskModelDocument };
      const bytes = await artifacts.read(body.covariance as ArtifactRef);
      const files: ArtifactRef[] = [];
      let position = 0;
      for (const length of computeFileBytes(assets)) {
        const part = bytes.slice(position, (position += length));
        files.push(await artifacts.write(part, sha256(part)));
      }
      const covariance = { sha256: sha256(files.map((file) => file.sha256).join('')), files };
      await documents.transaction((tx) =>
        tx.put('risk-model', 'own', { ...body, covariance, content_hash: 'divided' }),
      );
      await documents.close();
      names = files.map(({ name }) => name);
    }, 'handed on');
    await service.resumed();
    return names;
  }
});

interface Checks {
  readonly checks: readonly { readonly name: string; readonly holds: boolean }[];
}

interface Model {
  readonly asset_ids: readonly string[];
}

const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

describe('on data with a corrected price', () => {
  const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
  const CLOSES = { A: [10, 10, 10, 10, 20, 20, 20], B: [10, 10, 10, 10, 10, 10, 10] };
  const importStore = (wrong: number) => {
    const data = DATES.flatMap((date, t) =>
      (['A', 'B'] as const).map((name) => [name, date, name === 'B' && t === 3 ? wrong : CLOSES[name][t]!]),
    );
    const market = createFrame(['identifier', 'date', 'CLOSE'], data);
    return requireBody('POST', '/data/import', {
      store_id: 'm',
      name: 'M',
      tables: { market },
      on_exists: 'replace',
      activate: true,
    });
  };

  test('decisions on data known at the time are recomputed from the earlier content', async () => {
    await importStore(40);
    await importStore(10);
    await requireBody('PUT', '/indices/DESK', {
      id: 'DESK',
      name: 'Desk',
      calendar: 'XNYS',
      base_date: '2024-01-02',
      rebalance: { frequency: 'weekly' },
      pipeline: { weighting: { type: 'PriceWeight' } },
    });
    await service.restart(async () => {
      const documents = await openDocumentStore({ folder: join(service.root, 'home', 'documents') });
      await documents.transaction(async (tx) => {
        for (const [version, known_at] of [
          [1, '2024-01-01T00:00:00.000000+00:00'],
          [2, '2024-01-08T18:00:00.000000+00:00'],
        ] as const) {
          const id = `m/${String(version).padStart(10, '0')}`;
          const storedVersion = (await tx.get('data-version', id)) as { body: object };
          await tx.put('data-version', id, { ...storedVersion.body, known_at });
        }
      });
      await documents.close();
    }, 'new');
    await service.resumed();
    await runJob('/analytics/DESK/backtest', { as_known: 'decision' });
    const { runs } = await requireBody<{ runs: { run_id: string }[] }>('GET', '/analytics/DESK/runs');
    await requireBody('POST', '/analytics/DESK/publish', { run_id: runs[0]!.run_id });
    const bundle = await downloadBundle('DESK');
    expect(listFileNames(bundle)).toEqual(expect.arrayContaining(['known.json', 'change-0.bin']));
    expect(await verifyBundle(bundle)).toMatchObject({ ok: true, closes: DATES.length, faults: [] });
    // With the latest version of the data, decisions would differ: half in A and not a fifth.
    const knownBundle = addFiles(bundle, () => ({
      'known.json': new TextEncoder().encode('{"known_on":-100000,"earlier":[]}'),
    }));
    expect(await listFaultKinds(knownBundle)).toEqual(['file', 'close']);
    expect(await listFaultKinds(addHashes(knownBundle))).toEqual(['signature', 'close']);
  });
});
