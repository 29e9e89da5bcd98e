import { describe, expect, test } from 'vitest';
import { assertEstimable, findCoverage, readReturns } from '#domain/risk/return-panel.js';
import { createRandomReturns, createWindow } from './window.js';

const addHoles = (
  sessions: number,
  names: number,
  holes: readonly (readonly [session: number, name: number])[],
): (number | null)[][] => {
  const returns: (number | null)[][] = createRandomReturns(sessions, names);
  for (const [session, name] of holes) returns[session]![name] = null;
  return returns;
};

describe('coverage', () => {
  test('gives n sessions n - 1 returns', () => {
    const window = createWindow({ returns: createRandomReturns(41, 3) });
    const coverage = findCoverage(window, [0, 1, 2]);
    expect(coverage.sessions).toHaveLength(40);
    expect(coverage.sessions[0]).toBe(1);
    expect(coverage.excluded.size).toBe(0);
  });

  test('loses two returns of every security at a gap of one session', () => {
    const coverage = findCoverage(createWindow({ returns: addHoles(41, 3, [[10, 1]]) }), [0, 1, 2]);
    expect([...coverage.columns]).toEqual([0, 1, 2]);
    expect(coverage.sessions).toHaveLength(38);
    expect([...coverage.sessions]).not.toContain(10);
    expect([...coverage.sessions]).not.toContain(11);
  });

  test('omits a late listing before it drops rows without its return', () => {
    const lateHoles = Array.from({ length: 30 }, (_, s) => [s, 2] as const);
    const coverage = findCoverage(createWindow({ returns: addHoles(60, 3, lateHoles) }), [0, 1, 2]);
    expect([...coverage.columns]).toEqual([0, 1]);
    expect(coverage.sessions).toHaveLength(59);
    expect(coverage.excluded.get(2)).toBe('prices on 30 of 60 sessions; at least 48 are required');
  });

  test('a security needs 20 returns even when it has most of a short window', () => {
    const coverage = findCoverage(
      createWindow({
        returns: addHoles(23, 2, [
          [21, 1],
          [22, 1],
        ]),
      }),
      [0, 1],
    );
    expect([...coverage.columns]).toEqual([0, 1]);
    expect(
      findCoverage(
        createWindow({
          returns: addHoles(22, 2, [
            [20, 1],
            [21, 1],
          ]),
        }),
        [0, 1],
      ).excluded.get(1),
    ).toBe('19 returns in the window; at least 20 are required');
  });

  test('80 % of the sessions are enough, one fewer is not', () => {
    const createGaps = (missing: number) =>
      addHoles(
        100,
        2,
        Array.from({ length: missing }, (_, k) => [99 - k, 1] as const),
      );
    expect(findCoverage(createWindow({ returns: createGaps(20) }), [0, 1]).excluded.size).toBe(0);
    expect(findCoverage(createWindow({ returns: createGaps(21) }), [0, 1]).excluded.get(1)).toContain(
      'prices on 79 of 100',
    );
  });

  test('a security without any price is reported', () => {
    const coverage = findCoverage(
      createWindow({
        returns: addHoles(
          30,
          2,
          Array.from({ length: 30 }, (_, s) => [s, 0] as const),
        ),
      }),
      [0, 1],
    );
    expect(coverage.excluded.get(0)).toBe('no price in the window');
  });

  test('contains the returns of covered securities, in the requested order', () => {
    const returns = createRandomReturns(30, 3);
    const window = createWindow({ returns });
    const coverage = findCoverage(window, [2, 0]);
    const out = new Float64Array(29 * 2);
    readReturns(window, coverage, out);
    expect(out[2 * 7]).toBeCloseTo(returns[8]![2]!, 15);
    expect(out[2 * 7 + 1]).toBeCloseTo(returns[8]![0]!, 15);
  });

  test('19 complete observations are refused with both numbers, 20 are not', () => {
    const enough = createWindow({ returns: createRandomReturns(21, 2) });
    expect(() => assertEstimable(enough, findCoverage(enough, [0, 1]))).not.toThrow();
    // Each security has 21 returns, but on different sessions.
    const separateWindow = createWindow({
      returns: addHoles(24, 2, [
        [5, 0],
        [15, 1],
      ]),
    });
    expect(() => assertEstimable(separateWindow, findCoverage(separateWindow, [0, 1]))).toThrow(
      /2 of 2 securities are covered, with 19 complete observations; at least 1 security and 20 observations are required\.$/,
    );
  });

  test('a refusal states why securities were omitted, for up to five of them', () => {
    const shortWindow = createWindow({ returns: createRandomReturns(10, 7) });
    const names = Array.from({ length: 7 }, (_, column) => column);
    const reportedNames = names
      .slice(0, 5)
      .map((column) => `${shortWindow.sm.identifiers[column]} (9 returns in the window; at least 20 are required)`);
    expect(() => assertEstimable(shortWindow, findCoverage(shortWindow, names))).toThrow(
      expect.objectContaining({
        code: 'RISK_INSUFFICIENT_DATA',
        message: `0 of 7 securities are covered, with 0 complete observations; at least 1 security and 20 observations are required. Excluded: ${reportedNames.join(', ')}, 2 more.`,
      }),
    );
  });
});
