import { assertNoErrors } from '#domain/refusals/refusal.js';
import type { InputOfView } from '#jobs/tasks/views.js';

/**
 * Returns the series that a performance view measures. Default: the index if a variant is requested, otherwise the
 * portfolio.
 * @throws Refusal VALIDATION_FAILED for a variant of the portfolio
 */
export function selectMeasuredSeries({ of, variant }: Pick<InputOfView<'performance'>, 'of' | 'variant'>) {
  if (of === 'portfolio' && variant !== undefined) {
    const message = `The portfolio has only the return of its run; variant ${variant} belongs to the index.`;
    const finding = { severity: 'error', code: 'NOT_IN_CHOICES', message, path: 'of', accepted: ['index'] } as const;
    assertNoErrors('query', [finding]);
  }
  return { of: of ?? (variant === undefined ? 'portfolio' : 'index'), variant: variant ?? null } as const;
}
