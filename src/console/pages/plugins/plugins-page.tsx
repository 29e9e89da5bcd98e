import type { Plugin } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Icon } from '../../components/icon.js';
import { LinkCards, type LinkCard } from '../../components/link-cards.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { pluginAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';

/** Page of plug-ins: datapoints, selection rules and weightings written in JavaScript by users. */
export function PluginsPage() {
  const plugins = useResource('plug-ins', (signal) => service.value.call('listPlugins', { signal }));
  const add = may('admin') && (
    <LinkButton kind="main" href="/console/plugins/new">
      <Icon name="plus" /> New plug-in
    </LinkButton>
  );
  return (
    <Page title="Plug-ins" above={[{ address: '/', text: 'Indices' }]} actions={add}>
      <p>
        A plug-in is JavaScript that the service runs in a sandbox: it reads columns of the market and returns a value
        for each security. Its source is part of every run that uses it. <GuideLink page="plugins">Plug-ins</GuideLink>
      </p>
      <Answered resource={plugins} what="the plug-ins">
        {({ plugins: all }) =>
          all.length === 0 ? (
            <EmptyState title="No plug-in yet">Begin with one of the kinds below.</EmptyState>
          ) : (
            <Table
              label="plug-ins"
              name="plugins"
              columns={COLUMNS}
              rows={all}
              keyOf={({ plugin_id: id }) => id}
              addressOf={({ plugin_id: id }) => pluginAddress(id)}
              searchIn={({ plugin_id: id, name }) => `${id} ${name}`}
              sort={{ column: 'id', direction: 'asc' }}
            />
          )
        }
      </Answered>
      {may('admin') && (
        <Section title="Kinds of plug-ins" aside="each begins with an example">
          <LinkCards label="Kinds of plug-ins" cards={KINDS} />
        </Section>
      )}
    </Page>
  );
}

const KINDS: readonly LinkCard[] = [
  {
    icon: 'indices',
    title: 'Datapoint',
    text: 'A number for each security, which rules and expressions use by its name.',
    address: '/console/plugins/new?kind=datapoint',
  },
  {
    icon: 'sweeps',
    title: 'Selection rule',
    text: 'True or false for each security: it stays in the index, or is excluded.',
    address: '/console/plugins/new?kind=selection',
  },
  {
    icon: 'optimise',
    title: 'Weighting',
    text: 'A raw weight for each security; the service scales and caps them.',
    address: '/console/plugins/new?kind=weighting',
  },
];

const COLUMNS: readonly Column<Plugin>[] = [
  { id: 'id', title: 'Id', width: 140, grow: 1, value: (row) => row.plugin_id },
  {
    id: 'name',
    title: 'Title',
    width: 140,
    grow: 3,
    priority: 2,
    value: ({ name }) => name,
    show: ({ name, description }) => (
      <span title={description ?? ''}>
        {name} <span class="quiet">{description}</span>
      </span>
    ),
  },
  { id: 'kind', title: 'Kind', width: 96, value: ({ kind }) => kind },
  {
    id: 'inputs',
    title: 'Inputs',
    width: 160,
    grow: 2,
    priority: 4,
    value: ({ inputs }) =>
      Object.entries(inputs)
        .map(([name, { sessions }]) => `${name}, ${countValues(sessions, 'session')}`)
        .join('; '),
  },
  {
    id: 'parameters',
    title: 'Parameters',
    help: 'With their defaults',
    width: 120,
    grow: 1,
    priority: 5,
    value: ({ parameters }) =>
      Object.entries(parameters)
        .map(([name, { default: value }]) => `${name} ${String(value)}`)
        .join(', ') || 'none',
  },
  {
    id: 'at',
    title: 'Saved',
    width: 172,
    priority: 3,
    value: (row) => row.updated_at,
    show: (row) => moment(row.updated_at),
  },
];
