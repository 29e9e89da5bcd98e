import { expect, test } from 'vitest';
import { parseMarkup } from '#views/report/text.js';

const createPlainText = (text: string) => [{ text, isBold: false }];

test('empty lines separate paragraphs; single breaks do not', () => {
  expect(parseMarkup('one\ntwo\n\n\nthree')).toEqual([
    { marker: null, spans: createPlainText('one two') },
    { marker: null, spans: createPlainText('three') },
  ]);
});

test('paired stars are bold, and unpaired stars are printed', () => {
  expect(parseMarkup('a **b** c')[0]!.spans).toEqual([
    { text: 'a ', isBold: false },
    { text: 'b', isBold: true },
    { text: ' c', isBold: false },
  ]);
  expect(parseMarkup('a **b')[0]!.spans).toEqual(createPlainText('a **b'));
  expect(parseMarkup('**a** **b')[0]!.spans).toEqual([
    { text: 'a', isBold: true },
    { text: ' **b', isBold: false },
  ]);
});

test('dashes, stars and numbers begin entries of a list, which may continue in the next line', () => {
  expect(parseMarkup('list:\n- one\n  still one\n* two\n\n12. twelve\nafter')).toEqual([
    { marker: null, spans: createPlainText('list:') },
    { marker: '-', spans: createPlainText('one still one') },
    { marker: '-', spans: createPlainText('two') },
    { marker: '12.', spans: createPlainText('twelve after') },
  ]);
});

test('an empty text has no paragraphs', () => {
  expect(parseMarkup(' \n\n ')).toEqual([]);
});
