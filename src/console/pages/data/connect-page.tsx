import './data.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DataStore, DataStoreCreate, Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Button } from '../../components/controls/button.js';
import { Problem, Wait } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { navigate } from '../../state/location.js';
import { createTrouble, may, notifyChange, service, type Trouble } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import { formatCount } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { TABLES } from './import-files.js';
import { Inspection, type InspectionState, listUnplaced, StoreFields, useMapping, useServed } from './inspection.js';
import { StoreState } from './store-state.js';

/** Renders the stores that read a folder or database, with their locations and last dates. */
function ConnectedStores() {
  const stores = useStores();
  const rows = (stores.data?.stores ?? []).filter(({ kind }) => kind === 'folder' || kind === 'database');
  if (rows.length === 0) return null;
  return (
    <Section title="Connected stores" aside="a location is read again by a refresh">
      <Table
        label="connected stores"
        columns={COLUMNS}
        rows={rows}
        getKey={({ store_id: id }) => id}
        formatAddress={({ store_id: id }) => storeAddress(id)}
        height={300}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<DataStore>[] = [
  { id: 'name', title: 'Store', width: 140, grow: 1, show: ({ name }) => <strong>{name}</strong> },
  { id: 'kind', title: 'Kind', width: 84, priority: 4 },
  {
    id: 'location',
    title: 'Location',
    width: 180,
    grow: 3,
    priority: 3,
    value: ({ location, source }) => source ?? location,
    show: ({ location, source }) => <code title={source ?? location ?? ''}>{source ?? location}</code>,
  },
  {
    id: 'names',
    title: 'Securities',
    width: 84,
    priority: 2,
    value: ({ identifiers }) => identifiers,
    write: formatCount,
  },
  { id: 'end', title: 'To', width: 100 },
  {
    id: 'read',
    title: 'Read',
    width: 172,
    priority: 4,
    value: (store) => store.last_loaded_at,
    show: (store) => formatMoment(store.last_loaded_at),
  },
  {
    id: 'state',
    title: 'State',
    width: 110,
    priority: 2,
    value: ({ status }) => status,
    show: (store) => <StoreState store={store} />,
  },
];

/**
 * Checks a folder or database before it is registered. If its tables differ from the standard tables, the proposed
 * mapping is used. A change of the source discards the result and the check in progress.
 * @param source location of the source, and the names of its tables
 */
function useSourceCheck(source: JsonObject) {
  const [inspected, setInspected] = useState<InspectionState | null>(null);
  const [isLooking, setLooking] = useState(false);
  const running = useRef<AbortController | null>(null);
  const result = inspected?.result ?? null;
  const { proposedMapping, isNeeded, ...chosen } = useMapping(
    result,
    inspected && ((mapping) => inspect(source, mapping)),
  );
  const { setMapping } = chosen;
  useEffect(() => {
    setInspected(null);
    setMapping(null);
    setLooking(false);
    return () => running.current?.abort();
  }, [JSON.stringify(source)]);
  useEffect(() => {
    if (isNeeded) setMapping(proposedMapping);
  }, [result, isNeeded]);
  const check = async () => {
    running.current?.abort();
    const { signal } = (running.current = new AbortController());
    setLooking(true);
    const found = await lookAt(source, signal);
    if (signal.aborted) return;
    setInspected(found);
    setMapping(null);
    setLooking(false);
  };
  return { inspected, isLooking, ...chosen, check };
}

async function lookAt(source: JsonObject, signal: AbortSignal): Promise<InspectionState> {
  try {
    return { sample: null, result: await inspect(source, null, signal), trouble: null };
  } catch (thrown) {
    return { sample: null, result: null, trouble: createTrouble(thrown) };
  }
}

function inspect(source: JsonObject, mapping: JsonObject | null, signal?: AbortSignal): Promise<InspectResult> {
  // the service reports errors in the body
  const { location, tables } = source as unknown as Pick<DataStoreCreate, 'location' | 'tables'>;
  const body = { location, tables: tables ?? {}, mapping: mapping as unknown as InspectResult['mapping'] | null };
  return service.value.call('inspectData', { body, ...(signal && { signal }) });
}

const FIELDS: readonly FieldSpec[] = [
  { name: 'location', label: 'Location', kind: 'text', isRequired: true, isWide: true },
];

/** Returns the fields of the form. The help of the location depends on the selected source. */
const listFields = (source: Source): readonly FieldSpec[] =>
  FIELDS.map((spec) => ({ ...spec, help: source.help, example: source.example }));

/** Returns true for findings about table names. Findings about one table are also shown at its field. */
const isOfTables = ({ path }: Finding): boolean => path.startsWith('tables') || TABLES.some((table) => table === path);

const INITIAL_CONNECTION: JsonObject = { kind: 'folder', location: '', name: '', adjustment: 'none' };

interface TableNamesProps {
  readonly value: Json | undefined;
  /** Tables of the database, once it has been inspected. */
  readonly found: readonly string[];
  readonly findings: readonly Finding[];
  onChange(tables: JsonObject): void;
}

/** Renders fields for the names of the tables in the source, if they differ from the names in the store. */
function TableNames({ value, found, findings, onChange }: TableNamesProps) {
  const names = isObject(value) ? value : {};
  const [isOpen, setOpen] = useState(false);
  const put = (table: string, name: Json | undefined) => {
    const { [table]: _, ...others } = names;
    onChange(name === undefined ? others : { ...others, [table]: name });
  };
  return (
    <details
      class="pile frame gap-2 field-group"
      open={isOpen || findings.length > 0}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Tables with other names</summary>
      <p class="small field-help">
        {found.length === 0
          ? 'Enter the names of files or tables that differ from the names below. The tables of a database are listed after it has been read.'
          : `Tables in the database: ${found.join(', ')}.`}
      </p>
      <FieldGrid>
        {TABLES.map((table) => (
          <Field
            key={table}
            spec={{
              name: table,
              label: formatLabel(table),
              otherwise: table,
              ...(found.length === 0 ? { kind: 'text' } : { kind: 'choice', choices: found }),
            }}
            value={names[table]}
            findings={findings.filter(({ path }) => path === table || path === `tables.${table}`)}
            onChange={(name) => put(table, name)}
          />
        ))}
      </FieldGrid>
    </details>
  );
}

const SOURCES = [
  {
    kind: 'folder',
    title: 'Folder',
    example: '/data/eod',
    help: 'Path of the folder on the machine of the service.',
    text: 'CSV or Parquet files on the machine of the service: one file or a folder for each table.',
  },
  {
    kind: 'database',
    title: 'SQLite',
    example: 'sqlite:///data/market.db',
    help: 'sqlite:// and the path of the file on the machine of the service.',
    text: 'A table or view for each table.',
  },
  {
    kind: 'database',
    title: 'DuckDB',
    example: 'duckdb:///data/market.duckdb',
    help: 'duckdb:// and the path of the file on the machine of the service.',
    text: 'A table or view for each table.',
  },
  {
    kind: 'database',
    title: 'PostgreSQL',
    example: 'postgresql://user:password@host/eod',
    help: 'postgresql://user:password@host:port/database; the default port is 5432.',
    text: 'A table or view for each table. The password is never shown.',
  },
] as const;

type Source = (typeof SOURCES)[number];

/**
 * Returns the source of a connection. The location determines it; if it does not, the source is the first one of this
 * type.
 */
function createSource({ kind, location }: JsonObject): Source {
  const kindSources = SOURCES.filter((source) => source.kind === kind);
  return (
    kindSources.find(({ example }) => String(location).startsWith(getScheme(example))) ?? kindSources[0] ?? SOURCES[0]
  );
}

/** Returns the type of connection that a location implies. Returns nothing while there is no location. */
function detectKind({ location }: JsonObject): { readonly kind?: string } {
  const text = typeof location === 'string' ? location : '';
  if (text === '') return {};
  const isDatabase = SOURCES.some(({ kind, example }) => kind === 'database' && text.startsWith(getScheme(example)));
  return { kind: isDatabase ? 'database' : 'folder' };
}

/** Returns the beginning of an address, for example `sqlite:`. */
const getScheme = (address: string): string => address.slice(0, address.indexOf(':') + 1);

interface SourcesProps {
  readonly value: JsonObject;
  onChange(value: JsonObject): void;
}

/**
 * Renders the kinds of sources. Selecting one sets the type. If the location is empty or an example, the example of the
 * source is filled in.
 */
const Sources = ({ value, onChange }: SourcesProps) => (
  <ul class="pile gap-3 sources" aria-label="Sources">
    {SOURCES.map(({ kind, title, example, text }) => {
      const location = String(value['location'] ?? '');
      const isFree = location === '' || SOURCES.some((source) => source.example === location);
      return (
        <li key={title}>
          <button
            type="button"
            aria-pressed={createSource(value).title === title}
            onClick={() => onChange({ ...value, kind, ...(isFree && { location: example }) })}
          >
            <strong>{title}</strong>
            <code>
              {example.split(/(?<=@)/).map((part) => (
                <span key={part}>
                  {part}
                  <wbr />
                </span>
              ))}
            </code>
            <span class="quiet">{text}</span>
          </button>
        </li>
      );
    })}
  </ul>
);

interface ActionsProps {
  /** Labels of the required fields that are empty. */
  readonly missing: readonly string[];
  readonly isReading: boolean;
  readonly isLooking: boolean;
  onCheck(): void;
}

const Actions = ({ missing, isReading, isLooking, onCheck }: ActionsProps) => (
  <div class="flow gap-3 form-actions">
    <Button disabled={isLooking || isReading || missing.includes('location')} onClick={onCheck}>
      Check the source
    </Button>
    <Button kind="main" type="submit" disabled={isReading || missing.length > 0}>
      Connect
    </Button>
    {missing.length > 0 && <span class="quiet">Required: {missing.join(', ')}</span>}
    {isReading && <Wait what="the service, which reads every row" />}
  </div>
);

const Subtitle = () => (
  <>
    The data stays in its place. The service reads all of it before it registers the store; a refresh reads later dates.{' '}
    <GuideLink page="data">Tables and columns</GuideLink>
  </>
);

/** Renders the page that registers a folder or database as a store. The service reads all data but does not copy it. */
export function ConnectPage() {
  const { served, activate } = useServed();
  const [typed, setWanted] = useState<JsonObject>(INITIAL_CONNECTION);
  const requestBody: JsonObject = { activate, ...typed };
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isReading, setReading] = useState(false);
  const source = useSourceCheck({ location: typed['location'] ?? '', tables: typed['tables'] ?? {} });
  const send = async () => {
    setReading(true);
    setTrouble(null);
    try {
      // the service reports errors in the body
      const body = { ...requestBody, mapping: source.mapping } as unknown as DataStoreCreate;
      const store = await service.value.call('createStore', { body });
      notifyChange();
      navigate(storeAddress(store.store_id));
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
    setReading(false);
  };
  const missingLabels = ['location', 'name'].filter((member) => String(requestBody[member] ?? '') === '');
  const findings = trouble?.findings ?? [];
  const otherFindings = listUnplaced(findings, FIELDS).filter((finding) => !isOfTables(finding));
  const foundTables = [...new Set(findings.filter(isOfTables).flatMap(({ accepted }) => accepted ?? []))];
  return (
    <Page title="Connect" above={[{ address: '/console/data', text: 'Data' }]} subtitle={<Subtitle />}>
      {may('data') && <Sources value={requestBody} onChange={setWanted} />}
      {may('data') ? (
        <form
          class="form-card"
          aria-label="Location of the data"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <StoreFields
            more={listFields(createSource(requestBody))}
            value={requestBody}
            served={served}
            findings={trouble?.findings ?? []}
            onChange={(next) => setWanted({ ...next, ...detectKind(next) })}
          />
          <TableNames
            value={requestBody['tables']}
            found={foundTables}
            findings={findings.filter(isOfTables)}
            onChange={(tables) => setWanted({ ...typed, tables })}
          />
          <Actions
            missing={missingLabels}
            isReading={isReading}
            isLooking={source.isLooking}
            onCheck={() => void source.check()}
          />
        </form>
      ) : (
        <MayNot scope="data" what="register a store" />
      )}
      {trouble !== null && (findings.length === 0 || otherFindings.length > 0) && (
        <Problem trouble={{ ...trouble, findings: otherFindings }} />
      )}
      <Inspection {...source} findings={findings} onChange={source.setMapping} />
      <ConnectedStores />
    </Page>
  );
}
