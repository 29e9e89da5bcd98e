import type { Finding, PreviewResponse } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Findings } from '../../components/findings.js';
import { Funnel } from '../../components/funnel.js';
import { Metrics } from '../../components/metrics.js';
import { RiskWindow } from '../../components/risk-window.js';
import { useNames, type NameFacts } from '../../state/names.js';
import { useSchemas } from '../../state/schemas.js';
import { isSameFinding } from '../../words/findings.js';
import { countValues, formatCount, formatPercent, formatPoints } from '../../words/numbers.js';
import { formatRiskWindow } from '../../words/risk-window.js';
import { createExcessNote, formatBindingBounds, listWeightBounds } from '../optimise/bounds.js';
import { useWorkshop } from './draft.js';

/** Number of securities in a list. */
export const SHOWN = 15;

/**
 * Returns a figure of how far the decided weights are from the limit that triggers a rebalance. Returns an empty list
 * if the index has no such limit.
 */
export const listHeadroom = (limits: PreviewResponse['limits'], before?: PreviewResponse['limits']) =>
  limits === undefined
    ? []
    : [
        {
          term: 'Headroom',
          value: formatPercent(limits.headroom),
          help: 'Distance of the target weights to the nearest bound; negative if a bound is exceeded',
          note: before === undefined ? limits.rule.replaceAll('_', ' ') : `before ${formatPercent(before.headroom)}`,
        },
      ];

const isHeld = ({ weight }: PreviewResponse['assets'][number]): boolean => weight !== null && weight !== 0;

/** Returns the number of securities with a weight. */
export const countHeld = ({ assets }: PreviewResponse): number => assets.filter(isHeld).length;

interface PreviewProps {
  readonly preview: PreviewResponse;
  /** Findings that are already listed above the preview. */
  readonly shown: readonly Finding[];
}

export function Preview({ preview, shown }: PreviewProps) {
  const { draft } = useWorkshop();
  const {
    assets,
    steps,
    solve,
    total_weight: total,
    cap_redistributed: moved,
    findings: all,
    resolved_date: date,
    limits,
  } = preview;
  const heldAssets = assets.filter(isHeld);
  const decisionText = date === null ? 'no data' : `decided on ${date}`;
  const findings = all.filter((finding) => !shown.some((other) => isSameFinding(other, finding)));
  const movedAssets = listMoved(assets);
  const named = solve === null ? heldAssets.slice(0, SHOWN) : [...heldAssets.slice(0, SHOWN), ...movedAssets];
  const facts = useNames([...new Set(named.map(({ identifier }) => identifier))], date ?? undefined);
  const riskSource = formatRiskWindow(draft.at(['derivation', 'risk_model']), useSchemas().data);
  return (
    <>
      <Metrics
        label="Figures of the preview"
        metrics={[
          {
            term: 'Constituents',
            value: formatCount(heldAssets.length),
            note: solve === null ? decisionText : `of ${countValues(assets.length, 'candidate')}, ${decisionText}`,
          },
          ...(solve === null
            ? [
                { term: 'Sum of weights', value: formatPercent(total) },
                {
                  term: 'Moved by caps',
                  value: formatPercent(moved),
                  help: 'Weight moved away from capped constituents',
                },
              ]
            : listSolvedFigures(solve, riskSource)),
          ...listHeadroom(limits),
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      {steps !== null && steps.length > 1 && <Funnel steps={steps} assets={assets} />}
      {solve !== null && <Moves from={solve.source_index_id} assets={movedAssets} facts={facts} />}
      <LargestWeights assets={heldAssets} facts={facts} bounds={listWeightBounds(solve?.binding ?? [])} />
      {solve !== null && (
        <p class="quiet">
          Optimised from {solve.source_index_id} on {solve.rebalance_date}. Binding:{' '}
          {formatBindingBounds(solve.binding) || 'nothing'}.
        </p>
      )}
      {solve !== null && <RiskWindow model={draft.at(['derivation', 'risk_model'])} />}
    </>
  );
}

interface LargestWeightsProps {
  /** Securities with a weight, largest first. */
  readonly assets: PreviewResponse['assets'];
  readonly facts: ReadonlyMap<string, NameFacts>;
  readonly bounds: ReturnType<typeof listWeightBounds>;
}

/** Renders the largest weights, and the number of weights at their upper limit. */
function LargestWeights({ assets, facts, bounds }: LargestWeightsProps) {
  const isAtLimit = (identifier: string) => bounds.get(identifier) === 'upper';
  const atLimit = assets.filter(({ identifier }) => isAtLimit(identifier)).length;
  return (
    <>
      <h3>Largest weights</h3>
      {atLimit > 0 && (
        <p class="quiet">
          {formatCount(atLimit)} of {countValues(assets.length, 'constituent')} at the upper limit.
        </p>
      )}
      <Bars
        label="Largest weights"
        bars={assets.slice(0, SHOWN).map(({ identifier, weight, capped }) => ({
          label: `${identifier}${capped ? ' (cap)' : ''}${isAtLimit(identifier) ? ' (at limit)' : ''}`,
          name: facts.get(identifier)?.name ?? null,
          value: weight ?? 0,
        }))}
        isPlain
        format={(value) => formatPercent(value)}
      />
    </>
  );
}

type Solve = NonNullable<PreviewResponse['solve']>;

/**
 * Returns the figures of an optimisation. Where the figure of the parent differs, it is added.
 * @param source returns of the risk model; null if they are not known yet
 */
const listSolvedFigures = ({ before, after, exceeded, rebalance_date: date }: Solve, source: string | null) => [
  {
    term: 'Forecast tracking error',
    value: formatPercent(after.tracking_error),
    help: 'Annualised, against the parent',
    ...createExcessNote(exceeded, 'TrackingError'),
  },
  {
    term: 'Forecast volatility',
    value: formatPercent(after.volatility),
    help: `Annualised, forecast for the rebalance of ${date}. Other pages forecast from other returns or another date.`,
    note: [`parent ${formatPercent(before.volatility)}`, source].filter(Boolean).join('; '),
  },
  {
    term: 'Active share',
    value: formatPercent(after.turnover),
    help: 'Half the sum of absolute differences of weights from the parent',
    ...createExcessNote(exceeded, 'Turnover'),
  },
];

/** Returns the securities whose weights differ most from those of the parent. */
const listMoved = (assets: PreviewResponse['assets']) =>
  assets
    .filter(({ weight_delta: by }) => by !== null && by !== 0)
    .toSorted((a, b) => Math.abs(b.weight_delta!) - Math.abs(a.weight_delta!)) // non-null after the filter
    .slice(0, SHOWN);

interface MovesProps extends Pick<LargestWeightsProps, 'facts'> {
  readonly from: string;
  readonly assets: PreviewResponse['assets'];
}

/** Renders the largest differences between the weights and the weights of the parent. */
function Moves({ from, assets, facts }: MovesProps) {
  if (assets.length === 0) return null;
  return (
    <>
      <h3>Largest differences from {from}</h3>
      <Bars
        label={`Largest differences from ${from}`}
        bars={assets.map(({ identifier, weight, weight_delta: by }) => ({
          label: weight === null ? `${identifier} (not held)` : identifier,
          name: facts.get(identifier)?.name ?? null,
          value: by!, // non-null after the filter
        }))}
        format={(value) => formatPoints(value)}
      />
    </>
  );
}
