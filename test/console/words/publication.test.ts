import { expect, test } from 'vitest';
import { listFirstTimes, findLatestClose, findThroughProblem, listPublications } from '#console/words/publication.js';

const run = { start: '2024-01-02', end: '2024-01-31', last: '2024-01-15', isRestated: false };

test('closes are published through a day of the run that is not published yet', () => {
  expect(findThroughProblem(undefined, run)).toBeNull();
  expect(findThroughProblem('2024-01-16', run)).toBeNull();
  expect(findThroughProblem('2024-13-01', run)).toContain('not a date');
  expect(findThroughProblem('2024-02-30', run)).toContain('not a date');
  expect(findThroughProblem('2023-12-29', run)).toContain(run.start);
  expect(findThroughProblem('2024-02-01', run)).toContain(run.end);
  expect(findThroughProblem('2024-01-15', run)).toContain('are published');
  expect(findThroughProblem('2024-01-15', { ...run, isRestated: true })).toBeNull();
});

test('the first publication contains the closes after the log', () => {
  const dates = ['2024-01-12', '2024-01-15', '2024-01-16', '2024-01-17'];
  expect(listFirstTimes(dates, undefined, run)).toEqual(['2024-01-16', '2024-01-17']);
  expect(listFirstTimes(dates, '2024-01-16', run)).toEqual(['2024-01-16']);
  expect(listFirstTimes(dates, undefined, { last: null })).toEqual(dates);
});

test('the latest close is that of the last date, not the last entry of the log', () => {
  const createEntry = (date: string, price: number) => ({ date, price });
  const log = [createEntry('2024-01-12', 100), createEntry('2024-01-15', 101), createEntry('2024-01-12', 99)];
  expect(findLatestClose(log)).toEqual(createEntry('2024-01-15', 101));
  expect(findLatestClose([...log, createEntry('2024-01-15', 102)])).toEqual(createEntry('2024-01-15', 102));
  expect(findLatestClose([])).toBeUndefined();
});

test('the closes of a publication are one item, with the largest change of a restatement', () => {
  const log = [
    ['2024-01-12', 'close', '2024-01-15T18:00Z', 100],
    ['2024-01-15', 'close', '2024-01-15T18:00Z', 100],
    ['2024-01-12', 'restatement', '2024-01-16T18:00Z', 101],
    ['2024-01-15', 'restatement', '2024-01-16T18:00Z', 95],
    ['2024-01-16', 'close', '2024-01-16T18:00Z', 96],
    ['2024-01-15', 'restatement', '2024-01-17T18:00Z', 190],
  ] as const;
  const entries = log.map(([date, kind, at, price], k) => {
    return { seq: k + 1, date, kind, at, price, total: null, net: null };
  });
  const publications = listPublications(entries).map(({ entries: closes, from, to, largest }) => ({
    seqs: closes.map(({ seq }) => seq),
    dates: [from, to],
    largest: largest && [largest.date, Number(largest.change!.toFixed(12))],
  }));
  expect(publications).toEqual([
    { seqs: [1, 2], dates: ['2024-01-12', '2024-01-15'], largest: null },
    { seqs: [3, 4], dates: ['2024-01-12', '2024-01-15'], largest: ['2024-01-15', -0.05] },
    { seqs: [5], dates: ['2024-01-16', '2024-01-16'], largest: null },
    // The change is relative to the last restatement of the close.
    { seqs: [6], dates: ['2024-01-15', '2024-01-15'], largest: ['2024-01-15', 1] },
  ]);
});

test('the largest change of a restatement is the earliest of equal changes, in any return variant', () => {
  const createEntry = (date: string, at: string, [price, total]: readonly [number, number]) => {
    return { seq: 1, date, kind: 'restatement' as const, at, price, total, net: null };
  };
  const findLargest = (first: readonly [number, number], second: readonly [number, number]) =>
    listPublications([
      createEntry('2024-01-12', '1', [100, 100]),
      createEntry('2024-01-15', '1', [300, 300]),
      createEntry('2024-01-15', '2', second),
      createEntry('2024-01-12', '2', first),
    ]).at(-1)!.largest?.date;
  expect(findLargest([200, 200], [600 * (1 + 2e-16), 600])).toBe('2024-01-12');
  expect(findLargest([101, 101], [303, 306])).toBe('2024-01-15');
});
