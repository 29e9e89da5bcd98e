import type { Client, ListedClient, Procedure } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Entries } from '../../components/entries.js';
import { Icon } from '../../components/icon.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatCount, countValues, MISSING_TEXT } from '../../words/numbers.js';
import { getClientState, isIncomplete, KINDS, listMissingKinds } from './open-work.js';
import { ProcedureKinds } from './procedure-kinds.js';
import type { Register } from './register.js';
import { SentFiles } from './sent-files.js';

const add = (part: string, text: string) => (
  <LinkButton kind="main" href={formatGovernanceAddress(part, 'new')}>
    <Icon name="plus" /> {text}
  </LinkButton>
);

/** Indices to which a document applies: the listed indices, or all. */
const formatIndices = (indices: readonly string[] | null): string => indices?.join(', ') ?? 'every index';

const formatEntitled = ({ entitlements }: Pick<Client, 'entitlements'>): string =>
  entitlements.length === 0 ? 'nothing' : entitlements.map(({ indices }) => formatIndices(indices)).join(', ');

export const clientsRegister: Register<ListedClient> = {
  title: 'Clients',
  guide: 'clients',
  brief: 'Receivers of files, with their entitlements and targets.',
  label: 'clients',
  empty: ['No client yet', 'Files of a schedule are delivered to clients that are entitled to them.'],
  sort: { column: 'id', direction: 'asc' },
  read: async (_, signal) => (await service.value.call('listClients', { signal })).clients,
  getKey: ({ client_id: id }) => id,
  formatAddress: ({ client_id: id }) => formatGovernanceAddress('clients', id),
  searchIn: ({ client_id: id, name, targets }) => `${id} ${name} ${targets.map((target) => target.name).join(' ')}`,
  actions: () => may('publish') && add('clients', 'New client'),
  summarise(rows) {
    const deliveries = rows.flatMap(({ latest_delivery: latest }) => latest ?? []);
    const newest = deliveries
      .map(({ date }) => date)
      .toSorted()
      .at(-1);
    const today = deliveries.filter(({ date }) => date === newest);
    const sum = (readCount: (row: (typeof deliveries)[number]) => number) =>
      today.reduce((all, row) => all + readCount(row), 0);
    const openCount = sum(({ files, delivered }) => files - delivered);
    const ready = rows.filter((row) => getClientState(row).kind === 'good').length;
    const incomplete = rows.filter(isIncomplete).length;
    return [
      { term: 'Clients', value: formatCount(rows.length), note: `${formatCount(ready)} can receive files` },
      {
        term: 'Incomplete',
        value: formatCount(incomplete),
        kind: incomplete > 0 ? 'warning' : '',
        note: 'no target or entitlement',
      },
      {
        term: 'Latest session',
        value: newest ?? 'none yet',
        note: newest === undefined ? '' : `${countValues(today.length, 'client')} with files`,
      },
      { term: 'Delivered files', value: formatCount(sum(({ delivered }) => delivered)), note: 'of the latest session' },
      {
        term: 'Open files',
        value: formatCount(openCount),
        kind: openCount > 0 ? 'down' : '',
        note: 'not delivered yet',
      },
    ];
  },
  listColumns: listClientColumns,
  below: (rows) => (
    <>
      <Incomplete clients={rows} />
      <SentFiles clients={rows} />
    </>
  ),
  columns: [
    {
      id: 'id',
      title: 'Client',
      width: 78,
      ideal: 170,
      grow: 3,
      value: ({ client_id: id, name }) => `${id} ${name}`,
      show: ({ client_id: id, name }) => (
        <span title={name}>
          <strong>{id}</strong> <span class="quiet client-name">{name}</span>
        </span>
      ),
    },
    {
      id: 'enabled',
      title: 'Delivery',
      width: 98,
      value: (row) => getClientState(row).text,
      show: (row) => <Badge kind={getClientState(row).kind}>{getClientState(row).text}</Badge>,
    },
    {
      id: 'latest',
      title: 'Latest delivery',
      help: 'Latest session of which the client has files, with their state',
      width: 168,
      value: ({ latest_delivery: latest }) => latest?.date ?? '',
      show: ({ latest_delivery: latest }) => <Latest latest={latest} />,
    },
    {
      id: 'indices',
      title: 'Entitled to',
      width: 110,
      grow: 4,
      priority: 3,
      value: formatEntitled,
      show: (row) => <span title={formatEntitled(row)}>{formatEntitled(row)}</span>,
    },
    {
      id: 'targets',
      title: 'Targets',
      width: 116,
      grow: 2,
      priority: 4,
      below: 'titled',
      value: ({ targets }) => targets.map(({ name, type }) => `${name} (${type})`).join(', ') || null,
    },
  ],
};

/** Returns the columns of clients. The targets are left out if no client has one. */
function listClientColumns(clients: readonly ListedClient[]): readonly Column<ListedClient>[] {
  const hasTargets = clients.some(({ targets }) => targets.length > 0);
  return clientsRegister.columns.filter(({ id }) => id !== 'targets' || hasTargets);
}

/** Renders the clients that cannot receive files, and what each of them lacks. */
function Incomplete({ clients }: { readonly clients: readonly ListedClient[] }) {
  const missing = clients.filter(isIncomplete);
  if (missing.length === 0) return null;
  return (
    <Section title="To complete" aside="a client needs an entitlement and a target to receive files">
      <Entries
        label="Incomplete clients"
        entries={missing.map((row) => ({
          key: row.client_id,
          title: <a href={formatGovernanceAddress('clients', row.client_id)}>{row.name}</a>,
          text:
            row.entitlements.length === 0
              ? 'Add an entitlement: the indices and tables that the client may receive.'
              : `Entitled to ${formatEntitled(row)}. Add a target: the folder, bucket or server that receives the files.`,
          aside: may('publish') && (
            <LinkButton href={formatGovernanceAddress('clients', row.client_id)}>
              {row.entitlements.length === 0 ? 'Add an entitlement' : 'Add a target'}
            </LinkButton>
          ),
        }))}
      />
    </Section>
  );
}

/** Renders the latest session with files for a client. Shows if all files were delivered. */
function Latest({ latest }: { readonly latest: ListedClient['latest_delivery'] }) {
  if (latest === null) return <span class="quiet">none yet</span>;
  const { date, files, delivered } = latest;
  return (
    <>
      {date}{' '}
      {delivered === files ? (
        <Badge kind="good">{countValues(files, 'file')}</Badge>
      ) : (
        <Badge kind="bad" title={`${countValues(files - delivered, 'file')} not delivered`}>
          {formatCount(files - delivered)} open
        </Badge>
      )}
    </>
  );
}

export const proceduresRegister: Register<Procedure> = {
  title: 'Procedures',
  guide: 'governance',
  brief: 'Documents of the administrator, such as cessation or complaints.',
  label: 'procedures',
  empty: ['No procedure yet', 'The procedures of an index are part of its benchmark statement.'],
  sort: { column: 'id', direction: 'asc' },
  read: async (_, signal) => (await service.value.call('listProcedures', { signal })).procedures,
  getKey: ({ procedure_id: id }) => id,
  formatAddress: ({ procedure_id: id }) => formatGovernanceAddress('procedures', id),
  searchIn: ({ procedure_id: id, name, kind }) => `${id} ${name} ${kind}`,
  actions: () => may('write') && add('procedures', 'New procedure'),
  summarise(rows) {
    const dueDates = rows.flatMap(({ review_by: date }) => date ?? []).toSorted();
    return [
      { term: 'Procedures', value: formatCount(rows.length) },
      {
        term: 'Kinds without a procedure',
        value: formatCount(listMissingKinds(rows).length),
        kind: listMissingKinds(rows).length > 0 ? 'warning' : '',
        note: `of ${formatCount(KINDS.length)} kinds`,
      },
      {
        term: 'For every index',
        value: formatCount(rows.filter(({ indices }) => indices === null).length),
        note: 'the others name their indices',
      },
      {
        term: 'Next review by',
        value: dueDates[0] ?? MISSING_TEXT,
        note: dueDates.length === 0 ? 'no date is set' : '',
      },
    ];
  },
  below: (rows) => (
    <div class="procedure-parts">
      <ProcedureKinds procedures={rows} />
      <Texts procedures={rows} />
    </div>
  ),
  columns: [
    { id: 'id', title: 'Id', width: 110, grow: 1, value: ({ procedure_id: id }) => id },
    { id: 'name', title: 'Name', width: 160, grow: 2, priority: 2, value: ({ name }) => name },
    { id: 'kind', title: 'Kind', width: 110, value: ({ kind }) => kind },
    {
      id: 'indices',
      title: 'Applies to',
      width: 140,
      grow: 2,
      priority: 3,
      value: ({ indices }) => formatIndices(indices),
    },
    {
      id: 'review',
      title: 'Review by',
      width: 104,
      priority: 4,
      value: (row) => row.review_by ?? '',
      show: (row) => row.review_by ?? <span class="quiet">not set</span>,
    },
    createNumericColumn({
      id: 'version',
      title: 'Version',
      width: 76,
      priority: 6,
      of: ({ version }) => version,
      write: formatCount,
    }),
  ],
};

/** Renders the first lines of each procedure. */
const Texts = ({ procedures: all }: { readonly procedures: readonly Procedure[] }) =>
  all.length === 0 ? null : (
    <Section title="Texts" aside="the first lines of each">
      <Entries
        label="Texts of the procedures"
        entries={all.map(({ procedure_id: id, name, kind, text }) => ({
          key: id,
          title: <a href={formatGovernanceAddress('procedures', id)}>{name}</a>,
          badge: <Badge kind="plain">{kind}</Badge>,
          text: <p class="procedure-text">{withoutMarks(text)}</p>,
        }))}
      />
    </Section>
  );

/** Removes the marks of headings, emphasis and code from a Markdown text. */
const withoutMarks = (text: string): string => text.replaceAll(/^#+ |\*\*|__|`/gm, '');
