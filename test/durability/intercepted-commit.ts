import * as actual from '#store/lmdb/durable-commit.js';
import { inTurn } from './counted-calls.js';

/** Replaces the program's function: a commit is a watched call to the disk, and so is the moment after it. */
export async function commitDurably(...words: Parameters<typeof actual.commitDurably>): Promise<void> {
  await inTurn('commit', () => actual.commitDurably(...words));
  await inTurn('committed', () => Promise.resolve());
}
