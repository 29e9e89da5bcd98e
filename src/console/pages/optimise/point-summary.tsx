import type { FrontierPayload } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { addQuery } from '../../state/location.js';
import { formatCount, formatPercent } from '../../words/numbers.js';
import type { ChosenPoint } from './frontier-point.js';

interface PointSummaryProps {
  readonly chosen: ChosenPoint;
  readonly frontier: FrontierPayload | null;
}

/**
 * Renders the figures of the selected point of the frontier. Each has the figure of the solution next to it. A link
 * leads back to the solution.
 */
export function PointSummary({ chosen: { label, point }, frontier }: PointSummaryProps) {
  const createFigure = (term: string, member: 'expected_return' | 'volatility' | 'tracking_error') => {
    const solution = frontier?.portfolio?.[member];
    return {
      term,
      value: formatPercent(point[member]),
      ...(solution === undefined ? {} : { note: `solution ${formatPercent(solution)}` }),
    };
  };
  const { weights } = point;
  return (
    <Section title={`${label} of the frontier`} aside={<a href={addQuery({ point: null })}>Back to the solution</a>}>
      <Metrics
        label={`${label} of the frontier`}
        metrics={[
          createFigure('Expected return', 'expected_return'),
          createFigure('Volatility', 'volatility'),
          createFigure('Forecast tracking error', 'tracking_error'),
          ...(weights === undefined ? [] : [{ term: 'Holdings', value: formatCount(Object.keys(weights).length) }]),
        ]}
      />
    </Section>
  );
}
