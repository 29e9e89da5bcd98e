import './batches.css';
import '../designer/designer.css';
import { useRef, useState } from 'preact/hooks';
import type { BatchView, Finding, IndexCollection, JobStatus } from '#clients/typescript/divisor.js';
import { Download } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Answered, Badge, type BadgeKind, Banner, Problem, Progress } from '../../components/feedback.js';
import { resolve, type Schema, SchemaForm, type Schemas } from '../../components/form/schema-form.js';
import { isOver, isQuiet, JobAct } from '../../components/jobs.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { createRegisterPage, type Register } from '../../components/register.js';
import type { Column } from '../../components/table/model.js';
import { submitJob } from '../../state/actions.js';
import { getJob, liveJobs } from '../../state/live.js';
import { getParameter, navigate, useAddressedObject } from '../../state/location.js';
import { selectModels, type ListedModel, useStoredModels } from '../../state/risk-models.js';
import { mapResource, may, service, type Trouble, useList, useResource, type Resource } from '../../state/service.js';
import { computeSecondsBetween, createMomentFigure, formatDuration, formatMoment } from '../../words/dates.js';
import { formatJobAddress, formatJobId, STATUS_KINDS } from '../../words/jobs.js';
import {
  countValues,
  formatBytes,
  formatCount,
  formatDecimal,
  formatMoney,
  formatPercent,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { Conflicts, countSolved, Outcomes, TrackingErrors } from './batch-figures.js';

interface AccountsFile {
  readonly name: string;
  readonly media: string;
  readonly blob: Blob;
  /** True if the first line contains the terms of the batch. */
  readonly hasTerms: boolean;
  /** Number of accounts; null if the file is too large to be counted. */
  readonly accounts: number | null;
}

/** Media types by extension. */
const KINDS: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.parquet': 'application/vnd.apache.parquet',
  '.arrow': 'application/vnd.apache.arrow.stream',
  '.ndjson': 'application/x-ndjson',
};

/** Maximum size in bytes of a text file whose accounts are counted. Counting takes a fraction of a second. */
const COUNTED_MAX = 20_000_000;

/** Inspects a selected file. Returns null if files of this type are not supported. */
async function inspectFile(file: File): Promise<AccountsFile | null> {
  const kind = Object.keys(KINDS).find((ending) => file.name.toLowerCase().endsWith(ending));
  if (kind === undefined) return null;
  const text = file.size <= COUNTED_MAX && (kind === '.csv' || kind === '.ndjson') ? await file.text() : null;
  const hasTerms = kind === '.ndjson' && (await startsWithTerms(file));
  return { name: file.name, media: KINDS[kind]!, blob: file, hasTerms, accounts: text === null ? null : countIn(text) };

  function countIn(all: string): number {
    const lines = all.split('\n').filter((line) => line.trim() !== '');
    if (kind === '.ndjson') return lines.length - (hasTerms ? 1 : 0);
    const [head = '', ...rows] = lines;
    const separator = [';', '\t'].find((one) => head.includes(one)) ?? ',';
    const cleanCell = (cell: string | undefined) => (cell ?? '').replaceAll(/["\uFEFF]/g, '').trim();
    const idPosition = head.split(separator).findIndex((name) => cleanCell(name) === 'account_id');
    return new Set(rows.map((row) => cleanCell(row.split(separator)[idPosition]))).size;
  }
}

/** Number of characters at the start of a file in which the terms of a batch are searched. */
const TERMS_MAX = 100_000;

async function startsWithTerms(file: File): Promise<boolean> {
  const [first = ''] = (await file.slice(0, TERMS_MAX).text()).split('\n');
  try {
    return 'parent' in (JSON.parse(first) as object);
  } catch {
    return false;
  }
}

interface Columns {
  /** Description of the template in the contract, a sentence per item. */
  readonly sentences: readonly string[];
  readonly columns: readonly (readonly [string, string])[];
}

/** Renders the columns of an accounts file, folded. They are read when they are unfolded. */
function FileColumns() {
  const [isOpen, setOpen] = useState(false);
  const columns = useResource(isOpen ? 'columns of an accounts file' : null, readColumns, { follows: false });
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Columns of the file</summary>
      {isOpen && (
        <Answered resource={columns} what="the columns">
          {(view) => (
            <>
              <p class="quiet">{view.sentences.join(' ')}</p>
              <Facts facts={view.columns} />
            </>
          )}
        </Answered>
      )}
    </details>
  );
}

/** Part of the OpenAPI document that describes the template. */
interface Contract {
  readonly components: { readonly schemas: Schemas };
  readonly paths: Readonly<Record<string, { readonly get?: { readonly description?: string } } | undefined>>;
}

/** Reads the names of the columns from the template, and their meanings from the contract. */
async function readColumns(signal: AbortSignal): Promise<Columns> {
  const [template, document] = await Promise.all([
    service.value.call('getBatchTemplate', { signal }),
    service.value.call('getOpenApi', { signal }),
  ]);
  const { components, paths } = document as unknown as Contract; // the contract has the form of an OpenAPI document
  const description = paths['/optimise/batches/template']?.get?.description ?? '';
  const sentences = description.split(/(?<=\.) /);
  const [header = ''] = template.split(/\r?\n/);
  return {
    sentences: sentences.map(removeMarks),
    columns: header.split(',').map((name) => [name, findMeaning(components.schemas, name) ?? findMention(name)]),
  };

  /** Returns the sentences of the description that mention a column. */
  function findMention(name: string): string {
    return removeMarks(sentences.filter((sentence) => sentence.includes(`\`${name}\``)).join(' '));
  }
}

const removeMarks = (text: string): string => text.replaceAll('`', '');

const SCHEMA_NAMES = ['PersonalAccount', 'AccountLot', 'RecentTrade'] as const;

/**
 * Returns the meaning of a column such as `tax.realised.short`: the descriptions of its steps below the first one.
 * Returns undefined if no schema has the column.
 */
function findMeaning(schemas: Schemas, name: string): string | undefined {
  const steps = name.split('.');
  for (const schemaName of SCHEMA_NAMES) {
    const descriptions: string[] = [];
    let schema: Schema | undefined = schemas[schemaName];
    for (const step of steps) {
      const member: Schema | undefined = schema?.properties?.[step];
      schema = member && resolve(schemas, member);
      descriptions.push(schema?.description ?? '');
    }
    if (schema !== undefined) return descriptions.slice(Math.min(1, steps.length - 1)).join(' ');
  }
  return undefined;
}

const TERMS = ['batch_id', 'parent', 'risk_model', 'as_of', 'whole_shares'] as const;
const SEARCH = ['search_nodes'] as const;
const DEFAULTS = ['tracking_error_limit', 'minimum_trade', 'tilts', 'exclusions', 'substitutes'] as const;
const TAXES = ['short_rate', 'long_rate', 'lot_method', 'wash_sales', 'budget', 'limit', 'carry_forward'] as const;

/** Renders the form of a new batch: a file of accounts, the terms, and defaults for the accounts. */
function NewBatch() {
  const indices = useList('indices');
  const models = useList('risk models');
  const storedModels = useStoredModels();
  return (
    <Answered resource={indices} what="the indices">
      {({ indices: indexList }) => (
        <Answered resource={models} what="the risk models">
          {({ risk_models: all }) => (
            <BatchForm
              indices={indexList}
              storedModels={storedModels}
              areModelsKnown={storedModels.length === all.length}
            />
          )}
        </Answered>
      )}
    </Answered>
  );
}

interface BatchFormProps {
  readonly indices: IndexCollection['indices'];
  readonly storedModels: readonly ListedModel[];
  /** False until the stored models and their data stores are loaded. */
  readonly areModelsKnown: boolean;
}

function BatchForm({ indices, storedModels, areModelsKnown }: BatchFormProps) {
  const [terms, setTerms] = useAddressedObject('batch', {});
  /** Returns the models that apply to the parent index of the terms. */
  const selectApplicable = ({ parent }: JsonObject) => {
    const index = indices.find(({ id }) => id === parent);
    return index === undefined ? storedModels.map(({ model }) => model) : selectModels(storedModels, index.store_id);
  };
  /** Returns the ids of those that have factors. */
  const listModels = (of: JsonObject): readonly string[] =>
    selectApplicable(of)
      .filter(({ factors }) => factors !== null)
      .map(({ model_id: id }) => id);
  const [file, setFile] = useState<AccountsFile | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isSending, setSending] = useState(false);
  const put = (next: JsonObject) => {
    setTrouble(null);
    const { risk_model: model, ...others } = next;
    const isModelOfOtherStore =
      typeof model === 'string' && next['parent'] !== terms['parent'] && !listModels(next).includes(model);
    setTerms(isModelOfOtherStore ? others : next);
  };
  const submit = async ({ media, blob, hasTerms }: AccountsFile) => {
    setSending(true);
    const { batch_id: id, ...others } = terms;
    const query = {
      ...(hasTerms ? {} : { terms: JSON.stringify(others) }),
      ...(typeof id === 'string' ? { batch_id: id } : {}),
    };
    const job = await submitJob(() => service.value.upload('startBatch', media, blob, { query }), setTrouble);
    setSending(false);
    if (job !== undefined) navigate(`/console/batches/${job.job_id.slice('batch:'.length)}`);
  };
  const models = listModels(terms);
  const isModelMissing = areModelsKnown && file?.hasTerms !== true && models.length === 0;
  const needed = listMissing(file, terms).filter((item) => item !== MODEL || !isModelMissing);
  const isReady = needed.length === 0 && !isModelMissing;
  return (
    <div class="pile gap-4 batch-form">
      {isModelMissing && <NoModel parent={getParent(terms)} models={selectApplicable(terms).length} />}
      <FileChoice
        file={file}
        onChoose={(next) => {
          setTrouble(null);
          setFile(next);
        }}
      />
      {file?.hasTerms === true ? (
        <p>The first line of the file has the terms of the batch.</p>
      ) : (
        <Terms
          terms={terms}
          findings={trouble?.findings ?? []}
          parents={indices.map(({ id }) => id)}
          models={models}
          onChange={put}
        />
      )}
      {trouble !== null && <Problem trouble={trouble} />}
      <div class="flow batch-line">
        <Button
          kind="main"
          aria-describedby="batch-start"
          disabled={!isReady || isSending}
          onClick={() => file !== null && void submit(file)}
        >
          {isSending ? 'Sending the accounts' : 'Start the batch'}
        </Button>
        <span class="quiet" id="batch-start">
          {isReady && 'The page of the batch shows its expected duration and has a button that cancels it.'}
          {!isReady && formatSteps(needed, isModelMissing)}
        </span>
      </div>
    </div>
  );
}

const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' });

const MODEL = 'a risk model';

/** Lists what has to be chosen before the batch can start. */
const listMissing = (file: AccountsFile | null, { parent, risk_model: model }: JsonObject): readonly string[] => [
  ...(file === null ? ['an accounts file'] : []),
  ...(file?.hasTerms !== true && parent === undefined ? ['a parent index'] : []),
  ...(file?.hasTerms !== true && model === undefined ? [MODEL] : []),
];

const getParent = ({ parent }: JsonObject): string | undefined => (typeof parent === 'string' ? parent : undefined);

/** Formats the steps before a batch can start, for example `Choose a parent index; estimate a factor model.` */
function formatSteps(needed: readonly string[], isModelMissing: boolean): string {
  if (needed.length === 0) return 'Estimate a factor model.';
  return `Choose ${CONJUNCTION.format(needed)}${isModelMissing ? '; estimate a factor model' : ''}.`;
}

/**
 * Explains why no stored model can be chosen.
 * @param models number of models without factors that apply to the parent index
 */
function formatNoModel(parent: string | undefined, models: number): string {
  const scope = parent === undefined ? '' : ` for ${parent}`;
  if (models === 0) return `No factor model is stored${scope}.`;
  return models === 1
    ? `1 risk model is stored${scope}, but it has no factors.`
    : `${formatCount(models)} risk models are stored${scope}, but none has factors.`;
}

interface NoModelProps {
  readonly parent: string | undefined;
  /** Number of models without factors that apply to the parent index. */
  readonly models: number;
}

/** Explains why no risk model can be chosen, with a link to the estimation of one. */
const NoModel = ({ parent, models }: NoModelProps) => (
  <Banner
    kind="warning"
    title={formatNoModel(parent, models)}
    action={
      <a class="inline-line raised one-line button plain" href={formatEstimateAddress(parent)}>
        Estimate a factor model
      </a>
    }
  >
    A batch needs a risk model with factors.
  </Banner>
);

/** Returns the address of the form that estimates a factor model for an index. */
const formatEstimateAddress = (parent: string | undefined): string =>
  `/console/risk-models?${new URLSearchParams({
    add: 'estimate',
    estimate: JSON.stringify({ estimator: 'statistical', ...(parent === undefined ? {} : { index_id: parent }) }),
  })}`;

interface FileChoiceProps {
  readonly file: AccountsFile | null;
  onChoose(file: AccountsFile | null): void;
}

function FileChoice({ file, onChoose }: FileChoiceProps) {
  const input = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const choose = async (chosen: File) => {
    const inspectedFile = await inspectFile(chosen);
    setRefused(inspectedFile === null ? `${chosen.name} is none of ${Object.keys(KINDS).join(', ')}.` : null);
    onChoose(inspectedFile);
  };
  return (
    <>
      <input
        ref={input}
        hidden
        type="file"
        aria-label="File of accounts"
        accept={Object.keys(KINDS).join(',')}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? [];
          if (chosen !== undefined) void choose(chosen);
          currentTarget.value = '';
        }}
      />
      <div class="pile field" role="group" aria-labelledby="batch-file">
        <span class="batch-label" id="batch-file">
          Accounts file
          <span class="field-required" title="required" aria-hidden="true">
            {' '}
            *
          </span>
          <span class="unseen">, required</span>
        </span>
        <div class="flow batch-line">
          <Button onClick={() => input.current?.click()}>Choose a file</Button>
          {file !== null && (
            <strong>
              {file.name}, {formatBytes(file.blob.size)}
              {file.accounts !== null && `, ${countValues(file.accounts, 'account')}`}
            </strong>
          )}
        </div>
        <p class="small field-help">
          CSV, Parquet, Arrow, or lines of JSON.{' '}
          <Download
            address="/optimise/batches/template"
            fileName="accounts.csv"
            read={async () => new TextEncoder().encode(await service.value.call('getBatchTemplate', {}))}
          >
            CSV template
          </Download>
        </p>
        <FileColumns />
      </div>
      {refused !== null && (
        <p class="down" role="alert">
          {refused}
        </p>
      )}
    </>
  );
}

const BATCH_LABELS = {
  batch_id: { label: 'Id of the batch', help: 'Default: a generated id.' },
  whole_shares: { label: 'Whole shares only' },
};
const TAX_LABELS = { budget: { label: 'Budget of net gains' }, limit: { label: 'Limit of the tax' } };

interface TermsProps {
  readonly parents: readonly string[];
  readonly models: readonly string[];
  readonly terms: JsonObject;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
}

function Terms({ terms, findings, parents, models, onChange }: TermsProps) {
  const defaults = isObject(terms['defaults']) ? terms['defaults'] : {};
  const taxes = isObject(defaults['tax']) ? defaults['tax'] : {};
  const objective = isObject(terms['objective']) ? terms['objective'] : {};
  const putDefaults = (next: JsonObject) => onChange({ ...terms, defaults: next });
  return (
    <>
      <SchemaForm
        schema="BatchRequest"
        names={TERMS}
        changes={{
          ...BATCH_LABELS,
          parent: { kind: 'choice', choices: parents, label: 'Parent index' },
          risk_model: {
            kind: 'choice',
            choices: models,
            link: { address: '/console/risk-models', text: 'Risk models' },
          },
        }}
        value={terms}
        findings={findings}
        onChange={onChange}
      />
      <details>
        <summary>Objective and search</summary>
        <SchemaForm schema="BatchRequest" names={SEARCH} value={terms} findings={findings} onChange={onChange} />
        <SchemaForm
          schema="BatchObjective"
          value={objective}
          findings={findings}
          path={['objective']}
          onChange={(next) => onChange({ ...terms, objective: next })}
        />
      </details>
      <details open={Object.keys(defaults).length > 0}>
        <summary>
          Defaults of the accounts <span class="quiet">for fields that an account does not state</span>
        </summary>
        <SchemaForm
          schema="PersonalAccount"
          names={DEFAULTS}
          changes={{ substitutes: { help: 'Groups that count as the same for wash sales, as JSON: [["A", "B"]].' } }}
          value={defaults}
          findings={findings}
          path={['defaults']}
          onChange={putDefaults}
        />
        <SchemaForm
          schema="AccountTax"
          names={TAXES}
          changes={TAX_LABELS}
          value={taxes}
          findings={findings}
          path={['defaults', 'tax']}
          onChange={(next) => putDefaults({ ...defaults, tax: next })}
        />
      </details>
    </>
  );
}

/** Maximum number of listed batches, newest first. */
const LISTED_MAX = 100;

/** Reads all batches, each with its result if it has succeeded. */
function useBatches(): Resource<readonly BatchRow[]> {
  const batches = useResource('jobs batch', async (signal) => {
    const [{ jobs }, { batches: results }] = await Promise.all([
      service.value.call('listJobs', { query: { kind: ['batch'], limit: LISTED_MAX }, signal }),
      service.value.call('listBatches', { query: { limit: LISTED_MAX }, signal }),
    ]);
    return { jobs, results };
  });
  const indices = useList('indices');
  return mapResource(batches, ({ jobs, results }) =>
    addLiveJobs(jobs).map((listed): BatchRow => {
      const job = getJob(listed.job_id) ?? listed;
      const view = results.find(({ batch_id: id }) => id === formatJobId(job));
      const index = indices.data?.indices.find(({ id }) => id === getRequest(job).parent);
      return { job, view: job.status === 'succeeded' ? view : undefined, currency: index?.currency ?? null };
    }),
  );
}

/** Adds batches that started after the list was read. */
function addLiveJobs(listed: readonly JobStatus[]): readonly JobStatus[] {
  const ids = new Set(listed.map(({ job_id: id }) => id));
  return [...liveJobs.value.filter(({ job_id: id, kind }) => kind === 'batch' && !ids.has(id)), ...listed];
}

/**
 * Renders the form of a new batch. If there are batches, the form is folded at first. It stays open while it is edited.
 */
function FoldedForm({ isOpen: isFirst }: { readonly isOpen: boolean }) {
  const [isOpen, setOpen] = useState(isFirst || getParameter('batch') !== null);
  return (
    <details
      class="stack raised gap-3 designer-part"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>New batch</h2>
      </summary>
      {isOpen && <NewBatch />}
    </details>
  );
}

/** Returns the parent index and the number of accounts in the request of a batch. */
const getRequest = ({ request }: JobStatus) => request as { readonly parent: string; readonly accounts: number };

/** A job, with its result if the job has succeeded. */
interface BatchRow {
  readonly job: JobStatus;
  readonly view: BatchView | undefined;
  readonly currency: string | null;
}

/** Returns the state of a job. For a finished job, it says whether all accounts are solved. */
function createOutcome({ job, view }: BatchRow): { readonly text: string; readonly kind: BadgeKind } {
  if (view === undefined) return { text: job.status, kind: STATUS_KINDS[job.status] };
  const solvedCount = countSolved(view);
  return solvedCount === view.accounts
    ? { text: `${formatCount(solvedCount)} solved`, kind: 'good' }
    : {
        text: `${formatCount(view.accounts - solvedCount)} of ${formatCount(view.accounts)} unsolved`,
        kind: 'warning',
      };
}

/** Formats the numbers of unsolved accounts, for example `1 without a solution, 1 refused`. */
const formatUnsolved = ({ by_status: { infeasible = 0, refused = 0 } }: BatchView): string =>
  [infeasible > 0 && `${formatCount(infeasible)} without a solution`, refused > 0 && `${formatCount(refused)} refused`]
    .filter(Boolean)
    .join(', ');

const formatBatchMoney = ({ view, currency }: BatchRow, readAmount: (view: BatchView) => number): string =>
  view === undefined ? MISSING_TEXT : formatMoney(formatDecimal(readAmount(view)), currency);

const formatAnnual = (value: number | undefined): string =>
  value === undefined ? MISSING_TEXT : `${formatPercent(value)} a year`;

const COLUMNS: readonly Column<BatchRow>[] = [
  {
    id: 'id',
    title: 'Batch',
    width: 108,
    ideal: 124,
    grow: 2,
    value: ({ job }) => formatJobId(job),
    show: ({ job }) => <strong>{formatJobId(job)}</strong>,
  },
  { id: 'parent', title: 'Index', width: 96, grow: 1, priority: 2, value: ({ job }) => getRequest(job).parent },
  {
    id: 'outcome',
    title: 'Accounts',
    width: 132,
    value: (row) => createOutcome(row).text,
    show: (row) => (
      <Badge kind={createOutcome(row).kind} title={row.view && formatUnsolved(row.view)}>
        {createOutcome(row).text}
      </Badge>
    ),
  },
  {
    id: 'error',
    title: 'Median forecast TE',
    help: 'Annual; median over the solved accounts',
    width: 146,
    align: 'right',
    value: ({ view }) => view?.tracking_error?.['p50'] ?? null,
    show: ({ job, view }) =>
      isOver(job) ? (
        formatAnnual(view?.tracking_error?.['p50'])
      ) : (
        <Progress value={job.progress} label={formatJobId(job)} />
      ),
  },
  {
    id: 'tax',
    title: 'Tax',
    width: 110,
    priority: 5,
    align: 'right',
    value: ({ view }) => view?.tax ?? null,
    show: (row) => formatBatchMoney(row, ({ tax }) => tax),
  },
  {
    id: 'saved',
    title: 'Tax saved',
    help: 'Compared with selling the oldest lots first',
    width: 110,
    priority: 2,
    showBelow: (row) => row.view && `Tax saved ${formatBatchMoney(row, ({ tax_saved: saved }) => saved)}`,
    align: 'right',
    value: ({ view }) => view?.tax_saved ?? null,
    show: (row) => formatBatchMoney(row, ({ tax_saved: saved }) => saved),
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 166,
    priority: 3,
    value: ({ job }) => job.created_at,
    show: ({ job }) => formatMoment(job.created_at),
  },
  {
    id: 'took',
    title: 'Duration',
    width: 80,
    priority: 6,
    align: 'right',
    value: ({ job }) => (job.started_at === null ? null : computeSecondsBetween(job.started_at, job.finished_at)),
    show: ({ job }) =>
      job.started_at === null ? MISSING_TEXT : formatDuration(computeSecondsBetween(job.started_at, job.finished_at)),
  },
  {
    id: 'act',
    title: '',
    width: 76,
    priority: 7,
    value: () => null,
    show: ({ job }) => may('run') && <JobAct job={job} />,
  },
];

function Sums({ rows }: { readonly rows: readonly BatchRow[] }) {
  const views = rows.flatMap(({ view }) => view ?? []);
  const accounts = views.reduce((sum, view) => sum + view.accounts, 0);
  const solvedCount = views.reduce((sum, view) => sum + countSolved(view), 0);
  const refusedCount = views.reduce((sum, { by_status: by }) => sum + (by['refused'] ?? 0), 0);
  const countStates = (...states: JobStatus['status'][]) =>
    rows.filter(({ job }) => states.includes(job.status)).length;
  const failedCount = countStates('failed', 'cancelled');
  const unsolvedCount = accounts - solvedCount - refusedCount;
  const problems = unsolvedCount + refusedCount + failedCount;
  const currencies = new Set(rows.flatMap(({ view, currency }) => (view === undefined ? [] : [currency])));
  // Amounts in different currencies have no sum.
  const formatSum = (readAmount: (view: BatchView) => number): string =>
    currencies.size === 1
      ? formatMoney(
          formatDecimal(
            views.reduce((sum, view) => sum + readAmount(view), 0),
            0,
          ),
          [...currencies][0] ?? null,
        )
      : MISSING_TEXT;
  const endTimes = rows.flatMap(({ job }) => job.finished_at ?? []).toSorted();
  return (
    <Metrics
      label="All batches"
      metrics={[
        {
          term: 'Batches',
          value: formatCount(rows.length),
          note: `${formatCount(countStates('pending', 'running'))} running`,
        },
        { term: 'Accounts', value: formatCount(accounts), note: `${formatCount(solvedCount)} solved` },
        {
          term: 'Problems',
          value: formatCount(problems),
          kind: problems > 0 ? 'down' : '',
          note: 'unsolved accounts, failed batches',
          help: `${formatCount(unsolvedCount)} accounts without a solution, ${formatCount(refusedCount)} refused accounts, ${formatCount(failedCount)} failed batches`,
        },
        { term: 'Tax', value: formatSum(({ tax }) => tax), note: 'of the trades' },
        { term: 'Tax saved', value: formatSum(({ tax_saved: saved }) => saved), note: 'against selling oldest lots' },
        {
          term: 'Last ended',
          ...(endTimes.length === 0 ? { value: MISSING_TEXT } : createMomentFigure(endTimes.at(-1)!)),
        },
      ]}
    />
  );
}

/** Renders the result of the newest batch. */
function Latest({ row }: { readonly row: BatchRow | undefined }) {
  if (row?.view === undefined) return null;
  const { job, view } = row;
  return (
    <Section
      title={`Latest result: ${view.batch_id}`}
      aside={
        <>
          valued on {view.as_of} · risk model {view.risk_model} ·{' '}
          <a href={formatJobAddress(job)}>Accounts and trades</a>
        </>
      }
    >
      <div class="pile gap-5 side-by-side">
        <TrackingErrors view={view} />
        <Outcomes view={view} />
        <Conflicts view={view} />
      </div>
    </Section>
  );
}

/** Page of batches: accounts with tax lots that follow an index. */
const batchRegister: Register<BatchRow> = {
  title: 'Personal indices',
  name: 'batches',
  label: 'batches',
  subtitle: () => 'Trades of many accounts with tax lots, as one job',
  useRows: useBatches,
  columns: COLUMNS,
  listColumns: (rows) => (rows.every(({ job }) => isQuiet(job)) ? COLUMNS.filter(({ id }) => id !== 'act') : COLUMNS),
  sort: { column: 'created', direction: 'desc' },
  height: 480,
  empty: {
    title: 'No batch yet',
    text: (
      <>
        Choose an accounts file, or submit it with <code>divisor batch accounts.csv --terms terms.json</code>. Each
        batch is listed here with its figures, its conflicts and its trades by lot.
      </>
    ),
  },
  getKey: ({ job }) => job.job_id,
  formatAddress: ({ job }) => formatJobAddress(job),
  renderHead: () => (
    <p>
      A batch finds the trades that bring each account close to its index and save the most tax, given its lots, gains
      and limits. <GuideLink page="personal">How a batch chooses lots</GuideLink>
    </p>
  ),
  renderAbove: (rows) => (
    <>
      {may('run') && <FoldedForm isOpen={rows.length === 0} />}
      {rows.length > 0 && <Sums rows={rows} />}
    </>
  ),
  renderBelow: (rows) => <Latest row={rows.find(({ view }) => view !== undefined)} />,
};

export const BatchesPage = createRegisterPage(batchRegister);
