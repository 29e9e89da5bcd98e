import { describe, expect, test } from 'vitest';
import { limitPlanToDate, listDefinitionChanges } from '#domain/backtest/plan.js';
import type { Run } from '#domain/backtest/run.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { findTextInEffect } from '#domain/definition/amendments.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { CALENDARS, runIndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(30); // from Monday 4 March 2024
const listRows = (start: number, step: number): number[] => DAYS.map((_, t) => start + step * t);
const sketch = {
  close: { A: listRows(100, 1), B: listRows(50, -0.5), C: listRows(20, 0) },
  fields: { SHARES_OUTSTANDING: { A: listRows(100, 0), B: listRows(300, 0), C: listRows(1000, 0) } },
  rebalance: { frequency: 'weekly', anchor: 'first_session' },
};
const capChange = { pipeline: { weighting: { type: 'MarketCapWeight' } } };
const universeChange = { universe: { kind: 'list', identifiers: ['A'] } };
const runAmendments = (...amendments: object[]): Run => runIndexCase({ ...sketch, document: { amendments } });

/** Returns the securities and their weights for each review. */
function listReviews(run: Run): { date: string; holdings: Record<string, number> }[] {
  const { sm, compositions } = { sm: run.index.book.sm, compositions: run.index.compositions.list };
  return compositions.map(({ session, columns, weights }) => ({
    date: formatDay(sm.sessions[session]!),
    holdings: Object.fromEntries([...columns].map((column, k) => [sm.identifiers[column]!, weights[k]!])),
  }));
}
const listLevels = ({ index }: Run): number[] => [...index.book.value];

describe('an amendment', () => {
  const plainRun = runIndexCase(sketch);
  const run = runAmendments({ effective_from: '2024-03-20', changes: capChange });

  test('is followed from the first review on or after its date; history before it stays, bit for bit', () => {
    const [before, after] = [listReviews(plainRun), listReviews(run)];
    expect(after.map(({ date }) => date)).toEqual(before.map(({ date }) => date));
    for (const [r, { date, holdings }] of after.entries()) {
      if (date < '2024-03-22') expect(holdings).toEqual(before[r]!.holdings);
      else {
        const t = DAYS.indexOf(date);
        const caps = { A: 100 * (100 + t), B: 300 * (50 - 0.5 * t), C: 20_000 };
        const sum = caps.A + caps.B + caps.C;
        expect(holdings['A']).toBeCloseTo(caps.A / sum, 12);
        expect(holdings['C']).toBeCloseTo(caps.C / sum, 12);
      }
    }
    const changedRow = DAYS.indexOf('2024-03-22');
    expect(listLevels(run).slice(0, changedRow + 1)).toEqual(listLevels(plainRun).slice(0, changedRow + 1));
    expect(listLevels(run).at(-1)).not.toBe(listLevels(plainRun).at(-1));
  });

  test('is followed at once where it rebalances', () => {
    const reviews = listReviews(
      runAmendments({ effective_from: '2024-03-20', rebalance: true, changes: universeChange }),
    );
    const dates = reviews.map(({ date }) => date);
    expect(dates).toContain('2024-03-20');
    expect(
      reviews.filter(({ date }) => date >= '2024-03-20').every(({ holdings }) => Object.keys(holdings).join() === 'A'),
    ).toBe(true);
    expect(
      reviews.filter(({ date }) => date < '2024-03-20').every(({ holdings }) => Object.keys(holdings).length === 3),
    ).toBe(true);
  });

  test('may change the schedule, and another one continues from its text', () => {
    const amendments = [
      { effective_from: '2024-03-12', changes: { rebalance: { frequency: 'monthly' } } },
      { effective_from: '2024-04-02', rebalance: true, changes: universeChange },
    ];
    expect(listReviews(runAmendments(...amendments)).map(({ date }) => date)).toEqual([
      '2024-03-04',
      '2024-03-08',
      '2024-04-01',
      '2024-04-02',
    ]);
  });

  test('reviews with a notice period: the text is that of the effective date', () => {
    const laggedRun = runIndexCase({
      ...sketch,
      rebalance: { ...sketch.rebalance, effective_lag: 3 },
      document: { amendments: [{ effective_from: '2024-03-22', changes: universeChange }] },
    });
    const reviews = listReviews(laggedRun);
    expect(Object.keys(reviews.find(({ date }) => date === '2024-03-15')!.holdings)).toHaveLength(3);
    expect(Object.keys(reviews.find(({ date }) => date === '2024-03-22')!.holdings)).toEqual(['A']);
  });
});

const body = {
  id: 'X',
  name: 'X',
  calendar: 'MAIN',
  base_date: DAYS[0]!,
  rebalance: { frequency: 'weekly' },
  pipeline: { weighting: { type: 'EqualWeight' } },
};
const createAmendment = (effective_from: string, changes: object, rest = {}) => ({ effective_from, changes, ...rest });

test('the text in force on a day has the changes up to it', () => {
  const document = IndexDocument.parse({
    ...body,
    amendments: [createAmendment('2024-03-20', capChange), createAmendment('2024-04-02', universeChange)],
  });
  const findDocumentOn = (date: string) => findTextInEffect(document, parseValidDay(date)).document;
  expect(findDocumentOn('2024-03-19').pipeline!.weighting.type).toBe('EqualWeight');
  expect(findDocumentOn('2024-03-20').pipeline!.weighting.type).toBe('MarketCapWeight');
  expect(findDocumentOn('2024-03-20').universe).toBeUndefined();
  expect(findDocumentOn('2024-04-02')).toMatchObject(universeChange);
  expect(findDocumentOn('2024-04-02').amendments).toBeUndefined();
});

test('the methodology states which text applies when', () => {
  const document = IndexDocument.parse({
    ...body,
    amendments: [createAmendment('2024-03-20', capChange, { announced: '2024-03-05', reason: 'Client consultation' })],
  });
  const text = createMethodology(document).join('\n');
  expect(text).toContain('From the first review on or after 2024-03-20 the index follows an amended version');
  expect(text).toContain('(announced on 2024-03-05; Client consultation)');
  expect(text).toMatch(/No longer applies: .*the same weight/i);
  expect(text).toMatch(/New: .*market/i);
});

test('a run stays that of its definition while amendments take effect after its end', () => {
  const createPlan = (...amendments: object[]) => ({
    runId: 'X',
    name: 'X',
    indexId: 'X',
    documents: { X: IndexDocument.parse({ ...body, ...(amendments.length === 0 ? {} : { amendments }) }) },
    request: {} as never, // this test does not compare requests
  });
  const [before, after] = [createPlan(), createPlan(createAmendment('2024-03-20', capChange))];
  const listChangesThrough = (date: string) =>
    listDefinitionChanges({ plan: limitPlanToDate(before, date) }, { plan: limitPlanToDate(after, date) });
  expect(listChangesThrough('2024-03-19')).toEqual([]);
  expect(listChangesThrough('2024-03-20')).toHaveLength(1);
});

describe('amendments that cannot be followed are refused', () => {
  const listAmendmentFindings = (...amendments: object[]) => listFoundErrors({ amendments });
  const listErrors = (members: object) =>
    validateIndex({ ...body, ...members }, {
      calendars: [...CALENDARS.list()],
      indexOf: () => undefined,
    } as never).findings.filter(({ severity }) => severity === 'error');
  const listFoundErrors = (members: object) => listErrors(members).map(({ code, path }) => `${code} ${path}`);

  test('the message names the member of the amendment', () => {
    const amendments = [createAmendment('2024-03-20', { pipeline: { weighting: { type: 'EqualWeight', cap: 7 } } })];
    expect(listErrors({ amendments }).map(({ message }) => message)).toEqual([
      'amendments[0].changes.pipeline.weighting.cap is 7; at most 1 is accepted.',
    ]);
  });

  test.each([
    [[createAmendment('2024-03-20', capChange)], []],
    [
      [createAmendment('2024-04-02', capChange), createAmendment('2024-03-20', universeChange)],
      ['INVALID_RANGE amendments[1].effective_from'],
    ],
    [[createAmendment(DAYS[0]!, capChange)], ['INVALID_RANGE amendments[0].effective_from']],
    [[createAmendment('2024-03-20', capChange, { announced: '2024-03-20' })], []],
    [
      [createAmendment('2024-03-20', capChange, { announced: '2024-03-21' })],
      ['INVALID_RANGE amendments[0].announced'],
    ],
    [[createAmendment('2024-03-20', { currency: 'EUR' })], ['UNKNOWN_FIELD amendments[0].changes.currency']],
    [[createAmendment('2024-03-20', { treatment: {} })], ['UNKNOWN_FIELD amendments[0].changes.treatment']],
    [[createAmendment('2024-03-20', capChange, { note: 'x' })], ['UNKNOWN_FIELD amendments[0].note']],
    [
      [createAmendment('2024-03-20', { pipeline: { weighting: { type: 'Nothing' } } })],
      ['UNKNOWN_TYPE amendments[0].changes.pipeline.weighting.type'],
    ],
    [
      [createAmendment('2024-03-20', { pipeline: { treatment: { dividends: 'net' } } })],
      ['IMMUTABLE_FIELD amendments[0].changes.pipeline.treatment.dividends'],
    ],
  ])('%j: %j', (amendments, expected) => expect(listAmendmentFindings(...amendments)).toEqual(expected));

  test('an error of the first version, or of an earlier amendment, is reported once and where it was written', () => {
    const amendments = [createAmendment('2024-03-20', capChange), createAmendment('2024-04-02', universeChange)];
    expect(listFoundErrors({ rebalance: { frequency: 'never' }, amendments })).toEqual([
      'NOT_IN_CHOICES rebalance.frequency',
    ]);
    const wrongAmendment = createAmendment('2024-03-20', { rebalance: { frequency: 'never' } });
    expect(listAmendmentFindings(wrongAmendment, amendments[1]!)).toEqual([
      'NOT_IN_CHOICES amendments[0].changes.rebalance.frequency',
    ]);
  });
});

test('an overlay keeps its type and its underlying index', () => {
  const source = IndexDocument.parse(body);
  const overlay = {
    id: 'O',
    name: 'O',
    calendar: 'MAIN',
    base_date: DAYS[0]!,
    kind: 'overlay',
    source_index_id: 'X',
    overlay: { type: 'fee', percent: 1 },
  };
  const listFoundErrors = (changes: object): string[] =>
    validateIndex({ ...overlay, amendments: [createAmendment('2024-03-20', changes)] }, {
      calendars: [...CALENDARS.list()],
      indexOf: (id: string) => (id === 'X' ? source : undefined),
    } as never)
      .findings.filter(({ severity }) => severity === 'error')
      .map(({ code, path }) => `${code} ${path}`);
  expect(listFoundErrors({ overlay: { percent: 2 } })).toEqual([]);
  expect(listFoundErrors({ overlay: { type: 'quanto', to: 'USD', percent: null } })).toContain(
    'IMMUTABLE_FIELD amendments[0].changes.overlay',
  );
});
