import type { RiskDecomposition, TotalRiskDecomposition } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { formatFactor } from '../../words/labels.js';
import { formatChange, formatDecimal, formatPercent, formatPoints } from '../../words/numbers.js';

/** Active or total risk, split by factor. */
export type FactorDecomposition = RiskDecomposition | TotalRiskDecomposition;

/**
 * Renders the contribution of each factor to the volatility or the tracking error, the largest first, its share of the
 * variance, and the exposure.
 */
export function FactorBars({ view }: { readonly view: FactorDecomposition }) {
  const { factors, contributions, exposures, factor_share: factorShare, total_variance: variance } = view;
  const isActive = 'benchmark' in view;
  const risk = isActive ? view.tracking_error : view.volatility;
  const createBar = (label: string, share: number, exposure: number | null = null) => ({
    label,
    value: share * risk,
    cells: [
      share < 0 ? formatChange(share, 1) : formatPercent(share, 1),
      exposure === null ? '' : formatDecimal(exposure, 3),
    ],
  });
  return (
    <Bars
      isPlain
      label={`Contribution of each factor to the ${isActive ? 'active' : 'total'} risk`}
      heads={[
        'Contribution',
        isActive ? 'Share of active variance' : 'Share of variance',
        isActive ? 'Active exposure' : 'Exposure',
      ]}
      bars={[
        ...factors
          .map((factor) =>
            createBar(formatFactor(factor), (contributions[factor] ?? 0) * factorShare, exposures[factor]),
          )
          .toSorted((a, b) => b.value - a.value),
        createBar('Specific', variance === 0 ? 0 : 1 - factorShare),
        { ...createBar('Total', variance === 0 ? 0 : 1), isText: true, isTotal: true },
      ]}
      format={formatPoints}
    />
  );
}
