import { expect, test } from 'vitest';
import { checkIdleEvents } from '#domain/definition/index-checks.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createMethodology, listMethodologySentences, METHODOLOGY_SECTIONS } from '#domain/definition/methodology.js';

const createDocument = (members: object): IndexDocument =>
  IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'XNYS',
    base_date: '2024-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...members,
  });
const listSentences = (members: object): readonly string[] => createMethodology(createDocument(members));

test('decimals and the first market value are sentences of the methodology', () => {
  const plainSentences = listSentences({});
  const base_market_value = 5_000_000;
  const addedSentences = listSentences({
    base_market_value,
    rounding: { level: 2, weights: 4, shares: 0, divisor: 1 },
  }).filter((sentence) => !plainSentences.includes(sentence));
  expect(addedSentences).toEqual([
    'Its market value at that close is 5,000,000 USD; its first divisor is this value over its level.',
    'Published values are rounded half away from zero: levels to 2 decimals and weights to 4 decimals.',
    'Values of the calculation are rounded half away from zero: index shares to 0 decimals and the divisor to 1 decimal.',
  ]);
  expect(listSentences({ rounding: { level: 2 } }).filter((sentence) => !plainSentences.includes(sentence))).toEqual([
    'Published values are rounded half away from zero: levels to 2 decimals.',
  ]);
});

test('sentences are in the order of the sections, each in the section of its subject', () => {
  const document = createDocument({ rounding: { level: 2 } });
  const sentences = listMethodologySentences(document);
  const positions = sentences.map(({ section }) => METHODOLOGY_SECTIONS.indexOf(section));
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  const findSection = (phrase: string) => sentences.find(({ text }) => text.includes(phrase))?.section;
  expect(
    ['The universe is', 'Every constituent', 'It is rebalanced', 'Splits', 'Published values'].map(findSection),
  ).toEqual(['universe', 'weighting', 'rebalancing', 'corporate_actions', 'rounding']);
});

test('an announcement some sessions before the effective date is a sentence without a preposition', () => {
  const announcement = { rule: 'sessions_before', sessions: 1 };
  expect(listSentences({ rebalance: { effective_lag: 3, announcement } })).toContain(
    'It is announced 1 session before the effective date.',
  );
});

test('the methodology separates the schedule of exits from that of the reviews', () => {
  const text = listSentences({ events: { fast_exit: { rank: 60 } } }).join(' ');
  expect(text).toContain('For these exits it is rebalanced monthly on the last session of every month.');
});

test('a threshold has no effect while changes of counts wait for the review', () => {
  const listPaths = (events: object): string[] =>
    checkIdleEvents(createDocument({ events }), undefined).map(({ path }) => path);
  expect(listPaths({ threshold: 0.1 })).toEqual(['events.threshold']);
  expect(listPaths({ threshold: 0.05 })).toEqual([]);
});
