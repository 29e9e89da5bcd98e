import type { RiskDecomposition } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { formatFactor } from '../../words/labels.js';
import { formatChange, formatDecimal, formatPercent } from '../../words/numbers.js';

/** Renders how much each factor contributes to the active variance, with the active exposure. */
export function FactorBars({ view }: { readonly view: RiskDecomposition }) {
  const { factors, contributions, exposures, factor_share: factorShare, total_variance: variance } = view;
  return (
    <Bars
      isPlain
      label="Share of each factor in the active variance"
      heads={['Share of active variance', 'Active exposure']}
      bars={[
        ...factors.map((factor) => ({
          label: formatFactor(factor),
          value: (contributions[factor] ?? 0) * factorShare,
          cells: [formatDecimal(exposures[factor] ?? null, 3)],
        })),
        { label: 'Specific', value: variance === 0 ? 0 : 1 - factorShare, isText: true, cells: [''] },
        { label: 'Total', value: variance === 0 ? 0 : 1, isText: true, isTotal: true, cells: [''] },
      ]}
      format={(value) => (value < 0 ? formatChange(value, 1) : formatPercent(value, 1))}
    />
  );
}
