import type {
  AttributionView,
  ContributionPayload,
  GroupAttributionRow,
  GroupAttributionView,
  OverviewView,
} from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Select } from '../../components/choice.js';
import { ExportMenu } from '../../components/export-menu.js';
import { Findings } from '../../components/findings.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { runKey, readShownRun } from '../../state/shown-run.js';
import { addSign } from '../../components/signed.js';
import { change, count, figure, percent, residualText, signClass } from '../../words/numbers.js';
import { returnText, addReturn } from '../../words/returns.js';
import { stepsOf } from './attribution-steps.js';
import { FactorAttribution } from './factor-attribution.js';
import { useNameAddress } from './use-name-address.js';

/** Address value for attribution without a benchmark. */
const NOTHING = '-';

interface AttributionProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the attribution of the return of a range: cumulative steps, groups and securities. */
export function Attribution({ id, run }: AttributionProps) {
  const addressOfName = useNameAddress();
  const range = findChosenRange();
  const window = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const others = (indices.data?.indices ?? []).filter(({ id: other }) => other !== id);
  const own = useResource(`performance ${runKey(id)}`, (signal) =>
    service.value.call('getPerformance', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  // Default benchmark: the benchmark of the run, if it is an index.
  const usual = others.find(({ id: other }) => other === own.data?.benchmark)?.id ?? null;
  const asked = parameter('against');
  const against = asked === NOTHING ? null : (asked ?? usual);
  const isKnown = asked !== null || (own.data ?? own.trouble) !== undefined;
  const names = useResource(
    `attribution ${runKey(id)} ${range?.from} ${range?.to}`,
    (signal) => service.value.call('getAttribution', { params: { index_id: id }, query: window, signal }),
    { keeps: true },
  );
  const query = { ...window, ...(against === null ? {} : { benchmark: against }) };
  const groups = useResource(
    isKnown && indices.data !== undefined ? `groups ${runKey(id)} ${range?.from} ${range?.to} ${against}` : null,
    (signal) => service.value.call('getGroupAttribution', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
  return (
    <div class="index-part">
      <RangeBar start={run.start} end={run.end} />
      <Answered resource={names} what="the attribution">
        {(view) => <Total view={view} />}
      </Answered>
      <Section
        title="By sector"
        aside={
          <Select
            label="Against"
            isLabelShown
            options={[
              { value: NOTHING, text: 'nothing' },
              ...others.map(({ id: other }) => ({ value: other, text: other })),
            ]}
            value={against ?? NOTHING}
            onChoose={(other) => setParameters({ against: other === (usual ?? NOTHING) ? null : other })}
          />
        }
      >
        <Answered resource={groups} what="the attribution by group">
          {(view) => (
            <>
              <ActiveReturn view={view} />
              <Table
                label="attribution by sector"
                columns={against === null ? GROUP_COLUMNS : [...GROUP_COLUMNS, ...EFFECT_COLUMNS]}
                rows={view.groups}
                keyOf={({ group }) => group}
                sort={{ column: 'contribution', direction: 'desc' }}
              />
            </>
          )}
        </Answered>
      </Section>
      <FactorAttribution id={id} />
      <Section title="By security" aside={<ExportMenu id={id} table="attribution" />}>
        <Answered resource={names} what="the attribution by security">
          {(view) => (
            <Table
              label="attribution by security"
              name="names"
              columns={NAME_COLUMNS}
              rows={view.contributions}
              keyOf={({ asset_id: name }) => name}
              addressOf={({ asset_id: name }) => addressOfName(name)}
              searchIn={({ asset_id: name }) => name}
              sort={{ column: 'contribution', direction: 'desc' }}
              height={480}
            />
          )}
        </Answered>
      </Section>
    </div>
  );
}

/**
 * Renders the returns of the index and the benchmark and the total effects of all groups. Renders nothing without a
 * benchmark.
 */
function ActiveReturn({ view }: { readonly view: GroupAttributionView }) {
  const { effects, benchmark, findings } = view;
  if (effects === null || benchmark === null) return null;
  const term = (name: string, value: number | null, help: string) =>
    value === null ? [] : [{ term: name, value: change(value), kind: signClass(value), help }];
  return (
    <>
      <Findings findings={findings} />
      <Metrics
        label={`Active return against ${benchmark}`}
        metrics={[
          ...term(`Portfolio, ${returnText(view.return_variant)}`, view.total_return, 'Of the portfolio after costs'),
          ...term(addReturn(benchmark, view.benchmark_variant), view.benchmark_return, 'Return of the benchmark'),
          ...term('Active return', view.active_return, 'Return minus benchmark return: the sum of the effects'),
          ...term('Allocation', effects.allocation, 'All groups: effect of different group weights'),
          ...term('Selection', effects.selection, 'All groups: effect of different securities within groups'),
          ...term('Interaction', effects.interaction, 'All groups: combined effect of both'),
        ]}
      />
    </>
  );
}

function Total({ view }: { readonly view: AttributionView }) {
  const { total_return: total, cost_drag: cost, cap_drag: cap, periods, start, end, reconciles, residual } = view;
  return (
    <>
      <Metrics
        label={`Attribution from ${start.slice(0, 10)} to ${end.slice(0, 10)}`}
        metrics={[
          { term: 'Return of the portfolio', value: change(total), kind: signClass(total) },
          {
            term: 'Costs',
            value: change(cost),
            kind: signClass(cost),
            help: 'Effect of transaction costs, contained in the contributions',
          },
          {
            term: 'Effect of the cap',
            value: change(cap),
            kind: signClass(cap),
            help: 'Return of the index minus that of the uncapped index',
          },
          { term: 'Sessions', value: count(periods) },
          {
            term: 'Reconciles',
            value: reconciles ? 'yes' : 'no',
            help: 'The contributions sum to the return',
            note: <Residual value={residual} />,
          },
        ]}
      />
      <Section title="Steps to the total" aside="contributions after costs, linked over the range">
        <Bars label="Contributions, step by step" bars={stepsOf(view)} isRunning format={(value) => change(value)} />
      </Section>
    </>
  );
}

/** Renders the residual of a sum. A rounding error is shown as 0, with the exact value folded. */
export const Residual = ({ value }: { readonly value: number }) =>
  residualText(value) === figure(value) ? (
    <>residual {figure(value)}</>
  ) : (
    <details>
      <summary>residual {residualText(value)}</summary>
      {figure(value)} before rounding
    </details>
  );

const GROUP_COLUMNS: readonly Column<GroupAttributionRow>[] = [
  { id: 'group', title: 'Group', width: 120, grow: 2, value: ({ group }) => group },
  numeric({
    id: 'weight',
    adds: true,
    title: 'Weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 84,
    of: ({ average_weight: weight }) => weight,
    write: percent,
  }),
  numeric({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addSign,
  }),
];

const EFFECT_COLUMNS: readonly Column<GroupAttributionRow>[] = (
  ['allocation', 'selection', 'interaction'] as const
).map((effect, k) => ({
  id: effect,
  title: effect[0]!.toUpperCase() + effect.slice(1),
  width: 96,
  priority: 2 + k,
  align: 'right',
  value: (row) => row[effect],
  show: (row) => addSign(row[effect]),
}));

const NAME_COLUMNS: readonly Column<ContributionPayload>[] = [
  {
    id: 'name',
    title: 'Security',
    width: 100,
    grow: 2,
    value: ({ asset_id: name }) => name,
    show: ({ asset_id: name }) => <strong>{name}</strong>,
  },
  numeric({
    id: 'weight',
    adds: true,
    title: 'Weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 84,
    of: ({ average_weight: weight }) => weight,
    write: percent,
  }),
  numeric({
    id: 'return',
    title: 'Return',
    help: 'Return of the security over the sessions in which it was held',
    width: 92,
    priority: 2,
    of: ({ total_return: own }) => own,
    write: addSign,
  }),
  numeric({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addSign,
  }),
];
