import type { FrontierPayload } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/button.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { getParameter } from '../../state/location.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import { FrontierChart } from './frontier-chart.js';
import { findChosenPoint, type FrontierPoint } from './frontier-point.js';

interface FrontierProps {
  readonly frontier: FrontierPayload;
  /** True if expected returns were chosen. */
  readonly hasReturns: boolean;
  /**
   * Returns the address of an optimisation that gives the same weights as a point. Returns null if the address is not
   * known.
   */
  formatAddress(point: FrontierPoint): string | null;
}

/**
 * Renders the portfolios that have the highest expected return for their risk under the constraints. A selected point
 * shows its figures.
 */
export function Frontier({ frontier, hasReturns, formatAddress }: FrontierProps) {
  const { tangency, portfolio } = frontier;
  const chosen = findChosenPoint(frontier, getParameter('point'));
  if (chosen === undefined) return null;
  return (
    <Section title="Efficient frontier" aside="within the constraints, annualised">
      <p class="quiet">
        {hasReturns
          ? 'Expected returns come from the selected model.'
          : 'No model of expected returns was selected. The mean returns of the risk window are used.'}
      </p>
      <div class="frontier" data-part="Efficient frontier">
        <FrontierChart frontier={frontier} chosen={chosen} height={300} />
        <div class="frontier-figures">
          {portfolio !== undefined && <PointFigures label="This run" point={portfolio} />}
          <PointFigures label={chosen.label} point={chosen.point} />
          <Take point={chosen.point} address={formatAddress(chosen.point)} />
          {tangency !== null && chosen.point !== tangency && (
            <PointFigures label="Tangency" point={tangency} sharpe={tangency.sharpe} />
          )}
        </div>
      </div>
    </Section>
  );
}

/** Renders a link to an optimisation that gives the selected point. An index can be derived from that optimisation. */
function Take({ point, address }: { readonly point: FrontierPoint; readonly address: string | null }) {
  if (address === null) return null;
  return (
    <>
      <LinkButton href={address}>Optimise for this point</LinkButton>
      <p class="quiet">
        {point.risk_aversion == null
          ? 'Minimum variance within the constraints'
          : `Maximum utility at a risk aversion of ${formatFigure(point.risk_aversion)}`}
        . Optimise for this point, or derive an index that repeats this optimisation at each rebalance with the risk
        known at that time.
      </p>
    </>
  );
}

interface PointFiguresProps {
  readonly label: string;
  readonly point: Pick<FrontierPoint, 'expected_return' | 'volatility' | 'tracking_error'>;
  readonly sharpe?: number;
}

function PointFigures({ label, point, sharpe }: PointFiguresProps) {
  return (
    <>
      <h3>{label}</h3>
      <Metrics
        label={label}
        metrics={[
          { term: 'Expected return', value: formatPercent(point.expected_return) },
          { term: 'Volatility', value: formatPercent(point.volatility) },
          { term: 'Forecast tracking error', value: formatPercent(point.tracking_error) },
          ...(sharpe === undefined ? [] : [{ term: 'Sharpe ratio', value: formatDecimal(sharpe) }]),
        ]}
      />
    </>
  );
}
