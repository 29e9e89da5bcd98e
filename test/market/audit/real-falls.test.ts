import { beforeAll, describe, expect, test } from 'vitest';
import { hasRealSets } from '../real-sets.js';
import { computeScores, type Score } from './planted-splits.js';
import { listRealSets } from './real-panels.js';

const SEED = 16;

const sum = (scores: readonly Score[], count: (score: Score) => number) =>
  scores.reduce((total, score) => total + count(score), 0);
const computeRecall = (scores: readonly Score[]) =>
  sum(scores, ({ foundCount }) => foundCount) / sum(scores, ({ planted }) => planted);
/** Computes the precision as if there were as many missing splits as large real moves. More splits would improve it. */
const computePrecision = (scores: readonly Score[]) => {
  const large = sum(scores, (score) => score.large);
  const right = computeRecall(scores) * large;
  return large === 0 ? 1 : right / (right + sum(scores, ({ claimed }) => claimed.length));
};

describe.skipIf(!hasRealSets)('splits planted into real prices, among their real falls and rises', () => {
  let scores: readonly Score[] = [];
  beforeAll(() => {
    scores = [...listRealSets()].flatMap((set) => computeScores(set, ['none', 'splits'], SEED));
  }, 300_000);

  test.each(['none', 'splits'] as const)(
    'on prices declared %s nine of ten splits are found, and of twenty claims at most one is a real move',
    (declared) => {
      const declaredScores = scores.filter((score) => score.declared === declared);
      for (const score of declaredScores) {
        const { set, planted, large, claimed, missed } = score;
        const reportedScores = [
          claimed.length > 0 ? `claimed ${claimed.join(', ')}` : '',
          missed.length > 0 ? `missed ${missed.slice(0, 10).join(', ')}` : '',
        ].filter((text) => text !== '');
        console.info(
          `${declared} | ${set} | planted ${planted} | recall ${computeRecall([score]).toFixed(3)} | large moves ${large} | precision ${computePrecision([score]).toFixed(3)} | ${reportedScores.join('; ')}`,
        );
      }
      const reportText = `recall ${computeRecall(declaredScores).toFixed(3)} of ${sum(declaredScores, ({ planted }) => planted)}, precision ${computePrecision(declaredScores).toFixed(3)} over ${sum(declaredScores, ({ large }) => large)} large moves`;
      console.info(`${declared}: ${reportText}`);
      expect(computeRecall(declaredScores), reportText).toBeGreaterThanOrEqual(0.9);
      expect(computePrecision(declaredScores), reportText).toBeGreaterThanOrEqual(0.95);
    },
  );
});
