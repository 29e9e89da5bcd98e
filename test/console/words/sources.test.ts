import { expect, test } from 'vitest';
import { readChosenFiles } from '#console/pages/data/import-files.js';

test('a file of another format or a damaged archive does not keep other files from an import', async () => {
  const files = ['notes.pdf', 'a.zip', 'b.csv'].map((name) => new File(['x'], name));
  const { sources, ignored, troubles } = await readChosenFiles(files);
  expect([sources.map(({ name }) => name), ignored, troubles]).toEqual([
    ['b.csv'],
    ['notes.pdf'],
    ['a.zip is not a zip archive, or its end is missing.'],
  ]);
});
