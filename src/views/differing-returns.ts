import type { Finding } from '#domain/refusals/findings.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';

/**
 * Returns a finding if some levels include dividends and others do not. Raw series are ignored, because it is unknown
 * whether they include dividends.
 */
export function findDifferingReturns(
  levels: readonly { readonly id: string; readonly name?: string; readonly variant: MeasuredVariant }[],
  path: string,
): Finding[] {
  const knownLevels = levels.filter(({ variant }) => variant !== 'raw');
  if (new Set(knownLevels.map(({ variant }) => variant)).size <= 1) return [];
  const levelsText = knownLevels.map(({ id, name = id, variant }) => `${name} ${variant}`).join(', ');
  const message = `The levels have different return variants: ${levelsText}.`;
  return [{ severity: 'warning', code: 'RETURNS_DIFFER', path, message }];
}
