import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PreviewResponse } from '#contract/indices/previews.js';
import { PLUGIN_EXAMPLES, type ListedPlugin, type Plugin, type PluginPreview } from '#contract/plugins.js';
import type { StaleState } from '#domain/backtest/plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { Finding } from '#domain/base/findings.js';
import { openLiveService, type LiveService } from '../../real/live.js';

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService();
  await service.job('/data/synthetic', { store_id: 'm', seed: 3, assets: 25, start: '2020-01-02', end: '2022-06-30' });
  for (const [id, body] of Object.entries(PLUGIN_EXAMPLES)) await service.ok('PUT', `/plugins/${id}`, body);
});
afterAll(() => service.close());

const definition = {
  id: 'NEAR',
  name: 'Near their highs',
  calendar: 'XNYS',
  base_date: '2021-03-01',
  rebalance: { frequency: 'quarterly' },
  plugins: {
    NEAR_HIGH: { plugin: 'near-high', parameters: { minimum: 0.85 } },
    RESIDUAL: { plugin: 'residual-momentum' },
    DAMPED: { plugin: 'damped-cap' },
  },
  pipeline: {
    selection: [
      { id: 'high', type: 'PluginFilter', params: { plugin: 'NEAR_HIGH' } },
      { id: 'momentum', type: 'TopN', params: { count: 8, field: 'RESIDUAL' } },
    ],
    weighting: { type: 'PluginWeight', params: { plugin: 'DAMPED' } },
  },
};

/** Expression for each of the three plug-ins, if there is one. */
const byExpressions = {
  ...definition,
  id: 'WRITTEN',
  plugins: { RESIDUAL: { plugin: 'residual-momentum' } },
  pipeline: {
    selection: [
      { id: 'high', type: 'ExpressionFilter', params: { expression: 'CLOSE / max(CLOSE, window=252) >= 0.85' } },
      definition.pipeline.selection[1]!,
    ],
    weighting: { type: 'FieldWeight', params: { field: 'sqrt(FREE_FLOAT_MARKET_CAP)' } },
  },
};

test('a definition with the three examples has the weights of equivalent expressions', async () => {
  const readWeights = async (document: object) => {
    const body = { document, as_of: '2022-03-31' };
    const { weights } = await service.ok<PreviewResponse>('POST', '/indices/preview', body);
    return Object.entries(weights);
  };
  const [pluginWeights, writtenWeights] = [await readWeights(definition), await readWeights(byExpressions)];
  expect(pluginWeights.length).toBeGreaterThan(3);
  expect(pluginWeights.map(([name]) => name)).toEqual(writtenWeights.map(([name]) => name));
  pluginWeights.forEach(([, weight], i) => expect(weight).toBeCloseTo(writtenWeights[i]![1], 14));
});

test('a run is stale once its plug-in has changed', async () => {
  await service.ok('PUT', '/indices/NEAR', definition);
  await service.job('/analytics/NEAR/backtest');
  const fetchStale = async () =>
    (await service.ok<{ stale: StaleState | null }>('GET', '/analytics/NEAR/overview')).stale;
  expect(await fetchStale()).toBeNull();
  const { source } = PLUGIN_EXAMPLES['near-high'];
  const { sha256 } = await service.ok<Plugin>('GET', '/plugins/near-high');
  await service.ok('PUT', '/plugins/near-high', { ...PLUGIN_EXAMPLES['near-high'], source: `// Changed.\n${source}` });
  expect((await service.ok<Plugin>('GET', '/plugins/near-high')).sha256).not.toBe(sha256);
  expect(await fetchStale()).toMatchObject({
    definition: true,
    reasons: ['The index NEAR changed since this run: plugins.'],
  });
});

describe('a preview', () => {
  const previewPlugin = (plugin: object, more: object = {}) =>
    service.ok<PluginPreview>('POST', '/plugins/preview', { plugin, ...more });

  test('has the values of compute for every security, the largest first, and stores nothing', async () => {
    const half = { ...PLUGIN_EXAMPLES['damped-cap'], parameters: { power: 1 } };
    const {
      valid,
      as_of: session,
      securities,
      valued,
      values,
    } = await previewPlugin(half, { parameters: { power: 0.5 } });
    expect([valid, session]).toEqual([true, '2022-06-30']);
    expect([values.length, valued]).toEqual([securities, securities]);
    expect(values).toEqual(values.toSorted((a, b) => b.value - a.value));
    const [{ identifier, value }] = values as [PluginPreview['values'][number]];
    const request = { expression: 'sqrt(FREE_FLOAT_MARKET_CAP)', identifiers: [identifier] };
    const { values: written } = await service.ok<{ values: { value: number }[] }>(
      'POST',
      '/indices/datapoints/evaluate',
      request,
    );
    expect(value).toBeCloseTo(written[0]!.value, 8);
    expect((await previewPlugin(half, { limit: 3 })).values).toHaveLength(3);
    const { plugins } = await service.ok<{ plugins: ListedPlugin[] }>('GET', '/plugins');
    expect(plugins).toHaveLength(Object.keys(PLUGIN_EXAMPLES).length);
    const users = plugins.flatMap(({ plugin_id: id, used_by: ids }) => ids.map((index) => [index, id] as const));
    expect(users.length).toBeGreaterThan(0);
    for (const [index, id] of users) {
      const { plugins: named } = await service.ok<IndexDocument>('GET', `/indices/${index}`);
      expect(Object.values(named ?? {}).map(({ plugin }) => plugin)).toContain(id);
    }
  });

  test('states the failing line of a script, and a missing column or parameter', async () => {
    const inputs = { close: 'CLOSE' };
    const previewInvalid = async (plugin: object, more: object = {}) => {
      const { valid, values, findings } = await previewPlugin(
        { name: 'X', kind: 'datapoint', inputs, ...plugin },
        more,
      );
      expect([valid, values]).toEqual([false, []]);
      return findings.map(({ path, message }) => `${path}: ${message}`);
    };
    const fails = 'function compute({ close }) {\n  return close.map(() => missing);\n}';
    expect(await previewInvalid({ source: fails })).toEqual([
      expect.stringMatching(/^source: The source .*line 2.*2022-06-30/),
    ]);
    expect(await previewInvalid({ source: 'function compute( {' })).toEqual([
      expect.stringMatching(/^source: The source /),
    ]);
    const source = 'function compute({ close }) { return close; }';
    expect(await previewInvalid({ source, inputs: { close: 'ESG_SCORE' } })).toEqual([
      expect.stringMatching(/^inputs: .*ESG_SCORE/),
    ]);
    expect(await previewInvalid({ source }, { parameters: { power: 2 } })).toEqual([
      expect.stringMatching(/^request\.parameters\.power: /),
    ]);
  });
});

describe('a plug-in that reads a column which the store lacks', () => {
  const lackingIndex = {
    ...definition,
    id: 'LACKING',
    plugins: { ...definition.plugins, RESIDUAL: { plugin: 'esg' } },
  };
  const message = 'The store has no ESG_SCORE; the input score of the plug-in esg reads it.';
  beforeAll(() =>
    service.ok('PUT', '/plugins/esg', {
      name: 'ESG',
      kind: 'datapoint',
      inputs: { score: { expression: 'ESG_SCORE', sessions: 5 }, close: 'CLOSE' },
      source: 'function compute({ close }) { return close; }',
    }),
  );
  const listUnknownNames = (findings: readonly Finding[]) =>
    findings
      .filter(({ code }) => code === 'UNKNOWN_FIELD_NAME')
      .map(({ severity, path, message: text }) => [severity, path, text]);
  const location = 'pipeline.selection[1].params.field';

  test('is reported with the column when the definition is validated and stored', async () => {
    const { valid, findings } = await service.ok<{ valid: boolean; findings: Finding[] }>(
      'POST',
      '/indices/validate',
      lackingIndex,
    );
    expect(valid).toBe(true);
    expect(listUnknownNames(findings)).toEqual([['warning', location, message]]);
    const storedIndex = await service.ok<{ findings: Finding[] }>('PUT', '/indices/LACKING', lackingIndex);
    expect(listUnknownNames(storedIndex.findings)).toEqual([['warning', location, message]]);
  });

  test('refuses a preview and a backtest before anything is computed', async () => {
    for (const path of ['/indices/LACKING/preview', '/analytics/LACKING/backtest']) {
      const { status, body } = await service.ask<{ error: { code: string; detail: { findings: Finding[] } } }>(
        'POST',
        path,
        {},
      );
      expect([status, body.error.code]).toEqual([422, 'VALIDATION_FAILED']);
      expect(listUnknownNames(body.error.detail.findings)).toEqual([['error', location, message]]);
    }
  });

  test('is a finding of the expression that reads it', async () => {
    const { valid, findings } = await service.ok<{ valid: boolean; findings: Finding[] }>(
      'POST',
      '/indices/datapoints/evaluate',
      {
        expression: 'RESIDUAL * 2',
        expects: 'number',
        plugins: lackingIndex.plugins,
      },
    );
    expect(valid).toBe(false);
    expect(listUnknownNames(findings)).toEqual([['error', 'expression', message]]);
  });
});
