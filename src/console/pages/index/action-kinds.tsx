import type { DividendPointsView, IndexAction } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatCount } from '../../words/numbers.js';
import { listDividendFigures } from './dividends.js';

/** Maximum number of kinds that are counted separately: without, and with, the dividends in points. */
const KINDS_MAX = 5;
const KINDS_BESIDE_POINTS = 2;

interface KindsProps {
  readonly actions: readonly IndexAction[];
  /** Dividends in index points. Undefined while they are loading, or if the run has none. */
  readonly dividends: DividendPointsView | undefined;
}

/** Renders the dividends in index points, and the number of listed actions by kind. */
export function Kinds({ actions, dividends }: KindsProps) {
  const counts = new Map<string, number>();
  for (const { type } of actions) counts.set(type, (counts.get(type) ?? 0) + 1);
  const kinds = [...counts].toSorted(([, a], [, b]) => b - a);
  const separate = dividends === undefined ? KINDS_MAX : KINDS_BESIDE_POINTS;
  const otherCount = kinds.slice(separate).reduce((sum, [, number]) => sum + number, 0);
  return (
    <Metrics
      label="Corporate actions by kind"
      metrics={[
        ...(dividends === undefined ? [] : listDividendFigures(dividends)),
        ...kinds.slice(0, separate).map(([type, n]) => ({ term: formatKind(type), value: formatCount(n) })),
        ...(otherCount === 0 ? [] : [{ term: 'Other actions', value: formatCount(otherCount) }]),
      ]}
    />
  );
}

/** Formats a kind of actions as a plural: `STOCK_DIVIDEND` becomes `Stock dividends`. */
const formatKind = (type: string): string => {
  const words = type.toLowerCase().replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}s`;
};
