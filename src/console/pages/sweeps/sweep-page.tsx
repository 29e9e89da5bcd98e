import type { SweepRequest, SweepRow, SweepView } from '#clients/typescript/divisor.js';
import { JobState } from '../../components/job-state.js';
import { Page, Section } from '../../components/page.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { start, type OnRefusal } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatJobAddress } from '../../words/jobs.js';
import { formatChange, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { formatTerms } from '../index/run-terms.js';
import { Fan } from './fan.js';
import { Figures, isUnreliable, Unreliable, useParameterLabels } from './sweep-figures.js';
import { SweepFolds } from './sweep-folds.js';
import { SweepMap } from './sweep-map.js';
import { formatMetric, formatPatch, formatWithUnit, type ParameterLabels } from './values.js';
import { VariantPanel } from './variant-panel.js';
import './sweeps.css';

/** Page of one sweep: the ranking, a map over two parameters, and the reliability of the best variant. */
export function SweepPage({ params }: PageProps) {
  const id = params['id'] ?? '';
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
            <SweepTerms request={job.data?.request} />
          </>
        )
      }
    >
      <Answered resource={job} what="the sweep">
        {(first) => (
          <>
            <JobState
              job={getJob(`sweep:${id}`) ?? first}
              onAgain={(onRefusal) => repeatSweep(first.request, onRefusal)}
            />
            {view !== null && <Result view={view} request={getRequest(first.request)} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Renders the terms of the backtests. */
function SweepTerms({ request }: { readonly request: unknown }) {
  const schemas = useSchemas();
  const text = formatTerms(getRequest(request), 'SweepTerms', schemas.data);
  return text === '' ? null : <span>{text}</span>;
}

/** Submits the sweep again and opens the job. The service may use the id of the earlier job again. */
async function repeatSweep(request: unknown, onRefusal: OnRefusal): Promise<void> {
  const body = request as SweepRequest; // the request was accepted before
  const job = await start(() => service.value.call('startSweep', { body }), onRefusal);
  if (job === undefined) return;
  notifyChange();
  navigate(formatJobAddress(job));
}

/** Returns the terms of the backtests in an accepted sweep request. */
const getRequest = (request: unknown): JsonObject =>
  (request as { readonly request?: JsonObject | null }).request ?? {}; // the request was accepted

interface ResultProps {
  readonly view: SweepView;
  readonly request: JsonObject;
}

/** Matches the sentence about variants with identical levels. The map marks these variants. */
const IDENTICAL_MESSAGE = /^Variants .*identical levels/;
/** Matches the sentence about the probability of overfitting, which the warning at the top repeats. */
const OVERFITTING_MESSAGE = /splits of the history/;

function Result({ view, request }: ResultProps) {
  const { rows, identical_variants: identical = [] } = view;
  const pointers = [...new Set(rows.flatMap(({ patch }) => Object.keys(patch)))];
  const labels = useParameterLabels(view.index_id);
  // The page waits for the rule types, which contain the labels. Otherwise it would show pointers first.
  if (labels === undefined) return <FiguresSkeleton />;
  const sentences = (view.verdict ?? []).filter(
    (sentence) =>
      (identical.length === 0 || !IDENTICAL_MESSAGE.test(sentence)) &&
      !(isUnreliable(view) && OVERFITTING_MESSAGE.test(sentence)),
  );
  const openRow = rows.find(({ variant }) => String(variant) === getParameter('variant'));
  const openVariant = (variant: number) => setParameters({ variant: String(variant) });
  return (
    <>
      <Unreliable view={view} />
      <Figures view={view} />
      <div class="sweep-first">
        {pointers.length > 0 && (
          <SweepMap
            rows={rows}
            pointers={pointers}
            rankBy={view.rank_by}
            told={labels}
            identical={identical}
            onOpen={openVariant}
          />
        )}
        {view.fan && <Fan fan={view.fan} rows={rows} labels={labels} />}
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
      {view.folds && <SweepFolds folds={view.folds} />}
      {sentences.length > 0 && (
        <Section title="Reliability">
          {sentences.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </Section>
      )}
      {openRow !== undefined && (
        <VariantPanel
          key={openRow.variant}
          row={openRow}
          indexId={view.index_id}
          request={request}
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
    SHARPE_COLUMN,
    ...variedColumns,
    ...METRIC_COLUMNS,
    {
      id: 'variant',
      title: 'Variant',
      help: 'Number of the variant in the grid, from 0',
      width: 68,
      priority: 5,
      align: 'right',
      value: ({ variant }) => variant,
    },
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
