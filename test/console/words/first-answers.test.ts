import { expect, test } from 'vitest';
import { isWithoutResult } from '#console/words/jobs.js';

test('only a study without any result has no result', () => {
  const createJob = (solved: string) => ({ kind: 'study' as const, message: `Done. ${solved} have no result.` });
  expect(isWithoutResult(createJob('3 of 3 optimisations'))).toBe(true);
  expect(isWithoutResult(createJob('3 of 13 optimisations'))).toBe(false);
  expect(isWithoutResult(createJob('3 of 30 optimisations'))).toBe(false);
  expect(isWithoutResult({ kind: 'sweep', message: '3 of 3 optimisations have no result.' })).toBe(false);
});
