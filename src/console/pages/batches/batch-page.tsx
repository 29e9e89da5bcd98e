import type { BatchView, JobStatus } from '#clients/typescript/divisor.js';
import { JobState } from '../../components/job-state.js';
import { Page, Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { getJob } from '../../state/live.js';
import type { PageProps } from '../../state/page-props.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import { formatCount, countValues } from '../../words/numbers.js';
import { BatchAccounts } from './batch-accounts.js';
import { Conflicts, Figures, Outcomes, TrackingErrors, type ResultProps } from './batch-figures.js';

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
      subtitle={job.data !== undefined && <Subtitle job={job.data} view={view} />}
    >
      <Answered resource={job} what="the batch">
        {(first) => (
          <>
            <JobState job={getJob(`batch:${id}`) ?? first} />
            {view !== null && <Result view={view} currency={currency} />}
            {view === null && isRunning(first) && (
              <BatchAccounts batchId={id} progress={(getJob(`batch:${id}`) ?? first).progress} />
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

interface SubtitleProps {
  readonly job: JobStatus;
  /** Result; null until the batch has succeeded. */
  readonly view: BatchView | null;
}

/** Renders the number of accounts, the parent, the valuation date, the risk model, and the time of the request. */
function Subtitle({ job: { request, created_at: submitted }, view }: SubtitleProps) {
  const { parent, accounts } = request as { readonly parent: string; readonly accounts: number }; // every batch request has these members
  return (
    <span>
      {countValues(accounts, 'account')} of <a href={formatIndexAddress(parent)}>{parent}</a>
      {view !== null && `\u00A0· valued on ${view.as_of}\u00A0· risk model ${view.risk_model}`}
      {`\u00A0· submitted ${formatMoment(submitted)}`}
    </span>
  );
}

const isRunning = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';

function Result({ view, currency }: ResultProps) {
  return (
    <>
      <Figures view={view} currency={currency} />
      <div class="side-by-side">
        <TrackingErrors view={view} />
        <Outcomes view={view} />
      </div>
      <BatchAccounts batchId={view.batch_id} progress={1} currency={currency} />
      <Conflicts view={view} />
      {view.refused.length > 0 && (
        <Section title="Refused accounts" aside={view.refused.length < 100 ? undefined : 'the first 100'}>
          <Table
            label="refused accounts"
            columns={REFUSED_COLUMNS}
            rows={view.refused}
            getKey={({ position }) => String(position)}
          />
        </Section>
      )}
    </>
  );
}

type RefusedAccount = BatchView['refused'][number];

const REFUSED_COLUMNS: readonly Column<RefusedAccount>[] = [
  { id: 'account', title: 'Account', width: 120, value: ({ account_id }) => account_id },
  createNumericColumn({
    id: 'position',
    title: 'Position',
    help: 'Place in the list of accounts; the first is 1',
    width: 80,
    priority: 2,
    of: ({ position }: RefusedAccount) => position + 1,
    write: formatCount,
  }),
  {
    id: 'findings',
    title: 'Findings',
    width: 230,
    grow: 1,
    value: ({ findings }) => findings.map(formatSentence).join(' '),
    show: ({ findings }) => (
      <span title={findings.map(formatSentence).join('\n')}>{findings.map(formatSentence).join(' ')}</span>
    ),
  },
];

/**
 * Returns the message of a finding. The position and the id of the account are removed, because they are in other
 * columns.
 */
const formatSentence = ({ message }: RefusedAccount['findings'][number]): string => {
  const shortMessage = message.replace(/^accounts\[\d+\](?:(?:, account [\w-]+)?: |\.)/, '');
  return shortMessage === message ? message.replace(/, account [\w-]+: /, ': ') : formatLabel(shortMessage);
};
