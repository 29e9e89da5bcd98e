import type { AttributionView, ContributionPayload } from '#clients/typescript/divisor.js';

/** A contribution of one security, of several or of an overlay part, or the total. */
interface Step {
  readonly label: string;
  readonly value: number;
  readonly isTotal?: boolean;
}

/** Number of securities with a separate step, among the gains and among the losses. */
const STEPS = 6;

/**
 * Returns the steps of the return: the largest gains, the sum of the other securities, the largest losses, overlay
 * parts, and the total. Contributions are after costs, so that costs are not a step.
 */
export function stepsOf({
  contributions,
  total_return: total,
  overlay_parts: parts,
}: AttributionView): readonly Step[] {
  const gains = contributions.slice(0, STEPS).filter(({ contribution }) => contribution > 0);
  const losses = contributions.slice(-STEPS).filter((row) => row.contribution < 0 && !gains.includes(row));
  const rest = contributions.filter((row) => !gains.includes(row) && !losses.includes(row));
  const bar = ({ asset_id: name, contribution }: ContributionPayload): Step => ({ label: name, value: contribution });
  const sum = rest.reduce((whole, { contribution }) => whole + contribution, 0);
  return [
    ...gains.map(bar),
    ...(rest.length > 0 ? [{ label: `${rest.length} others`, value: sum }] : []),
    ...losses.map(bar),
    ...(parts ?? []).map(({ index_id: id, part, contribution }) => ({
      label: `${part} of ${id}`,
      value: contribution,
    })),
    { label: 'total', value: total, isTotal: true },
  ];
}
