import { expect, test } from 'vitest';
import { findTargets, suggestComparisons } from '#console/words/search.js';

const createTarget = (text: string, kind: string) => ({ address: text, text, kind });
const searchTargets = [
  createTarget('Jobs', 'page'),
  createTarget('EQ-CORE Equity core', 'index'),
  createTarget('CORE Core', 'index'),
  createTarget('SCORE Scores', 'template'),
  createTarget('CORE-FUND Fund', 'strategy'),
];
const listTargetTexts = (typed: string) => findTargets(searchTargets, typed).map(({ text }) => text);

test('titles that begin with the letters come first, then words that do, then the rest', () => {
  expect(listTargetTexts('core')).toEqual(['CORE Core', 'CORE-FUND Fund', 'EQ-CORE Equity core', 'SCORE Scores']);
});

test('starts of words precede letters within words, and titles precede kinds and alternative words', () => {
  const targets = [
    { ...createTarget('Compare', 'page'), words: 'comparison' },
    createTarget('Comparison', 'action'),
    { ...createTarget('Markets', 'page'), words: 'paris' },
    { ...createTarget('CAC', 'index'), name: 'Paris 20' },
    createTarget('paris Coverage', 'tab'),
    { ...createTarget('paris', 'store'), name: 'Paris market' },
  ];
  const listTexts = (typed: string) => findTargets(targets, typed).map(({ text }) => text);
  expect(listTexts('paris')).toEqual(['paris', 'CAC', 'paris Coverage', 'Markets', 'Comparison', 'Compare']);
  expect(listTexts('20 paris')).toEqual(['CAC']);
});

test('a tab that no word names follows all other matches, and three are listed', () => {
  const tabs = ['Overview', 'Coverage', 'Audit', 'Files'].map((tab) => ({
    ...createTarget(`paris ${tab}`, 'page'),
    tab,
  }));
  const serve = { ...createTarget('Serve paris', 'action') };
  const security = createTarget('PARISXX', 'security');
  const listTexts = (typed: string) => findTargets([...tabs, serve], typed, [security]).map(({ text }) => text);
  expect(listTexts('paris')).toEqual(['Serve paris', 'PARISXX', 'paris Overview', 'paris Coverage', 'paris Audit']);
  expect(listTexts('paris cov')).toEqual(['paris Coverage', 'PARISXX']);
});

test('every word is in the text or the kind', () => {
  expect(listTargetTexts('core strategy')).toEqual(['CORE-FUND Fund']);
  expect(listTargetTexts('core nothing')).toEqual([]);
  expect(listTargetTexts(' ')).toHaveLength(searchTargets.length);
});

test('of several words, complete words precede prefixes', () => {
  const targets = [createTarget('CORE Runs', 'page'), createTarget('Run CORE', 'action')];
  expect(findTargets(targets, 'core run').map(({ text }) => text)).toEqual(['Run CORE', 'CORE Runs']);
});

test('a target is found by its synonyms', () => {
  const schedule = { ...createTarget('New schedule', 'action'), words: 'create' };
  expect(findTargets([...searchTargets, schedule], 'schedule create')).toEqual([schedule]);
});

test('words may be in any order, and letters between the first and the last may be missing', () => {
  expect(listTargetTexts('strategy core')).toEqual(['CORE-FUND Fund']);
  expect(listTargetTexts('eqty')).toEqual(['EQ-CORE Equity core']);
  expect(listTargetTexts('xyz')).toEqual([]);
});

test('letters with gaps match several words in any order, and fewer words in order come first', () => {
  const targets = ['US Small 100', 'Large companies US', 'US-LARGE-100 US large companies', 'Uslarge'].map((text) =>
    createTarget(text, 'index'),
  );
  const listTexts = (typed: string) => findTargets(targets, typed).map(({ text }) => text);
  expect(listTexts('uslrg')).toEqual(['Uslarge', 'US-LARGE-100 US large companies', 'Large companies US']);
  expect(listTexts('lrgus')).toEqual(['Large companies US', 'US-LARGE-100 US large companies']);
  expect(listTexts('us lrg')).toEqual(['Large companies US', 'US-LARGE-100 US large companies']);
  expect(listTexts('ussml')).toEqual(['US Small 100']);
});

test('compare and ids open the comparison of the indices in the order of the text', () => {
  const indices = [{ id: 'CORE' }, { id: 'CORE-40' }, { id: 'EW' }];
  const listComparedTexts = (text: string) =>
    suggestComparisons(text, indices).map(({ text: title, address }) => [title, address]);
  const comparison = [['Compare CORE-40, EW', '/console/compare?ids=CORE-40%2CEW']];
  expect(listComparedTexts('compare core-40 ew')).toEqual(comparison);
  expect(listComparedTexts('comp CORE-40 with EW')).toEqual(comparison);
  expect(listComparedTexts('compare core-40, ew and core-40')).toEqual(comparison);
  expect(['compare core-40', 'compare core-40 x', 'com core ew', 'run core ew'].flatMap(listComparedTexts)).toEqual([]);
});
