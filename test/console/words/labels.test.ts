import { expect, test } from 'vitest';
import { choiceWords, pathOfPointer, pathWords } from '#console/words/labels.js';

test('a field is called by its labels, a row by its id, and by its number where nothing names it', () => {
  const document = {
    pipeline: {
      selection: [
        { id: 'a', type: 'A' },
        { type: 'TopN', params: { count: 5 } },
      ],
    },
  };
  const formatWords = (pointer: string, of?: typeof document) => pathWords(pathOfPointer(pointer), of);
  expect(formatWords('/pipeline/selection/1/params/count', document)).toBe('Selection, TopN, Count');
  expect(formatWords('/pipeline/selection/0/params/count', document)).toBe('Selection, a, Count');
  expect(formatWords('/pipeline/selection/1/params/count')).toBe('Selection, 2, Count');
  expect(formatWords('/base_value')).toBe('Base value');
});

test('a choice and a type of a document read as words; names are unchanged', () => {
  const format = (pointer: string, text: string) => choiceWords(pathOfPointer(pointer), text);
  expect(format('/rebalance/anchor', 'third_friday')).toBe('third friday');
  expect(format('/pipeline/treatment/spin_offs', 'next_price')).toBe('next price');
  expect(format('/pipeline/selection/0/type', 'BufferedTopN')).toBe('Buffered top N');
  expect(format('/pipeline/selection/0/id', 'low_vol')).toBe('low_vol');
});
