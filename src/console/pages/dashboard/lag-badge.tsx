import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import type { Pin } from '../../state/dashboard.js';
import { describeRunLag } from '../../state/run-lag.js';
import { listRuns } from './compared-runs.js';

interface LagBadgeProps {
  readonly one: Pin;
  readonly runs: readonly RunSummaryRow[];
}

/** Marks a part with the first state of its runs that is not current. The other states are in its title. */
export function LagBadge({ one, runs }: LagBadgeProps) {
  const ids = listRuns(one);
  const lags = runs
    .filter(({ index_id: id }) => ids.includes(id))
    .toSorted((a, b) => Number(a.stale === null) - Number(b.stale === null))
    .flatMap(({ index_id: id, stale, store_id: store }) => {
      const lag = describeRunLag(stale, store);
      return lag === null ? [] : [{ text: lag.text, title: `${id}: ${lag.title}` }];
    });
  if (lags.length === 0) return null;
  return (
    <Badge kind="warning" title={lags.map(({ title }) => title).join('\n')}>
      {lags[0]?.text}
    </Badge>
  );
}
