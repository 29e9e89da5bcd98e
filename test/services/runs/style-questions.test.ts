import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { RunDocument } from '#domain/definition/runs.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import { listStyleQuestions } from '#services/runs/warm-up.js';
import { createIndex, createServedMarket, run, warmUp } from './warming.js';

/** Returns the requests for the exposures of a run. The run is given by its file of columns. */
const createExportRequest = (inputs: ReturnType<typeof warmUp>['inputs'], columns: string) =>
  inputs
    .flatMap(({ task, input }) => (task === 'view-run' ? [input as TaskInput<'view-run'>] : []))
    .flatMap((input) =>
      input.view === 'exposures' && input.columns === `/home/columns of ${columns}`
        ? [{ fields: input.fields.join(), start: input.start, end: input.end }]
        : [],
    );

test('the other datapoints are precomputed for the latest run of a single service, and for a requested run of any service, after all other work', async () => {
  const documents: Record<string, object> = { 'index CAP': createIndex('CAP') };
  for (const k of [1, 2])
    documents[`run CAP${k}`] = { ...run(`CAP${k}`, { store_id: 'store', run_at: `202${k}-01-01` }), index_id: 'CAP' };
  const market = createServedMarket('a', { dates: 300, firstDay: parseValidDay('2010-01-01') });
  const sharedInputs = warmUp({ stored: documents, isAlone: false });
  sharedInputs.serve(market);
  await sharedInputs.tick();
  const ownInputs = warmUp({ stored: documents });
  ownInputs.serve(market);
  await ownInputs.tick();
  const [before, after] = [sharedInputs, ownInputs].map(({ inputs }) => inputs.map(({ input }) => input));
  expect(after!.slice(0, before!.length)).toEqual(before);
  const createQuestions = (fields: string) => [
    { fields, start: '2010-01-04', end: '2010-10-27' },
    { fields, start: undefined, end: undefined },
  ];
  const OTHERS = [
    'AGE',
    'FREE_FLOAT_MARKET_CAP',
    'PRICE_RETURN',
    'RETURN',
    'SHARES_OUTSTANDING',
    'MOMENTUM',
    'VOLATILITY',
    'BETA',
  ];
  expect(createExportRequest(ownInputs.inputs.slice(before!.length), 'CAP2')).toEqual(OTHERS.flatMap(createQuestions));
  expect(createExportRequest(ownInputs.inputs, 'CAP1')).toHaveLength(2);
  ownInputs.noteRequest('CAP1');
  await ownInputs.tick();
  expect(createExportRequest(ownInputs.inputs, 'CAP1').slice(2)).toEqual(OTHERS.flatMap(createQuestions));
  ownInputs.noteRequest('CAP1');
  expect(await ownInputs.tick()).toEqual([]);
  sharedInputs.noteRequest('CAP1');
  await sharedInputs.tick();
  expect(sharedInputs.inputs.slice(before!.length).map(({ input }) => input)).toEqual(
    ownInputs.inputs.slice(-2 * OTHERS.length).map(({ input }) => input),
  );
});

test('ranges of dates contain each date of a run once, begin at blocks of windows, and have few datapoints if they are long', () => {
  const createMarket = (names: number, dates: number, columns: number): MarketData => ({
    ...createServedMarket('a', { dates, firstDay: parseValidDay('2009-07-01') }).market,
    identifiers: Array.from({ length: names }, (_, i) => `N${i}`),
    fields: new Map(Array.from({ length: columns }, (_, k) => [`COLUMN${k}`, new Float64Array(0)])),
  });
  const core = RunDocument.parse(run('CORE'));
  const groupByField = (data: MarketData) => {
    const byField = new Map<string, ReturnType<typeof listStyleQuestions>>();
    for (const question of listStyleQuestions(data, core, ['AGE']))
      byField.set(question.field, [...(byField.get(question.field) ?? []), question]);
    return byField;
  };
  const data = createMarket(500, 2600, 3);
  const computePositions = (text: string | null) => data.dates.indexOf(parseValidDay(text!));
  const request = groupByField(data);
  expect([...request.keys()]).toEqual([
    'DIVIDEND_YIELD',
    'PRICE_RETURN',
    'RETURN',
    'COLUMN0',
    'COLUMN1',
    'COLUMN2',
    'MOMENTUM',
    'VOLATILITY',
    'BETA',
  ]);
  for (const questions of request.values()) {
    expect(questions.at(-1)).toMatchObject({ start: null, end: null });
    const ranges = questions
      .slice(0, -1)
      .map(({ start, end }) => [computePositions(start), computePositions(end)] as const);
    const dates = ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, k) => from + k));
    const first = computePositions('2010-01-04');
    expect(dates).toEqual(Array.from({ length: 2600 - first }, (_, k) => first + k));
    for (const [from] of ranges.slice(1)) expect(from % 252).toBe(0);
  }
  expect(request.get('BETA')!.length).toBeGreaterThan(2 * request.get('RETURN')!.length);
  expect(groupByField(createMarket(5000, 2600, 0)).has('BETA')).toBe(false);
  // 12 MiB, with 180 bytes per date.
  const questionsMax = Math.floor((12 * 2 ** 20) / (180 * (2600 - computePositions('2010-01-04'))));
  expect(groupByField(createMarket(10, 2600, 99)).size).toBe(questionsMax);
});
