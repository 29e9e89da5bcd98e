import type { ExplainedRule, IndexExplanation, StaleState } from '#clients/typescript/divisor.js';
import { Answered, Badge } from '../../components/feedback.js';
import { Facts } from '../../components/layout/facts.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { useNames } from '../../state/market.js';
import { service, useList, useResource } from '../../state/service.js';
import { formatDatapoint, writeDatapointNames } from '../../words/datapoints.js';
import { formatDecisionBasis } from '../../words/methodology.js';
import { formatChoice } from '../../words/labels.js';
import { formatDecimal, formatFigure, formatMoney, formatPercent, formatPoints } from '../../words/numbers.js';
import { useDefinitionRun } from './run-settings.js';
import { useNameAddress } from '../../components/securities.js';
import './explanation.css';

interface ExplanationProps {
  readonly id: string;
  readonly identifier: string;
  readonly asOf: string;
  /** State of the displayed run. */
  readonly stale: StaleState | null;
  /** Weight before capping at the prices of the effective date; absent if the page does not show it. */
  readonly uncappedInEffect?: number | undefined;
  readonly onClose: () => void;
}

/**
 * Renders why a security is or is not in the index, and how its weight was computed: every rule, the weighting formula
 * and the cap.
 */
export function Explanation({ id, identifier, asOf, stale, uncappedInEffect, onClose }: ExplanationProps) {
  const run = useDefinitionRun(id, stale);
  const chain = useResource(run === null ? null : `explain ${id} ${identifier} ${asOf} ${run.run_id ?? ''}`, (signal) =>
    service.value.call('explainName', {
      params: { index_id: id, identifier },
      query: { as_of: asOf, ...run },
      signal,
    }),
  );
  return (
    <SidePanel title={`${identifier} in ${id}`} onClose={onClose}>
      <Answered resource={chain} what="the explanation">
        {(explained) => (
          <>
            <RunNote stale={stale} />
            <Chain {...{ explained, uncappedInEffect }} />
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

/** Renders a note if a new run would make other decisions. */
export function RunNote({ stale }: Pick<ExplanationProps, 'stale'>) {
  const basis = stale === null ? '' : formatDecisionBasis(stale);
  return basis === '' ? null : <p class="quiet">{basis}</p>;
}

interface ChainProps extends Pick<ExplanationProps, 'uncappedInEffect'> {
  readonly explained: IndexExplanation;
}

function Chain({ explained, uncappedInEffect }: ChainProps) {
  const { identifier, included, excluded_by: rule, derivation } = explained;
  const formatNameAddress = useNameAddress();
  const facts = useNames([identifier], explained.as_of).get(identifier);
  const description = [facts?.name, facts?.sector].filter(Boolean).join(' · ');
  const indices = useList('indices');
  const currency = indices.data?.indices.find(({ id }) => id === explained.index_id)?.currency ?? null;
  return (
    <>
      {description !== '' && <p>{description}</p>}
      <p>
        {included ? <Badge kind="good">in the index</Badge> : <Badge kind="bad">not in the index</Badge>}{' '}
        {rule !== null && (
          <>
            out by <code>{rule}</code>
          </>
        )}
        {!explained.in_universe && 'not in the universe'}
      </p>
      <Placing explained={explained} quoted={facts?.currency ?? null} />
      <p>
        <a href={formatNameAddress(identifier)}>Prices, actions and reference data of {identifier}</a>
      </p>
      {derivation !== null && (
        <p>
          Optimised from {derivation.source_index_id}: its weight there {formatPercent(derivation.source_weight, 4)}
          {derivation.solve !== null && (
            <>
              , solved {formatPercent(derivation.solve.solved_weight, 4)}, held by {derivation.solve.held_by}
            </>
          )}
          .
        </p>
      )}
      {explained.rules.length > 0 && (
        <section>
          <h3>Rules</h3>
          <ol class="chain">
            {explained.rules.map((step) => (
              <Step key={step.position} step={step} currency={currency} />
            ))}
          </ol>
        </section>
      )}
      <Weighing {...{ explained, currency, uncappedInEffect }} />
      {explained.datapoints.length > 0 && (
        <section>
          <h3>Values used</h3>
          <ul class="chain">
            {explained.datapoints.map(({ path, field, value, from, to, observations, known_from: knownFrom }) => (
              <li key={path}>
                <span>
                  {writeDatapointNames(field)}{' '}
                  <span class="quiet">
                    {to !== null && (from === to ? to : `${from ?? ''} to ${to}, ${observations} values`)}
                    {knownFrom !== null && ` known from ${knownFrom} on`}
                  </span>
                </span>
                <span class="number">{formatDatapoint(field, value, currency)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

interface PlacingProps {
  readonly explained: IndexExplanation;
  /** Currency of the prices of the security; null if unknown. */
  readonly quoted: string | null;
}

/** Renders the weight of a security, the date on which it entered the index, and pending orders. */
function Placing({ explained, quoted }: PlacingProps) {
  const { weight, decided_weight: decidedWeight, drift, decision_date: decided, rebalance_date: effective } = explained;
  return (
    <Facts
      facts={[
        [`Weight decided on ${decided}`, formatPercent(decidedWeight ?? weight, 4)],
        // The decision fixes the index shares. Until it becomes effective, the weight changes with the prices.
        decidedWeight === null
          ? ['In effect from', effective]
          : [`Weight in effect from ${effective}`, formatPercent(weight, 4)],
        [
          `Weight on ${explained.as_of}`,
          drift === null ? null : `${formatPercent(drift.held_weight, 4)} (${formatPoints(drift.change, 4)})`,
        ],
        ['Constituent since', explained.entered && formatEntry(explained.entered)],
        ['Left', explained.left && formatEntry(explained.left)],
        ['Pending order', explained.order && formatWaiting(explained.order)],
        ['Quoted in', quoted],
      ]}
    />
  );
}

type Change = NonNullable<IndexExplanation['entered']>;

/** Formats the date and the cause of an entry into or exit from the index. */
const formatEntry = ({ date, event, related, weight, price, currency }: Change): string =>
  `${date}, by ${event.replaceAll('_', ' ')}${related === null ? '' : ` (${related})`}: ${formatPercent(weight, 4)} at ${formatMoney(formatFigure(price), currency)}`;

const formatWaiting = ({ date, side, target_weight: target, reason }: NonNullable<IndexExplanation['order']>): string =>
  `${side} to ${formatPercent(target, 4)}, from the rebalance of ${date}: ${reason.replaceAll('_', ' ')}`;

interface StepProps {
  readonly step: ExplainedRule;
  /** Currency of the index; null if unknown. */
  readonly currency: string | null;
}

function Step({ step, currency }: StepProps) {
  const { rule_id: id, kept, test, value, threshold, rank, cutoff, incumbent, distance } = step;
  const parts = [
    value !== null && `value ${formatDatapoint(test, value, currency)}`,
    threshold !== null && `bound ${formatDatapoint(test, threshold, currency)}`,
    rank !== null && `rank ${rank}${cutoff === null ? '' : ` of ${cutoff}`}`,
    incumbent && 'kept as a constituent',
    !kept && distance !== null && distance !== 0 && `${formatDatapoint(test, Math.abs(distance), currency)} short`,
  ].filter(Boolean);
  return (
    <li>
      <span>
        <Badge kind={kept ? 'good' : 'bad'}>{kept ? 'kept' : 'out'}</Badge> <strong>{id ?? 'universe'}</strong>
        <br />
        <span class="quiet">{writeDatapointNames(test)}</span>
      </span>
      <span class="pile chain-figures">
        {parts.map((part) => (
          <span key={String(part)}>{part}</span>
        ))}
      </span>
    </li>
  );
}

interface WeighingProps extends ChainProps {
  /** Currency of the index; null if unknown. */
  readonly currency: string | null;
}

/** Renders the steps from the raw weight to the capped weight. */
function Weighing({ explained, currency, uncappedInEffect }: WeighingProps) {
  const { weighting, capping, decision_date: decided, rebalance_date: effective } = explained;
  if (weighting === null) return null;
  return (
    <section>
      <h3>Weighting on {decided}</h3>
      <p>
        {formatChoice(['type'], weighting.type)}: {writeDatapointNames(weighting.formula)}
      </p>
      <Facts
        facts={[
          ...Object.entries(weighting.parts).map(
            ([name, value]) => [writeDatapointNames(name), formatDatapoint(name, value)] as const,
          ),
          ['Raw weight', formatDatapoint(weighting.formula, weighting.raw, currency)],
          ['Sum of raw weights', formatDatapoint(weighting.formula, weighting.raw_total, currency)],
          [`Before capping on ${decided}`, formatPercent(weighting.uncapped_weight, 4)],
          ...(decided === effective || uncappedInEffect === undefined
            ? []
            : [[`Before capping on ${effective}`, formatPercent(uncappedInEffect, 4)] as const]),
          ['Cap', formatPercent(capping?.cap)],
          ['Factor of uncapped weights', capping === null ? null : formatDecimal(capping.scale, 6)],
          ['Capped', capping === null ? null : capping.capped ? 'yes' : 'no'],
        ]}
      />
    </section>
  );
}
