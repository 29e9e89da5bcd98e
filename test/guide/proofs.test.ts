import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Pages that state which test proves each promise. They must not name deleted tests. */
const PAGES = ['security', 'promises'];

/** Returns the names of tests in the tables of a page. A name is `room/name` or a folder of tests. */
function listTestsNamed(page: string): string[] {
  const rows = readFileSync(`data/guide/${page}.md`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const cells = rows.flatMap((row) => row.split('|').slice(-3));
  return [
    ...new Set(
      cells
        .flatMap((cell) => cell.split(/[,;]/))
        .map((word) => word.trim().replaceAll('`', ''))
        .filter((word) => /^[a-z]+(?:\/[a-z-]+)+$|^(?:fuzz|overload)$/.test(word)),
    ),
  ];
}

test.each(PAGES)('every test that the page %s names exists', (page) => {
  const names = listTestsNamed(page);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !existsSync(`test/${name}.test.ts`) && !existsSync(`test/${name}`))).toEqual([]);
});
