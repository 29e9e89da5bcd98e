import { expect, test } from 'vitest';
import { findTargets } from '#console/words/search.js';

const createTarget = (text: string, kind: string) => ({ address: text, text, kind });
const all = [
  createTarget('Jobs', 'page'),
  createTarget('EQ-CORE Equity core', 'index'),
  createTarget('CORE Core', 'index'),
  createTarget('SCORE Scores', 'template'),
  createTarget('CORE-FUND Fund', 'strategy'),
];
const textsFor = (typed: string) => findTargets(all, typed).map(({ text }) => text);

test('titles that begin with the letters come first, then words that do, then the rest', () => {
  expect(textsFor('core')).toEqual(['CORE Core', 'CORE-FUND Fund', 'EQ-CORE Equity core', 'SCORE Scores']);
});

test('every word is in the text or the kind', () => {
  expect(textsFor('core strategy')).toEqual(['CORE-FUND Fund']);
  expect(textsFor('core nothing')).toEqual([]);
  expect(textsFor(' ')).toHaveLength(all.length);
});

test('of several words, whole ones come before beginnings', () => {
  const targets = [createTarget('CORE Runs', 'page'), createTarget('Run CORE', 'action')];
  expect(findTargets(targets, 'core run').map(({ text }) => text)).toEqual(['Run CORE', 'CORE Runs']);
});

test('a target is found by its other words', () => {
  const schedule = { ...createTarget('New schedule', 'action'), words: 'create' };
  expect(findTargets([...all, schedule], 'schedule create')).toEqual([schedule]);
});

test('words are in any order, and letters may be missing between the first and the last', () => {
  expect(textsFor('strategy core')).toEqual(['CORE-FUND Fund']);
  expect(textsFor('eqty')).toEqual(['EQ-CORE Equity core']);
  expect(textsFor('xyz')).toEqual([]);
});
