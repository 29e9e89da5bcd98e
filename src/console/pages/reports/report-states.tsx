import type { RenderResult, StaleState } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { start } from '../../state/actions.js';
import { addQuery, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { formatJobId } from '../../words/jobs.js';
import { formatBytes, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { listReportIndices } from './report-names.js';

/** An index with a stored run and its newest report. */
export interface ReportedIndex {
  readonly id: string;
  readonly runAt: string | null;
  /** Reasons that the run is out of date; null if it is current. */
  readonly stale: StaleState | null;
  readonly report: RenderResult | undefined;
}

/**
 * Reads the indices with a stored run, each with its newest report.
 * @param renders finished reports, newest first
 */
export function useReportedIndices(renders: readonly RenderResult[]): readonly ReportedIndex[] {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  return (runs.data?.backtests ?? []).map(({ index_id: id, run_at: runAt, stale }) => ({
    id,
    runAt,
    stale,
    report: renders.find((report) => listReportIndices(report).includes(id)),
  }));
}

interface ReportStatesProps {
  readonly rows: readonly ReportedIndex[];
  /** Template of new reports. */
  readonly template: string | undefined;
}

/** Shows for each index with a run whether its newest report is of that run. */
export function ReportStates({ rows, template }: ReportStatesProps) {
  if (rows.length === 0) return null;
  return (
    <Section title="Reports by index" aside="the newest report of each index, against its latest run">
      <Table
        label="reports by index"
        name="states"
        columns={createColumns(template)}
        rows={rows}
        getKey={({ id }) => id}
        sort={{ column: 'state', direction: 'asc' }}
        height={300}
      />
    </Section>
  );
}

interface ReportFiguresProps {
  readonly rows: readonly ReportedIndex[];
  /** Finished reports, newest first. */
  readonly renders: readonly RenderResult[];
  /** Number of all stored reports. */
  readonly total: number;
}

/** Renders figures of all reports. */
export function ReportFigures({ rows, renders, total }: ReportFiguresProps) {
  if (rows.length === 0) return null;
  const countOf = (state: ReportState) => rows.filter((row) => findState(row) === state).length;
  const [newest] = renders;
  const outdatedCount = countOf('outdated') + countOf('run out of date');
  return (
    <Metrics
      label="Figures of the reports"
      metrics={[
        {
          term: 'Reports',
          value: formatCount(total),
          note: formatBytes(renders.reduce((sum, one) => sum + one.bytes, 0)),
        },
        {
          term: 'Current',
          value: formatCount(countOf('current')),
          note: `of ${formatCount(rows.length)} indices and strategies`,
        },
        {
          term: 'Outdated',
          value: formatCount(outdatedCount),
          kind: outdatedCount > 0 ? 'down' : '',
          note: 'older than the latest run, or of a run that is out of date',
        },
        { term: 'Without a report', value: formatCount(countOf('none')) },
        {
          term: 'Newest',
          ...(newest === undefined ? { value: MISSING_TEXT } : createMomentFigure(newest.rendered_at)),
        },
      ]}
    />
  );
}

/** Warns if a report is older than the latest run of one of its indices, or if that run is out of date. */
export function ReportWarnings({ report }: { readonly report: RenderResult }) {
  const ids = listReportIndices(report);
  const rows = useReportedIndices([report]).filter(({ id }) => ids.includes(id));
  return (
    <>
      {rows.flatMap((row) => {
        const state = findState(row);
        if (state !== 'outdated' && state !== 'run out of date') return [];
        const link = <a href={formatIndexAddress(row.id)}>Open {row.id}</a>;
        return [
          state === 'outdated' ? (
            <Banner key={row.id} kind="warning" title={`This report is older than the latest run of ${row.id}`}>
              {link}
            </Banner>
          ) : (
            <Banner key={row.id} kind="warning" title={`The latest run of ${row.id} is out of date`} action={link}>
              <span>{row.stale?.reasons.join(' ')} Run the index again, then render the report.</span>
            </Banner>
          ),
        ];
      })}
    </>
  );
}

type ReportState = 'outdated' | 'run out of date' | 'current' | 'none';

const STATE_KINDS: Readonly<Record<ReportState, BadgeKind>> = {
  outdated: 'warning',
  'run out of date': 'warning',
  current: 'good',
  none: 'plain',
};

/** Order of the states. Reports before the latest run come first, then the other indices with a report. */
const STATES = Object.keys(STATE_KINDS);

function findState({ runAt, stale, report }: ReportedIndex): ReportState {
  if (report === undefined) return 'none';
  if (runAt !== null && report.rendered_at < runAt) return 'outdated';
  return stale === null ? 'current' : 'run out of date';
}

/** @param template template of new reports; undefined if there is none */
const createColumns = (template: string | undefined): readonly Column<ReportedIndex>[] => [
  {
    id: 'id',
    title: 'Index or strategy',
    width: 124,
    grow: 2,
    value: ({ id }) => id,
    show: ({ id }) => <a href={formatIndexAddress(id)}>{id}</a>,
  },
  {
    id: 'state',
    title: 'Report',
    help: 'Newest report, compared with the latest run of the index',
    width: 136,
    value: (row) => STATES.indexOf(findState(row)),
    copy: findState,
    show: (row) => (
      <Badge kind={STATE_KINDS[findState(row)]} title={row.stale?.reasons.join(' ')}>
        {findState(row)}
      </Badge>
    ),
  },
  {
    id: 'run',
    title: 'Latest run',
    width: 166,
    priority: 3,
    value: ({ runAt }) => runAt ?? '',
    show: ({ runAt }) => formatMoment(runAt),
  },
  {
    id: 'rendered',
    title: 'Rendered',
    width: 166,
    priority: 2,
    value: ({ report }) => report?.rendered_at ?? '',
    show: ({ report }) =>
      report === undefined ? (
        MISSING_TEXT
      ) : (
        <a href={addQuery({ render: report.render_id })}>{formatMoment(report.rendered_at)}</a>
      ),
  },
  {
    id: 'name',
    title: 'Title',
    width: 120,
    grow: 2,
    priority: 4,
    value: ({ report }) => report?.name ?? '',
  },
  {
    id: 'pages',
    title: 'Pages',
    width: 64,
    align: 'right',
    priority: 5,
    value: ({ report }) => report?.pages ?? null,
  },
  {
    id: 'render',
    title: '',
    width: 84,
    value: () => null,
    show: ({ id, report }) =>
      may('run') &&
      template !== undefined && (
        <ActionButton
          kind="bare"
          aria-label={`Render ${id}`}
          title={`Template ${report?.template_id ?? template}`}
          act={async (onRefusal) => {
            const body = { template_id: report?.template_id ?? template, index_id: id };
            const job = await start(() => service.value.call('renderReport', { body }), onRefusal);
            if (job !== undefined) setParameters({ render: formatJobId(job) });
          }}
        >
          Render
        </ActionButton>
      ),
  },
];
