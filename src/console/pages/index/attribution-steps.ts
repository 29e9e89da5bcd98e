import type { AttributionView, ContributionPayload, GroupAttributionRow } from '#clients/typescript/divisor.js';
import { countValues, formatChange, formatPercent } from '../../words/numbers.js';

/**
 * Step of an attribution: the contribution of one security, of several, of a group or of an overlay part, or the total.
 */
interface Step {
  readonly label: string;
  /** Average weight and, for a security, its return. Empty for a part without a weight. */
  readonly cells: readonly string[];
  readonly value: number;
  readonly isTotal?: boolean;
}

/** Number of securities that have their own step, for gains and for losses. */
const STEPS_MAX = 8;

/**
 * Returns the steps of the return by security: the largest gains, the sum of the other gains, the sum of the other
 * losses, the largest losses, overlay parts, and the total. Contributions are after costs, so costs are not a step.
 */
export function createSteps({
  contributions,
  total_return: total,
  overlay_parts: parts,
}: AttributionView): readonly Step[] {
  const { gains, losses } = splitBySign(contributions);
  const createStep = ({ asset_id: name, contribution, average_weight: weight, ...row }: ContributionPayload): Step => ({
    label: name,
    value: contribution,
    cells: [formatPercent(weight), formatChange(row.total_return)],
  });
  return [
    ...gains.slice(0, STEPS_MAX).map(createStep),
    ...createRestSteps(gains.slice(STEPS_MAX), 'gain'),
    ...createRestSteps(losses.slice(0, -STEPS_MAX), 'loss', 'losses'),
    ...losses.slice(-STEPS_MAX).map(createStep),
    ...(parts ?? []).map(({ index_id: id, part, contribution }) => ({
      label: `${part} of ${id}`,
      value: contribution,
      cells: ['', ''],
    })),
    { label: 'Total', value: total, isTotal: true, cells: ['', ''] },
  ];
}

/** Returns the contributions of securities. The ids of overlay parts contain slashes. */
export const listContributors = (contributions: AttributionView['contributions']): readonly ContributionPayload[] =>
  contributions.filter(({ asset_id: id }) => !id.includes('/'));

/** Divides securities into those with a positive contribution and all others. Their order does not change. */
export function splitBySign(contributions: AttributionView['contributions']) {
  const securities = listContributors(contributions);
  return {
    gains: securities.filter(({ contribution }) => contribution > 0),
    losses: securities.filter(({ contribution }) => contribution <= 0),
  };
}

const createRestSteps = (rest: readonly ContributionPayload[], one: string, several?: string): readonly Step[] =>
  rest.length === 0
    ? []
    : [
        {
          label: countValues(rest.length, `other ${one}`, several && `other ${several}`),
          value: sumContributions(rest),
          cells: [formatPercent(rest.reduce((sum, { average_weight: weight }) => sum + weight, 0)), ''],
        },
      ];

export const sumContributions = (rows: readonly { readonly contribution: number }[]): number =>
  rows.reduce((sum, { contribution }) => sum + contribution, 0);

/** Returns the steps of the return by group, largest first, and the total. */
export const createGroupSteps = (groups: readonly GroupAttributionRow[], total: number): readonly Step[] => [
  ...groups
    .toSorted((a, b) => b.contribution - a.contribution)
    .map(({ group, contribution, average_weight: weight }) => ({
      label: group,
      value: contribution,
      cells: [formatPercent(weight)],
    })),
  { label: 'Total', value: total, isTotal: true, cells: [''] },
];
