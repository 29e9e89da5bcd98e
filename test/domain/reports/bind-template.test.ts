import { expect, test } from 'vitest';
import { bindTemplate, ReportTemplateDocument } from '#domain/outputs/report-templates.js';

const template = ReportTemplateDocument.parse({
  template_id: 'OWN',
  name: 'Own',
  blocks: [
    { kind: 'header' },
    { kind: 'text', text: 'about' },
    { kind: 'chart', index_id: 'MAIN' },
    { kind: 'stat_grid' },
    { kind: 'table', source: 'constituents', index_id: 'MAIN' },
    { kind: 'text', text: 'words' },
  ],
});
const listBoundBlocks = (request: Partial<Parameters<typeof bindTemplate>[1]>) =>
  bindTemplate(template, { index_id: null, index_ids: null, ...request }).blocks.map(
    (block) => `${block.kind} ${block.index_id}${'new_page' in block && block.new_page ? ' new page' : ''}`,
  );

test('blocks without an index receive the index of the request; a bound block stays bound', () => {
  expect(listBoundBlocks({ index_id: 'A' })).toEqual([
    'header A',
    'text null',
    'chart MAIN',
    'stat_grid A',
    'table MAIN',
    'text null',
  ]);
});

test('for several indices the blocks without an index repeat from a new page; the others appear once', () => {
  expect(listBoundBlocks({ index_ids: ['A', 'B'] })).toEqual([
    'header A',
    'text null',
    'chart MAIN',
    'stat_grid A',
    'header B new page',
    'stat_grid B',
    'table MAIN',
    'text null',
  ]);
});

test('indices that no block uses, both members and a repeated index are refused', () => {
  const bound = {
    ...template,
    blocks: template.blocks.filter(({ kind }) => kind !== 'header' && kind !== 'stat_grid'),
  };
  const expectRefusal = (
    boundTemplate: typeof template,
    request: Partial<Parameters<typeof bindTemplate>[1]>,
    finding: object,
  ) =>
    expect(() => bindTemplate(boundTemplate, { index_id: null, index_ids: null, ...request })).toThrow(
      expect.objectContaining({ detail: { findings: [expect.objectContaining(finding)] } }),
    );
  expectRefusal(bound, { index_ids: ['A', 'B'] }, { code: 'OUT_OF_RANGE', path: 'index_ids' });
  expectRefusal(template, { index_id: 'A', index_ids: ['B'] }, { code: 'OUT_OF_RANGE', path: 'index_ids' });
  expectRefusal(template, { index_ids: ['A', 'B', 'A'] }, { code: 'DUPLICATE_ID', path: 'index_ids[2]', value: 'A' });
});

test('index_id is ignored where every block names its own', () => {
  const bound = { ...template, blocks: template.blocks.map((block) => ({ ...block, index_id: 'OWN' })) };
  expect(bindTemplate(bound, { index_id: 'A', index_ids: null })).toEqual(bound);
});
