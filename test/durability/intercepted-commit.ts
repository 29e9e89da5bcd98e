import * as actual from '#store/lmdb/durable-commit.js';
import { inTurn } from './counted-calls.js';

/** In place of the program's: a commit is a call to the disk that is watched, and so is the moment after it. */
export async function commitDurably(...words: Parameters<typeof actual.commitDurably>): Promise<void> {
  await inTurn('commit', () => actual.commitDurably(...words));
  await inTurn('committed', () => Promise.resolve());
}
