import * as actual from '#store/lmdb/durable-commit.js';
import { inTurn } from './counted-calls.js';

/** Replaces the product's function: a commit is a watched disk call, and the moment after it is another. */
export async function commitDurably(...words: Parameters<typeof actual.commitDurably>): Promise<void> {
  await inTurn('commit', () => actual.commitDurably(...words));
  await inTurn('committed', () => Promise.resolve());
}
