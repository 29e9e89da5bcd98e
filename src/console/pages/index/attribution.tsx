import type {
  AttributionView,
  ContributionPayload,
  GroupAttributionRow,
  GroupAttributionView,
  OverviewView,
} from '#clients/typescript/divisor.js';
import { Select } from '../../components/choice.js';
import { ExportMenu } from '../../components/export-menu.js';
import { Findings } from '../../components/findings.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { awaitNames } from '../../components/name-column.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useFieldsOfRun } from '../../state/fields.js';
import { useNames } from '../../state/names.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { addPoints, addSign } from '../../components/signed.js';
import { formatLabel } from '../../words/labels.js';
import { formatChange, formatPercent, formatPoints, getSignClass } from '../../words/numbers.js';
import { returnText, addReturn } from '../../words/returns.js';
import { listSecurities } from './attribution-steps.js';
import { AttributionTotal } from './attribution-total.js';
import { FactorAttribution } from './factor-attribution.js';
import { listGroupColumns, NoGroupColumn } from './group-columns.js';
import { useNameAddress } from './use-name-address.js';

/** Address value for attribution without a benchmark. */
const NO_EFFECT = '-';

interface AttributionProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Returns the index against which the attribution is computed: the index in the address, or the benchmark of the run. */
function useReference(id: string) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const otherIndices = (indices.data?.indices ?? []).filter(({ id: other }) => other !== id);
  const performance = useResource(`performance ${formatRunKey(id)}`, (signal) =>
    service.value.call('getPerformance', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  // The default benchmark is the benchmark of the run if that is an index.
  const usual = otherIndices.find(({ id: other }) => other === performance.data?.benchmark)?.id ?? null;
  const requestedReference = getParameter('against');
  const isRunKnown = requestedReference !== null || performance.data !== undefined || performance.trouble !== null;
  return {
    options: [
      { value: NO_EFFECT, text: 'No benchmark' },
      ...otherIndices.map(({ id: other }) => ({ value: other, text: other })),
    ],
    variant: performance.data?.return_variant,
    usual,
    against: requestedReference === NO_EFFECT ? null : (requestedReference ?? usual),
    isKnown: isRunKnown && indices.data !== undefined,
  };
}

/**
 * Renders the attribution of the return of a range: cumulative steps, groups and securities. Without a benchmark, the
 * steps state everything about the sectors.
 */
export function Attribution({ id, run }: AttributionProps) {
  const range = findChosenRange();
  const window = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const { options, variant, usual, against, isKnown } = useReference(id);
  const fields = useFieldsOfRun(run);
  const hasNoSectors = listGroupColumns(fields.data)?.includes('SECTOR') === false;
  const areFieldsKnown = fields.data !== undefined || fields.trouble !== null;
  const names = useResource(
    `attribution ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    (signal) => service.value.call('getAttribution', { params: { index_id: id }, query: window, signal }),
    { keeps: true },
  );
  const query = { ...window, ...(against === null ? {} : { benchmark: against }) };
  const groups = useResource(
    isKnown && areFieldsKnown && !hasNoSectors
      ? `groups ${formatRunKey(id)} ${range?.from} ${range?.to} ${against}`
      : null,
    (signal) => service.value.call('getGroupAttribution', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
  return (
    <div class="index-part">
      <div class="part-bar">
        <RangeBar start={run.start} end={run.end} />
        {!hasNoSectors && (
          <Select
            label="Against"
            isLabelShown
            options={options}
            value={against ?? NO_EFFECT}
            onChoose={(other) => setParameters({ against: other === (usual ?? NO_EFFECT) ? null : other })}
          />
        )}
      </div>
      <Answered resource={names} what="the attribution">
        {(view) => (
          <AttributionTotal
            view={view}
            variant={variant}
            groups={groups.data ?? (hasNoSectors || groups.trouble !== null ? null : undefined)}
          />
        )}
      </Answered>
      {(hasNoSectors || against !== null || groups.trouble !== null) && (
        <Section title="By sector">
          {hasNoSectors ? (
            <NoGroupColumn purpose="the attribution by sector" />
          ) : (
            <Answered resource={groups} what="the attribution by group">
              {(view) => (
                <>
                  <ActiveReturn view={view} />
                  <Table
                    label="attribution by sector"
                    columns={GROUP_COLUMNS}
                    rows={view.groups}
                    getKey={({ group }) => group}
                    sort={{ column: 'contribution', direction: 'desc' }}
                  />
                </>
              )}
            </Answered>
          )}
        </Section>
      )}
      <FactorAttribution id={id} />
      <Section title="By security" aside={<ExportMenu id={id} table="attribution" />}>
        <Answered resource={names} what="the attribution by security">
          {(view) => <BySecurity view={view} />}
        </Answered>
      </Section>
    </div>
  );
}

type NameRow = ContributionPayload & { readonly company: string | null };

function BySecurity({ view }: { readonly view: AttributionView }) {
  const { end } = view;
  const contributions = listSecurities(view.contributions);
  const formatNameAddress = useNameAddress();
  const facts = useNames(
    contributions.map(({ asset_id: name }) => name),
    end.slice(0, 10),
  );
  const rows = contributions.map((row): NameRow => ({ ...row, company: facts.get(row.asset_id)?.name ?? null }));
  return (
    <Table
      label="attribution by security"
      name="names"
      columns={awaitNames(NAME_COLUMNS, facts, ['company'])}
      rows={rows}
      getKey={({ asset_id: name }) => name}
      formatAddress={({ asset_id: name }) => formatNameAddress(name)}
      searchIn={({ asset_id: name, company }) => `${name} ${company ?? ''}`}
      sort={{ column: 'contribution', direction: 'desc' }}
      height={480}
    />
  );
}

/**
 * Renders the returns of the index and the benchmark, and the total effects of all groups. Renders nothing if there is
 * no benchmark.
 */
function ActiveReturn({ view }: { readonly view: GroupAttributionView }) {
  const { effects, benchmark, findings } = view;
  if (effects === null || benchmark === null) return null;
  const createTerm = (name: string, value: number | null, help: string, write = formatPoints) =>
    value === null ? [] : [{ term: name, value: write(value), kind: getSignClass(value), help }];
  return (
    <>
      <Findings findings={findings} />
      <Metrics
        label={`Active return against ${benchmark}`}
        metrics={[
          ...createTerm(
            `Portfolio, ${returnText(view.return_variant)}`,
            view.total_return,
            'After costs',
            formatChange,
          ),
          ...createTerm(
            addReturn(benchmark, view.benchmark_variant),
            view.benchmark_return,
            'Of the benchmark',
            formatChange,
          ),
          ...createTerm('Active return', view.active_return, 'Return minus benchmark return: the sum of the effects'),
          ...createTerm('Allocation', effects.allocation, 'All groups: effect of different group weights'),
          ...createTerm('Selection', effects.selection, 'All groups: effect of different securities within groups'),
          ...createTerm('Interaction', effects.interaction, 'All groups: combined effect of both'),
        ]}
      />
    </>
  );
}

const GROUP_COLUMNS: readonly Column<GroupAttributionRow>[] = [
  { id: 'group', title: 'Sector', width: 120, grow: 2, value: ({ group }) => group },
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Average weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 118,
    of: ({ average_weight: weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'benchmark-weight',
    adds: true,
    title: 'Benchmark weight',
    help: 'Mean weight in the benchmark',
    width: 128,
    priority: 5,
    of: ({ benchmark_average_weight: weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'return',
    title: 'Return',
    help: 'Return of the sector over the sessions in which it has a weight, after costs',
    width: 84,
    priority: 3,
    of: ({ total_return: totalReturn }) => totalReturn,
    write: addSign,
  }),
  createNumericColumn({
    id: 'benchmark-return',
    title: 'Benchmark return',
    help: 'Return of the sector in the benchmark',
    width: 128,
    priority: 3,
    of: ({ benchmark_return: benchmarkReturn }) => benchmarkReturn,
    write: addSign,
  }),
  createNumericColumn({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addPoints,
  }),
  ...(['allocation', 'selection', 'interaction'] as const).map((effect) =>
    createNumericColumn<GroupAttributionRow>({
      id: effect,
      adds: true,
      title: formatLabel(effect),
      width: 96,
      priority: effect === 'interaction' ? 4 : 2,
      of: (row) => row[effect],
      write: addPoints,
    }),
  ),
  createNumericColumn({
    id: 'total',
    adds: true,
    title: 'Total',
    help: 'Sum of allocation, selection and interaction: part of the active return',
    width: 84,
    priority: 6,
    of: ({ allocation, selection, interaction }) =>
      allocation === null ? null : allocation + selection! + interaction!,
    write: addPoints,
  }),
];

const NAME_COLUMNS: readonly Column<NameRow>[] = [
  {
    id: 'name',
    title: 'Security',
    width: 100,
    grow: 1,
    value: ({ asset_id: name }) => name,
    show: ({ asset_id: name }) => <strong>{name}</strong>,
  },
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3, value: ({ company }) => company },
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Average weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 118,
    of: ({ average_weight: weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'return',
    title: 'Return',
    help: 'Return of the security over the sessions in which it was held',
    width: 92,
    priority: 2,
    of: ({ total_return: totalReturn }) => totalReturn,
    write: addSign,
  }),
  createNumericColumn({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addPoints,
  }),
];
