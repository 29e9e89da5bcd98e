import type { Health } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts } from '../../components/facts.js';
import { GuideLink } from '../../components/guide-link.js';
import { Metrics } from '../../components/metrics.js';
import { renderCode } from '../../components/form/field.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Wait } from '../../components/wait.js';
import { checkHealth, getCheckKind, health, isFollowing, liveJobs } from '../../state/live.js';
import { principal } from '../../state/principal.js';
import { useSchemas } from '../../state/schemas.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../../words/dates.js';
import { describeLag, findLag } from '../../words/freshness.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatLargeUnits, formatLimit } from '../../words/numbers.js';
import { JobDays } from './job-days.js';
import { RunChecks } from './run-checks.js';

/** Interval between checks while the page is open, in milliseconds. */
const POLL_MS = 5_000;

/** Page of the state of the service: its checks, the identities of every run, its limits and guarantees. */
export function HealthPage() {
  const [, setLooked] = useState(0);
  useEffect(() => {
    const look = () =>
      checkHealth().then(
        () => setLooked(Date.now()),
        () => undefined,
      );
    void look();
    const timer = setInterval(() => void look(), POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const state = health.value;
  return (
    <Page
      title="Health"
      subtitle={<GuideLink page="promises">Guarantees of the service, and the tests that verify them</GuideLink>}
      actions={<Button onClick={() => void checkHealth()}>Refresh</Button>}
    >
      {state === null ? <Wait what="the service" /> : <Report state={state} />}
    </Page>
  );
}

function Report({ state }: { readonly state: Health }) {
  const { status, version, started_at: started, uptime_seconds: uptime, store, jobs, checks, limits } = state;
  const warnings = checks.filter(({ warning }) => warning).length;
  const waiting = liveJobs.value.filter(({ status: jobStatus }) => jobStatus === 'pending').length;
  return (
    <>
      <Metrics
        label="The service"
        metrics={[
          {
            term: 'State',
            value: status !== 'ok' ? status : warnings > 0 ? countValues(warnings, 'warning') : 'OK',
            kind: status !== 'ok' ? 'down' : warnings > 0 ? 'warning' : 'up',
            note: status === 'ok' && warnings > 0 ? 'no check fails' : '',
          },
          { term: 'Up for', value: formatDuration(uptime), note: `since ${formatMoment(started)}` },
          { term: 'Jobs running', value: jobs.running },
          { term: 'Jobs waiting', value: isFollowing.value ? waiting : jobs.pending },
          {
            term: 'Store served',
            value: store.active ?? 'none',
            ...createStoreNote(state),
          },
          { term: 'Version', value: version },
        ]}
      />
      <div class="side-by-side">
        <Section title="Checks">
          <Entries label="Checks" entries={checks.map(checkEntry)} />
        </Section>
        <JobDays />
      </div>
      <States states={state.states} />
      <RunChecks />
      <Section title="This key">
        <Facts
          facts={[
            ['Key', principal.value?.key_id ?? 'the service does not use keys'],
            ['Scopes', principal.value?.scopes.join(', ') ?? '–'],
            ['Updates', isFollowing.value ? 'as jobs change' : 'every few seconds'],
          ]}
        />
      </Section>
      <Limits limits={limits} />
    </>
  );
}

/** Returns the note of the served store: its last date, and the number of sessions that are missing. */
function createStoreNote({ store, freshness }: Pick<Health, 'store' | 'freshness'>) {
  if (store.end === null || store.end === undefined) return { note: store.status ?? '' };
  const lag = findLag(freshness, store.active);
  return lag === undefined || lag.behind === 0
    ? { note: `up to ${store.end}` }
    : { note: `up to ${store.end}, ${describeLag(lag)}`, kind: 'warning' };
}

type State = Health['states'][number] & {
  /** Duration of the state until the next change; for the latest state, until now. */
  readonly seconds: number;
};

/** Renders the latest states of the process that answered. */
function States({ states }: Pick<Health, 'states'>) {
  const changes = states.toSorted((a, b) => a.since.localeCompare(b.since));
  const rows = changes.map((state, k): State => ({
    ...state,
    seconds: computeSecondsBetween(state.since, changes[k + 1]?.since ?? null),
  }));
  return (
    <Section title="Readiness" aside="since the start, the latest 20 changes; warnings do not change it">
      <Table
        label="readiness of the service"
        columns={STATE_COLUMNS}
        rows={rows}
        getKey={({ since }) => since}
        sort={{ column: 'since', direction: 'desc' }}
        height={300}
      />
    </Section>
  );
}

const STATE_COLUMNS: readonly Column<State>[] = [
  {
    id: 'since',
    title: 'Since',
    width: 190,
    value: ({ since }) => since,
    show: ({ since }) => formatMoment(since, true),
  },
  createNumericColumn({
    id: 'seconds',
    title: 'Duration',
    width: 110,
    priority: 2,
    of: ({ seconds }) => seconds,
    write: formatDuration,
  }),
  {
    id: 'status',
    title: 'State',
    width: 100,
    value: ({ status }) => status,
    show: ({ status }) => <Badge kind={status === 'ok' ? 'good' : 'bad'}>{status}</Badge>,
  },
  { id: 'reason', title: 'Reason', width: 120, grow: 1, value: ({ reason }) => reason },
];

/** Renders the limits that apply to clients, with their descriptions in the contract. */
function Limits({ limits }: Pick<Health, 'limits'>) {
  const schemas = useSchemas();
  const limitSchemas = schemas.data?.['Limits']?.properties ?? {};
  const rows = Object.entries(limits).map(([name, value]): Limit => ({
    name,
    value,
    help: limitSchemas[name]?.description ?? '',
  }));
  return (
    <Section title="Limits" aside="limits that apply to clients">
      <details>
        <summary>All {countValues(rows.length, 'limit')}</summary>
        <Table
          label="limits"
          name="limits"
          columns={LIMIT_COLUMNS}
          rows={rows}
          getKey={({ name }) => name}
          searchIn={({ name, help }) => `${name} ${help}`}
          height={420}
        />
      </details>
    </Section>
  );
}

type Check = Health['checks'][number];

const CHECK_WORDS = { bad: 'fails', warning: 'warning', good: 'passes' } as const;

const checkEntry = ({ name, message, ...check }: Check): Entry => ({
  key: name,
  title: formatLabel(name),
  badge: <Badge kind={getCheckKind(check)}>{CHECK_WORDS[getCheckKind(check)]}</Badge>,
  ...(name === 'data' && getCheckKind(check) !== 'good' && { aside: <a href="/console/data">Data stores</a> }),
  text: message === null || message === undefined ? <span class="quiet">no remarks</span> : formatLargeUnits(message),
});

interface Limit {
  readonly name: string;
  readonly value: number;
  readonly help: string;
}

const LIMIT_COLUMNS: readonly Column<Limit>[] = [
  {
    id: 'help',
    title: 'Meaning',
    width: 130,
    grow: 3,
    value: ({ help }) => help,
    show: ({ name, help }) => (
      <span title={name}>{help === '' ? formatLabel(name.toLowerCase()) : renderCode(help)}</span>
    ),
  },
  {
    id: 'value',
    title: 'Value',
    width: 110,
    align: 'right',
    value: ({ value }) => value,
    show: ({ name, value }) => formatLimit(name, value),
  },
];
