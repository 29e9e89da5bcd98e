import type { IndexAction } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatCount } from '../../words/numbers.js';

/** Maximum number of kinds that are counted separately; other kinds are counted together. */
const KINDS_MAX = 5;

/** Renders the number of listed actions by kind. */
export function Kinds({ actions }: { readonly actions: readonly IndexAction[] }) {
  const counts = new Map<string, number>();
  for (const { type } of actions) counts.set(type, (counts.get(type) ?? 0) + 1);
  const kinds = [...counts].toSorted(([, a], [, b]) => b - a);
  const others = kinds.slice(KINDS_MAX).reduce((sum, [, number]) => sum + number, 0);
  const shown = kinds.slice(0, KINDS_MAX).map(([type, n]) => ({ term: formatKind(type), value: formatCount(n) }));
  return (
    <Metrics
      label="Corporate actions by kind"
      metrics={others === 0 ? shown : [...shown, { term: 'Other kinds', value: formatCount(others) }]}
    />
  );
}

const formatKind = (type: string): string => {
  const words = type.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
