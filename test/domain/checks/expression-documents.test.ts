import { describe, expect, test } from 'vitest';
import { validateIndex } from '#domain/definition/index-validation.js';
import { checkConstraintSet } from '#domain/definition/constraint-sets.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { listNamedIndices } from '#domain/definition/references.js';
import { CALENDARS, createGeneratedMarket } from '../rules/rule-market.js';

const market = createGeneratedMarket({ names: 10, sessions: 30, seed: 1 });
const storedIndices = new Map<string, IndexDocument>();
const context = { calendars: CALENDARS.list(), indexOf: (id: string) => storedIndices.get(id), market };

const createBody = (id: string, field: unknown, rest: Record<string, unknown> = {}) => ({
  id,
  name: id,
  calendar: 'TEST',
  base_date: '2020-01-10',
  pipeline: {
    selection: [{ id: 'best', type: 'TopN', params: { field, count: 5 } }],
    weighting: { type: 'EqualWeight' },
  },
  ...rest,
});

const readField = (document: IndexDocument | undefined): unknown => document?.pipeline?.selection[0]?.params['field'];
const listFindings = (body: Record<string, unknown>) =>
  validateIndex(body, context)
    .findings.filter(({ code }) => code !== 'CURRENCY_ASSUMED')
    .map(({ code, path, position }) => [code, path, position]);

describe('a stored expression', () => {
  test('is the tree of a text with its canonical text, and it is a fixed point', () => {
    const { document } = validateIndex(createBody('TEXT', '(SCORE)*2+zscore( SCORE,by=SECTOR )'), context);
    const tree = {
      node: 'arithmetic',
      operator: '+',
      operands: [
        {
          node: 'arithmetic',
          operator: '*',
          operands: [
            { node: 'field', name: 'SCORE' },
            { node: 'value', value: 2 },
          ],
        },
        { node: 'function', name: 'zscore', operands: [{ node: 'field', name: 'SCORE' }], by: 'SECTOR' },
      ],
      text: 'SCORE * 2 + zscore(SCORE, by=SECTOR)',
    };
    expect(readField(document)).toEqual(tree);
    expect(validateIndex(document as never, context).document).toEqual(document);
    const staleTree = { ...tree, text: 'something else' };
    expect(readField(validateIndex(createBody('TEXT', staleTree), context).document)).toEqual(tree);
  });

  test.each([
    ['a name', 'SCORE'],
    ['a name with a space', 'Price to Book'],
    ['a name that begins with a digit', '3M_RETURN'],
    ['an object', { name: 'SCORE', lag: 3 }],
  ])('remains %s as it was sent', (_, field) => {
    expect(readField(validateIndex(createBody('NAME', field), context).document)).toEqual(field);
  });

  test('a text that is a column of the served store is that column, whatever characters it has', () => {
    const fields = new Map([...market.fields, ['P/E', market.fields.get('SCORE')!]]);
    const { document } = validateIndex(createBody('SLASH', 'P/E'), { ...context, market: { ...market, fields } });
    expect(readField(document)).toBe('P/E');
    expect(readField(validateIndex(createBody('SLASH', '`P/E`'), context).document)).toBe('P/E');
    expect(readField(validateIndex(createBody('SLASH', 'SCORE/CLOSE'), context).document)).toMatchObject({
      operator: '/',
    });
  });

  test('a tree of only older nodes remains as it was sent', () => {
    const expression = {
      node: 'comparison',
      field: { node: 'field', name: 'SCORE', transform: 'rank' },
      comparison: 'le',
      value: 3,
    };
    const pipeline = {
      selection: [{ id: 'x', type: 'ExpressionFilter', params: { expression } }],
      weighting: { type: 'EqualWeight' },
    };
    const { document } = validateIndex(createBody('OLD', 'SCORE', { pipeline }), context);
    expect(document?.pipeline?.selection[0]?.params['expression']).toEqual(expression);
  });
});

describe('findings', () => {
  const path = 'pipeline.selection[0].params.field';
  test.each([
    ['SCORE * (2', 'BAD_EXPRESSION', { start: 10, end: 10 }],
    ['1 + zcore(SCORE)', 'UNKNOWN_FUNCTION', { start: 4, end: 16 }],
    ['SCORE + SCOER', 'UNKNOWN_FIELD_NAME', { start: 8, end: 13 }],
    ['SCORE + SECTOR', 'VALUE_TYPE_MISMATCH', { start: 8, end: 14 }],
    ['zscore(SCORE, by=SECTRO)', 'UNKNOWN_FIELD_NAME', { start: 0, end: 24 }],
    ['if(SECTOR > 3, 1, 2)', 'VALUE_TYPE_MISMATCH', { start: 3, end: 9 }],
    ['VALUE_TRADED + AGE', 'UNIT_MISMATCH', { start: 0, end: 18 }],
    ['SCORE * member_of("NONE")', 'UNKNOWN_INDEX', undefined],
    ['SCORE * member_of("SELF")', 'CIRCULAR_REFERENCE', undefined],
  ])('%s: %s', (text, code, position) => {
    const [finding] = listFindings(createBody('SELF', text));
    expect(finding![0]).toBe(code);
    expect(finding![1]).toContain(path);
    if (position !== undefined) expect(finding![2]).toEqual(position);
  });

  test('of nodes are at the node', () => {
    const field = {
      node: 'arithmetic',
      operator: '*',
      operands: [
        { node: 'field', name: 'SCORE' },
        { node: 'function', name: 'log', operands: [] },
      ],
    };
    expect(listFindings(createBody('NODES', field))).toEqual([['OUT_OF_RANGE', `${path}.operands[1]`, undefined]]);
    const clash = {
      node: 'arithmetic',
      operator: '+',
      operands: [
        { node: 'field', name: 'AGE' },
        { node: 'field', name: 'BETA' },
      ],
    };
    expect(listFindings(createBody('NODES', { node: 'function', name: 'abs', operands: [clash] }))).toEqual([
      ['UNIT_MISMATCH', `${path}.operands[0]`, undefined],
    ]);
    const unknownNode = { node: 'value', value: 1, colour: 'red' };
    expect(listFindings(createBody('NODES', unknownNode))[0]!.slice(0, 2)).toEqual(['UNKNOWN_FIELD', `${path}.colour`]);
  });

  test('an index that leads back through the expressions of another is refused', () => {
    const inner = validateIndex(createBody('INNER', 'SCORE'), context).document!;
    storedIndices.set('INNER', inner);
    const outer = validateIndex(createBody('OUTER', 'SCORE * weight_in("INNER")'), context).document!;
    storedIndices.set('OUTER', outer);
    expect(listNamedIndices(outer).map(({ id }) => id)).toEqual(['INNER']);
    expect(listFindings(createBody('INNER', 'SCORE * member_of("OUTER")'))[0]![0]).toBe('CIRCULAR_REFERENCE');
  });

  test('of a constraint set ask about no other index', () => {
    const createRow = (field: string) => ({
      id: 'SET',
      name: 'Set',
      constraints: [{ type: 'FactorExposure', id: 'x', params: { field, lower: 0 } }],
    });
    const { set, findings } = checkConstraintSet(createRow('zscore(SCORE, by=SECTOR)'));
    expect(findings).toEqual([]);
    expect(set!.constraints[0]!.params['field']).toMatchObject({ text: 'zscore(SCORE, by=SECTOR)' });
    expect(checkConstraintSet(createRow('weight_in("A")')).findings.map(({ code }) => code)).toEqual([
      'NOT_IN_CHOICES',
    ]);
    expect(checkConstraintSet(createRow('zscore(')).set).toBeUndefined();
  });
});

describe('named datapoints', () => {
  const validateNamed = (datapoints: Record<string, unknown>) =>
    listFindings(createBody('NAMED', 'SCORE', { datapoints }));

  test('are trees with their texts', () => {
    const { document, findings } = validateIndex(
      createBody('NAMED', 'GOOD', { datapoints: { GOOD: 'SCORE+1' } }),
      context,
    );
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(document!.datapoints!['GOOD']).toMatchObject({ node: 'arithmetic', text: 'SCORE + 1' });
  });

  test.each([
    [{ A: 'B + 1', B: 'A * 2' }, 'CIRCULAR_REFERENCE'],
    [{ A: 'zscore(SCORE, by=A)' }, 'CIRCULAR_REFERENCE'],
    [{ BETA: 'SCORE' }, 'DUPLICATE_KEY'],
    [{ A: 'SCORE +' }, 'BAD_EXPRESSION'],
    [{ A: 'VALUE_TRADED', B: 'A + AGE' }, 'UNIT_MISMATCH'],
    [{ A: 7 }, 'WRONG_TYPE'],
    [{ A: { node: 'function', name: 'nothing', operands: [] } }, 'UNKNOWN_FUNCTION'],
    [{ A: { node: 'function', name: 'abs' } }, 'REQUIRED'],
  ])('%j: %s', (datapoints, code) => {
    expect(validateNamed(datapoints)[0]![0]).toBe(code);
  });

  test('that hide a column are reported', () => {
    expect(validateNamed({ SCORE: 'CLOSE' })).toEqual([['DUPLICATE_KEY', 'datapoints.SCORE', undefined]]);
  });

  test('that double at each step are refused before they are read', () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `D${i}`,
        i === 0 ? 'SCORE + SCORE(lag=1)' : `D${i - 1} + last(D${i - 1}, lag=${i})`,
      ]),
    );
    expect(validateNamed(doubling)[0]![0]).toBe('OUT_OF_RANGE');
    const sums = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`D${i}`, i === 0 ? 'SCORE' : `D${i - 1} + D${i - 1}`]),
    );
    expect(validateNamed(sums)[0]![0]).toBe('OUT_OF_RANGE'); // 2^59 datapoints, although each is computed once
  });
});

describe('the size of definitions', () => {
  const createDoublings = (count: number, combine: (name: string) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, k) => [`D${k + 1}`, combine(k === 0 ? 'SCORE' : `D${k}`)]));

  test.each<[string, (name: string) => string]>([
    ['sums', (name) => `${name} + ${name}`],
    ['functions', (name) => `max(${name}, ${name})`],
    ['windows', (name) => `last(${name}, lag=1) + ${name}`],
  ])(
    'counts %s with everything they read: twelve doublings are 4096 datapoints, and one more is refused',
    (_, combine) => {
      expect(listFindings(createBody('FITS', 'D12', { datapoints: createDoublings(12, combine) }))).toEqual([]);
      expect(listFindings(createBody('LARGE', 'D12', { datapoints: createDoublings(13, combine) }))).toEqual([
        ['OUT_OF_RANGE', 'datapoints.D13', undefined],
      ]);
    },
  );

  test('is limited for all expressions of a document together', () => {
    const text = Array.from({ length: 64 }, () => 'SCORE').join(' + ');
    const createDatapoints = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, k) => [`D${k}`, text]));
    expect(text).toHaveLength(64 * 8 - 3);
    expect(listFindings(createBody('FITS', 'D1', { datapoints: createDatapoints(32) }))).toEqual([]);
    expect(listFindings(createBody('LARGE', 'D1', { datapoints: createDatapoints(33) }))).toEqual([
      ['OUT_OF_RANGE', '', undefined],
    ]);
  });

  test('is checked before anything else: lists beyond their limits are the only findings', () => {
    const reviews = Array.from({ length: 5000 }, () => ({}));
    const selection = Array.from({ length: 65 }, () => ({ type: 'none' }));
    const body = createBody('LONG', 'SCORE', {
      reviews,
      pipeline: { selection },
      amendments: Array.from({ length: 101 }, () => ({})),
    });
    expect(listFindings(body)).toEqual([
      ['OUT_OF_RANGE', 'amendments', undefined],
      ['OUT_OF_RANGE', 'pipeline.selection', undefined],
      ['OUT_OF_RANGE', 'reviews', undefined],
    ]);
    const rows = Array.from({ length: 501 }, () => ({}));
    expect(checkConstraintSet({ id: 'c', name: 'c', constraints: rows }).findings).toMatchObject([
      { code: 'OUT_OF_RANGE', path: 'constraints' },
    ]);
  });

  test('does not include unknown fields: a document with 150 of them is valid, and 101 findings report them', () => {
    const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`unknown_${i}`, i]));
    const { document, findings } = validateIndex(createBody('MANY', 'SCORE', unknown), context);
    expect(document?.id).toBe('MANY');
    expect(findings).toHaveLength(101);
    expect(findings.at(-1)).toMatchObject({ severity: 'warning', code: 'MORE_FINDINGS' });
  });
});
