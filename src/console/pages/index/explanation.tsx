import type { ExplainedRule, IndexExplanation, StaleState } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { useNames } from '../../state/names.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { nameAddress } from '../../words/addresses.js';
import { change, decimal, figure, percent } from '../../words/numbers.js';
import { useDefinitionRun } from './definition-run.js';
import './explanation.css';

interface ExplanationProps {
  readonly id: string;
  readonly identifier: string;
  readonly asOf: string;
  /** Of the run that is shown. */
  readonly stale: StaleState | null;
  readonly onClose: () => void;
}

/** Why a name has the weight it has, or none: every rule, the formula, the cap. */
export function Explanation({ id, identifier, asOf, stale, onClose }: ExplanationProps) {
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
            <OfRun stale={stale} />
            <Chain explained={explained} />
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

/** Said where the run is not what would be decided now. */
export function OfRun({ stale }: Pick<ExplanationProps, 'stale'>) {
  const parts = [
    stale?.definition === true && 'by the definition of the run, which has changed since',
    stale?.data === true && 'on the data that is served now, which is not that of the run',
  ].filter(Boolean);
  return parts.length === 0 ? null : <p class="quiet">Decided {parts.join(', ')}.</p>;
}

function Chain({ explained }: { readonly explained: IndexExplanation }) {
  const { identifier, included, weight, excluded_by: rule, drift, derivation } = explained;
  const currency = useNames([identifier], explained.as_of).get(identifier)?.currency ?? null;
  return (
    <>
      <p>
        {included ? <Badge kind="good">in the index</Badge> : <Badge kind="bad">not in the index</Badge>}{' '}
        {rule !== null && (
          <>
            out by <code>{rule}</code>
          </>
        )}
        {!explained.in_universe && 'not in the universe'}
      </p>
      <Facts
        facts={[
          ['Weight decided', percent(weight, 4)],
          ['Weight held', drift === null ? null : `${percent(drift.held_weight, 4)} (${change(drift.change, 4)})`],
          ['Decided on', explained.decision_date],
          ['In effect from', explained.rebalance_date],
          ['Looked at on', explained.as_of],
          ['Prices in', currency],
        ]}
      />
      <p>
        <a href={nameAddress(identifier)}>Prices, actions and reference data of {identifier}</a>
      </p>
      {derivation !== null && (
        <p>
          Optimised from {derivation.source_index_id}: its weight there {percent(derivation.source_weight, 4)}
          {derivation.solve !== null && (
            <>
              , solved {percent(derivation.solve.solved_weight, 4)}, held by {derivation.solve.held_by}
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
              <Step key={step.position} step={step} />
            ))}
          </ol>
        </section>
      )}
      <Weighing explained={explained} />
      {explained.datapoints.length > 0 && (
        <section>
          <h3>What was read</h3>
          <ul class="chain">
            {explained.datapoints.map(({ path, field, value, from, to, observations, known_from: knownFrom }) => (
              <li key={path}>
                <span>
                  {field}{' '}
                  <span class="quiet">
                    {to !== null && (from === to ? to : `${from ?? ''} to ${to}, ${observations} values`)}
                    {knownFrom !== null && ` known from ${knownFrom} on`}
                  </span>
                </span>
                <span class="number">{valueText(value)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Step({ step }: { readonly step: ExplainedRule }) {
  const { rule_id: id, kept, test, value, threshold, rank, cutoff, incumbent, distance } = step;
  const parts = [
    value !== null && `value ${valueText(value)}`,
    threshold !== null && `bound ${figure(threshold)}`,
    rank !== null && `rank ${rank}${cutoff === null ? '' : ` of ${cutoff}`}`,
    incumbent && 'stayed as a constituent',
    !kept && distance !== null && distance !== 0 && `${figure(Math.abs(distance))} short`,
  ].filter(Boolean);
  return (
    <li>
      <span>
        <Badge kind={kept ? 'good' : 'bad'}>{kept ? 'kept' : 'out'}</Badge> <strong>{id ?? 'universe'}</strong>
        <br />
        <span class="quiet">{test}</span>
      </span>
      <span class="chain-figures">
        {parts.map((part) => (
          <span key={String(part)}>{part}</span>
        ))}
      </span>
    </li>
  );
}

/** From the raw weight to the capped one. */
function Weighing({ explained: { weighting, capping } }: { readonly explained: IndexExplanation }) {
  if (weighting === null) return null;
  return (
    <section>
      <h3>Weight</h3>
      <p>
        {weighting.type}: <code>{weighting.formula}</code>
      </p>
      <Facts
        facts={[
          ...Object.entries(weighting.parts).map(([name, value]) => [name, valueText(value)] as const),
          ['Raw weight', figure(weighting.raw)],
          ['Sum of raw weights', figure(weighting.raw_total)],
          ['Before capping', percent(weighting.uncapped_weight, 4)],
          ['Cap', percent(capping?.cap)],
          ['Scale', capping === null ? null : decimal(capping.scale, 6)],
          ['Cut to the cap', capping === null ? null : capping.capped ? 'yes' : 'no'],
        ]}
      />
    </section>
  );
}

function valueText(value: string | number | boolean | null): string {
  return typeof value === 'number' ? figure(value) : value === null ? 'missing' : String(value);
}
