import type { AttributionView, GroupAttributionView, PerformanceView } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Choice } from '../../components/choice.js';
import { Metrics, type Metric } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Wait } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import {
  formatChange,
  formatCount,
  countValues,
  formatFigure,
  formatPoints,
  formatResidual,
  getSignClass,
} from '../../words/numbers.js';
import { returnText } from '../../words/returns.js';
import { createGroupSteps, splitBySign, createSteps, sumContributions } from './attribution-steps.js';

interface AttributionTotalProps {
  readonly view: AttributionView;
  /** Contributions by sector. Null if the store has no sectors, undefined while they are loading. */
  readonly groups: GroupAttributionView | null | undefined;
  /** Return variant of the run; undefined while it is loading. */
  readonly variant: PerformanceView['return_variant'] | undefined;
}

/** Renders the return of the range as a sum: gains, losses, and the steps from zero to the total. */
export function AttributionTotal({ view, groups, variant }: AttributionTotalProps) {
  const hasSectors = groups !== null && (groups === undefined || groups.groups.length > 1);
  // The sectors of an overlay do not show its own parts, such as a fee.
  const usual = view.overlay_parts === null ? 'sector' : 'security';
  const by = hasSectors ? (STEPS_BY.find(({ value }) => value === getParameter('steps'))?.value ?? usual) : 'security';
  const windowText = `${view.start.slice(0, 10)} to ${view.end.slice(0, 10)}`;
  return (
    <>
      <Metrics label={`Attribution from ${windowText}`} metrics={listMetrics(view)} />
      <Section
        title="Steps to the total"
        aside={
          hasSectors && (
            <Choice
              label="Steps by"
              options={STEPS_BY}
              value={by}
              onChoose={(chosen) => setParameters({ steps: chosen === usual ? null : chosen })}
            />
          )
        }
      >
        <p class="quiet">{formatBasis(view, variant)}</p>
        {by === 'sector' && groups == null ? (
          <Wait what="the sectors" skeleton={<span class="skeleton skeleton-chart" aria-hidden="true" />} />
        ) : (
          <Bars
            label="Contributions, step by step"
            bars={
              by === 'sector' && groups != null ? createGroupSteps(groups.groups, view.total_return) : createSteps(view)
            }
            isRunning
            heads={['Contribution', 'Average weight', ...(by === 'sector' ? [] : ['Return'])]}
            format={formatPoints}
          />
        )}
      </Section>
    </>
  );
}

/** States the return that is attributed, and how the contributions of the sessions are added. */
function formatBasis({ cost_drag: cost }: AttributionView, variant: AttributionTotalProps['variant']): string {
  const basis = variant === undefined ? 'return' : returnText(variant);
  const costs = cost === null || cost === 0 ? 'the run has no transaction cost' : 'after transaction costs';
  return `Attributed: the ${basis}, ${costs}. Contributions of sessions are linked (Cariño), so that they add up to it.`;
}

const STEPS_BY = [
  { value: 'sector', text: 'Sectors' },
  { value: 'security', text: 'Securities' },
] as const;

/** Returns the figures of the attribution. Gains, losses and overlay parts sum to the return. */
function listMetrics(view: AttributionView): readonly Metric[] {
  const { total_return: total, cost_drag: cost, cap_drag: cap, overlay_parts_sum: parts } = view;
  const { reconciles, residual, periods } = view;
  const { gains, losses } = splitBySign(view.contributions);
  const part = (term: string, value: number | null, note: string, help: string): readonly Metric[] =>
    value === null ? [] : [{ term, value: formatPoints(value), kind: getSignClass(value), note, help }];
  return [
    {
      term: 'Return of the portfolio',
      value: formatChange(total),
      kind: getSignClass(total),
      note: `${formatCount(periods)} sessions`,
      help: 'After costs: the sum of all contributions',
    },
    ...part('Gains', sumContributions(gains), ofSecurities(gains.length), 'Sum of the contributions above 0'),
    ...part('Losses', sumContributions(losses), ofSecurities(losses.length), 'Sum of the other contributions'),
    ...part('Overlay', parts, 'in addition to the securities', 'Return of the overlay apart from its securities'),
    ...part('Costs', cost, 'within the gains and losses', 'Direct effect of transaction costs on the contributions'),
    ...part('Effect of the cap', cap, 'index minus uncapped index', 'A comparison of two indices, which is not a step'),
    {
      term: 'Unexplained',
      value: formatPoints(residual),
      kind: reconciles ? '' : 'down',
      help: 'Return of the portfolio minus the sum of all contributions',
      note: <Residual value={residual} />,
    },
  ];
}

const ofSecurities = (size: number): string => countValues(size, 'security', 'securities');

/** Renders the residual of a sum. If it is a rounding error, it is shown as 0 and its exact value is folded. */
export const Residual = ({ value }: { readonly value: number }) =>
  formatResidual(value) === formatFigure(value) ? (
    <>residual {formatFigure(value)}</>
  ) : (
    <details>
      <summary>residual {formatResidual(value)}</summary>
      {formatFigure(value)} before rounding
    </details>
  );
