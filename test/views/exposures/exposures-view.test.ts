import { expect, test } from 'vitest';
import { openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import {
  createFigures,
  type DatedFigures,
  type FigureCache,
  openStoredHoldings,
  runSide,
} from '#views/dated-figures.js';
import { createExposures, type ExposuresInput, writeExposures } from '#views/exposures.js';
import { createJsonWriter } from '#views/json/writer.js';
import { sampleRun } from '../report/sample-run.js';

const NAMES = 70;
const { columns: file } = sampleRun({ names: NAMES, start: '2020-01-01', end: '2020-12-31' });
const open = (): RunColumns => openColumns((from, to) => file.subarray(from, to));

const COLUMNS = Int32Array.from({ length: NAMES }, (_, place) => place);

/** Returns the value of a datapoint. Some securities have no value on some days. */
const computeValue = (position: number, day: Day): number =>
  (position * 37 + day) % 11 === 0 ? NaN : (position * 13 + day) % 29;
const exposuresInput: Omit<ExposuresInput, 'keep'> = {
  window: { start: null, end: null },
  by: 'SECTOR',
  groups: 4,
  interval: 'native',
  findGroup: (name, day) => ({
    group: `S${(name.charCodeAt(name.length - 1) + Math.floor(day / 90)) % 7}`,
    until: day + 1,
  }),
  benchmark: null,
  engine: referenceEngine,
  fields: {
    fields: ['A'],
    standsAlone: () => true,
    on: (day) => ({
      held: (_side, weights) => ({ columns: COLUMNS, weights, count: NAMES }),
      values: (_field, { columns }, out) => out.set(Float64Array.from(columns, (place) => computeValue(place, day))),
    }),
  },
};

/** Returns a cache of figures like the cache of a thread. Also returns a map of the figures that were kept. */
function createCountedCache(): { readonly keep: FigureCache; readonly kept: Map<string, DatedFigures> } {
  const cache = new Map<string, DatedFigures>();
  const cacheFigures: FigureCache = (what, size) => {
    const key = JSON.stringify(what);
    const figures = cache.get(key) ?? createFigures(size);
    cache.set(key, figures);
    return figures;
  };
  return { keep: cacheFigures, kept: cache };
}

function renderView(
  input: Omit<ExposuresInput, 'keep'>,
  keep: FigureCache = (_what, size) => createFigures(size),
): unknown {
  const json = createJsonWriter();
  writeExposures(json, createExposures(open(), { ...input, keep }));
  return JSON.parse(new TextDecoder().decode(json.bytes()));
}

test('figures cached from other windows and intervals equal those of a new view', () => {
  const { keep } = createCountedCache();
  const asks: Partial<ExposuresInput>[] = [
    { window: { start: '2020-05-04', end: '2020-06-30' }, interval: 'monthly' },
    { window: { start: '2020-03-02', end: '2020-09-30' }, groups: 2 },
    { window: { start: '2020-08-03', end: null }, interval: 'weekly' },
    {},
  ];
  for (const ask of asks)
    expect(renderView({ ...exposuresInput, ...ask }, keep)).toEqual(renderView({ ...exposuresInput, ...ask }));
});

test('the text of a part of earlier output equals the text of a part written separately', () => {
  const { keep, kept } = createCountedCache();
  const formatText = (window: ExposuresInput['window'], keepIn: FigureCache) => {
    const json = createJsonWriter();
    writeExposures(json, createExposures(open(), { ...exposuresInput, groups: 100, window, keep: keepIn }));
    return new TextDecoder().decode(json.bytes());
  };
  const windows: ExposuresInput['window'][] = [
    { start: '2020-02-03', end: '2020-12-30' },
    { start: '2020-02-04', end: '2020-12-29' },
    { start: '2020-08-03', end: '2020-08-03' },
    { start: null, end: '2020-03-31' }, // begins before the cached dates and is shorter
    { start: null, end: null },
    { start: '2020-07-01', end: null },
  ];
  for (const window of windows)
    expect(formatText(window, keep)).toBe(
      formatText(window, (_what, size) => createFigures({ ...size, areWritten: false })),
    );
  const days = open().i32('days').length;
  for (const [key, { texts, values }] of kept) {
    const writtenTexts = Array.from(texts!, (text) => [text?.first, text?.end]);
    expect([key, writtenTexts]).toEqual([key, Array.from({ length: values.length / days }, () => [0, days])]);
  }
});

test('a view that is stopped keeps the earlier dates, and a later view continues after them with equal bits', () => {
  const { keep } = createCountedCache();
  const DATES = 100;
  let dates = 0;
  const onDate = (): void => {
    if (dates === DATES) throw new Error('stopped');
    dates++;
  };
  expect(() => renderView({ ...exposuresInput, onDate }, keep)).toThrow('stopped');
  let otherCount = 0;
  expect(renderView({ ...exposuresInput, onDate: () => void otherCount++ }, keep)).toEqual(renderView(exposuresInput));
  expect(dates + otherCount).toBe(open().i32('days').length);
});

test('cached figures are computed once: a window within another reads no datapoint again', () => {
  const { keep, kept } = createCountedCache();
  renderView(exposuresInput, keep);
  expect(new Set(kept.keys())).toEqual(
    new Set(['["concentration"]', '["groups","SECTOR",null]', '["field","A",null]', '["turnover"]']),
  );
  const fields = { fields: ['A'], standsAlone: () => true, on: () => expect.unreachable() };
  const part = { ...exposuresInput, window: { start: '2020-04-01', end: '2020-04-30' } };
  expect(renderView({ ...part, fields }, keep)).toEqual(renderView(part));
});

test('figures that the run of a benchmark has are not computed again for another run', () => {
  const { holdings, key } = {
    holdings: openStoredHoldings(open(), Int32Array.from(open().header.names.keys())),
    key: 'B',
  };
  const { keep: ofBenchmark } = createCountedCache();
  renderView(exposuresInput, ofBenchmark);
  const fields: ExposuresInput['fields'] = {
    ...exposuresInput.fields,
    on: (day, weights) => ({
      ...exposuresInput.fields.on(day, weights),
      held: (side) => (side === 'own' ? { columns: COLUMNS, weights, count: NAMES } : expect.unreachable()),
    }),
  };
  const benchmarkView = renderView({
    ...exposuresInput,
    fields,
    benchmark: { id: 'B', key, holdings, keep: ofBenchmark },
  });
  expect(benchmarkView).toEqual(renderView({ ...exposuresInput, benchmark: { id: 'B', key, holdings, keep: null } }));
  const dependentFields = { ...fields, standsAlone: () => false };
  expect(() =>
    renderView({
      ...exposuresInput,
      fields: dependentFields,
      benchmark: { id: 'B', key, holdings, keep: ofBenchmark },
    }),
  ).toThrow();
});

test('active share is half the sum of the absolute differences, whatever the order of the securities in a benchmark', () => {
  const columns = open();
  const { names } = columns.header;
  const compareWithEqualBenchmark = (otherNames: readonly string[]) => {
    const weights = new Float64Array(otherNames.length).fill(1 / otherNames.length);
    const holdings = { names: otherNames, on: () => ({ names: otherNames, pass: () => () => weights }) };
    const input = {
      ...exposuresInput,
      fields: { ...exposuresInput.fields, fields: [] },
      benchmark: { id: 'B', key: 'B', holdings, keep: null },
    };
    return createExposures(columns, { ...input, keep: (_what, size) => createFigures(size) });
  };
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  for (const otherNames of [names, names.toReversed(), [...names.slice(5), 'ELSEWHERE']]) {
    const { activeShare, days } = compareWithEqualBenchmark(otherNames);
    for (let t = 0; t < days.length; t += 40) {
      const ownWeights = new Map(names.map((name, i) => [name, columns.f64(block, t * NAMES, (t + 1) * NAMES)[i]!]));
      const all = new Set([...names, ...otherNames]);
      const differences = [...all].map(
        (name) => (ownWeights.get(name) ?? 0) - (otherNames.includes(name) ? 1 / otherNames.length : 0),
      );
      const half = differences.reduce((sum, difference) => sum + Math.abs(difference), 0) / 2;
      expect(activeShare![t]).toBeCloseTo(half, 13);
    }
  }
});

test('groups, concentration and averages are sums over the weights of each date', () => {
  const columns = open();
  const { names } = columns.header;
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const view = createExposures(columns, { ...exposuresInput, groups: 100, keep: (_what, size) => createFigures(size) });
  for (const [t, day] of [...view.days].entries()) {
    if (t % 20 !== 0) continue;
    const weights = [...columns.f64(block, t * NAMES, (t + 1) * NAMES)];
    const sums = new Map<string, number>();
    names.forEach((name, i) => {
      const { group } = exposuresInput.findGroup(name, day);
      sums.set(group, (sums.get(group) ?? 0) + weights[i]!);
    });
    for (const { group, weights: of } of view.groups)
      expect([formatDay(day), of[t]]).toEqual([formatDay(day), expect.closeTo(sums.get(group)!, 13)]);
    expect(view.herfindahl[t]).toBeCloseTo(
      weights.reduce((sum, weight) => sum + weight * weight, 0),
      14,
    );
    expect(view.effective[t]).toBeCloseTo(
      weights.reduce((sum, weight) => sum + Math.abs(weight), 0) ** 2 / view.herfindahl[t]!,
      10,
    );
    expect(view.largest[t]).toBe(Math.max(...weights));
    const valuedNames = weights
      .map((weight, i) => ({ weight, value: computeValue(i, day) }))
      .filter(({ value }) => !Number.isNaN(value));
    const coveredWeight = valuedNames.reduce((sum, { weight }) => sum + weight, 0);
    const { own } = view.fields[0]!;
    expect(own.coverage[t]).toBeCloseTo(coveredWeight, 12);
    expect(own.mean[t]).toBeCloseTo(
      valuedNames.reduce((sum, { weight, value }) => sum + weight * value, 0) / coveredWeight,
      10,
    );
  }
});

test('one group per security exceeds the cache, and sums to the invested weight', () => {
  const { keep, kept } = createCountedCache();
  const findGroup = (name: string) => ({ group: name, until: Infinity });
  const view = createExposures(open(), { ...exposuresInput, by: 'IDENTIFIER', findGroup, groups: 3, keep });
  expect([...kept.keys()].filter((key) => key.includes('groups'))).toEqual([]);
  expect(view.groups.map(({ group }) => group).at(-1)).toBe('OTHERS');
  view.days.forEach((_, t) =>
    expect(view.groups.reduce((sum, { weights }) => sum + weights[t]!, 0)).toBeCloseTo(1, 12),
  );
});

test('a stored run as a benchmark may have its securities in another order, and has the weights of the requested days', () => {
  const columns = open();
  const days = columns.i32('days');
  const positions = Int32Array.of(3, 4, 90, 200);
  const order = Int32Array.from(columns.header.names.keys()).reverse();
  const { names, on } = openStoredHoldings(columns, order);
  expect(names).toEqual(columns.header.names.toReversed());
  const [stored, own] = [on(positions.map((position) => days[position]!)), runSide(columns, positions)].map((side) =>
    side.pass(),
  );
  for (const k of positions.keys()) expect([...stored!(k)]).toEqual([...own!(k)].toReversed());
  expect(() => on(Int32Array.of(days[0]! - 1))).toThrow(/has no holdings on/);
});
