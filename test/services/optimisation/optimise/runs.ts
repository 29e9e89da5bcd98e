import { describe, expect, test } from 'vitest';
import { service, put, runOptimisation, requireSolution } from './set-up.js';

export function describeRuns(): void {
  describe('a run', () => {
    test('without rows equals the index itself', async () => {
      const result = await requireSolution([]);
      expect(result).toMatchObject({
        converged: true,
        heuristic: false,
        holdings: 11,
        tracking_error: 0,
        turnover: 0,
        gap: 0,
      });
      expect(result.weights.every(({ weight, index_weight }) => weight === index_weight)).toBe(true);
    });

    test('satisfies its rows, its weights sum to 1, and it can be read again', async () => {
      const result = await requireSolution([
        { id: 'pos', type: 'PositionBounds', params: { upper: 0.14 } },
        { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.03, upper: 0.03 } },
        { id: 'out', type: 'Exclude', params: { identifiers: ['N11'] } },
        { id: 'turn', type: 'Turnover', params: { limit: 0.3 } },
      ]);
      expect(result.converged).toBe(true);
      expect(Math.max(...result.weights.map(({ weight }) => weight))).toBeLessThanOrEqual(0.14 + 1e-12);
      expect(result.weights.find(({ identifier }) => identifier === 'N11')).toMatchObject({
        weight: 0,
        at_bound: 'lower',
      });
      expect(result.weights.reduce((sum, { risk_contribution }) => sum + risk_contribution, 0)).toBeCloseTo(
        result.tracking_error,
        12,
      );
      expect(result.tracking_error ** 2).toBeCloseTo(result.objective, 14);
      expect(result.turnover).toBeCloseTo(
        result.weights.reduce((sum, { active_weight }) => sum + Math.abs(active_weight), 0) / 2,
        12,
      );
      expect(Math.abs(result.active_sum)).toBeLessThan(1e-12);
      expect(result.binding.map((entry) => entry!['label'])).toEqual(
        expect.arrayContaining(['FullInvestment[default]:eq', 'Exclude[out]:eq:N11']),
      );
      expect(result.frontier!.points).toHaveLength(21);
      const { points, tangency, portfolio, index } = result.frontier!;
      // Each point is a portfolio that satisfies the constraints. It is fully invested and does not hold the excluded
      // securities.
      for (const { weights } of [...points, tangency ?? points[0]!]) {
        expect(Object.values(weights!).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 9);
        expect(Object.keys(weights!)).not.toContain('N11');
      }
      // The portfolio of the run and its index are measured like the points. No portfolio with this return has a lower
      // volatility.
      expect([portfolio!.volatility, portfolio!.tracking_error]).toEqual([
        expect.closeTo(result.volatility, 12),
        expect.closeTo(result.tracking_error, 12),
      ]);
      expect(index!.tracking_error).toBe(0);
      expect(portfolio!.volatility).toBeGreaterThanOrEqual(points[0]!.volatility - 1e-12);
      points
        .slice(1)
        .forEach((point, i) => expect(point.volatility).toBeGreaterThanOrEqual(points[i]!.volatility - 1e-12));
      if (tangency !== null)
        for (const point of points)
          expect(tangency.sharpe).toBeGreaterThanOrEqual(point.expected_return / point.volatility - 1e-9);
      expect((await service.ask('GET', `/optimise/runs/${result.run_id}`)).body).toEqual(result);
    });

    test('has the value, the bound and the slack of each side of each constraint', async () => {
      const result = await requireSolution([
        { id: 'pos', type: 'PositionBounds', params: { upper: 0.14 } },
        { id: 'turn', type: 'Turnover', params: { limit: 0.3 } },
      ]);
      // A side of a constraint has the value that is nearest to its bound.
      const findSide = (label: string) => result.constraints!.find((side) => side.label.startsWith(label));
      const largest = result.weights.toSorted((a, b) => b.weight - a.weight)[0]!;
      expect(findSide('PositionBounds[pos]:upper')).toEqual({
        label: expect.stringMatching(/^PositionBounds\[pos\]:upper:N\d+$/),
        id: 'pos',
        index: 0,
        type: 'PositionBounds',
        side: 'upper',
        unit: 'fraction',
        value: expect.closeTo(largest.weight, 12),
        limit: 0.14,
        slack: expect.closeTo(0.14 - largest.weight, 12),
        binding: largest.at_bound === 'upper',
      });
      expect(findSide('Turnover[turn]:upper')).toMatchObject({
        index: 1,
        value: expect.closeTo(result.turnover, 12),
        limit: 0.3,
        slack: expect.closeTo(0.3 - result.turnover, 12),
        binding: false,
      });
      expect(findSide('FullInvestment[default]:eq')).toMatchObject({ index: null, limit: 1, slack: 0, binding: true });
    });

    test('with few securities states whether the choice is proven or only searched', async () => {
      const row = { id: 'n', type: 'Cardinality', params: { maximum: 5 } };
      const quickSolution = await requireSolution([row]);
      expect(quickSolution).toMatchObject({ holdings: 5, heuristic: false, gap: 0, proof: 'quick' });
      const thoroughSolution = await requireSolution([row], { proof: 'thorough' });
      expect(thoroughSolution).toMatchObject({ holdings: 5, heuristic: false, gap: 0, proof: 'thorough' });
    });

    test('with a short position counts weights above 0 as holdings, and separately every position', async () => {
      const result = await requireSolution([
        { id: 'short', type: 'PositionBounds', params: { lower: -0.1, upper: -0.05, identifiers: ['N10', 'N11'] } },
      ]);
      const long = result.weights.filter(({ weight }) => weight > 0).length;
      expect(result.weights.filter(({ weight }) => weight < 0)).toHaveLength(2);
      expect([result.holdings, result.gross_holdings]).toEqual([long, long + 2]);
    });

    test('that is infeasible fails with a conflict whose relaxations all succeed', async () => {
      const rows = [
        { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
        { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.5, upper: 0.5 } },
      ];
      const job = await runOptimisation(rows);
      expect(job).toMatchObject({ status: 'failed', error: { code: 'INFEASIBLE' } });
      const detail = job.error!.detail as {
        proven: boolean;
        conflict: { id: string; multiplier: number }[];
        relaxations: { index: number; parameter: string; from: number; to: number }[];
      };
      expect(detail.proven).toBe(true);
      expect(detail.conflict).toMatchObject([
        { id: 'pos', label: 'PositionBounds[pos]:upper', multiplier: 0.5 },
        { id: '', index: null, type: 'FullInvestment', label: 'FullInvestment[default]:eq', multiplier: 0.5 },
      ]);
      expect(detail.relaxations).toMatchObject([{ id: 'pos', parameter: 'upper', from: 0.05, to: 0.090909091 }]);
      for (const { index, parameter, to } of detail.relaxations) {
        const relaxedRows = rows.map((row, i) =>
          i === index ? { ...row, params: { ...row.params, [parameter]: to } } : row,
        );
        expect((await runOptimisation(relaxedRows)).status).toBe('succeeded');
      }
    });

    /**
     * Infeasible sets of rows. A different class causes each conflict. The conflict needs no other row and disappears
     * if any one of its rows is removed. Every relaxation works.
     */
    test.each([
      [
        'groups that ask for more than there is',
        [
          { id: 'least', type: 'GroupBounds', params: { field: 'SECTOR', lower: 0.4 } },
          { id: 'turn', type: 'Turnover', params: { limit: 0.5 } },
        ],
      ],
      [
        'a sale that the active share forbids',
        [
          { id: 'share', type: 'ActiveShare', params: { limit: 0.02 } },
          { id: 'out', type: 'Exclude', params: { identifiers: ['N11'] } },
        ],
      ],
      [
        'less volatility than there can be',
        [
          { id: 'vol', type: 'Volatility', params: { limit: 0.01 } },
          { id: 'pos', type: 'PositionBounds', params: { upper: 0.5 } },
        ],
      ],
      [
        'two conflicts at once',
        [
          { id: 'cap', type: 'PositionBounds', params: { upper: 0.05 } },
          { id: 'te', type: 'TrackingError', params: { limit: 0.5 } },
          { id: 'x', type: 'LinearConstraint', params: { coefficients: { N10: 1 }, lower: 0.2, priority: 3 } },
        ],
      ],
      [
        'fewer names than the caps need',
        [
          { id: 'n', type: 'Cardinality', params: { maximum: 2 } },
          { id: 'cap', type: 'PositionBounds', params: { upper: 0.4 } },
        ],
      ],
    ])('%s: every remedy works', async (_, rows) => {
      type Remedy = { index: number; parameter: string; to: number };
      const job = await runOptimisation(rows);
      expect(job).toMatchObject({ status: 'failed', error: { code: 'INFEASIBLE' } });
      const detail = job.error!.detail as {
        conflict: { index: number | null; multiplier: number }[];
        relaxations: Remedy[];
        all_rows_relaxation?: Remedy[];
      };
      expect(detail.conflict.reduce((sum, { multiplier }) => sum + multiplier, 0)).toBeCloseTo(1, 12);
      const conflictRows = detail.conflict.flatMap(({ index }) => (index === null ? [] : [index]));
      expect(new Set(conflictRows).size).toBe(conflictRows.length);
      // If the conflict consists of all rows, these rows have just failed.
      if (conflictRows.length < rows.length)
        expect((await runOptimisation(conflictRows.map((index) => rows[index]))).status).toBe('failed');
      for (const droppedRow of conflictRows)
        expect(
          (await runOptimisation(conflictRows.filter((index) => index !== droppedRow).map((index) => rows[index])))
            .status,
        ).toBe('succeeded');
      const applyRemedies = (remedies: Remedy[]) =>
        rows.map((row, i) => ({
          ...row,
          params: {
            ...row.params,
            ...Object.fromEntries(
              remedies.filter(({ index }) => index === i).map(({ parameter, to }) => [parameter, to]),
            ),
          },
        }));
      for (const remedy of detail.relaxations)
        expect((await runOptimisation(applyRemedies([remedy]))).status, JSON.stringify(remedy)).toBe('succeeded');
      expect(detail.all_rows_relaxation).toBeDefined();
      expect((await runOptimisation(applyRemedies(detail.all_rows_relaxation!))).status).toBe('succeeded');
    });

    test('over a window that is too short reports the number of returns, and the start that limits it', async () => {
      // Sessions from 2024-03-19 to 28, and from 2023-01-03 to 11. The latter are the first sessions of the store.
      const latePeriod = { start: '2024-03-19', end: '2024-03-28' };
      const first = { start: '2023-01-03', end: '2023-01-11' };
      for (const [window, returns, told] of [
        [latePeriod, 7, ' The window begins on start 2024-03-19; choose an earlier start.'],
        [first, 6, ''],
      ] as const)
        expect((await runOptimisation([], window)).error).toMatchObject({
          code: 'RISK_INSUFFICIENT_DATA',
          message: `0 of 11 securities are covered, with ${returns} sessions of returns for risk_model; at least 20 are required.${told}`,
          detail: { assets: 0, observations: returns, needed: 20 },
        });
    });

    test('is refused before it begins if a named document is missing', async () => {
      await put('probe', []);
      const start = (body: object) =>
        service.refusal('POST', '/optimise/runs', { index_id: 'BROAD', constraint_set_id: 'probe', ...body });
      expect((await start({ index_id: 'NONE' })).code).toBe('INDEX_NOT_FOUND');
      expect((await start({ constraint_set_id: 'none' })).code).toBe('CONSTRAINT_SET_NOT_FOUND');
      expect((await start({ as_of: '2023-02-27' })).code).toBe('NO_DATA_AT_DATE');
      expect((await start({ start: '2024-02-01', end: '2024-01-01' })).code).toBe('INVALID_RANGE');
      await put('probe', [{ type: 'GroupBounds', params: { field: 'COUNTRY' } }]);
      expect((await start({})).detail).toMatchObject({
        findings: [{ code: 'UNKNOWN_FIELD_NAME', path: 'constraints[0].params.field' }],
      });
    });
  });
}
