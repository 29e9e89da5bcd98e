import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';

interface Finding {
  readonly line: number;
  readonly phrase: string;
  readonly instead: string;
}
const { listFindingsIn, findRoom } = (await import(pathToFileURL('test/words/check.mjs').href)) as {
  listFindingsIn(path: string, text: string): Finding[];
  findRoom(path: string, rooms: readonly string[]): string | undefined;
};
const listPhrasesIn = (path: string, text: string) =>
  listFindingsIn(path, text).map(({ line, phrase }) => [line, phrase]);

describe('a finding', () => {
  test('names line, phrase and replacement', () => {
    expect(listFindingsIn('a.ts', 'const a = 1;\n// The user is told the reason.')).toEqual([
      { path: 'a.ts', line: 2, phrase: 'is told', instead: 'report, state, return' },
    ]);
  });

  test.each([
    ['a comment', 'a.ts', '/** Whether a price is there. */', '/** Whether'],
    ['a line of a comment', 'a.ts', '/**\n * The panel lies in memory.\n */', 'lies in'],
    ['a message', 'a.ts', "throw new Error('The server tells the client.');", 'tells'],
    ['a template', 'a.ts', 'const text = `the ${count} files beside the store`;', 'beside'],
    ['a comment in Python', 'a.py', '# The rows once more.', 'once more'],
    ['a page', 'a.md', 'The index goes on.', 'goes on'],
  ])('is found in %s', (_, path, text, phrase) => {
    expect(listFindingsIn(path, text).map((finding) => finding.phrase)).toEqual([phrase]);
  });

  test.each([
    ['in code', 'a.ts', 'const told = tell(beside);'],
    ['in a short string', 'a.ts', "const kind = 'doubt';"],
    ['in code of a page', 'a.md', 'Call `tell` first.'],
    ['in the value that a template contains', 'a.ts', 'const text = `a file of ${beside} and more`;'],
    ['in a question', 'a.ts', '// What is a session?'],
  ])('does not occur %s', (_, path, text) => {
    expect(listPhrasesIn(path, text)).toEqual([]);
  });
});

test('a file belongs to the longest entry that contains it', () => {
  const folders = ['src', 'src/store', 'test'];
  expect(
    ['src/store/port.ts', 'src/storefront.ts', 'test/a.ts', 'docs/a.md'].map((path) => findRoom(path, folders)),
  ).toEqual(['src/store', 'src', 'test', undefined]);
});
