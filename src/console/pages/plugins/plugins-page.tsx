import type { Finding, ListedPlugin } from '#clients/typescript/divisor.js';
import { Answered, Badge, EmptyState } from '../../components/feedback.js';
import { Icon, LinkButton } from '../../components/controls/button.js';
import { Facts, type LinkCard, LinkCards } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { may, service, useResource } from '../../state/service.js';
import { formatIndexAddress, formatPluginAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { PluginValues, usePreview } from './plugin-values.js';
import '../../components/json-document.css';
import { listUnusedInputs } from './inputs.js';
import './plugins.css';

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
        for each security. Its source is part of every run that uses it.{' '}
        <GuideLink page="plugins">Guide to plug-ins</GuideLink>
      </p>
      <Answered resource={plugins} what="the plug-ins">
        {({ plugins: all }) =>
          all.length === 0 ? (
            <EmptyState title="No plug-in yet">Begin with one of the kinds below.</EmptyState>
          ) : (
            <Plugins all={all} />
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

function Plugins({ all }: { readonly all: readonly ListedPlugin[] }) {
  const unusedCount = all.filter(({ used_by: users }) => users.length === 0).length;
  const users = new Set(all.flatMap(({ used_by: ids }) => ids));
  return (
    <>
      <p class="quiet">
        {countValues(all.length, 'plug-in')}, {unusedCount} unused; {countValues(users.size, 'index', 'indices')} with a
        plug-in.
      </p>
      <Table
        label="plug-ins"
        name="plugins"
        columns={all.some((plugin) => listUnused(plugin).length > 0) ? [...COLUMNS, WARNINGS] : COLUMNS}
        rows={all}
        getKey={({ plugin_id: id }) => id}
        formatAddress={({ plugin_id: id }) => formatPluginAddress(id)}
        searchIn={({ plugin_id: id, name, used_by: ids }) => `${id} ${name} ${ids.join(' ')}`}
        sort={{ column: 'id', direction: 'asc' }}
      />
      <Newest all={all} />
    </>
  );
}

/** Renders the most recently saved plug-in with its source. */
function Newest({ all }: { readonly all: readonly ListedPlugin[] }) {
  const newest = all.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))[0]!; // There is one.
  const { plugin_id: id, description, inputs, parameters, used_by: ids, source } = newest;
  const unusedInputs = listUnusedInputs(source, Object.keys(inputs));
  return (
    <Section title={`Saved last: ${newest.name}`} aside={<a href={formatPluginAddress(id)}>Open {id}</a>}>
      <div class="plugin-newest">
        <div>
          <Facts
            isWide
            facts={[
              ['Description', description],
              ...Object.entries(inputs).map(
                ([name, { expression, sessions }]) =>
                  [
                    `Input ${name}`,
                    <>
                      {expression}, {countValues(sessions, 'session')}
                      {unusedInputs.includes(name) && <span class="field-warning">, not used by the source</span>}
                    </>,
                  ] as const,
              ),
              ...Object.entries(parameters).map(
                ([name, { default: value, help }]) =>
                  [`Parameter ${name}`, [String(value), help].filter(Boolean).join('. ')] as const,
              ),
              ['Used by', ids.length === 0 ? 'no index' : ids.map((index) => <IndexLink key={index} id={index} />)],
            ]}
          />
          <pre class="json-document" tabIndex={0} aria-label={`Source of ${id}`} role="group">
            {source}
          </pre>
        </div>
        {may('admin') && <Previewed plugin={newest} />}
      </div>
    </Section>
  );
}

/** Renders the values of a stored plug-in on the latest session. */
function Previewed({ plugin }: { readonly plugin: ListedPlugin }) {
  const { plugin_id: _id, sha256: _hash, updated_at: _at, used_by: _users, ...document } = plugin;
  const preview = usePreview(document as unknown as JsonObject, { isAllowed: true, date: null }); // a stored plug-in is plain JSON
  return <PluginValues previewed={preview} shown={NO_FINDINGS} kind={plugin.kind} height={VALUES_HEIGHT} />;
}

const NO_FINDINGS: readonly Finding[] = [];
/** Maximum height of the list of values in pixels, for six rows. */
const VALUES_HEIGHT = 228;

const IndexLink = ({ id }: { readonly id: string }) => <a href={formatIndexAddress(id)}> {id} </a>;

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

const listUnused = ({ source, inputs }: ListedPlugin) => listUnusedInputs(source, Object.keys(inputs));

const WARNINGS: Column<ListedPlugin> = {
  id: 'warnings',
  title: 'Warnings',
  width: 176,
  value: (plugin) => listUnused(plugin).join(', '),
  copy: (plugin) => listUnused(plugin).map(formatUnused).join(', '),
  show: (plugin) =>
    listUnused(plugin).map((input) => (
      <Badge key={input} kind="warning" title={`The source does not use the input ${input}.`}>
        {formatUnused(input)}
      </Badge>
    )),
};

const formatUnused = (input: string): string => `input ${input} is not used`;

const COLUMNS: readonly Column<ListedPlugin>[] = [
  {
    id: 'id',
    title: 'Id',
    width: 112,
    ideal: 150,
    grow: 1,
    value: (row) => row.plugin_id,
    show: (row) => <strong>{row.plugin_id}</strong>,
  },
  {
    id: 'name',
    title: 'Name',
    width: 140,
    grow: 3,
    priority: 3,
    value: ({ name }) => name,
    show: ({ name, description }) => (
      <span title={description ?? ''}>
        {name} <span class="quiet">{description}</span>
      </span>
    ),
  },
  { id: 'kind', title: 'Kind', width: 96, value: ({ kind }) => kind },
  {
    id: 'users',
    title: 'Used by',
    help: 'Indices whose definition uses it',
    width: 118,
    grow: 2,
    value: ({ used_by: ids }) => ids.join(', '),
    show: ({ used_by: ids }) =>
      ids.length === 0 ? <span class="quiet">no index</span> : <span title={ids.join(', ')}>{ids.join(', ')}</span>,
  },
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
    show: ({ inputs }) => (
      <span
        title={Object.entries(inputs)
          .map(([name, { expression }]) => `${name}: ${expression}`)
          .join('\n')}
      >
        {Object.entries(inputs)
          .map(([name, { sessions }]) => (sessions === 1 ? name : `${name}, ${countValues(sessions, 'session')}`))
          .join('; ')}
      </span>
    ),
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
    priority: 6,
    value: (row) => row.updated_at,
    show: (row) => formatMoment(row.updated_at),
  },
];
