import type { BacktestRunResult, JobStatus } from '#clients/typescript/divisor.js';
import { Facts } from '../../components/facts.js';
import { Findings } from '../../components/findings.js';
import { countValues, formatChange, formatCount, formatPercent, getSignClass } from '../../words/numbers.js';

/** Renders the period, return, rebalances and warnings of a successful backtest. */
export function BacktestOutcome({ job: { result } }: { readonly job: JobStatus }) {
  if (result === null || result === undefined) return null; // the result was deleted
  const { level, metrics, rebalances_total: rebalances, findings } = result as BacktestRunResult; // schema of the kind
  const { index: dates } = level;
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <section aria-label="Result">
      <h3>Result</h3>
      <Facts
        facts={[
          ['Period', `${dates[0]} to ${dates.at(-1)}, ${countValues(dates.length, 'session')}`],
          [
            'Total return after costs',
            <span class={getSignClass(metrics.total_return)}>{formatChange(metrics.total_return)}</span>,
          ],
          ['Volatility', `${formatPercent(metrics.volatility)} annual`],
          ['Rebalances', formatCount(rebalances)],
          ['Warnings', formatCount(warnings.length)],
        ]}
      />
      {warnings.length > 0 && <Findings findings={warnings} shown={WARNINGS_MAX} />}
    </section>
  );
}

/** Maximum number of warnings that are visible. */
const WARNINGS_MAX = 3;
