import { expect, test } from 'vitest';
import { mergeContents } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, formatFindingPaths, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

async function readContent(...actions: readonly string[]) {
  const folder = await createFolder();
  await writeFiles(folder, {
    'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,10\n',
    'corporate_actions.csv': `identifier,type,value,ex_date,status\n${actions.join('\n')}\n`,
  });
  return readFolderContent(folder);
}

const HELD_ROWS = ['A,DIVIDEND,0.5,2024-01-02,announced', 'A,DIVIDEND,0.1,2024-01-02,paid'];

test('actions that are appended again count once, those that are paid by now among them', async () => {
  const problems = createProblems();
  const mergedContent = mergeContents(
    await readContent(...HELD_ROWS),
    await readContent('A,DIVIDEND,0.5,2024-01-02,paid', 'A,SPLIT,2,2024-01-03,paid'),
    problems,
  );
  expect(problems.findings()).toEqual([]);
  expect(mergedContent!.actions.map(({ type, value, status }) => [type, value, status])).toEqual([
    ['DIVIDEND', 0.1, 'paid'],
    ['DIVIDEND', 0.5, 'paid'],
    ['SPLIT', 2, 'paid'],
  ]);
});

test('an appended action with another amount than the held one of its date is refused with both', async () => {
  const problems = createProblems();
  const addedContent = await readContent('A,DIVIDEND,0.1,2024-01-02,paid', 'A,DIVIDEND,0.6,2024-01-02,paid');
  expect(mergeContents(await readContent(...HELD_ROWS), addedContent, problems)).toBeUndefined();
  expect(formatFindingPaths(problems.findings())).toEqual(['DUPLICATE_KEY corporate_actions[A 2024-01-02]']);
  expect(problems.findings()[0]!.message).toMatch(/is 0\.5 in the store and 0\.6 in the added rows/);
});
