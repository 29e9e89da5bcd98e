import { expect, test } from 'vitest';
import { findTargets } from '#console/words/search.js';

const target = (text: string, kind: string) => ({ address: text, text, kind });
const all = [
  target('Jobs', 'page'),
  target('EQ-CORE Equity core', 'index'),
  target('CORE Core', 'index'),
  target('SCORE Scores', 'template'),
  target('CORE-FUND Fund', 'strategy'),
];
const textsFor = (typed: string) => findTargets(all, typed).map(({ text }) => text);

test('what begins with the letters comes before words that do, and those before the rest', () => {
  expect(textsFor('core')).toEqual(['CORE Core', 'CORE-FUND Fund', 'EQ-CORE Equity core', 'SCORE Scores']);
});

test('every word is in the text or the kind', () => {
  expect(textsFor('core strategy')).toEqual(['CORE-FUND Fund']);
  expect(textsFor('core nothing')).toEqual([]);
  expect(textsFor(' ')).toHaveLength(all.length);
});

test('of several words, whole ones come before beginnings', () => {
  const targets = [target('CORE Runs', 'page'), target('Run CORE', 'action')];
  expect(findTargets(targets, 'core run').map(({ text }) => text)).toEqual(['Run CORE', 'CORE Runs']);
});

test('a target is found by its other words', () => {
  const schedule = { ...target('New schedule', 'action'), words: 'create' };
  expect(findTargets([...all, schedule], 'schedule create')).toEqual([schedule]);
});

test('words are in any order, and letters may be missing between the first and the last', () => {
  expect(textsFor('strategy core')).toEqual(['CORE-FUND Fund']);
  expect(textsFor('eqty')).toEqual(['EQ-CORE Equity core']);
  expect(textsFor('xyz')).toEqual([]);
});
