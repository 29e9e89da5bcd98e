import type { BatchView, JobStatus } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { JobState } from '../../components/job-state.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { jobOf } from '../../state/live.js';
import type { PageProps } from '../../state/page-props.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { labelOf } from '../../words/labels.js';
import { bps, count, countValues, decimal, formatMoney, NONE, percent } from '../../words/numbers.js';
import { GAP_MIN, ruleText } from './account-result.js';
import { BatchAccounts } from './batch-accounts.js';

/** Page of a batch: its figures, the distribution of the tracking error, conflicts by rule, and the accounts. */
export function BatchPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const job = useResource(`job batch ${id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: `batch:${id}` }, signal }),
  );
  const parent = (job.data?.request as { readonly parent: string } | undefined)?.parent; // every batch request has a parent
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const currency = indices.data?.indices.find((index) => index.id === parent)?.currency ?? null;
  const view = job.data?.status === 'succeeded' ? (job.data.result as BatchView) : null; // the kind of the job determines the type of its result
  return (
    <Page
      title={id}
      above={[{ address: '/console/batches', text: 'Personal indices' }]}
      subtitle={job.data !== undefined && <Subtitle request={job.data.request} />}
    >
      <Answered resource={job} what="the batch">
        {(first) => (
          <>
            <JobState job={jobOf(`batch:${id}`) ?? first} />
            {view !== null && <Result view={view} currency={currency} />}
            {view === null && isRunning(first) && (
              <BatchAccounts batchId={id} progress={(jobOf(`batch:${id}`) ?? first).progress} />
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Renders the parent and the number of accounts. */
function Subtitle({ request }: Pick<JobStatus, 'request'>) {
  const { parent, accounts } = request as { readonly parent: string; readonly accounts: number }; // every batch request has these members
  return (
    <>
      {countValues(accounts, 'account')} of <a href={indexAddress(parent)}>{parent}</a>
    </>
  );
}

const isRunning = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';

interface ResultProps {
  readonly view: BatchView;
  /** Currency of the index; null until it is known. */
  readonly currency: string | null;
}

function Result({ view, currency }: ResultProps) {
  const conflicts = Object.entries(view.conflicts);
  return (
    <>
      <Figures view={view} currency={currency} />
      {view.tracking_error !== null && (
        <Section title="Tracking error" aside="percentiles over the accounts, annual">
          <Bars
            label="Tracking error by percentile"
            isPlain
            bars={Object.entries(view.tracking_error).map(([name, value]) => ({
              label: PERCENTILES[name] ?? name,
              value,
            }))}
            format={(value) => percent(value, 3)}
          />
        </Section>
      )}
      {conflicts.length > 0 && (
        <Section title="Conflicts" aside="infeasible accounts by row">
          <Bars
            label="Infeasible accounts by row"
            isPlain
            bars={conflicts.toSorted((a, b) => b[1] - a[1]).map(([row, value]) => ({ label: ruleText(row), value }))}
            format={count}
          />
        </Section>
      )}
      {view.refused.length > 0 && (
        <Section title="Refused accounts" aside={view.refused.length < 100 ? undefined : 'the first 100'}>
          <Table
            label="refused accounts"
            columns={REFUSED}
            rows={view.refused}
            keyOf={({ position }) => String(position)}
          />
        </Section>
      )}
      <BatchAccounts batchId={view.batch_id} progress={1} currency={currency} />
    </>
  );
}

const PERCENTILES: Readonly<Record<string, string>> = {
  p0: 'Lowest',
  p5: '5th',
  p25: '25th',
  p50: 'Median',
  p75: '75th',
  p95: '95th',
  p100: 'Highest',
};

type Refused = BatchView['refused'][number];

const REFUSED: readonly Column<Refused>[] = [
  { id: 'account', title: 'Account', width: 120, value: ({ account_id }) => account_id },
  numeric({
    id: 'position',
    title: 'Position',
    width: 80,
    priority: 2,
    of: ({ position }: Refused) => position,
    write: count,
  }),
  {
    id: 'findings',
    title: 'Findings',
    width: 230,
    grow: 1,
    value: ({ findings }) => findings.map(sentenceOf).join(' '),
    show: ({ findings }) => (
      <span title={findings.map(sentenceOf).join('\n')}>{findings.map(sentenceOf).join(' ')}</span>
    ),
  },
];

/** Returns the message of a finding without the position and id of the account, which are in other columns. */
const sentenceOf = ({ message }: Refused['findings'][number]): string => {
  const own = message.replace(/^accounts\[\d+\](?:(?:, account [\w-]+)?: |\.)/, '');
  return own === message ? message.replace(/, account [\w-]+: /, ': ') : labelOf(own);
};

function Figures({ view, currency }: ResultProps) {
  const { infeasible = 0, refused = 0 } = view.by_status;
  const money = (value: number) => formatMoney(decimal(value), currency);
  return (
    <Metrics
      label="Figures of the batch"
      metrics={[
        {
          term: 'Accounts',
          value: count(view.accounts),
          note: `${count(view.accounts - infeasible - refused)} solved`,
        },
        { term: 'Median tracking error', value: percent(view.tracking_error?.['p50']), note: 'annual' },
        { term: 'Tax', value: money(view.tax), note: `on ${formatMoney(decimal(view.value, 0), currency)}` },
        { term: 'Tax saved', value: money(view.tax_saved), help: 'Compared with selling the oldest lots first' },
        { term: 'Costs', value: money(view.costs) },
        { term: 'Avoided wash sales', value: count(view.avoided_wash_sales) },
        {
          term: 'Largest gap',
          value: gapText(view.largest_gap),
          help: 'Largest difference between the tax and costs of an account and the proven minimum, in basis points of its value',
        },
      ]}
    />
  );
}

const gapText = (gap: number | null): string => (gap === null ? NONE : gap <= GAP_MIN ? 'below 0.01 bps' : bps(gap));
