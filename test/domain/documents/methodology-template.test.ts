import { expect, test } from 'vitest';
import { createTemplateDocuments, MethodologyTemplate } from '#domain/definition/methodology-templates.js';

const template = {
  id: 'two-parts',
  title: 'Two parts',
  kind: 'overlay',
  style: 'In the style of nothing.',
  source: { title: 'A document', publisher: 'Somebody', date: '2020-01' },
  choices: [],
  documents: [
    { id: 'TWO-PARTS-PARENT', name: 'Parent', base_date: '2018-01-02' },
    {
      id: 'TWO-PARTS',
      name: 'TWO-PARTS is its name',
      base_date: '2018-01-02',
      universe: { kind: 'index', id: 'TWO-PARTS-PARENT' },
      datapoints: { A: 'weight_in("TWO-PARTS-PARENT") + member_of("TWO-PARTS-PARENTS")' },
      overlay: { parts: [{ index_id: 'TWO-PARTS-PARENT', weight: 1 }] },
      path: { base: '2018-01-02', from: '2018-01-03' },
    },
  ],
};

test('another id and another base date change documents and what refers to them, in expressions too, and nothing else', () => {
  const parsedTemplate = MethodologyTemplate.parse(template);
  expect(createTemplateDocuments(parsedTemplate, { indexId: 'MINE', baseDate: '2020-02-03' })).toEqual([
    { id: 'MINE-PARENT', name: 'Parent', base_date: '2020-02-03' },
    {
      id: 'MINE',
      name: 'TWO-PARTS is its name',
      base_date: '2020-02-03',
      universe: { kind: 'index', id: 'MINE-PARENT' },
      datapoints: { A: 'weight_in("MINE-PARENT") + member_of("TWO-PARTS-PARENTS")' },
      overlay: { parts: [{ index_id: 'MINE-PARENT', weight: 1 }] },
      path: { base: '2020-02-03', from: '2018-01-03' },
    },
  ]);
  expect(createTemplateDocuments(parsedTemplate, {})).toEqual(template.documents);
});

test('a file whose documents have other ids, or with an unknown member, is no template', () => {
  const findProblems = (file: object) =>
    MethodologyTemplate.safeParse(file).error?.issues.map(({ path }) => path.join('.'));
  const [parent, mainDocument] = template.documents;
  expect(findProblems({ ...template, documents: [{ ...parent, id: 'OTHER' }, mainDocument] })).toEqual([
    'documents.0.id',
  ]);
  expect(findProblems({ ...template, colour: 'blue' })).toEqual(['']);
  expect(findProblems({ ...template, source: { ...template.source, date: 'May 2020' } })).toEqual(['source.date']);
});
