import type { SweepRequest, SweepRow, SweepView } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/button.js';
import { JobState } from '../../components/job-state.js';
import { Page, Section } from '../../components/page.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { start, type OnRefusal } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { formatAddress, navigate, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatJobAddress } from '../../words/jobs.js';
import { formatChange, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { formatTerms } from '../index/run-terms.js';
import { Fan } from './fan.js';
import { NewSweepPage } from './new-sweep-page.js';
import { useParameterLabels } from './parameter-labels.js';
import { useReference } from './reference.js';
import { Figures } from './sweep-figures.js';
import { FoldsShortage, SweepFolds } from './sweep-folds.js';
import { SweepMap } from './sweep-map.js';
import { getGrid, getSweepTerms } from './sweep-requests.js';
import { findDates, formatMetric, formatPatch, formatWithUnit, nameVariant, type ParameterLabels } from './values.js';
import { VariantPanel } from './variant-panel.js';
import { Verdict } from './verdict.js';
import './sweeps.css';

/** Page of one sweep, or with the id `new` the form of a new sweep. */
export const SweepPage = ({ params: { id = '' } }: PageProps) =>
  id === 'new' ? <NewSweepPage /> : <OneSweep id={id} />;

/** Renders the ranking of a sweep, a map over two parameters, and the reliability of the best variant. */
function OneSweep({ id }: { readonly id: string }) {
  const job = useResource(`job sweep ${id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: `sweep:${id}` }, signal }),
  );
  const view = job.data?.status === 'succeeded' ? (job.data.result as SweepView) : null; // the kind of the job determines the type of its result
  return (
    <Page
      title={view === null ? id : `Sweep of ${view.index_id}`}
      above={[{ address: '/console/sweeps', text: 'Sweeps' }]}
      subtitle={
        view && (
          <>
            <a href={formatIndexAddress(view.index_id)}>{view.index_id}</a>
            <SweepTerms view={view} terms={getSweepTerms(job.data?.request)} />
          </>
        )
      }
      actions={view && may('run') && <ChangeSweep request={job.data?.request} indexId={view.index_id} />}
    >
      <Answered resource={job} what="the sweep">
        {(first) => (
          <>
            <JobState
              job={getJob(`sweep:${id}`) ?? first}
              onAgain={(onRefusal) => repeatSweep(first.request, onRefusal)}
            />
            {view !== null && <Result view={view} terms={getSweepTerms(first.request)} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Renders the dates and the other terms of the backtests. */
function SweepTerms({ view, terms }: { readonly view: SweepView; readonly terms: JsonObject }) {
  const schemas = useSchemas();
  const { start: _, end: __, ...otherTerms } = terms;
  const dates = findDates(view);
  const text = [dates && `${dates.start} to ${dates.end}`, formatTerms(otherTerms, 'SweepTerms', schemas.data)].filter(
    Boolean,
  );
  return <span>{text.join(' · ')}</span>;
}

/** Renders a link to the form with the values of this sweep. A sweep of listed variants has none. */
function ChangeSweep({ request, indexId }: { readonly request: unknown; readonly indexId: string }) {
  const grid = getGrid(request);
  if (grid === null) return null;
  const { rank_by: rank = 'sharpe_ratio', folds = null } = request as SweepRequest; // the request was accepted
  const axes = Object.fromEntries(
    Object.entries(grid).map(([pointer, values]) => [pointer, values.map(formatValueText).join(', ')]),
  );
  const sweep = JSON.stringify({ axes, terms: getSweepTerms(request), rank, folds });
  return (
    <LinkButton href={formatAddress('/console/sweeps/new', { index: indexId, sweep })}>Change and run again</LinkButton>
  );
}

/** Formats a value as it is typed in the form. */
const formatValueText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Submits the sweep again and opens the job. The service may use the id of the earlier job again. */
async function repeatSweep(request: unknown, onRefusal: OnRefusal): Promise<void> {
  const body = request as SweepRequest; // the request was accepted before
  const job = await start(() => service.value.call('startSweep', { body }), onRefusal);
  if (job === undefined) return;
  notifyChange();
  navigate(formatJobAddress(job));
}

interface ResultProps {
  readonly view: SweepView;
  /** Terms of the backtests. */
  readonly terms: JsonObject;
}

function Result({ view, terms }: ResultProps) {
  const { rows, index_id: indexId, identical_variants: identical = [] } = view;
  const pointers = [...new Set(rows.flatMap(({ patch }) => Object.keys(patch)))];
  const labelsOf = useParameterLabels([indexId]);
  const reference = useReference(indexId, terms);
  // The page waits for the rule types, which contain the labels. Otherwise it would show pointers first.
  if (labelsOf === undefined) return <FiguresSkeleton />;
  const labels = labelsOf(indexId);
  const openRow = rows.find(({ variant }) => String(variant) === getParameter('variant'));
  const openVariant = (variant: number) => setParameters({ variant: String(variant) });
  const nameOf = (variant: number): string => {
    const row = rows.find((one) => one.variant === variant);
    return row === undefined ? `variant ${variant}` : nameVariant(row.patch, labels);
  };
  return (
    <>
      <Verdict view={view} />
      <Figures view={view} />
      <div class="sweep-first">
        {pointers.length > 1 && (
          <SweepMap
            rows={rows}
            pointers={pointers}
            rankBy={view.rank_by}
            told={labels}
            identical={identical}
            nameOf={nameOf}
            onOpen={openVariant}
          />
        )}
        {view.fan && <Fan fan={view.fan} rows={rows} labels={labels} reference={reference} />}
      </div>
      <Section title="Ranking" aside={`by ${formatMetric(view.rank_by)}`}>
        <Table
          label="variants"
          name="variants"
          columns={createColumns(pointers, labels).filter(({ id }) => id !== 'error' || view.refused > 0)}
          rows={rows}
          getKey={({ variant }) => String(variant)}
          onOpen={({ variant }) => openVariant(variant)}
          openKey={openRow === undefined ? null : String(openRow.variant)}
          sort={{ column: 'rank', direction: 'asc' }}
        />
      </Section>
      {view.folds && <SweepFolds folds={view.folds} nameOf={nameOf} />}
      {view.folds_shortage && <FoldsShortage {...view.folds_shortage} />}
      {openRow !== undefined && (
        <VariantPanel
          key={openRow.variant}
          row={openRow}
          indexId={indexId}
          request={terms}
          told={labels}
          onClose={() => setParameters({ variant: null })}
        />
      )}
    </>
  );
}

function createColumns(pointers: readonly string[], labels: ParameterLabels): readonly Column<SweepRow>[] {
  const variedColumns = pointers.map((pointer): Column<SweepRow> => ({
    id: pointer.replaceAll(/\W/g, '-'),
    title: labels(pointer).label,
    help: pointer,
    width: 130,
    grow: 1,
    value: ({ patch }) => {
      const value = patch[pointer];
      return typeof value === 'number' ? value : value === undefined ? null : formatPatch(value);
    },
    show: ({ patch }) => pointer in patch && formatWithUnit(patch[pointer] as Json, labels(pointer).unit), // patch values are plain JSON
  }));
  return [
    { id: 'rank', title: 'Rank', width: 56, value: ({ rank }) => rank },
    ...variedColumns,
    SHARPE_COLUMN,
    ...METRIC_COLUMNS,
    {
      id: 'error',
      title: 'Refused',
      width: 90,
      priority: 6,
      value: ({ error }) => error?.message ?? null,
      show: ({ error }) => error && <span title={error.message}>{error.code}</span>,
    },
  ];
}

const SHARPE_COLUMN: Column<SweepRow> = createNumericColumn({
  id: 'sharpe',
  title: 'Sharpe',
  help: 'Sharpe ratio, annualised',
  width: 76,
  of: ({ metrics }) => metrics?.sharpe_ratio ?? null,
  write: (value) => formatDecimal(value, 3),
});

const METRIC_COLUMNS: readonly Column<SweepRow>[] = [
  {
    id: 'annual',
    title: 'Annualised',
    width: 96,
    priority: 2,
    align: 'right',
    value: ({ metrics }) => metrics?.annualised_return ?? null,
    show: ({ metrics }) => (
      <span class={getSignClass(metrics?.annualised_return)}>{formatChange(metrics?.annualised_return)}</span>
    ),
  },
  createNumericColumn({
    id: 'volatility',
    title: 'Volatility',
    width: 88,
    priority: 3,
    of: ({ metrics }) => metrics?.volatility ?? null,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'drawdown',
    title: 'Drawdown',
    width: 90,
    priority: 4,
    of: ({ metrics }) => metrics?.max_drawdown ?? null,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'dsr',
    title: 'Deflated',
    help: 'Deflated Sharpe ratio',
    width: 84,
    priority: 5,
    of: (row) => row.deflated_sharpe_ratio,
    write: formatPercent,
  }),
];
