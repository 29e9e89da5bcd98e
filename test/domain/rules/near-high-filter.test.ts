import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkParams, createTypeSpec } from '#domain/definition/catalogue.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { nearHighFilter } from './near-high-filter.js';
import { alignDays, createGeneratedMarket } from './rule-market.js';
import { slowMarket } from './slow-market.js';

/** Tests the rule class that the guide has as its example. The laws of all classes test it as well. */

test('is served as its object declares, and validates its parameters', () => {
  expect(createTypeSpec(nearHighFilter)).toMatchObject({
    type: 'NearHighFilter',
    category: 'selection',
    parameters: [
      { name: 'minimum', type: 'number', required: true, help: 'Least share of the highest close. Unit: fraction.' },
      { name: 'window', type: 'integer', default: 252 },
      { name: 'missing', choices: ['exclude', 'include'] },
    ],
  });
  const listParamFindings = (params: Record<string, unknown>) =>
    checkParams(nearHighFilter.params, params, { path: 'params', rowId: 'near' }).findings.map(
      ({ code, path }) => `${code} ${path}`,
    );
  expect(listParamFindings(nearHighFilter.example['params'] as Record<string, unknown>)).toEqual([]);
  expect(listParamFindings({ minimum: 2, windw: 3 })).toEqual([
    'OUT_OF_RANGE params.minimum',
    'UNKNOWN_PARAMETER params.windw',
  ]);
});

test('keeps the securities of its definition, and gives the reasons', () => {
  const market = createGeneratedMarket({ names: 60, sessions: 300, seed: 6 });
  const sm = alignDays(market);
  const slow = slowMarket(market);
  const universe = sm.identifiers.flatMap((name, column) => (slow.isPriceable(name, 280) ? [column] : []));
  const columns = Int32Array.from(universe);
  const cross = createIndexCrossSections({ market: sm, treatment: TreatmentSpec.parse({}), currency: 'USD' }).at(
    280,
    columns,
  );
  const rule = nearHighFilter.bind({ minimum: 0.9, window: 60 });
  const { kept, because } = rule.select({ cross, columns, identifiers: sm.identifiers, incumbents: null });
  const shares = universe.map((column) => {
    const name = sm.identifiers[column]!;
    const close = slow.latest('CLOSE', name, 280);
    const high = slow.over('CLOSE', name, 280, 60, (values) => Math.max(...values));
    return close === null || high === null ? null : close / high;
  });
  expect([...kept]).toEqual(shares.map((share) => (share !== null && share >= 0.9 ? 1 : 0)));
  expect(new Set(kept)).toEqual(new Set([0, 1]));
  shares.forEach((share, position) =>
    expect(because(position)).toMatchObject({
      value: share,
      threshold: share === null ? null : 0.9,
      test: 'close over the highest at least 0.9',
    }),
  );
  expect(rule.sentence).toBe(
    'Keep securities whose close is at least 0.9 of the highest over 60 sessions; securities without a value are excluded.',
  );
});

test('a rule class is named in the module of its catalogue, and nowhere else in the rooms that compute and serve', () => {
  const folders = ['src/domain', 'src/services', 'src/views', 'src/http', 'workers', 'kernels'];
  const files = folders.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${room}/${name}`),
  );
  const sources = files.map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  // Documents interpret index shares by the name of their weighting.
  const otherSources = sources.filter(({ file }) => !file.endsWith('/index-document.ts'));
  const namedTypes = [...SELECTION_CLASSES, ...WEIGHTING_CLASSES]
    .filter(({ type }) => type !== 'TiltWeight')
    .map(({ type }) => ({
      type,
      files: otherSources.filter(({ text }) => text.includes(`'${type}'`)).map(({ file }) => file),
    }));
  expect(namedTypes.filter(({ files: own }) => own.length !== 1)).toEqual([]);
});
