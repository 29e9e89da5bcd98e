import { expect, test } from 'vitest';
import type { RuleTypes } from '#clients/typescript/divisor.js';
import { createFieldFormatter, formatField } from '#console/components/versions/field-words.js';
import { formatChoice, formatPathLabel, parsePointer } from '#console/words/labels.js';

test('a field is named by its labels, a row by its id, and by its number without a label', () => {
  const document = {
    pipeline: {
      selection: [
        { id: 'a', type: 'A' },
        { type: 'TopN', params: { count: 5 } },
      ],
    },
  };
  const formatWords = (pointer: string, labelled?: typeof document) => formatPathLabel(parsePointer(pointer), labelled);
  expect(formatWords('/pipeline/selection/1/params/count', document)).toBe('Selection, TopN, Count');
  expect(formatWords('/pipeline/selection/0/params/count', document)).toBe('Selection, a, Count');
  expect(formatWords('/pipeline/selection/1/params/count')).toBe('Selection, 2, Count');
  expect(formatWords('/base_value')).toBe('Base value');
});

test('a choice and a type of a document are shown as words; identifiers are unchanged', () => {
  const format = (pointer: string, text: string) => formatChoice(parsePointer(pointer), text);
  expect(format('/rebalance/anchor', 'third_friday')).toBe('third Friday');
  expect(format('/pipeline/treatment/spin_offs', 'next_price')).toBe('next price');
  expect(format('/pipeline/selection/0/type', 'BufferedTopN')).toBe('Buffered top N');
  expect(format('/pipeline/selection/0/id', 'low_vol')).toBe('low_vol');
});

test('parameters that a rule does not set have their default or the description of it', () => {
  const createParameter = (name: string, terms: object) => ({
    name,
    label: name,
    help: null,
    required: false,
    choices: null,
    when: null,
    ...terms,
  });
  const parameters = [
    createParameter('count', { required: true, type: 'integer' }),
    createParameter('enter_rank', { type: 'integer', help: 'Always enter. Default: 80% of count, rounded down.' }),
    createParameter('missing', { type: 'string', default: 'exclude' }),
    createParameter('ascending', { type: 'boolean', default: false }),
    createParameter('group_by', { type: 'string', default: null }),
    createParameter('field', { type: 'string', default: 'MARKET_CAP' }),
    createParameter('window', { type: 'integer', default: 60, when: [{ field: ['x'] }] }),
  ];
  const types = { fields: {}, selection: [{ type: 'TopN', label: 'Best', parameters }], weighting: [] };
  const formatter = createFieldFormatter(types as unknown as RuleTypes); // only the members that the formatter reads
  const selection = [{ id: 'a', type: 'TopN', params: { count: 5, field: 'CLOSE' } }];
  const document = { pipeline: { selection, weighting: { type: 'EqualWeight' } } };
  expect(formatter.defaults(document).map(({ path, text }) => [path.at(-1), text])).toEqual([
    ['enter_rank', '80% of count, rounded down'],
    ['missing', 'exclude'],
    ['ascending', 'no'],
  ]);
  expect(createFieldFormatter(undefined).defaults(document)).toEqual([]);
});

test('a field of an index has the name and the unit of the catalogue', () => {
  const createDescription = (name: string, label: string, help: string) => ({
    name,
    label,
    help,
    type: 'integer',
    choices: null,
  });
  const types = {
    fields: { rebalance: [createDescription('effective_lag', 'Notice', 'Unit: sessions.')] },
    selection: [
      {
        type: 'LiquidityFilter',
        label: 'Liquidity filter',
        parameters: [createDescription('minimum', 'Minimum', 'Traded. Unit: money per day in index currency.')],
      },
    ],
    weighting: [],
  } as unknown as RuleTypes; // only the members that the labels read
  const document = {
    currency: 'USD',
    rebalance: { effective_lag: 5 },
    pipeline: { selection: [{ id: 'liquid', type: 'LiquidityFilter', params: { minimum: 1e6 } }] },
  };
  const words = createFieldFormatter(types);
  const lagPath = ['rebalance', 'effective_lag'];
  const rule = ['pipeline', 'selection', 0];
  expect([formatField(words, lagPath, document), words.value(lagPath, 5, document)]).toEqual([
    'Rebalance, Notice',
    '5 sessions',
  ]);
  const minimum = [...rule, 'params', 'minimum'];
  expect(formatField(words, minimum, document)).toBe('Selection, liquid, Minimum');
  expect(words.value(minimum, 1e6, document)).toBe('1,000,000 USD per day');
  expect(words.value([...rule, 'type'], 'LiquidityFilter', document)).toBe('Liquidity filter');
  const plainFormatter = createFieldFormatter(undefined, new Map([['XNYS', 'New York Stock Exchange']]));
  expect(plainFormatter.value(lagPath, 5, document)).toBe('5');
  expect(plainFormatter.value(['calendar'], 'XNYS', document)).toBe('XNYS, New York Stock Exchange');
  expect([plainFormatter.value(['exposure'], 0.98, {}), plainFormatter.value(['transaction_cost_bps'], 8, {})]).toEqual(
    ['98%', '8 bp'],
  );
});
