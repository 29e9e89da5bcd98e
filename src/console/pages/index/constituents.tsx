import type { ConstituentRow, OverviewView, WeightsView } from '#clients/typescript/divisor.js';
import { Answered, Badge, ValueSkeleton } from '../../components/feedback.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { Metrics } from '../../components/layout/facts.js';
import { DateInput } from '../../components/controls/range.js';
import { Table } from '../../components/table/table.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { awaitNames } from '../../components/securities.js';
import { isCash, type NameFacts, useNames } from '../../state/market.js';
import { getParameter, setParameters } from '../../state/location.js';
import { service, useResource } from '../../state/service.js';
import { formatRunKey, formatShownRunPath, readShownRun } from '../../state/runs.js';
import { formatRebalanceAddress } from '../../words/addresses.js';
import { formatCount, formatDecimal, formatPercent, formatPoints } from '../../words/numbers.js';
import { Explanation } from './explanation.js';

interface ConstituentsProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the constituents on a date with their target weights. Each constituent links to its explanation. */
export function Constituents({ id, run }: ConstituentsProps) {
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
  {
    id: 'identifier',
    title: 'Security',
    width: 84,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
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
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Weight',
    width: 80,
    of: ({ weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'decided',
    adds: true,
    title: 'At rebalance',
    help: 'Weight when the rebalance took effect. Prices had moved since the decision, to which the cap applies.',
    width: 100,
    priority: 2,
    of: ({ decided_weight: decided }) => decided,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'drift',
    adds: true,
    title: 'Drift',
    help: 'Weight minus the weight at the rebalance',
    width: 80,
    of: ({ delta_since_rebalance: delta }) => delta,
    write: formatPoints,
  }),
  createNumericColumn({
    id: 'risk',
    adds: true,
    title: 'Risk contribution',
    help: 'Part of the annualised volatility, in percentage points',
    width: 132,
    priority: 5,
    of: ({ risk_contribution: risk }) => risk,
    write: formatPoints,
  }),
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
