import { Button } from '../../components/button.js';
import { Facts } from '../../components/facts.js';
import { keepWordsWhole } from '../../components/metrics.js';
import { countValues } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { formatRunTime, type RunTime } from './run-time.js';
import { countVariants } from './sweep-requests.js';
import { formatMetric } from './values.js';

interface SweepSummaryProps {
  readonly indexId: string;
  readonly grid: Readonly<Record<string, readonly Json[]>>;
  /** Summary of the terms of the backtests. */
  readonly backtests: string;
  readonly rank: string;
  readonly folds: JsonObject | null;
  readonly time: RunTime | null;
  /** False if a value is refused. */
  readonly isValid: boolean;
  onRun(): Promise<unknown>;
}

/** Renders the number of variants, the terms and the estimated time of a sweep next to the button that runs it. */
export function SweepSummary({ indexId, grid, backtests, rank, folds, time, isValid, onRun }: SweepSummaryProps) {
  const counts = Object.values(grid).map(({ length }) => length);
  const variants = counts.length === 0 ? 0 : countVariants({ grid });
  const product = counts.length > 1 ? ` = ${counts.join(' × ')}` : '';
  return (
    <aside class="sweep-summary" aria-label="This sweep">
      <h2>This sweep</h2>
      <Facts
        facts={[
          ['Index', indexId],
          ['Variants', `${variants}${product}`],
          ['Backtests', keepWordsWhole(backtests)],
          ['Ranked by', formatMetric(rank)],
          ['Test of the choice', folds === null ? 'none' : String(folds['method']).replaceAll('_', ' ')],
          ['Estimated time', variants === 0 || time === null ? null : formatRunTime(time, variants)],
        ]}
      />
      <Button kind="main" disabled={variants === 0 || !isValid} onClick={() => void onRun()}>
        {variants === 0 ? 'Run' : `Run ${countValues(variants, 'variant')}`}
      </Button>
      {counts.length === 0 && <p class="quiet">Choose a parameter to vary first.</p>}
    </aside>
  );
}
