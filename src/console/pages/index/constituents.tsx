import type {
  ConstituentRow,
  WeightsView,
  ExplainedRule,
  IndexExplanation,
  StaleState,
} from '#clients/typescript/divisor.js';
import { Answered, Badge, ValueSkeleton } from '../../components/feedback.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { Metrics, Facts } from '../../components/layout/facts.js';
import { DateInput } from '../../components/controls/range.js';
import { Table } from '../../components/table/table.js';
import { type Column } from '../../components/table/model.js';
import { awaitNames, useNameAddress } from '../../components/securities.js';
import { isCash, type NameFacts, useNames } from '../../state/market.js';
import { getParameter, setParameters } from '../../state/location.js';
import { service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatRunKey, formatShownRunPath, readShownRun } from '../../state/runs.js';
import { formatRebalanceAddress } from '../../words/addresses.js';
import {
  formatCount,
  formatDecimal,
  formatPercent,
  formatPoints,
  formatFigure,
  formatMoney,
} from '../../words/numbers.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { formatDatapoint, writeDatapointNames } from '../../words/datapoints.js';
import { formatDecisionBasis } from '../../words/methodology.js';
import { formatChoice } from '../../words/labels.js';
import { useDefinitionRun } from './run-settings.js';
import './explanation.css';
import type { RunPartProps } from './run-tabs.js';

/** Renders the constituents on a date with their target weights. Each constituent links to its explanation. */
export function Constituents({ id, run }: RunPartProps) {
  const shownDate = getParameter('on') ?? run.end;
  const openName = getParameter('name');
  const weights = useResource(`weights ${formatRunKey(id)} ${shownDate}`, createWeightsReader(id, shownDate, false), {
    keeps: true,
  });
  // Risk is a separate request. It takes longer than the weights and fails for a short run.
  const riskWeights = useResource(`risk ${formatRunKey(id)} ${shownDate}`, createWeightsReader(id, shownDate, true), {
    keeps: true,
  });
  const withRisk = riskWeights.data?.as_of === weights.data?.as_of ? riskWeights.data : undefined;
  return (
    <div class="stack gap-4 index-part">
      <div class="flow spread gap-2">
        <label class="inline-line gap-2 select">
          <span class="quiet">On</span>
          <DateInput
            label="Date"
            value={shownDate}
            least={run.start}
            most={run.end}
            onChange={(date) => setParameters({ on: date === run.end ? null : date })}
          />
        </label>
        <ExportMenu id={id} table="constituents" end={shownDate} />
      </div>
      <Answered resource={weights} what="the constituents">
        {(view) => (
          <HeldSecurities
            id={id}
            view={withRisk ?? view}
            isRiskAwaited={withRisk === undefined && riskWeights.trouble === null}
            open={openName}
          />
        )}
      </Answered>
      {openName !== null && (
        <Explanation
          id={id}
          identifier={openName}
          asOf={weights.data?.as_of ?? shownDate}
          stale={run.stale}
          uncappedInEffect={weights.data?.weights.find(({ identifier }) => identifier === openName)?.raw_weight}
          onClose={() => setParameters({ name: null })}
        />
      )}
    </div>
  );
}

const createWeightsReader = (id: string, on: string, risk: boolean) => (signal: AbortSignal) =>
  service.value.call('getWeights', { params: { index_id: id }, query: { ...readShownRun(), as_of: on, risk }, signal });

interface Row extends ConstituentRow {
  readonly facts: NameFacts | undefined;
}

interface HeldSecuritiesProps {
  readonly id: string;
  readonly view: WeightsView;
  /** True while the risk of the weights is loading. */
  readonly isRiskAwaited: boolean;
  readonly open: string | null;
}

function HeldSecurities({ id, view, isRiskAwaited, open }: HeldSecuritiesProps) {
  const facts = useNames(
    view.weights.map(({ identifier }) => identifier),
    view.as_of,
  );
  const rows = view.weights.map((row): Row => ({ ...row, facts: facts.get(row.identifier) }));
  const { concentration, drift, risk, rebalance_date: rebalance, cap } = view;
  const top = concentration.top_weights;
  return (
    <>
      <Metrics
        label={`Weights on ${view.as_of}`}
        metrics={[
          { term: 'Constituents', value: formatCount(concentration.constituents), note: view.as_of },
          {
            term: 'Effective number',
            value: formatDecimal(concentration.effective_assets, 1),
            help: '1 divided by the sum of squared weights',
            ...createGrossNote(concentration),
          },
          {
            term: 'Largest',
            value: formatPercent(concentration.largest),
            note: cap === null ? 'no cap' : `cap ${formatPercent(cap)} when decided`,
          },
          ...listCash(view.weights),
          { term: 'Largest ten', value: formatPercent(top['10']) },
          {
            term: 'Volatility, ex ante',
            value: isRiskAwaited ? <ValueSkeleton /> : formatPercent(risk?.volatility),
            help: 'Annualised estimate for these weights from the covariance of the run (not realised)',
          },
          {
            term: 'Drift, one-way',
            value: formatPercent(drift?.turnover ?? 0),
            help: 'One-way: half the sum of absolute changes since the rebalance',
            note: <a href={formatShownRunPath(formatRebalanceAddress(id, rebalance))}>since {rebalance}</a>,
          },
        ]}
      />
      <Table
        label={`constituents of ${id}`}
        name="held"
        columns={awaitNames(COLUMNS, facts, ['name', 'sector'])}
        rows={rows}
        getKey={({ identifier }) => identifier}
        onOpen={({ identifier }) => !isCash(identifier) && setParameters({ name: identifier })}
        openKey={open}
        searchIn={({ identifier, facts: rowFacts }) =>
          `${identifier} ${rowFacts?.name ?? ''} ${rowFacts?.sector ?? ''} ${rowFacts?.country ?? ''}`
        }
        sort={{ column: 'weight', direction: 'desc' }}
        height={620}
      />
    </>
  );
}

/** Half of the last digit that a percentage shows. */
const SHOWN_MIN = 5e-5;

/** Returns a note with the number of long and short positions, if some positions are short. */
function createGrossNote({ constituents, gross_constituents: all }: WeightsView['concentration']) {
  return all === undefined || all === constituents ? {} : { note: `${formatCount(all)} positions, long and short` };
}

/**
 * Returns a figure for the weight that is not invested: cash, or a loan if the weights exceed 1. Returns nothing if the
 * weight would be shown as zero.
 */
function listCash(weights: readonly ConstituentRow[]) {
  const securities = weights.filter(({ identifier }) => !isCash(identifier));
  const cash = 1 - securities.reduce((sum, { weight }) => sum + weight, 0);
  return Math.abs(cash) < SHOWN_MIN
    ? []
    : [
        {
          term: cash > 0 ? 'Cash' : 'Borrowed',
          value: formatPercent(Math.abs(cash)),
          help: 'Fraction of the value that is not invested in securities',
        },
      ];
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'identifier', title: 'Security', width: 84, show: ({ identifier }) => <strong>{identifier}</strong> },
  {
    id: 'name',
    title: 'Company',
    width: 120,
    grow: 1,
    priority: 4,
    value: ({ identifier, facts }) => (isCash(identifier) ? 'Cash' : (facts?.name ?? null)),
  },
  {
    id: 'sector',
    title: 'Sector',
    width: 110,
    grow: 1,
    priority: 3,
    below: 'nothing',
    value: ({ facts }) => facts?.sector ?? null,
  },
  { id: 'weight', adds: true, title: 'Weight', width: 80, write: formatPercent },
  {
    id: 'decided',
    adds: true,
    title: 'At rebalance',
    help: 'Weight when the rebalance took effect. Prices had moved since the decision, to which the cap applies.',
    width: 100,
    priority: 2,
    value: ({ decided_weight: decided }) => decided,
    write: formatPercent,
  },
  {
    id: 'drift',
    adds: true,
    title: 'Drift',
    help: 'Weight minus the weight at the rebalance',
    width: 80,
    value: ({ delta_since_rebalance: delta }) => delta,
    write: formatPoints,
  },
  {
    id: 'risk',
    adds: true,
    title: 'Risk contribution',
    help: 'Part of the annualised volatility, in percentage points',
    width: 132,
    priority: 5,
    value: ({ risk_contribution: risk }) => risk,
    write: formatPoints,
  },
  {
    id: 'cap',
    title: 'Uncapped weight',
    help: 'Constituents at the cap, with their weight before capping at the prices of the day in effect, as in At rebalance. The weight cut from the largest is distributed and raises others to the cap.',
    width: 148,
    priority: 6,
    value: ({ capped }) => (capped ? 0 : 1),
    copy: ({ capped, raw_weight: raw }) => (capped ? raw : null),
    show: ({ capped, raw_weight: raw, decided_weight: decided, weight }) =>
      capped && (
        <Badge kind="info">
          {(raw ?? 0) > (decided ?? weight) ? 'cut' : 'raised'} from {formatPercent(raw)}
        </Badge>
      ),
  },
];

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
  const chain = useAnswer(
    'explainName',
    run === null ? null : { params: { index_id: id, identifier }, query: { as_of: asOf, ...run } },
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
