import type { Plugin } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { pluginAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';

/** Datapoints, selection rules and weightings that users write as JavaScript. */
export function PluginsPage() {
  const plugins = useResource('plug-ins', (signal) => service.value.call('listPlugins', { signal }));
  const add = may('admin') && (
    <LinkButton kind="main" href="/console/plugins/new">
      <Icon name="plus" /> New plug-in
    </LinkButton>
  );
  return (
    <Page title="Plug-ins" above={[{ address: '/', text: 'Indices' }]} actions={add}>
      <Answered resource={plugins} what="the plug-ins">
        {({ plugins: all }) =>
          all.length === 0 ? (
            <EmptyState title="No plug-in yet">
              A plug-in computes a datapoint, a selection rule or a weighting in JavaScript.
            </EmptyState>
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
    </Page>
  );
}

const COLUMNS: readonly Column<Plugin>[] = [
  { id: 'id', title: 'Id', width: 140, grow: 1, value: (row) => row.plugin_id },
  { id: 'name', title: 'Title', width: 140, grow: 2, priority: 2, value: ({ name }) => name },
  { id: 'kind', title: 'Kind', width: 96, value: ({ kind }) => kind },
  {
    id: 'inputs',
    title: 'Inputs',
    width: 160,
    grow: 2,
    priority: 4,
    value: ({ inputs }) => Object.keys(inputs).join(', '),
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
