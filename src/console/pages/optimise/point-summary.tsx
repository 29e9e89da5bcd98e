import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { addQuery } from '../../state/location.js';
import { formatCount, formatPercent } from '../../words/numbers.js';
import { FrontierChart } from './frontier-chart.js';
import { computePointTurnover, type ChosenPoint } from './frontier-point.js';

interface PointSummaryProps {
  readonly chosen: ChosenPoint;
  readonly run: OptimisationRunResult;
  /** Address of the optimisation that gives the point; null if the run did not store risk aversions. */
  readonly optimiseAddress: string | null;
  /** Findings of the run, below the figures. */
  readonly children: ComponentChildren;
}

/** Renders the figures of the selected frontier point, each with the figure of the solution, and links to its neighbours. */
export function PointSummary({ chosen, run, optimiseAddress, children }: PointSummaryProps) {
  const { label, number, point } = chosen;
  const { frontier } = run;
  const createFigure = (term: string, member: 'expected_return' | 'volatility' | 'tracking_error') => {
    const solution = frontier?.portfolio?.[member];
    return {
      term,
      value: formatPercent(point[member]),
      ...(solution === undefined ? {} : { note: `solution ${formatPercent(solution)}` }),
    };
  };
  const { weights } = point;
  const turnover = computePointTurnover(point, run.weights);
  return (
    <Section
      title={`${label} of the frontier`}
      aside={
        <>
          {number !== null && number > 1 && <a href={addQuery({ point: String(number - 1) })}>← Point {number - 1}</a>}
          {number !== null && number < (frontier?.points.length ?? 0) && (
            <a href={addQuery({ point: String(number + 1) })}>Point {number + 1} →</a>
          )}
          {optimiseAddress !== null && <a href={optimiseAddress}>Optimise for this point</a>}
          <a href={addQuery({ point: null })}>Back to the solution</a>
        </>
      }
    >
      <div class="frontier">
        <div class="point-figures">
          <Metrics
            label={`${label} of the frontier`}
            metrics={[
              createFigure('Expected return', 'expected_return'),
              createFigure('Volatility', 'volatility'),
              createFigure('Forecast tracking error', 'tracking_error'),
              ...(turnover === null
                ? []
                : [
                    {
                      term: 'Turnover',
                      value: formatPercent(turnover),
                      note: `solution ${formatPercent(run.turnover)}`,
                      help: 'One-way, against the index weights',
                    },
                  ]),
              ...(weights === undefined
                ? []
                : [
                    {
                      term: 'Holdings',
                      value: formatCount(Object.keys(weights).length),
                      note: `solution ${formatCount(run.holdings)}`,
                    },
                  ]),
            ]}
          />
          {children}
        </div>
        {frontier !== null && <FrontierChart frontier={frontier} chosen={chosen} height={150} isStatic />}
      </div>
    </Section>
  );
}
