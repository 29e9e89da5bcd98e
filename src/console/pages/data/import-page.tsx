import type { Finding, ImportResult, InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Button, LinkButton } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { FindingTable } from '../../components/finding-table.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Icon } from '../../components/icon.js';
import { Metrics } from '../../components/metrics.js';
import { MayNot } from '../../components/may-not.js';
import { Page, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { go, parameter, setParameters } from '../../state/place.js';
import { takeBrought } from '../../state/dropped.js';
import { changed } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { count } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { rowMetrics } from './store-overview.js';
import { Inspection } from './inspection.js';
import { useInspection } from './use-inspection.js';
import { activateStore } from '../../state/actions.js';
import { elsewhere, StoreFields, useServed } from './store-fields.js';
import { ACCEPTED } from './file-kinds.js';
import { FileList } from './file-list.js';
import { nameFrom, troubleOfFiles, withFiles, type ImportFile } from './import-files.js';
import { sendImport, type Outcome } from './send-import.js';
import './data.css';

const ON_EXISTS: FieldSpec = {
  name: 'on_exists',
  label: 'If the id exists',
  kind: 'choice',
  choices: ['refuse', 'replace', 'append'],
  isRequired: true,
  help: 'append adds new rows to an imported store.',
};

const ABOVE = [{ address: '/console/data', text: 'Data' }];

const NO_FILES: readonly ImportFile[] = [];

/** Files become a store: chosen or dropped, checked by the service, and kept when nothing in them is wrong. */
export function ImportPage() {
  const [files, setFiles] = useState<readonly ImportFile[]>(() => withFiles([], takeBrought()));
  const [header, setHeader] = useState<JsonObject>({
    name: files[0] === undefined ? '' : nameFrom(files[0].file),
    adjustment: 'none',
    on_exists: 'refuse',
  });
  const { outcome, setOutcome, told } = useOutcome();
  const { served, activate } = useServed();
  const trouble = troubleOfFiles(files, health.value?.limits['MAX_IMPORT_BYTES'] ?? Infinity);
  const change = (next: readonly ImportFile[]) => {
    setOutcome(null);
    setFiles(next);
  };
  const add = (added: readonly File[]) => {
    change(withFiles(files, added));
    if (header['name'] === '' && added[0] !== undefined) setHeader({ ...header, name: nameFrom(added[0]) });
  };
  const { inspected, isLooking, mapping, setMapping, checked } = useInspection(
    trouble === null ? files : NO_FILES,
    ({ adjustment }) => setHeader((now) => ({ ...now, adjustment })),
  );
  // Without a mapping each table is one file.
  const hasSeveral = mapping === null && !isLooking && files.filter(({ table }) => table === 'market').length > 1;
  if (outcome !== null && outcome.result !== null) return <Imported result={outcome.result} />;
  const findings = outcome?.trouble?.findings ?? [];
  // Findings of a trial read of the files before the import.
  const seen = inspected?.trouble?.findings ?? (checked.data ?? inspected?.result)?.findings ?? [];
  return (
    <Page title="Import" above={ABOVE} subtitle="All files are checked before anything is stored">
      {may('data') ? <DropArea onFiles={add} /> : <MayNot scope="data" what="import" />}
      {files.length > 0 && <FileList files={files} findings={outcome === null ? seen : findings} onChange={change} />}
      {trouble !== null && <Banner kind="warning" title={trouble} />}
      {hasSeveral && (
        <Banner
          kind="warning"
          title="Several files are assigned to market. Choose the table of each file, or use a mapping."
        />
      )}
      <Inspection
        inspected={inspected}
        isLooking={isLooking}
        mapping={mapping}
        checked={checked}
        findings={findings}
        onChange={setMapping}
      />
      {files.length > 0 && may('data') && (
        <NewStore
          header={{ activate, ...header }}
          served={served}
          outcome={outcome}
          findings={findings}
          unsure={mapping === null ? [] : (inspected?.result?.unsure ?? [])}
          isReady={trouble === null && !hasSeveral && !isLooking && header['name'] !== ''}
          onChange={setHeader}
          onSend={() =>
            sendImport({ files, header: { activate, ...header }, mapping })
              .then(told)
              .then(changed)
          }
        />
      )}
    </Page>
  );
}

/** The result of an import, shown once; its address leads to the new store. */
function useOutcome() {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const imported = outcome === null ? parameter('imported') : null;
  useEffect(() => {
    if (imported !== null) go(storeAddress(imported), { replace: true });
  }, [imported]);
  const told = (next: Outcome) => {
    setOutcome(next);
    if (next.result !== null) setParameters({ imported: next.result.store.store_id });
  };
  return { outcome, setOutcome, told };
}

interface NewStoreProps {
  readonly header: JsonObject;
  readonly served: string | null;
  readonly outcome: Outcome | null;
  readonly findings: readonly Finding[];
  readonly unsure: InspectResult['unsure'];
  readonly isReady: boolean;
  onChange(header: JsonObject): void;
  onSend(): Promise<void>;
}

/** The name of the store, and the button that creates it. */
function NewStore({ header, served, outcome, findings, unsure, isReady, onChange, onSend }: NewStoreProps) {
  const [isSending, setSending] = useState(false);
  return (
    <form
      class="form-card"
      aria-label="The new store"
      onSubmit={(event) => {
        event.preventDefault();
        setSending(true);
        void onSend().finally(() => setSending(false));
      }}
    >
      <StoreFields
        more={[ON_EXISTS]}
        value={header}
        served={served}
        findings={findings}
        unsure={unsure}
        onChange={onChange}
      />
      <div class="form-actions">
        <Button kind="main" type="submit" disabled={!isReady || isSending}>
          Import
        </Button>
        {isSending && <Wait what="the service, which checks every row" />}
      </div>
      {outcome !== null && !isSending && <Refused outcome={outcome} />}
    </form>
  );
}

function DropArea({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <section
      class={isOver ? 'drop is-over' : 'drop'}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <Icon name="upload" />
      <h2>Drop files here</h2>
      <p>
        CSV or Parquet files, workbooks, or a zip archive: prices and, optionally, reference data, corporate actions and
        universes. <Template format="xlsx">Workbook template</Template>, <Template format="csv">CSV templates</Template>
      </p>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept={ACCEPTED}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <Button kind="main" onClick={() => input.current?.click()}>
        Choose files
      </Button>
    </section>
  );
}

interface TemplateProps {
  readonly format: 'xlsx' | 'csv';
  readonly children: string;
}

function Template({ format, children }: TemplateProps) {
  return (
    <Download
      address={`/data/import/template?format=${format}`}
      fileName={format === 'xlsx' ? 'template.xlsx' : 'template.zip'}
      read={() => service.value.call('getImportTemplate', { query: { format } })}
    >
      {children}
    </Download>
  );
}

/** Why nothing was kept, every problem at its table, row and column. */
function Refused({ outcome: { trouble, isPartial = false } }: { readonly outcome: Outcome }) {
  if (trouble === null) return null;
  const findings = elsewhere(trouble.findings, [ON_EXISTS]).filter(({ path }) => !path.startsWith('mapping.'));
  if (trouble.findings.length === 0) return <Problem trouble={trouble} />;
  return (
    <>
      <Banner kind="bad" title={trouble.message}>
        {!isPartial && <p>Nothing was stored. Correct the files and drop them again.</p>}
      </Banner>
      {findings.length > 0 && <FindingTable label="Problems in the files" findings={findings} />}
    </>
  );
}

function Imported({ result }: { readonly result: ImportResult }) {
  const { store, rows, identifiers, start, end, findings } = result;
  return (
    <Page
      title="Imported"
      above={ABOVE}
      subtitle={store.name}
      actions={
        <>
          {!store.active && may('data') && (
            <ActionButton act={(onRefusal) => activateStore(store.store_id, onRefusal)}>
              Serve {store.name}
            </ActionButton>
          )}
          {store.active && may('write') && <LinkButton href="/console/indices/new">New index</LinkButton>}
          <LinkButton kind="main" href={storeAddress(store.store_id)}>
            Open the store
          </LinkButton>
        </>
      }
    >
      <Metrics
        label="Imported data"
        metrics={[
          { term: 'Securities', value: count(identifiers) },
          { term: 'From', value: start ?? '–' },
          { term: 'To', value: end ?? '–' },
          ...rowMetrics(rows),
        ]}
      />
      {findings.length > 0 && (
        <Section title="Data warnings" aside="Data warnings do not block an import">
          <FindingTable label="Data warnings of the import" findings={findings} />
        </Section>
      )}
    </Page>
  );
}
