import { describe, expect, test } from 'vitest';
import {
  BLOCK_KINDS,
  type BlockKindName,
  BUILT_IN_IDS,
  createBuiltInTemplate,
  findRunUse,
  listBoundIndices,
  needsMarket,
  needsRisk,
  readTemplate,
  ReportTemplateDocument,
  validateTemplate,
} from '#domain/outputs/report-templates.js';

const KINDS = Object.keys(BLOCK_KINDS) as BlockKindName[];
const createTemplate = (blocks: unknown, rest: object = {}) => ({
  template_id: 'T',
  name: 'Template',
  blocks,
  ...rest,
});
const listFindings = (blocks: unknown, rest: object = {}) =>
  validateTemplate(createTemplate(blocks, rest)).findings.map(({ code, path }) => `${code} ${path}`);

describe('the catalogue of blocks', () => {
  test.each(KINDS)('the example of %s is a complete valid block, and states what it needs', (kind) => {
    const { document, findings } = validateTemplate(createTemplate([BLOCK_KINDS[kind].example]));
    expect(findings).toEqual([]);
    expect(document!.blocks[0]!.kind).toBe(kind);
    expect(['never', 'if-bound', 'always']).toContain(findRunUse(document!.blocks[0]!));
  });

  test.each(KINDS)('%s needs no more than its kind, except for text', (kind) => {
    expect(listFindings([{ kind }])).toEqual(kind === 'text' ? ['REQUIRED blocks[0].text'] : []);
  });
});

describe('findings', () => {
  test('an unknown kind is reported at its block, with the known kinds', () => {
    const { document, findings } = validateTemplate(createTemplate([{ kind: 'text', text: '' }, { kind: 'pie' }, {}]));
    expect(document).toBeUndefined();
    expect(findings).toMatchObject([
      { severity: 'error', code: 'UNKNOWN_BLOCK_KIND', path: 'blocks[1].kind', accepted: KINDS, value: 'pie' },
      { severity: 'error', code: 'REQUIRED', path: 'blocks[2].kind' },
    ]);
  });

  test('unknown fields are dropped with a warning, wherever they are', () => {
    const { document, findings } = validateTemplate(
      createTemplate([{ kind: 'chart', colour: 'red' }], { author: 'x', page: { bleed: 3 } }),
    );
    expect(findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`)).toEqual([
      'warning UNKNOWN_FIELD author',
      'warning UNKNOWN_FIELD blocks[0].colour',
      'warning UNKNOWN_FIELD page.bleed',
    ]);
    expect(document).toEqual(validateTemplate(createTemplate([{ kind: 'chart' }])).document);
  });

  test('members that no block reads are reported and kept; defaults are not reported', () => {
    const values = { A: 1 };
    const { document, findings } = validateTemplate(
      createTemplate([
        { kind: 'table', source: 'limits', aum: 5, limit: 3 },
        { kind: 'table', source: 'pack', aum: 5, limit: 3 },
        { kind: 'table', source: 'limits', aum: 100_000_000, limit: 10 },
        { kind: 'chart', lines: ['level'], log_scale: true, rule: 'RIC_25_5_50' },
        { kind: 'chart', lines: ['drawdown', 'headroom'], log_scale: true, rule: 'RIC_25_5_50' },
        { kind: 'bar_chart', source: 'top_weights', aum: 7, values },
        { kind: 'bar_chart', source: 'literal', values },
      ]),
    );
    expect(findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`).toSorted()).toEqual([
      'warning NO_EFFECT blocks[0].aum',
      'warning NO_EFFECT blocks[0].limit',
      'warning NO_EFFECT blocks[3].rule',
      'warning NO_EFFECT blocks[4].log_scale',
      'warning NO_EFFECT blocks[5].aum',
      'warning NO_EFFECT blocks[5].values',
    ]);
    expect(document!.blocks[0]).toMatchObject({ aum: 5 });
    expect(findings.find(({ path }) => path === 'blocks[0].aum')!.message).toBe(
      'blocks[0].aum has no effect: only source pack reads it.',
    );
  });

  test('every field is held to its range', () => {
    expect(
      listFindings([
        { kind: 'stat_grid', columns: 7 },
        { kind: 'stat_grid', stats: ['beta'] },
        { kind: 'table', source: 'prices' },
        { kind: 'table', limit: 0 },
      ]),
    ).toEqual([
      'OUT_OF_RANGE blocks[0].columns',
      'NOT_IN_CHOICES blocks[1].stats[0]',
      'NOT_IN_CHOICES blocks[2].source',
      'OUT_OF_RANGE blocks[3].limit',
    ]);
    expect(listFindings([], { page: { size: 'A5', orientation: 'diagonal', margin: 145 } })).toEqual([
      'OUT_OF_RANGE page.margin',
      'NOT_IN_CHOICES page.orientation',
      'NOT_IN_CHOICES page.size',
    ]);
    expect(
      listFindings([
        { kind: 'chart', lines: [] },
        { kind: 'chart', height: Infinity },
        { kind: 'header', width: 'third' },
      ]),
    ).toEqual(['OUT_OF_RANGE blocks[0].lines', 'OUT_OF_RANGE blocks[1].height', 'NOT_IN_CHOICES blocks[2].width']);
  });

  test('a literal block needs its content, and a table as many cells as columns', () => {
    expect(
      listFindings([
        { kind: 'table', source: 'literal' },
        { kind: 'bar_chart', source: 'literal' },
      ]),
    ).toEqual(['REQUIRED blocks[0].frame', 'REQUIRED blocks[1].values']);
    const frame = { index: [1, 2], columns: ['a', 'b'], data: [[1, 2], [3]] };
    expect(listFindings([{ kind: 'table', source: 'literal', frame }])).toEqual(['WRONG_TYPE blocks[0].frame.data[1]']);
    expect(listFindings([{ kind: 'table', source: 'literal', frame: { ...frame, data: [[1, 2]] } }])).toEqual([
      'WRONG_TYPE blocks[0].frame.data',
    ]);
  });

  test('100 blocks are accepted, 101 and 0 are not', () => {
    const blocks = Array.from({ length: 101 }, () => ({ kind: 'text', text: '' }));
    expect(listFindings(blocks)).toEqual(['OUT_OF_RANGE blocks']);
    expect(listFindings(blocks.slice(1))).toEqual([]);
    expect(listFindings([])).toEqual([]);
    expect(validateTemplate({ template_id: 'T', name: 'Template' }).document!.blocks).toEqual([]);
  });

  test('an id and a name are required', () => {
    expect(validateTemplate({}).findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'REQUIRED name',
      'REQUIRED template_id',
    ]);
  });
});

describe('built-in templates', () => {
  test.each(BUILT_IN_IDS)('%s is a template like any other, with no index bound', (id) => {
    const document = createBuiltInTemplate(id);
    expect(validateTemplate(document)).toEqual({ document, findings: [] });
    expect(readTemplate(JSON.parse(JSON.stringify(document)))).toEqual(document);
    expect(document.blocks.every(({ index_id }) => index_id === null)).toBe(true);
    expect(listBoundIndices(document)).toEqual([]);
  });

  test.each(BUILT_IN_IDS)('%s binds every block that shows a run', (id) => {
    const document = createBuiltInTemplate(id, 'CORE');
    expect(document.blocks.filter((block) => findRunUse(block) === 'always' && block.index_id !== 'CORE')).toEqual([]);
    expect(listBoundIndices(document)).toEqual(['CORE']);
    expect(document.page.size).toBe(id.endsWith('LETTER') ? 'LETTER' : 'A4');
  });
});

test('the runs of a report are those of its blocks, each once', () => {
  const { blocks } = ReportTemplateDocument.parse(
    createTemplate([
      { kind: 'text', text: '', index_id: 'A' },
      { kind: 'chart', index_id: 'B' },
      { kind: 'table', source: 'literal', frame: { index: [], columns: [], data: [] }, index_id: 'C' },
      { kind: 'stat_grid', values: { a: 'b' }, index_id: 'D' },
      { kind: 'table', source: 'risk', index_id: 'B' },
      { kind: 'header', index_id: 'E' },
      { kind: 'header' },
    ]),
  );
  expect(listBoundIndices({ blocks })).toEqual(['B', 'E']);
  expect([needsRisk({ blocks }, 'B'), needsRisk({ blocks }, 'E')]).toEqual([true, false]);
  expect([needsMarket({ blocks }, 'B'), needsMarket({ blocks }, 'E')]).toEqual([true, false]);
});
