import { describe, expect, test } from 'vitest';
import { CAPM, CAPS, runToEnd, requireSolution } from './objectives.js';
import { put } from './set-up.js';

/** Uses the constraint set of `describeObjectives`, which runs before. */
export function describeTails(): void {
  describe('a run for the worst scenarios', () => {
    test('with every scenario in the tail has the largest mean return', async () => {
      const all = { type: 'min_cvar', confidence: 0 };
      const { objective_value: loss, tail, weights } = await requireSolution({ objective: all });
      const historical = { type: 'historical', shrinkage: 0 };
      const mostSolution = await requireSolution({ objective: 'max_return', expected_returns: historical });
      expect(loss).toBeCloseTo(-mostSolution.objective_value / 252, 12);
      expect(tail!.average).toBeCloseTo(loss, 14);
      expect(tail!.largest).toBeGreaterThan(tail!.average);
      expect(tail!.level).toBeLessThan(0);
      for (const { identifier, weight } of mostSolution.weights)
        expect(weights.find((row) => row.identifier === identifier)!.weight).toBeCloseTo(weight, 9);
      expect(mostSolution.tail).toBeNull();
    });

    test('of the worst drawdowns uses the requested number of sessions, and adds costs', async () => {
      const request = { objective: { type: 'min_cdar', confidence: 0.9, scenarios: 120 } };
      const { tail, objective_value, costs } = await requireSolution({ ...request, costs: { linear_bps: 10 } });
      expect(tail!.scenarios).toBe(120);
      expect(objective_value).toBeCloseTo(tail!.average + costs!, 14);
      expect([tail!.level, tail!.average, tail!.largest].toSorted((a, b) => a - b)).toEqual([
        tail!.level,
        tail!.average,
        tail!.largest,
      ]);
      expect((await requireSolution(request)).tail!.average).toBeLessThan(tail!.average);
    });

    test('of simulated losses has equal draws for equal seeds, and is limited by a row of the same scenarios', async () => {
      const drawnTerms = { source: 'student', draws: 200, seed: 3, confidence: 0.9 };
      const leastSolution = await requireSolution({ objective: { type: 'min_cvar', ...drawnTerms } });
      expect([leastSolution.converged, leastSolution.tail!.scenarios]).toEqual([true, 200]);
      expect((await requireSolution({ objective: { type: 'min_cvar', ...drawnTerms } })).weights).toEqual(
        leastSolution.weights,
      );
      expect((await requireSolution({ objective: { type: 'min_cvar', ...drawnTerms, seed: 4 } })).weights).not.toEqual(
        leastSolution.weights,
      );
      // Draws vary around the expected returns. For a constraint row, they vary around the expected returns of the
      // request.
      const capmSolution = await requireSolution({
        objective: { type: 'min_cvar', ...drawnTerms },
        expected_returns: CAPM,
      });
      const { average } = capmSolution.tail!;
      await put('tail', [...CAPS, { id: 'tail', type: 'CVaR', params: { limit: 1.05 * average, ...drawnTerms } }]);
      const utility = { objective: 'max_return', expected_returns: CAPM };
      const limitedSolution = await requireSolution({ ...utility, constraint_set_id: 'tail' });
      expect(limitedSolution.binding.map((row) => row?.['type'])).toContain('CVaR');
      expect(limitedSolution.objective_value).toBeLessThan((await requireSolution(utility)).objective_value);
      const blocks = { limit: 1.05 * average, ...drawnTerms, block: 5, scenarios: 60 };
      await put('tail', [...CAPS, { id: 'tail', type: 'CVaR', params: blocks }]);
      const objective = { type: 'min_cvar', confidence: 0.9, scenarios: 60, seed: 3 };
      const { findings } = await requireSolution({ constraint_set_id: 'tail', objective });
      expect(findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
        'NO_EFFECT objective.seed',
        'NO_EFFECT constraints[1].params.block',
        'NO_EFFECT constraints[1].params.scenarios',
      ]);
      expect(findings[0]!.message).toBe('objective.seed has no effect if source is historical.');
      await put('tail', [...CAPS, { id: 'tail', type: 'CVaR', params: { limit: 0.95 * average, ...drawnTerms } }]);
      const { error } = await runToEnd({ ...utility, constraint_set_id: 'tail' });
      expect(error!.code).toBe('INFEASIBLE');
      const { relaxations } = error!.detail as { relaxations: { id: string; to: number }[] };
      // A relaxation is solved before it is reported. If its minimum leaves only one portfolio, it is increased by up
      // to 1e-5.
      const { to } = relaxations.find(({ id }) => id === 'tail')!;
      expect(to).toBeGreaterThan(average - 1e-9);
      expect(to).toBeLessThan(average + 1e-5);
    });
  });
}
