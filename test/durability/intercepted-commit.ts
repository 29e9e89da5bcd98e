import * as actual from '#store/lmdb/durable-commit.js';
import { runInTurn } from './counted-calls.js';

/** Replaces the function of the product. The commit is a watched disk call, and the moment after it is another one. */
export async function commitDurably(...words: Parameters<typeof actual.commitDurably>): Promise<void> {
  await runInTurn('commit', () => actual.commitDurably(...words));
  await runInTurn('committed', () => Promise.resolve());
}
