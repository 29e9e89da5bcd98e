import './plugins.css';
import '../../components/json-document.css';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Finding, ListedPlugin, Operations, PluginPreview } from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { DocumentEditor, type EditedDocument, type EditedKind, IdField } from '../../components/editor.js';
import { Badge, createLazyComponent, useFindingField, Problem, RowsSkeleton } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Facts, type LinkCard, LinkCards } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { createRegisterPage } from '../../components/register.js';
import { type Column } from '../../components/table/model.js';
import { getParameter, type PageProps } from '../../state/location.js';
import { mapResource, may, service, useList, createTrouble, type Trouble } from '../../state/service.js';
import { formatIndexAddress, formatPluginAddress, formatSecurityAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { countValues, formatCount, formatPercent } from '../../words/numbers.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { listUnusedInputs, createInputPlugins } from './inputs.js';
import type { ComponentChildren } from 'preact';
import { labelWithName, nameColumn } from '../../components/securities.js';
import { Table } from '../../components/table/table.js';
import { type NameFacts, useNames } from '../../state/market.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { formatMessage } from '../../words/findings.js';
import { createNumberWriter } from '../sql/columns.js';

interface NamedRowsProps {
  readonly label: string;
  readonly help: string;
  /** Fields of each row. A row in its short form has only the value of the first field. */
  readonly fields: readonly FieldSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  readonly datapoints?: readonly string[];
  readonly isDisabled: boolean;
  onChange(value: JsonObject): void;
}

type Row = readonly [name: string, members: JsonObject];

/** Renders an object of named objects, one row per name. */
function NamedRows(props: NamedRowsProps) {
  const { label, help, fields, value, isDisabled, onChange } = props;
  const firstField = fields[0]?.name ?? '';
  const [rows, setRows] = useState(() => listRows(value, firstField));
  const valueJson = JSON.stringify(createObject(listRows(value, firstField)));
  useEffect(() => {
    if (JSON.stringify(createObject(rows)) !== valueJson) setRows(listRows(value, firstField));
  }, [valueJson]);
  const put = (next: readonly Row[]) => {
    setRows(next);
    onChange(createObject(next));
  };
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{label}</legend>
      <p class="small field-help">{help}</p>
      {rows.map((row, at) => (
        <div key={at} class="pile gap-2 field-row" role="group" aria-label={`${label}, row ${at + 1}`}>
          <NamedRow
            {...props}
            row={row}
            onChange={(next) => put(rows.map((rowPath, i) => (i === at ? next : rowPath)))}
          />
          <Button
            kind="bare"
            disabled={isDisabled}
            aria-label={`Remove row ${at + 1} of ${label}`}
            onClick={() => put(rows.filter((_, i) => i !== at))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button disabled={isDisabled} aria-label={`Add to ${label}`} onClick={() => setRows([...rows, ['', {}]])}>
        <Icon name="plus" /> Add
      </Button>
    </fieldset>
  );
}

interface NamedRowProps extends Omit<NamedRowsProps, 'onChange' | 'value'> {
  readonly row: Row;
  onChange(row: Row): void;
}

function NamedRow({
  row: [name, members],
  fields,
  findings,
  path,
  datapoints = [],
  isDisabled,
  onChange,
}: NamedRowProps) {
  const rowPath = formatPath([...path, name]);
  return (
    <FieldGrid>
      <Field
        spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
        value={name}
        findings={findings.filter(({ path: one }) => one === rowPath)}
        isDisabled={isDisabled}
        onChange={(next) => onChange([typeof next === 'string' ? next : '', members])}
      />
      {fields.map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={members[spec.name]}
          findings={findings.filter(({ path: one }) => one === `${rowPath}.${spec.name}`)}
          datapoints={datapoints}
          isDisabled={isDisabled}
          onChange={(next) => {
            const { [spec.name]: _, ...others } = members;
            onChange([name, next === undefined ? others : { ...others, [spec.name]: next }]);
          }}
        />
      ))}
    </FieldGrid>
  );
}

/**
 * Converts an object to rows.
 * @param first member that receives a value that is not an object
 */
const listRows = (value: Json | undefined, first: string): readonly Row[] =>
  isObject(value)
    ? Object.entries(value).map(([name, row]): Row => [name, isObject(row) ? row : { [first]: row }])
    : [];

const createObject = (rows: readonly Row[]): JsonObject => Object.fromEntries(rows.filter(([name]) => name !== ''));

const PLUGINS: EditedKind = {
  kind: 'plug-in',
  derived: ['sha256', 'updated_at'],
  list: '/console/plugins',
  formatAddress: formatPluginAddress,
};

export function PluginPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  return (
    <DocumentEditor of={PLUGINS} id={id} create={createPlugin}>
      {() => ({
        ...(id !== null && { title: id, subtitle: <Users id={id} /> }),
        above: [
          { address: '/', text: 'Indices' },
          { address: '/console/plugins', text: 'Plug-ins' },
        ],
        children: (edited) => <Form edited={edited} isStored={id !== null} />,
      })}
    </DocumentEditor>
  );
}

function Users({ id }: { readonly id: string }) {
  const plugins = useList('plug-ins');
  const plugin = plugins.data?.plugins.find(({ plugin_id: one }) => one === id);
  if (plugin === undefined) return null;
  return (
    <>
      {plugin.used_by.length === 0 ? 'Used by no index' : 'Used by'}
      {plugin.used_by.map((index) => (
        <a key={index} href={formatIndexAddress(index)}>
          {index}
        </a>
      ))}
    </>
  );
}

const SOURCES: Readonly<Record<string, string>> = {
  datapoint: 'function compute({ close }, parameters, count) {\n  return close;\n}\n',
  selection:
    '// True for the securities that stay.\nfunction compute({ close }, parameters, count) {\n  return Array.from(close, (price) => price > 5);\n}\n',
  weighting:
    '// Raw weights: the service scales them to a sum of 1.\nfunction compute({ close }, parameters, count) {\n  return Array.from(close, (price) => 1 / price);\n}\n',
};

/** Returns a new plug-in of the kind in the address. Its source is an example. */
function createPlugin(): JsonObject {
  const requestedKind = getParameter('kind') ?? '';
  const kind = requestedKind in SOURCES ? requestedKind : 'datapoint';
  const inputs = { close: { expression: 'CLOSE' } };
  return { plugin_id: '', name: '', kind, inputs, parameters: {}, source: SOURCES[kind]! }; // there is an example for each kind
}

const INPUT_FIELDS: readonly FieldSpec[] = [
  { name: 'expression', label: 'Expression', kind: 'formula', isRequired: true },
  { name: 'sessions', label: 'Sessions', kind: 'integer', otherwise: 1, help: 'Trailing sessions.' },
];

const PARAMETER_FIELDS: readonly FieldSpec[] = [
  { name: 'default', label: 'Default', kind: 'scalar', isRequired: true },
  { name: 'minimum', label: 'Minimum', kind: 'number' },
  { name: 'maximum', label: 'Maximum', kind: 'number' },
  { name: 'help', label: 'Help', kind: 'text' },
];

const KIND_HELP: Readonly<Record<string, string>> = {
  datapoint: 'The values are numbers.',
  selection: '0 or false excludes a security.',
  weighting: 'The values are raw weights.',
};

const DATE_FIELD: FieldSpec = { name: 'as_of', label: 'Date', kind: 'date', help: 'Default: the latest date.' };

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const isFixed = !may('admin');
  const fixedFields = isFixed ? ['name', 'description', 'kind'] : [];
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="PluginUpsert"
      names={names}
      value={document}
      findings={findings}
      fixed={fixedFields}
      changes={{
        kind: {
          words: { datapoint: 'Datapoint', selection: 'Selection rule', weighting: 'Weighting' },
          help: KIND_HELP[String(document['kind'])] ?? null,
        },
      }}
      onChange={set}
    />
  );
  const getMember = (name: string) => ({
    value: document[name],
    findings,
    path: [name],
    isDisabled: isFixed,
    onChange: (value: JsonObject) => set({ ...document, [name]: value }),
  });
  const [date, setDate] = useState<Json | undefined>();
  const preview = usePreview(document, { isAllowed: !isFixed, date: typeof date === 'string' ? date : null });
  return (
    <div class="form-card">
      <div class="pile field-grid is-joined plugin-identity">
        {renderFields(['name'])}
        <IdField edited={edited} member="plugin_id" isFixed={isStored || isFixed} />
        {renderFields(['kind'])}
      </div>
      <div class="pile gap-4 plugin-parts">
        <div class="stack gap-4 plugin-form">
          <Source edited={edited} isFixed={isFixed} tried={preview?.preview?.findings ?? []} />
          <div>
            <NamedRows
              label="Inputs"
              help="Columns that compute gets by these names."
              fields={INPUT_FIELDS}
              {...getMember('inputs')}
              findings={[...findings, ...findUnusedInputs(document)]}
            />
          </div>
          <div>
            <NamedRows
              label="Parameters"
              help="A definition sets their values, within the bounds."
              fields={PARAMETER_FIELDS}
              {...getMember('parameters')}
            />
          </div>
        </div>
        {!isFixed && (
          <PluginValues previewed={preview} shown={findings} kind={String(document['kind'])}>
            <FieldGrid>
              <Field spec={DATE_FIELD} value={date} findings={[]} onChange={setDate} />
            </FieldGrid>
          </PluginValues>
        )}
      </div>
      {renderFields(['description'])}
      <p>
        <GuideLink page="plugins">Plug-ins in the guide</GuideLink>
      </p>
    </div>
  );
}

/** Returns a warning for each input that the source does not use. It is computed without effect. */
const findUnusedInputs = ({ source, inputs }: JsonObject): readonly Finding[] =>
  listUnusedInputs(String(source ?? ''), Object.keys(isObject(inputs) ? inputs : {})).map((name) => ({
    severity: 'warning',
    code: 'NO_EFFECT',
    message: `The source does not use the input ${name}.`,
    path: `inputs.${name}`,
  }));

const ScriptEditor = createLazyComponent(
  'the editor',
  async () => (await import('../../components/code/script-editor.js')).ScriptEditor,
);

interface SourceProps {
  readonly edited: EditedDocument;
  readonly isFixed: boolean;
  /** Findings from computing the draft. */
  readonly tried: readonly Finding[];
}

/** Minimum and maximum number of visible lines of the editor. */
const LINES_MIN = 12;
const LINES_MAX = 20;

/** Renders the editor of the source. Errors of the sandbox are marked at their lines. */
function Source({ edited, isFixed, tried }: SourceProps) {
  const { document, findings, set } = edited;
  const id = useId();
  const wrong = findings.filter(({ path }) => path === 'source');
  const otherFindings = tried.filter(
    ({ path, message }) => path === 'source' && !wrong.some((own) => own.message === message),
  );
  const markedFindings = [...wrong, ...otherFindings];
  // Makes the editor the field of errors in the source. If a save is refused, the error then leads to the marked line.
  useFindingField(wrong, { id, member: 'source', label: 'Source' });
  return (
    <div id={id} class="pile field">
      <span class="plugin-source-label">
        Source <span class="quiet">JavaScript; the function compute returns a value for each security</span>
      </span>
      <ScriptEditor
        label="Source"
        lines={Math.min(LINES_MAX, Math.max(LINES_MIN, String(document['source'] ?? '').split('\n').length + 2))}
        isReadOnly={isFixed}
        value={String(document['source'] ?? '')}
        marks={markedFindings.map(({ message }) => ({ line: parseLine(message), message }))}
        onChange={(source) => set({ ...document, source })}
      />
    </div>
  );
}

/** Returns the line number in an error message. Default: 1. */
const parseLine = (message: string): number => Number(/\(line (\d+)\)/.exec(message)?.[1] ?? 1);

/** Renders the number of plug-ins and of their users. */
function Counts({ all }: { readonly all: readonly ListedPlugin[] }) {
  const unusedCount = all.filter(({ used_by: users }) => users.length === 0).length;
  const users = new Set(all.flatMap(({ used_by: ids }) => ids));
  return (
    <p class="quiet">
      {countValues(all.length, 'plug-in')}, {unusedCount} unused; {countValues(users.size, 'index', 'indices')} with a
      plug-in.
    </p>
  );
}

/** Renders the most recently saved plug-in with its source. */
function Newest({ all }: { readonly all: readonly ListedPlugin[] }) {
  const newest = all.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))[0]!; // There is one.
  const { plugin_id: id, description, inputs, parameters, used_by: ids, source } = newest;
  const unusedInputs = listUnusedInputs(source, Object.keys(inputs));
  return (
    <Section title={`Saved last: ${newest.name}`} aside={<a href={formatPluginAddress(id)}>Open {id}</a>}>
      <div class="pile gap-5 plugin-newest">
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
          <pre class="frame json-document" tabIndex={0} aria-label={`Source of ${id}`} role="group">
            {source}
          </pre>
        </div>
        {may('admin') && <Previewed plugin={newest} />}
      </div>
    </Section>
  );
}

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
    show: ({ name, description }) => (
      <span title={description ?? ''}>
        {name} <span class="quiet">{description}</span>
      </span>
    ),
  },
  { id: 'kind', title: 'Kind', width: 96 },
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

/** Page of plug-ins: datapoints, selection rules and weightings written in JavaScript by users. */
export const PluginsPage = createRegisterPage<ListedPlugin>({
  title: 'Plug-ins',
  name: 'plugins',
  label: 'plug-ins',
  above: [{ address: '/', text: 'Indices' }],
  actions: () =>
    may('admin') && (
      <LinkButton kind="main" href="/console/plugins/new">
        <Icon name="plus" /> New plug-in
      </LinkButton>
    ),
  useRows: () => mapResource(useList('plug-ins'), ({ plugins }) => plugins),
  columns: COLUMNS,
  listColumns: (all) => (all.some((plugin) => listUnused(plugin).length > 0) ? [...COLUMNS, WARNINGS] : COLUMNS),
  sort: { column: 'id', direction: 'asc' },
  height: null,
  empty: { title: 'No plug-in yet', text: 'Begin with one of the kinds below.' },
  getKey: ({ plugin_id: id }) => id,
  formatAddress: ({ plugin_id: id }) => formatPluginAddress(id),
  searchIn: ({ plugin_id: id, name, used_by: ids }) => `${id} ${name} ${ids.join(' ')}`,
  renderHead: () => (
    <p>
      A plug-in is JavaScript that the service runs in a sandbox: it reads columns of the market and returns a value for
      each security. Its source is part of every run that uses it.{' '}
      <GuideLink page="plugins">Guide to plug-ins</GuideLink>
    </p>
  ),
  renderAbove: (all) => all.length > 0 && <Counts all={all} />,
  renderBelow: (all) => all.length > 0 && <Newest all={all} />,
  renderFoot: () =>
    may('admin') && (
      <Section title="Kinds of plug-ins" aside="each begins with an example">
        <LinkCards label="Kinds of plug-ins" cards={KINDS} />
      </Section>
    ),
});

type Request = Operations['previewPlugin']['request']['body'];
type Value = PluginPreview['values'][number];

/** Maximum number of values in the list. */
const LISTED_MAX = 1000;

/** Result of computing a draft, or the error. */
interface PreviewState {
  readonly preview: PluginPreview | null;
  readonly trouble: Trouble | null;
  /** Values of the inputs of a selection; empty for other kinds. */
  readonly inputs: readonly InputColumn[];
}

interface PreviewTerms {
  readonly isAllowed: boolean;
  /** YYYY-MM-DD; null for the latest date of the store. */
  readonly date: string | null;
}

/** Computes a draft on the served store after each change. Returns null until there is a result. */
function usePreview(document: JsonObject, { isAllowed, date }: PreviewTerms): PreviewState | null {
  const { plugin_id: _id, name: _name, description: _text, ...rest } = document;
  const body = { plugin: { name: 'Draft', ...rest }, as_of: date, limit: LISTED_MAX } as unknown as Request; // the service validates the draft
  const isReady = isAllowed && String(rest['source'] ?? '') !== '';
  return (
    useOneAtATime<PreviewState>(isReady ? JSON.stringify([rest, date]) : null, async () => {
      try {
        const preview = await service.value.call('previewPlugin', { body });
        return { preview, trouble: null, inputs: preview.valid ? await readInputs(document, date) : [] };
      } catch (thrown) {
        return { preview: null, trouble: createTrouble(thrown), inputs: [] };
      }
    }).data ?? null
  );
}

interface InputColumn {
  readonly name: string;
  readonly values: ReadonlyMap<string, number>;
}

/** Reads the values that a selection compares, so that they can be shown next to its results. */
const readInputs = (document: JsonObject, date: string | null): Promise<readonly InputColumn[]> =>
  Promise.all(
    createInputPlugins(document).map(async ({ name, plugin }) => {
      const body = { plugin, as_of: date, limit: LISTED_MAX } as unknown as Request; // the service validates the input
      const { values } = await service.value.call('previewPlugin', { body });
      return { name, values: new Map(values.map(({ identifier, value }) => [identifier, value])) };
    }),
  );

interface PluginValuesProps {
  readonly previewed: PreviewState | null;
  /** Maximum height of the table in pixels. */
  readonly height?: number;
  /** Findings that are already shown on the page. */
  readonly shown: readonly Finding[];
  readonly kind: string;
  /** Field of the date; absent for the latest session. */
  readonly children?: ComponentChildren;
}

function PluginValues({ previewed, shown, kind, height = 420, children }: PluginValuesProps) {
  return (
    <section class="stack gap-2 plugin-values" aria-label="Values">
      <header>
        <h2>Values</h2>
        {previewed?.preview?.as_of != null && <span class="quiet date">on {previewed.preview.as_of}</span>}
      </header>
      {children}
      {previewed === null ? (
        <>
          <p role="status" class="quiet">
            Computing the values …
          </p>
          <RowsSkeleton />
        </>
      ) : (
        <Answer {...previewed} {...{ shown, kind, height }} />
      )}
    </section>
  );
}

function Answer({
  preview,
  trouble,
  inputs,
  shown,
  kind,
  height = 0,
}: PreviewState & Pick<PluginValuesProps, 'shown' | 'kind' | 'height'>) {
  const facts = useNames(preview?.values.map(({ identifier }) => identifier) ?? [], preview?.as_of ?? undefined);
  // Findings about the structure of a draft are shown at its fields.
  if (preview === null)
    return trouble === null || trouble.findings.length > 0 ? (
      <p class="quiet">The values are shown once the form is complete.</p>
    ) : (
      <Problem trouble={trouble} />
    );
  const { findings, values, valued, securities, as_of: session } = preview;
  const otherFindings = findings.filter(({ message }) => !shown.some((own) => own.message === message));
  if (findings.length > otherFindings.length)
    return <p class="quiet">The values are shown once the errors are corrected.</p>;
  if (otherFindings.length > 0)
    return (
      <ul class="small field-findings">
        {otherFindings.map((finding) => (
          <li key={`${finding.path} ${finding.message}`} class="down">
            {formatMessage(finding)}
          </li>
        ))}
      </ul>
    );
  if (session === null) return <p class="quiet">Values need a served store with a session on or before the date.</p>;
  return (
    <>
      <Facts facts={createFacts(kind, values, { valued, securities })} />
      {kind !== 'selection' && <Spread values={values} />}
      <Table
        key={kind}
        label="values of the plug-in"
        columns={createColumns(kind, { values, facts, inputs })}
        rows={values}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier)}
        searchIn={({ identifier }) => labelWithName(identifier, facts)}
        {...(kind === 'selection' ? { sort: EXCLUDED_FIRST } : {})}
        height={height}
        empty="No security has a value."
      />
      {valued > values.length && (
        <p class="quiet">
          The largest {formatCount(values.length)} of {formatCount(valued)}.
        </p>
      )}
    </>
  );
}

const EXCLUDED_FIRST = { column: 'stays', direction: 'asc' } as const;

interface ValueCounts {
  readonly valued: number;
  readonly securities: number;
}

function createFacts(kind: string, values: readonly Value[], { valued, securities }: ValueCounts) {
  const groups = [
    'With a value',
    `${formatCount(valued)} of ${countValues(securities, 'security', 'securities')}`,
  ] as const;
  if (kind === 'selection') {
    const stay = values.filter(({ value }) => value !== 0).length;
    return [groups, ['Stay', formatCount(stay)] as const, ['Excluded', formatCount(values.length - stay)] as const];
  }
  if (values.length === 0) return [groups];
  const [largest, smallest] = [values[0]!.value, values.at(-1)!.value]; // values are sorted in descending order
  const median = values[Math.floor(values.length / 2)]!.value;
  const write = createValueWriter(values);
  return [groups, ['Smallest, median, largest', [smallest, median, largest].map(write).join(', ')] as const];
}

/** Returns the function that formats all values. They have the same number of decimals. */
const createValueWriter = (values: readonly Value[]): ((value: number) => string) =>
  createNumberWriter(
    'value',
    values.map(({ value }) => value),
  );

interface Named {
  readonly values: readonly Value[];
  readonly facts: ReadonlyMap<string, NameFacts>;
  readonly inputs: readonly InputColumn[];
}

function createColumns(kind: string, { values, facts, inputs }: Named): readonly Column<Value>[] {
  const security: Column<Value> = nameColumn(facts);
  const value: Column<Value> = { id: 'value', title: 'Value', width: 110, write: createValueWriter(values) };
  if (kind === 'selection')
    return [
      security,
      ...inputs.map(createInputColumn),
      {
        id: 'stays',
        title: 'Selection',
        width: 96,
        value: (row) => (row.value === 0 ? 'excluded' : 'stays'),
        show: (row) => (
          <Badge kind={row.value === 0 ? 'plain' : 'good'}>{row.value === 0 ? 'excluded' : 'stays'}</Badge>
        ),
      },
    ];
  if (kind !== 'weighting') return [security, value];
  const sum = values.reduce((total, row) => total + Math.max(row.value, 0), 0);
  const weight: Column<Value> = {
    id: 'weight',
    title: 'Weight',
    help: 'Share of the sum, before caps',
    width: 90,
    value: (row) => (sum > 0 ? Math.max(row.value, 0) / sum : null),
    write: (share) => formatPercent(share, 3),
  };
  return [security, value, weight];
}

const createInputColumn = ({ name, values }: InputColumn): Column<Value> => ({
  id: `input ${name}`,
  title: name,
  help: `Input ${name}`,
  width: 80,
  priority: 2,
  value: ({ identifier }) => values.get(identifier) ?? null,
  write: createNumberWriter(name, [...values.values()]),
});

/** Number of bars of the distribution, and minimum number of values to show it. */
const BARS = 24;
const SPREAD_MIN = 8;
/** Share of the values that the distribution leaves out on each side. */
const TAIL = 0.02;

/**
 * Draws the distribution of the values without the smallest 2 % and the largest 2 %. The table contains the values as
 * text.
 */
function Spread({ values }: { readonly values: readonly Value[] }) {
  const cut = Math.floor(values.length * TAIL);
  const inner = values.slice(cut, values.length - cut).map(({ value }) => value); // values are sorted
  const [most, least] = [inner[0], inner.at(-1)];
  if (most === undefined || least === undefined || inner.length < SPREAD_MIN || most === least) return null;
  const counts = Array.from({ length: BARS }, () => 0);
  for (const value of inner) counts[Math.min(BARS - 1, Math.floor(((value - least) / (most - least)) * BARS))]!++;
  const highest = Math.max(...counts);
  const write = createValueWriter(values);
  return (
    <figure class="pile gap-1 plugin-spread" aria-hidden="true">
      <div>
        {counts.map((count, k) => (
          <span
            key={k}
            style={{ height: `${(100 * count) / highest}%` }}
            title={countValues(count, 'security', 'securities')}
          />
        ))}
      </div>
      <figcaption class="quiet">
        <span>2nd percentile: {write(least)}</span>
        <span>securities by value</span>
        <span>98th percentile: {write(most)}</span>
      </figcaption>
    </figure>
  );
}
