import type { DataAudit, DataStore, DataStoreUpdate, Finding, RefreshResult } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge, Problem } from '../../components/feedback.js';
import { Button } from '../../components/controls/button.js';
import { type Fact, Facts, type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { FindingTable } from './finding-table.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Section } from '../../components/layout/page.js';
import { Table } from '../../components/table/table.js';
import { type Column } from '../../components/table/model.js';
import { addQuery } from '../../state/location.js';
import { health } from '../../state/live.js';
import { createTrouble, may, notifyChange, service, type Trouble, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { createEndNote, findLag } from '../../words/freshness.js';
import { formatBytes, formatCount, countValues, formatFigure, MISSING_TEXT } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { PRICE_BASIS } from '../../words/datapoints.js';
import { CoverageChart } from './coverage.js';
import { countReadWarnings, useAudit, useStoreUsers, useWarningMetric } from './store-state.js';

export function StoreOverview({ store }: { readonly store: DataStore }) {
  const { findings = [], files = [], rows } = store;
  const lag = findLag(health.value?.freshness, store.store_id);
  const warnings = useWarningMetric(store);
  const users = useStoreUsers()(store);
  return (
    <div class="stack gap-5">
      <Metrics
        label="Contents of the store"
        metrics={[
          { term: 'Last session', value: store.end ?? MISSING_TEXT, ...createEndNote(lag, store.end) },
          warnings,
          {
            term: 'Securities',
            value: formatCount(store.identifiers),
            ...(store.start === null ? {} : { note: `with a price on any date since ${store.start}` }),
          },
          { term: 'Indices', value: formatCount(users), note: 'use the store' },
          {
            term: 'Corporate actions',
            value: rows?.['corporate_actions'] === 0 ? 'none' : formatCount(rows?.['corporate_actions']),
          },
        ]}
      />
      {store.end !== null && <CoverageChart store={store} height={170} />}
      {findings.length > 0 && <ReadFindings store={store} findings={findings} />}
      <LastRefresh id={store.store_id} />
      <div class="pile gap-5 side-by-side">
        <Section title="About">
          <Facts
            facts={[
              ['Location', store.location && <code>{store.location}</code>],
              ...(may('data') ? [] : listSettings(store)),
              ['Rows', rows && formatRows(rows)],
              ['Size on disk', formatBytes(store.size_bytes)],
              ['Created', formatMoment(store.created_at)],
              ['Read', formatMoment(store.last_loaded_at)],
              ['Refreshed', store.last_refreshed_at && formatMoment(store.last_refreshed_at)],
              [
                'Content',
                store.content_hash && <code title={store.content_hash}>{store.content_hash.slice(0, 16)}…</code>,
              ],
            ]}
          />
        </Section>
        {may('data') && <Settings store={store} />}
      </div>
      {files.length > 0 && (
        <Section title="Files">
          <Table label="files" columns={FILE_COLUMNS} rows={files} getKey={({ label }) => label} height={320} />
        </Section>
      )}
    </div>
  );
}

/** Returns the address of the security in a row such as `XYZ 2024-03-15`; null for the number of a row. */
function formatRowAddress(row: string, store: string): string | null {
  const identifier = parseIdentifier(row);
  return identifier === undefined ? null : formatSecurityAddress(identifier, store);
}

/** States that the audit has no warning about the security in a row. An audit with more warnings than it lists is unknown. */
function formatRemark(row: string, audit: DataAudit | undefined): string | null {
  const identifier = parseIdentifier(row);
  if (identifier === undefined || audit === undefined || audit.doubts.length < audit.total) return null;
  return audit.doubts.some((warning) => warning.identifier === identifier) ? null : 'Dismissed by the audit.';
}

const parseIdentifier = (row: string): string | undefined => /^(\S+) \d{4}-\d\d-\d\d$/.exec(row)?.[1];

/** Returns the settings as facts, for users who cannot change them. */
const listSettings = (store: DataStore): readonly Fact[] => [
  ['Refreshed from', store.source && <code>{store.source}</code>],
  ['Price basis', PRICE_BASIS[store.adjustment]],
  ['Currency', store.currency ?? 'not declared'],
];

interface ReadFindingsProps {
  readonly store: DataStore;
  readonly findings: readonly Finding[];
}

/** Renders the findings of the last read. */
function ReadFindings({ store, findings }: ReadFindingsProps) {
  const audit = useAudit(store).data;
  const warnings = countReadWarnings({ findings });
  const notes = findings.length - warnings;
  const counts = [
    ...(warnings === 0 ? [] : [countValues(warnings, 'warning')]),
    ...(notes === 0 ? [] : [countValues(notes, 'note')]),
  ];
  return (
    <Section
      title="Warnings of the last read"
      aside={`${counts.join(', ')}, read ${formatMoment(store.last_loaded_at)}`}
    >
      <p class="quiet">
        A read compares each close only with the one before. The{' '}
        <a href={addQuery({ tab: 'doubts' })}>warnings of the audit</a> also consider the market, volumes and later
        closes, and may be fewer.
      </p>
      <FindingTable
        label="Findings about the data"
        findings={findings}
        formatRowAddress={(row) => formatRowAddress(row, store.store_id)}
        formatRemark={(row) => formatRemark(row, audit)}
      />
    </Section>
  );
}

/** Formats the number of rows of each table, for example `1,200 market, 40 reference`. */
const formatRows = (rows: Readonly<Record<string, number>>): string =>
  Object.entries(rows)
    .filter(([, value]) => value > 0)
    .map(([table, value]) => `${formatCount(value)} ${table.replace('_', ' ')}`)
    .join(', ');

export const createRowMetrics = (rows: Readonly<Record<string, number>>): readonly LabelledFigure[] =>
  Object.entries(rows)
    .filter(([, value]) => value > 0)
    .map(([table, value]) => ({
      term: `${table[0]!.toUpperCase()}${table.slice(1).replace('_', ' ')}`, // the name of a table is not empty
      value: formatCount(value),
      note: 'rows',
    }));

const FILE_COLUMNS: readonly Column<NonNullable<DataStore['files']>[number]>[] = [
  { id: 'label', title: 'File', width: 160, grow: 1 },
  { id: 'bytes', adds: true, title: 'Size', width: 100, write: formatBytes },
  {
    id: 'sha256',
    title: 'SHA-256',
    width: 200,
    grow: 2,
    priority: 2,
    show: ({ sha256 }) => <code title={sha256}>{sha256}</code>,
  },
];

const SETTINGS: readonly FieldSpec[] = [
  { name: 'name', label: 'Name', kind: 'text', isRequired: true },
  {
    name: 'source',
    label: 'Refreshed from',
    kind: 'text',
    help: 'Folder or database from which a refresh reads later dates.',
  },
  {
    name: 'adjustment',
    label: 'Price basis',
    kind: 'choice',
    choices: Object.keys(PRICE_BASIS),
    words: PRICE_BASIS,
    isRequired: true,
  },
  { name: 'currency', label: 'Currency', kind: 'text', help: 'Currency of securities without a CURRENCY value.' },
];

function Settings({ store }: { readonly store: DataStore }) {
  const storedSettings: JsonObject = Object.fromEntries(SETTINGS.map(({ name }) => [name, store[name as 'name']]));
  const [draft, setDraft] = useState(storedSettings);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const changes = Object.fromEntries(
    Object.entries(draft)
      .filter(([name, value]) => (value ?? null) !== storedSettings[name])
      .map(([name, value]) => [name, value ?? null]),
  );
  const save = async () => {
    try {
      const body = changes as DataStoreUpdate; // the service reports errors in the body
      await service.value.call('updateStore', { params: { store_id: store.store_id }, body });
      setTrouble(null);
      showToast('good', 'The store was saved.');
      notifyChange();
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
  };
  return (
    <Section title="Settings">
      <form
        class="form-card"
        aria-label="Settings of the store"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <FieldGrid>
          {SETTINGS.map((spec) => (
            <Field
              key={spec.name}
              spec={spec}
              value={draft[spec.name]}
              findings={(trouble?.findings ?? []).filter(({ path }) => path === spec.name)}
              onChange={(value) => setDraft({ ...draft, [spec.name]: value })}
            />
          ))}
        </FieldGrid>
        {trouble !== null && trouble.findings.length === 0 && <Problem trouble={trouble} />}
        <div class="flow gap-3 form-actions">
          <Button type="submit" disabled={Object.keys(changes).length === 0}>
            Save
          </Button>
        </div>
      </form>
    </Section>
  );
}

/** Renders the result of the last refresh. Renders nothing if the store was never refreshed. */
function LastRefresh({ id }: { readonly id: string }) {
  const jobs = useResource(`refreshes ${id}`, (signal) =>
    Promise.all((['refresh', 'sync'] as const).map((kind) => readRefresh(`${kind}:${id}`, signal))),
  );
  const [latest] = (jobs.data ?? [])
    .filter((job) => job !== null)
    .toSorted((a, b) => b.finishedAt.localeCompare(a.finishedAt));
  if (latest === undefined) return null;
  const { result, finishedAt } = latest;
  return (
    <Section
      title={result.dry_run ? 'Last refresh: a dry run, nothing stored' : 'Last refresh'}
      aside={formatMoment(finishedAt)}
    >
      <p>
        {countValues(result.dates_added, 'date')} and {countValues(result.identifiers_added, 'security', 'securities')}{' '}
        added; {countValues(result.rows_added, 'new row')}, {countValues(result.rows_changed, 'restated row')}.
        {result.rejected_total > 0 &&
          ` ${countValues(result.rejected_total, 'security', 'securities')} unchanged, because the history in the source differs.`}
      </p>
      {result.findings.length > 0 && <FindingTable label="Findings of the refresh" findings={result.findings} />}
      {result.restatements.length > 0 && (
        <Table
          label="restatements"
          columns={RESTATED_COLUMNS}
          rows={result.restatements}
          getKey={({ dataset, identifier, date, column }) => `${dataset} ${identifier} ${date} ${column}`}
          searchIn={({ identifier, column }) => `${identifier} ${column}`}
          height={360}
        />
      )}
    </Section>
  );
}

interface StoreRefresh {
  readonly finishedAt: string;
  readonly result: RefreshResult;
}

/** Returns the latest completed refresh of a store. The job has the same id as the store. */
async function readRefresh(jobId: string, signal: AbortSignal): Promise<StoreRefresh | null> {
  const kind = jobId.startsWith('sync:') ? 'sync' : 'refresh';
  const { jobs } = await service.value.call('listJobs', { query: { kind: [kind], status: ['succeeded'] }, signal });
  if (!jobs.some(({ job_id: id }) => id === jobId)) return null;
  const job = await service.value.call('getJob', { params: { job_id: jobId }, signal });
  if (job.status !== 'succeeded' || job.finished_at === null) return null;
  return { finishedAt: job.finished_at, result: job.result as RefreshResult }; // jobs of these kinds have a refresh as their result
}

type RestatedSecurity = RefreshResult['restatements'][number];

const writeText = (value: RestatedSecurity['before']) =>
  typeof value === 'number' ? formatFigure(value) : value === null ? '–' : String(value);

const RESTATED_COLUMNS: readonly Column<RestatedSecurity>[] = [
  { id: 'identifier', title: 'Security', width: 110 },
  { id: 'date', title: 'Date', width: 96 },
  { id: 'column', title: 'Column', width: 120, grow: 1 },
  {
    id: 'before',
    title: 'Before',
    width: 110,
    align: 'right',
    value: ({ before }) => writeText(before),
  },
  { id: 'after', title: 'After', width: 110, align: 'right', value: ({ after }) => writeText(after) },
  { id: 'dataset', title: 'Dataset', width: 120, priority: 2, value: ({ dataset }) => dataset.replace('_', ' ') },
  {
    id: 'kind',
    title: 'Description',
    width: 96,
    priority: 3,
    value: describeChange,
    show: (row) => <Badge>{describeChange(row)}</Badge>,
  },
];

function describeChange({ before, after }: RestatedSecurity): string {
  return after === null ? 'removed' : before === null ? 'added' : 'changed';
}
