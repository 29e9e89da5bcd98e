import './data.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Finding, ImportResult, InspectResult } from '#clients/typescript/divisor.js';
import { ActionButton, Download, rescueFocus } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { Banner, Problem, Wait } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { activateStore } from '../../state/actions.js';
import { getParameter, navigate, setParameters } from '../../state/location.js';
import { createTrouble, may, notifyChange, service } from '../../state/service.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import { storeAddress } from '../../words/addresses.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatFirstNames } from '../../words/quantities.js';
import { readDroppedFiles, takeOfferedFiles } from './dropped-files.js';
import { FindingTable } from './finding-table.js';
import { type FileSample, type SentImport, readSample, sendImport } from './import-content.js';
import {
  addFiles,
  FILE_BYTES_MAX,
  findTrouble,
  type ImportFile,
  isAcceptedFile,
  readChosenFiles,
  removeFile,
  proposeStoreName,
  type TableName,
  TABLES as IMPORT_TABLES,
} from './import-files.js';
import { Inspection, type InspectionState, listUnplaced, StoreFields, useMapping, useServed } from './inspection.js';
import { ACCEPTED_EXTENSIONS, findFile, getPath, parseLocation } from './source-files.js';
import { createRowMetrics } from './store-overview.js';

interface DropAreaProps {
  /** True if files have already been chosen. */
  readonly isSmall: boolean;
  onFiles(files: readonly File[]): void;
}

function DropArea({ isSmall, onFiles }: DropAreaProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <section
      class={`pile gap-2 drop${isOver ? ' is-over' : ''}${isSmall ? ' is-small' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void readDroppedFiles(event.dataTransfer).then(onFiles);
      }}
    >
      <Icon name="upload" />
      <h2>Drop files or a folder here</h2>
      <p>
        Any number of CSV files or workbooks, or zip archives of them, or Parquet files: prices and, optionally,
        reference data, corporate actions and universes. A CSV file may have up to {formatBytes(FILE_BYTES_MAX)}; larger
        data is <a href="/console/data/connect">connected</a> as a folder.{' '}
        <Template format="xlsx">Workbook template</Template>, <Template format="csv">CSV templates</Template>
      </p>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept={ACCEPTED_EXTENSIONS}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <div class="wrap gap-2">
        <Button kind="main" onClick={() => input.current?.click()}>
          Choose files
        </Button>
        <Button onClick={() => chooseFolder(onFiles)}>Choose a folder</Button>
      </div>
    </section>
  );
}

function chooseFolder(onFiles: DropAreaProps['onFiles']): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.webkitdirectory = true;
  input.addEventListener('change', () => onFiles([...(input.files ?? [])]));
  input.click();
}

const TABLES = [
  [
    'Prices',
    'market',
    'required',
    'identifier, date, CLOSE; also OPEN, HIGH, LOW, VOLUME, SHARES_OUTSTANDING and others',
  ],
  [
    'Reference data',
    'reference',
    'optional',
    'identifier, valid_from, and columns such as NAME, SECTOR, COUNTRY, CURRENCY',
  ],
  [
    'Corporate actions',
    'corporate_actions',
    'optional',
    'identifier, type, value, ex_date: dividends, splits, mergers',
  ],
  ['Universes', 'universes', 'optional', 'universe, identifier, start, end: members of named lists'],
  ['Series', 'series', 'optional', 'identifier, date, CLOSE, CURRENCY: benchmarks and exchange rates'],
] as const;

function FileGuide() {
  return (
    <Section title="Tables" aside="files in the format of a vendor are mapped in the next step">
      <div class="frame raised finding-table file-guide" role="group" aria-label="Tables of a store" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Table</th>
              <th scope="col">File</th>
              <th scope="col">Needed</th>
              <th scope="col">Columns</th>
            </tr>
          </thead>
          <tbody>
            {TABLES.map(([title, name, need, columns]) => (
              <tr key={name}>
                <td>{title}</td>
                <td>
                  <code>{name}.csv</code>
                </td>
                <td>{need}</td>
                <td>{columns}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Examples />
    </Section>
  );
}

/** First lines of the files of a store. */
const EXAMPLES = [
  [
    'market.csv',
    'identifier,date,CLOSE,VOLUME\nAAA,2026-11-23,912.40,1850000\nAAA,2026-11-24,918.10,1720000\nBBB,2026-11-24,92.35,4100000',
  ],
  [
    'reference.csv',
    'identifier,valid_from,NAME,SECTOR,CURRENCY\nAAA,2020-01-02,First Company,Technology,EUR\nBBB,2020-01-02,Second Company,Consumer Staples,CHF',
  ],
  ['corporate_actions.csv', 'identifier,type,value,ex_date\nAAA,DIVIDEND,1.60,2026-11-03\nBBB,SPLIT,2,2026-06-15'],
] as const;

/** Renders the first lines of the most important files. */
const Examples = () => (
  <div class="pile gap-3 file-examples">
    {EXAMPLES.map(([name, text]) => (
      <figure key={name}>
        <figcaption class="quiet">First lines of {name}</figcaption>
        <pre tabIndex={0} aria-label={`First lines of ${name}`} role="group">
          {text}
        </pre>
      </figure>
    ))}
  </div>
);

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

/** Maximum number of price files that are listed one by one. If there are more, they are folded into one entry. */
const LISTED_MAX = 8;

interface FileListProps {
  readonly files: readonly ImportFile[];
  /** Findings of the service. A finding about a file is shown at that file. */
  readonly findings: readonly Finding[];
  readonly isMapped: boolean;
  onChange(files: readonly ImportFile[]): void;
}

interface ListedFile extends ImportFile {
  readonly at: number;
  readonly findings: readonly Finding[];
}

interface FileHandlers {
  put(position: number, table: TableName): void;
  remove(position: number): void;
}

/** Renders files to import, each with its table and problems. */
function FileList({ files, findings, isMapped, onChange }: FileListProps) {
  const chosenFiles = files.map(({ file, table }, position) => ({ name: file.name, table, at: position }));
  const about = new Map<number | undefined, Finding[]>();
  for (const finding of findings) {
    const position = findFile(finding, chosenFiles)?.at;
    about.set(position, [...(about.get(position) ?? []), finding]);
  }
  const listedFiles = files.map((one, position): ListedFile => ({
    ...one,
    at: position,
    findings: about.get(position) ?? [],
  }));
  const acts: FileHandlers = {
    put: (position, table) => onChange(files.map((own, i) => (i === position ? { ...own, table } : own))),
    remove: (position) => onChange(removeFile(files, position)),
  };
  const prices = listedFiles.filter(({ table }) => table === 'market');
  const isFolded = prices.length > LISTED_MAX;
  return (
    <ul class="frame raised file-list" aria-label="Files to import">
      {isFolded && <FoldedFiles files={prices} isMapped={isMapped} acts={acts} onClear={() => onChange([])} />}
      {(isFolded ? listedFiles.filter(({ table }) => table !== 'market') : listedFiles).map((one) => (
        <FileRow key={`${one.file.name} ${one.at}`} one={one} acts={acts} />
      ))}
    </ul>
  );
}

interface FileRowProps {
  readonly one: ListedFile;
  readonly acts: FileHandlers;
}

function FileRow({ one, acts }: FileRowProps) {
  return (
    <li>
      <strong>{one.file.name}</strong>
      <span class="quiet number">{formatBytes(one.file.size)}</span>
      {one.table === null ? (
        <span class="quiet">each file or sheet is the table of its name; others are read as prices</span>
      ) : (
        <TableChoice one={one} acts={acts} />
      )}
      <Remove one={one} acts={acts} />
      <FileFindings findings={one.findings} />
    </li>
  );
}

const TableChoice = ({ one, acts }: FileRowProps) => (
  <Select
    label={`Table of ${one.file.name}`}
    options={IMPORT_TABLES.map((table) => ({ value: table, text: table.replace('_', ' ') }))}
    value={one.table!} // a choice is shown only for files with a table
    onChoose={(table) => acts.put(one.at, table)}
  />
);

const Remove = ({ one, acts }: FileRowProps) => (
  <Button kind="bare" aria-label={`Remove ${one.file.name}`} onClick={() => acts.remove(one.at)}>
    <Icon name="close" />
  </Button>
);

interface FoldedFilesProps {
  readonly files: readonly ListedFile[];
  readonly isMapped: boolean;
  readonly acts: FileHandlers;
  onClear(): void;
}

/** Renders many price files as one entry, which opens as a table. */
function FoldedFiles({ files, isMapped, acts, onClear }: FoldedFilesProps) {
  const [isOpen, setOpen] = useState(false);
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  const wrong = files.filter(({ findings }) => findings.length > 0);
  return (
    <li>
      <details class="file-fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <strong>
            {countValues(files.length, 'file')}, {isMapped ? 'one mapping' : 'all prices'}
          </strong>{' '}
          <span class="quiet number">{formatBytes(size)}</span>
        </summary>
        {isOpen && <FileTable files={files} acts={acts} />}
      </details>
      <Button kind="bare" onClick={onClear}>
        Remove all
      </Button>
      {wrong.length > 0 && (
        <p class="file-said field-warning">
          {countValues(wrong.length, 'file')} with problems, the first is {wrong[0]!.file.name}:{' '}
          {formatMessage(wrong[0]!.findings[0]!)}
        </p>
      )}
    </li>
  );
}

function FileTable({ files, acts }: { readonly files: readonly ListedFile[]; readonly acts: FileHandlers }) {
  const columns: readonly Column<ListedFile>[] = [
    { id: 'name', title: 'File', width: 180, grow: 2, value: ({ file }) => file.name },
    { id: 'size', adds: true, title: 'Size', width: 90, value: ({ file }) => file.size, write: formatBytes },
    { id: 'table', title: 'Table', width: 170, show: (one) => <TableChoice one={one} acts={acts} /> },
    {
      id: 'problem',
      title: 'Problem',
      width: 160,
      grow: 3,
      priority: 2,
      value: ({ findings: [first] }) => (first === undefined ? null : formatMessage(first)),
    },
    { id: 'remove', title: '', width: 48, value: () => null, show: (one) => <Remove one={one} acts={acts} /> },
  ];
  return (
    <Table
      label="Files of prices"
      columns={columns}
      rows={files}
      getKey={({ at, file }) => `${file.name} ${at}`}
      searchIn={({ file }) => file.name}
      height={320}
    />
  );
}

function formatMessage({ path, message }: Finding): string {
  const { row, column } = parseLocation(path);
  const cellText = [row === '' ? '' : `row ${row}`, column].filter(Boolean).join(', ');
  return `${cellText === '' ? '' : `${cellText}: `}${message}`;
}

/** Renders the first finding of a file and the number of further findings. The table below shows all of them. */
function FileFindings({ findings: [first, ...others] }: { readonly findings: readonly Finding[] }) {
  if (first === undefined) return null;
  return (
    <p class={first.severity === 'error' ? 'file-said down' : 'file-said field-warning'}>
      {formatMessage(first)}
      {others.length > 0 && ` And ${countValues(others.length, 'more problem')}.`}
    </p>
  );
}

const PARENT_PAGES = [{ address: '/console/data', text: 'Data' }];

function ImportedPage({ result }: { readonly result: ImportResult }) {
  const { store, rows, identifiers, start, end, findings } = result;
  useLayoutEffect(rescueFocus, []); // the button that had the focus has been removed
  return (
    <Page
      title="Imported"
      above={PARENT_PAGES}
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
          { term: 'Securities', value: formatCount(identifiers) },
          { term: 'From', value: start ?? '–' },
          { term: 'To', value: end ?? '–' },
          ...createRowMetrics(rows),
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

const ON_EXISTS: FieldSpec = {
  name: 'on_exists',
  label: 'If the id exists',
  kind: 'choice',
  choices: ['refuse', 'replace', 'append'],
  isRequired: true,
  help: 'append adds new rows to an imported store.',
};

interface NewStoreProps {
  readonly header: JsonObject;
  readonly served: string | null;
  readonly outcome: SentImport | null;
  readonly findings: readonly Finding[];
  readonly unsure: InspectResult['unsure'];
  onChange(header: JsonObject): void;
  onSend(): void;
}

const FORM_ID = 'new-store';

/** Renders the settings of a new store, and the reason if the service refused the store. */
function NewStore({ header, served, outcome, findings, unsure, onChange, onSend }: NewStoreProps) {
  return (
    <form
      id={FORM_ID}
      class="form-card"
      aria-label="The new store"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
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
      {outcome !== null && <RefusedImport outcome={outcome} />}
    </form>
  );
}

interface ImportBarProps {
  readonly files: number;
  readonly mapping: JsonObject | null;
  /** Number of sent files; null if no request is pending. */
  readonly sent: number | null;
  /** Reason why the files cannot be imported; null if there is none. */
  readonly problem: string | null;
  readonly isReady: boolean;
}

/** Renders the bar with the button that creates the store. The bar is always visible. */
function ImportBar({ files, mapping, sent, problem, isReady }: ImportBarProps) {
  return (
    <div class="flow import-bar" role="group" aria-label="Import of the files">
      <Button kind="main" type="submit" form={FORM_ID} disabled={!isReady || sent !== null}>
        Import
      </Button>
      {sent === null ? (
        <span class="quiet">
          {problem ?? `${countValues(files, 'file')}, ${mapping === null ? 'standard tables' : 'with a mapping'}`}
        </span>
      ) : (
        <>
          {sent > 0 && (
            <span role="status">
              {formatCount(sent)} of {countValues(files, 'file')} stored
            </span>
          )}
          <Wait what="the service, which checks every row" />
        </>
      )}
    </div>
  );
}

/** Renders why no file was stored. All problems are listed by table, row and column. */
function RefusedImport({ outcome: { trouble, isPartial = false } }: { readonly outcome: SentImport }) {
  if (trouble === null) return null;
  const findings = listUnplaced(trouble.findings, [ON_EXISTS]).filter(({ path }) => !path.startsWith('mapping.'));
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

/**
 * Returns the selected files. Archives are replaced by the files that they contain.
 * @param onName called with a name for the store that the first files suggest
 */
function useFiles(isAppended: boolean, onChange: () => void, onName: (name: string) => void) {
  const [files, setFiles] = useState<readonly ImportFile[]>([]);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const change = (next: readonly ImportFile[]) => {
    onChange();
    setNotes([]);
    setFiles(next);
  };
  const add = async (added: readonly File[]) => {
    const { sources, ignored, troubles } = await readChosenFiles(added);
    onChange();
    const paths = added.filter(isAcceptedFile).map(getPath);
    if (paths.length > 0) onName(proposeStoreName(paths, new Date().toISOString().slice(0, 10)));
    setFiles((now) => addFiles(now, sources));
    setNotes([...troubles, ...(ignored.length === 0 ? [] : [formatIgnored(ignored)])]);
  };
  useEffect(() => {
    const brought = takeOfferedFiles();
    if (brought.length > 0) void add(brought);
  }, []);
  return {
    files,
    notes,
    trouble: findTrouble(files, isAppended),
    add: (added: readonly File[]) => void add(added),
    change,
  };
}

/** Maximum number of names in the note about ignored files. */
const IGNORED_MAX = 3;

const formatIgnored = (names: readonly string[]): string =>
  `Ignored: ${formatFirstNames(names, IGNORED_MAX)}. An import reads CSV, text, Parquet and xlsx files, and zip archives of them.`;

/**
 * Inspects the files whenever the files or the mapping change. If the files differ from the standard tables, the
 * proposed mapping is used.
 */
function useInspection(files: readonly ImportFile[], onProposed: (result: InspectResult) => void) {
  const [inspected, setInspected] = useState<InspectionState | null>(null);
  const [isLooking, setLooking] = useState(false);
  const sample = inspected?.sample ?? null;
  const result = inspected?.result ?? null;
  const { proposedMapping, isNeeded, ...chosen } = useMapping(
    result,
    sample && ((mapping) => readWith(sample, mapping)),
  );
  const { mapping, setMapping, checked, usual } = chosen;
  useEffect(() => {
    setInspected(null);
    setMapping(null);
    // Only prices have a format that an inspection finds.
    const hasPrices = files.some(({ table }) => table === null || table === 'market');
    setLooking(hasPrices);
    if (!hasPrices) return undefined;
    const controller = new AbortController();
    void lookAt(files, controller.signal).then((found) => {
      if (controller.signal.aborted) return;
      setLooking(false);
      setInspected(found);
    });
    return () => controller.abort();
  }, [files]);
  useEffect(() => {
    if (result === null || usual === null) return;
    const hasSeveral = files.filter(({ table }) => table === 'market').length > 1;
    if (!hasSeveral && !isNeeded) return;
    setMapping(proposedMapping);
    onProposed(result);
  }, [result, usual]);
  const isChanged = mapping !== null && mapping !== proposedMapping;
  return {
    inspected,
    isLooking,
    ...chosen,
    // Standard tables that the user chose against a proposed mapping were not inspected.
    problem:
      inspected === null || (mapping === null && isNeeded)
        ? null
        : findProblem(isChanged ? { sample, result: checked.data ?? null, trouble: checked.trouble } : inspected),
  };
}

/** Returns the reason why the service would refuse inspected files; null if there is none. */
function findProblem({ sample, result, trouble }: InspectionState): string | null {
  const findings = trouble?.findings ?? result?.findings ?? [];
  const hasFailed = trouble !== null && trouble.retrySeconds === null;
  if (hasFailed || findings.some(({ severity }) => severity === 'error'))
    return 'The files have errors. Correct the files or the format.';
  return result?.rows_read === 0 && sample?.hasPrices === true
    ? 'No bar was read from the files. Correct the files or the format.'
    : null;
}

async function lookAt(files: readonly ImportFile[], signal: AbortSignal): Promise<InspectionState> {
  try {
    const sample = await readSample(files);
    if (sample === null || signal.aborted) return { sample, result: null, trouble: null };
    try {
      return {
        sample,
        result: await service.value.call('inspectData', { body: sample.content, signal }),
        trouble: null,
      };
    } catch (thrown) {
      return { sample, result: null, trouble: createTrouble(thrown) };
    }
  } catch (thrown) {
    return { sample: null, result: null, trouble: createTrouble(thrown) };
  }
}

function readWith(sample: FileSample, mapping: JsonObject): Promise<InspectResult> {
  // the service reports errors in the body
  const body = { ...sample.content, mapping: mapping as unknown as InspectResult['mapping'] };
  return service.value.call('inspectData', { body });
}

const NO_FILES: readonly ImportFile[] = [];

/**
 * Renders the page that creates a store from chosen or dropped files. The service validates the files and stores valid
 * ones.
 */
export function ImportPage() {
  const [header, setHeader] = useState<JsonObject>({ name: '', adjustment: 'none', on_exists: 'refuse' });
  useStoreToExtend(setHeader);
  const { files, notes, trouble, add, change } = useFiles(
    header['on_exists'] === 'append',
    () => setOutcome(null),
    (name) => setHeader((now) => (now['name'] === '' ? { ...now, name } : now)),
  );
  const { outcome, setOutcome, told } = useOutcome();
  const [sent, setSent] = useState<number | null>(null);
  const { served, activate } = useServed();
  const inspection = useInspection(trouble === null ? files : NO_FILES, ({ adjustment }) =>
    setHeader((now) => ({ ...now, adjustment })),
  );
  const { inspected, isLooking, mapping, checked, problem } = inspection;
  // without a mapping, each table is one file
  const hasSeveral = mapping === null && !isLooking && files.filter(({ table }) => table === 'market').length > 1;
  if (outcome !== null && outcome.result !== null) return <ImportedPage result={outcome.result} />;
  const findings = outcome?.trouble?.findings ?? [];
  // Findings of a trial import. They are shown before the files are stored.
  const seenFindings = inspected?.trouble?.findings ?? (checked.data ?? inspected?.result)?.findings ?? [];
  const send = async () => {
    setSent(0);
    told(await sendImport({ files, header: { activate, ...header }, mapping, onSent: setSent }));
    setSent(null);
    notifyChange();
  };
  return (
    <Page title="Import" above={PARENT_PAGES} subtitle="All files are checked before anything is stored">
      {may('data') ? <DropArea isSmall={files.length > 0} onFiles={add} /> : <MayNot scope="data" what="import" />}
      {files.length === 0 && may('data') && <FileGuide />}
      {files.length > 0 && (
        <FileList
          files={files}
          findings={outcome === null ? seenFindings : findings}
          isMapped={mapping !== null}
          onChange={change}
        />
      )}
      {[trouble, ...notes, hasSeveral ? SEVERAL_FILES_MESSAGE : null].map(
        (said) => said !== null && <Banner key={said} kind="warning" title={said} />,
      )}
      <Inspection {...inspection} files={files.length} findings={findings} onChange={inspection.setMapping} />
      {files.length > 0 && may('data') && (
        <>
          <NewStore
            header={{ activate, ...header }}
            served={served}
            outcome={sent === null ? outcome : null}
            findings={findings}
            unsure={mapping === null ? [] : (inspected?.result?.unsure ?? [])}
            onChange={setHeader}
            onSend={() => void send()}
          />
          <ImportBar
            files={files.length}
            mapping={mapping}
            sent={sent}
            problem={problem}
            isReady={trouble === null && problem === null && !hasSeveral && !isLooking && header['name'] !== ''}
          />
        </>
      )}
    </Page>
  );
}

/** Fills in the store of the address, to which files are added. */
function useStoreToExtend(onFound: (header: JsonObject) => void): void {
  const id = getParameter('store_id');
  const store = findStoreOfDocument(useStores(id !== null).data?.stores, id ?? undefined);
  useEffect(() => {
    if (store === undefined) return;
    const { store_id, name, adjustment } = store;
    onFound({ store_id, name, adjustment, on_exists: 'append' });
  }, [store?.store_id]);
}

const SEVERAL_FILES_MESSAGE = 'Several files are assigned to market. Choose the table of each file, or use a mapping.';

/**
 * Returns the result of an import. It is shown once: after a reload, the address leads to the page of the new store.
 */
function useOutcome() {
  const [outcome, setOutcome] = useState<SentImport | null>(null);
  const importedStore = outcome === null ? getParameter('imported') : null;
  useEffect(() => {
    if (importedStore !== null) navigate(storeAddress(importedStore), { replace: true });
  }, [importedStore]);
  const report = (next: SentImport) => {
    setOutcome(next);
    if (next.result !== null) setParameters({ imported: next.result.store.store_id });
  };
  return { outcome, setOutcome, told: report };
}
