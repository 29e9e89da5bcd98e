import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BacktestRequest, Finding, JobStatus, StaleState, StoredRun } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Menu } from '../../components/controls/menu.js';
import { Banner, Findings, Progress, ValueSkeleton } from '../../components/feedback.js';
import { parseReference } from '../../components/form/field.js';
import {
  type Changes,
  listFieldSpecs,
  SchemaForm,
  type Schemas,
  useSchemas,
} from '../../components/form/schema-form.js';
import { usePhone } from '../../components/layout/viewport.js';
import { MissingData } from '../../components/stores.js';
import {
  tryAction,
  cancelJob,
  findRefusal,
  forgetRefusal,
  formatRunSubject,
  type OnRefusal,
  runIndex,
} from '../../state/actions.js';
import { liveJobs } from '../../state/live.js';
import {
  formatAddress,
  getParameter,
  parseJsonParameter,
  setParameters,
  useAddressedObject,
} from '../../state/location.js';
import { getBacktestRequest, isLater, readShownRun, useFailedRuns } from '../../state/runs.js';
import { may, service, useAnswer, useResource } from '../../state/service.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatJobReference, listJobFindings } from '../../words/jobs.js';
import { formatFigure, formatPercent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject, listDifferences } from '../../words/paths.js';
import { listTermFindings, OMITTED_MEMBERS } from './changed-terms.js';

/** Returns the latest run of an index; null if there is none. */
export const readNewestRun = async (id: string, signal?: AbortSignal): Promise<StoredRun | null> =>
  (await service.value.call('listRuns', { params: { index_id: id }, query: { limit: 1 }, signal })).runs[0] ?? null;

/** Returns the request of a run as values of the form. Members that are null are left out. */
export function getRunTerms({ request }: StoredRun): JsonObject {
  const all = request as Json;
  if (!isObject(all)) return {};
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, toReference(value)] as const])),
  );
}

/**
 * Converts a benchmark of closes to a reference: `{ kind: "index", id: "EQ" }` becomes `index:EQ`. Other values are
 * unchanged.
 */
function toReference(value: Json | undefined): Json | undefined {
  const { kind, id, price_column: column = 'CLOSE' } = isObject(value) ? value : {};
  return typeof kind === 'string' && typeof id === 'string' && column === 'CLOSE' ? `${kind}:${id}` : value;
}

const RUN_SCHEMA = 'BacktestRequest';

/** Labels of terms and of their values, which replace those of the schema. */
const TERM_CHANGES: Changes = {
  transaction_cost_bps: { help: 'Of the traded value.' },
  start: { help: 'Default: the base date.' },
  end: { help: 'Default: the last date.' },
  as_known_on: { label: 'Data version', otherwise: 'latest' },
  as_known: {
    label: 'Data of each rebalance',
    words: { decision: 'as known on its decision date' },
    otherwise: 'version of the run',
  },
};

/**
 * Formats the terms of a run that are zero or differ from their defaults, for example `Transaction cost 5 bp ·
 * Benchmark EQ`.
 */
export function formatTerms(request: Json, schema: string, schemas: Schemas | undefined): string {
  if (schemas === undefined || !isObject(request)) return 'Terms of the run';
  const parts = listFieldSpecs(schemas, schema).flatMap((field) => {
    const { name, label, unit, otherwise, words } = { ...field, ...TERM_CHANGES[field.name] };
    const value = request[name];
    if (value === undefined || value === null || OMITTED_MEMBERS.includes(name)) return [];
    if (value === 0) return [`No ${label.toLowerCase()}`];
    if (value === otherwise) return [];
    const text = typeof value === 'number' ? formatFigure(value) : (words?.[String(value)] ?? formatText(value));
    return [`${label} ${text}${unit === null ? '' : ` ${unit}`}`];
  });
  return parts.join(' · ');
}

function formatText(value: Json): string {
  const reference = typeof value === 'string' ? (parseReference(value) ?? value) : value;
  return isObject(reference) ? formatJobReference(reference) : String(reference);
}

/**
 * Returns the query for the run whose definition explains the decisions. If the stored definition is the same, returns
 * an empty query.
 * @param stale state of the displayed run
 * @returns null while the run is unknown
 */
export function useDefinitionRun(id: string, stale: StaleState | null): { readonly run_id?: string } | null {
  const namedRun = getParameter('run_id');
  const isOld = namedRun === null && stale?.definition === true;
  const newest = useResource(isOld ? `newest run ${id} of its definition` : null, (signal) =>
    readNewestRun(id, signal),
  );
  if (namedRun !== null) return { run_id: namedRun };
  if (!isOld) return {};
  return newest.data == null ? null : { run_id: newest.data.run_id };
}

/**
 * Returns the address of the rule to which a finding belongs, in the designer. Returns null if the finding is not about
 * a rule.
 */
export const findRuleAddress = (id: string, path: string): string | null =>
  path.startsWith('pipeline.') ? formatAddress(`${formatIndexAddress(id)}/edit`, { at: path }) : null;

interface TermsFormProps {
  readonly id: string;
  /** Data store of the index; null for the served store. */
  readonly store: string | null;
  readonly isOpen: boolean;
  /** True if the terms differ from those of the latest run. */
  readonly isOther: boolean;
  readonly isRunning: boolean;
  /** Terms of the next run. */
  readonly asked: JsonObject;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
  onRun(onRefusal: OnRefusal): Promise<void>;
  onDiscard(): void;
}

/** Terms that most runs change. The other terms are folded unless they are set or refused. */
const MAIN_TERMS = ['benchmark', 'transaction_cost_bps', 'start', 'end'];
/** Terms that are not folded on a phone. */
const PHONE_TERMS = MAIN_TERMS.slice(0, 2);

/** Renders the form for the terms of the next run, and a button that starts it. */
function TermsForm(props: TermsFormProps) {
  const { id, store, isOpen, isOther, isRunning, asked, findings, onChange, onRun, onDiscard } = props;
  const changes = useFieldChanges(id, isOpen);
  const mainTerms = usePhone() ? PHONE_TERMS : MAIN_TERMS;
  const isMain = (path: string) =>
    [...mainTerms, ...OMITTED_MEMBERS].some((name) => path === name || path.startsWith(`${name}.`));
  const form = { schema: RUN_SCHEMA, changes, value: asked, findings, onChange };
  const schemas = useSchemas({ isLater: true }).data;
  const fields = schemas === undefined ? [] : listFieldSpecs(schemas, RUN_SCHEMA);
  const isMoreUsed =
    fields.some(({ name, otherwise }) => !isMain(name) && asked[name] != null && asked[name] !== otherwise) ||
    findings.some(({ path }) => !isMain(path));
  const [isMoreOpen, setMoreOpen] = useState(false);
  const isStoreMissing = isUnregistered(useStores(store !== null).data?.stores, store);
  return (
    <div class="stack gap-2 section">
      <SchemaForm {...form} names={mainTerms} />
      <details
        class="field-more"
        open={isMoreOpen || isMoreUsed}
        onToggle={({ currentTarget }) => {
          // Terms with a value open the fold, which closes again when they are removed.
          if (!isMoreUsed) setMoreOpen(currentTarget.open);
        }}
      >
        <summary>More terms</summary>
        <SchemaForm {...form} except={[...mainTerms, ...OMITTED_MEMBERS]} />
      </details>
      <div class="flow gap-3 form-actions">
        {!isStoreMissing && (
          <ActionButton kind={isOther ? 'main' : 'plain'} about={formatRunSubject(id)} disabled={isRunning} act={onRun}>
            Run with these terms
          </ActionButton>
        )}
        {isOther && (
          <Button kind="bare" onClick={onDiscard}>
            Discard
          </Button>
        )}
        {isOther && readShownRun().run_id === undefined && (
          <p class="quiet">Until then, all figures of this page are of the latest run.</p>
        )}
      </div>
    </div>
  );
}

/** Returns the help and the suggested values of fields. They are loaded when the form is open. */
function useFieldChanges(id: string, isOpen: boolean): Changes {
  const series = useAnswer('listSeries', isOpen ? {} : null);
  const indices = useAnswer('listIndices', isOpen ? {} : null);
  const stores = useStores(isOpen);
  return {
    ...TERM_CHANGES,
    benchmark: {
      help: 'Index, security or series.',
      suggestions: [
        ...(indices.data?.indices ?? []).filter((index) => index.id !== id).map((index) => `index:${index.id}`),
        ...(series.data?.series ?? []).map(({ identifier }) => `identifier:${identifier}`),
      ],
    },
    store_id: { otherwise: 'served store', suggestions: (stores.data?.stores ?? []).map(({ store_id: one }) => one) },
  };
}

/**
 * Index or strategy for which a run is requested. Terms that are absent in the request of a strategy come from the
 * strategy.
 */
interface RequestedRun {
  readonly id: string;
  readonly isStrategy: boolean;
}

/** True while the form is open with changed terms. It then has the only button that starts a run. */
export const hasOpenTerms = signal(false);

interface RunSettingsProps extends RequestedRun {
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

/**
 * Renders the terms of the latest run, and a form for the terms of the next run. The address keeps terms that were
 * changed.
 */
export function RunSettings({ id, isStrategy, store = null }: RunSettingsProps) {
  const isRunning = liveJobs.value.some(({ job_id: job }) => job === `backtest:${id}`);
  const newest = useResource(`newest run ${id} ${isRunning}`, (signal) => readNewestRun(id, signal), {
    keeps: true,
    isLater: true,
  });
  const schemas = useSchemas({ isLater: true });
  const isAsked = getParameter('run') !== null;
  // The form stays open during editing.
  const [isOpen, setOpen] = useState(isAsked);
  const newestTerms = newest.data == null ? null : getRunTerms(newest.data);
  const [asked, setAsked] = useAddressedObject('run', (isStrategy ? null : newestTerms) ?? {});
  const refusal = findRefusal(formatRunSubject(id));
  const findings = refusal === null ? [] : listTermFindings(refusal, asked);
  const isSame = newestTerms !== null && isSameRun({ asked, taken: newestTerms, isStrategy }, schemas.data);
  // After a run with the terms in the address, removes these terms from the address. Does not react to editing: terms
  // can briefly equal those of the run while the user edits them.
  useEffect(() => {
    if (!isAsked || !isSame || isRunning) return;
    setParameters({ run: null });
    setOpen(false);
  }, [newest.data?.run_id, isRunning, schemas.data]);
  // On another tab, the form does not push the content down. The summary states terms that were changed.
  const shownTab = useRef(getParameter('tab'));
  const tab = getParameter('tab');
  useEffect(() => {
    if (shownTab.current !== tab) setOpen(false);
    shownTab.current = tab;
  }, [tab]);
  const isFormOpen = isOpen || findings.length > 0;
  const isOther = isAsked && newestTerms !== null && !isSame;
  useEffect(() => {
    hasOpenTerms.value = isOther && isFormOpen;
  }, [isOther, isFormOpen]);
  useEffect(() => () => void (hasOpenTerms.value = false), []);
  if (newest.data === undefined)
    return (
      <p class="run-settings">
        <ValueSkeleton />
      </p>
    );
  return (
    <details class="run-settings" open={isFormOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {newest.data === null
          ? formatFirstTerms({ asked, isStrategy }, schemas.data)
          : `${isOther ? 'Latest run: ' : ''}${formatTerms(newest.data.request as Json, RUN_SCHEMA, schemas.data)}`}
        {may('run') && (
          <span class="run-settings-change">{isOther ? formatNextTerms(asked, schemas.data) : 'change'}</span>
        )}
      </summary>
      {may('run') && (
        <TermsForm
          {...{ id, store, isOpen, isOther, isRunning, asked, findings }}
          onChange={(next) => {
            forgetRefusal(formatRunSubject(id));
            setAsked(next);
          }}
          onRun={(onRefusal) => runAsAsked({ id, isStrategy }, onRefusal)}
          onDiscard={() => {
            forgetRefusal(formatRunSubject(id));
            setParameters({ run: null });
            setOpen(false);
          }}
        />
      )}
    </details>
  );
}

/** Formats the terms of the next run if they differ from those of the latest, for example `Next run: No benchmark`. */
const formatNextTerms = (asked: JsonObject, schemas: Schemas | undefined): string =>
  `Next run: ${formatTerms(asked, RUN_SCHEMA, schemas) || 'terms changed'}`;

/**
 * Formats the terms of the first run of an index, for example `No benchmark · No transaction cost`. The terms of a
 * strategy are in its document.
 */
function formatFirstTerms(
  { asked, isStrategy }: { readonly asked: JsonObject; readonly isStrategy: boolean },
  schemas: Schemas | undefined,
): string {
  if (isStrategy || schemas === undefined) return 'Terms of the run';
  const terms = formatTerms({ transaction_cost_bps: 0, ...asked }, RUN_SCHEMA, schemas);
  return asked['benchmark'] == null ? `No benchmark · ${terms}` : terms;
}

/** Starts a run with the terms in the address. If there are none, uses the terms of the latest run. */
async function runAsAsked({ id, isStrategy }: RequestedRun, onRefusal: OnRefusal): Promise<void> {
  const newest = isStrategy ? null : await tryAction(() => readNewestRun(id), onRefusal);
  if (newest === undefined) return;
  await send(id, readAddressTerms() ?? (newest === null ? {} : getRunTerms(newest)), onRefusal);
}

/**
 * Starts a run again with the terms in the address. If there are none, uses the terms of the latest run, which the
 * service stores.
 */
export const runAgain = (id: string, onRefusal: OnRefusal) =>
  send(id, readAddressTerms() ?? { if_stale: true }, onRefusal);

/**
 * Starts a run again after a failure, with the terms in the address. If there are none, uses the terms of the failed
 * run.
 */
const runAfterFailure = (id: string, failed: JobStatus, onRefusal: OnRefusal) =>
  send(id, readAddressTerms() ?? (getBacktestRequest(failed) as JsonObject), onRefusal);

/** Requests a run; the service validates the terms. A refusal gets a finding for the term that caused it. */
const send = (id: string, terms: JsonObject, onRefusal: OnRefusal) =>
  runIndex(id, terms as unknown as BacktestRequest, (trouble) =>
    onRefusal({ ...trouble, findings: listTermFindings(trouble, terms) }),
  );

function readAddressTerms(): JsonObject | null {
  const requestedRun = parseJsonParameter(getParameter('run'));
  return isObject(requestedRun) ? requestedRun : null;
}

interface Terms {
  readonly asked: JsonObject;
  readonly taken: JsonObject;
  readonly isStrategy: boolean;
}

/**
 * Returns true if the requested terms are those of a run. A term that is absent has its default or the value of the
 * strategy.
 */
function isSameRun({ asked, taken, isStrategy }: Terms, schemas: Schemas | undefined): boolean {
  if (schemas === undefined) return false;
  return listFieldSpecs(schemas, RUN_SCHEMA).every(({ name, otherwise }) => {
    const reference = toReference(asked[name] ?? undefined);
    if (OMITTED_MEMBERS.includes(name) || (isStrategy && reference === undefined)) return true;
    const usual = (otherwise ?? undefined) as Json | undefined; // a schema default is plain JSON
    return listDifferences(reference ?? usual, toReference(taken[name] ?? undefined) ?? usual).length === 0;
  });
}

interface FailedRunProps {
  readonly id: string;
  /** True for a strategy. The rules belong to the index that it follows, so its findings have no link. */
  readonly isStrategy: boolean;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

/** Renders why the last run failed. It is shown until the next run. */
function FailedRun({ id, isStrategy, store = null }: FailedRunProps) {
  const job = useFailedRuns().get(id);
  const isStoreMissing = isUnregistered(useStores(job !== undefined && store !== null).data?.stores, store);
  const storedRun = useResource(job === undefined ? null : `run before the failure ${job.finished_at}`, (signal) =>
    readNewestRun(id, signal),
  );
  if (job === undefined || storedRun.data === undefined || !isLater(job, storedRun.data?.run_at)) return null;
  const { error, finished_at: finished, job_id: jobId } = job;
  const findings = listJobFindings(error);
  const message = error?.message ?? 'the job reports no reason.';
  const findAddress = (path: string) => findRuleAddress(id, path);
  // If there is only one finding, the title often contains it already.
  const [first] = findings;
  const isStated = findings.length === 1 && first !== undefined && message.includes(first.message);
  const unstatedFindings = isStated ? [] : findings;
  const address = isStated && !isStrategy ? findAddress(first.path) : null;
  return (
    <Banner
      kind="bad"
      title={`The last run failed: ${message}`}
      action={
        may('run') &&
        !isStoreMissing && (
          <ActionButton about={formatRunSubject(id)} act={(onRefusal) => runAfterFailure(id, job, onRefusal)}>
            Run again
          </ActionButton>
        )
      }
    >
      {unstatedFindings.length > 0 && (
        <Findings findings={unstatedFindings} shown={3} formatAddress={isStrategy ? undefined : findAddress} />
      )}
      {isStoreMissing && <MissingData store={store} />}
      <p class="quiet">
        {address !== null && (
          <>
            <a href={address}>{first?.row_id == null ? 'Edit the rules' : `Edit the rule ${first.row_id}`}</a> ·{' '}
          </>
        )}
        {finished !== null && `${formatMoment(finished)} · `}
        <a href={formatAddress('/console/jobs', { job: jobId })}>The job</a>
        {storedRun.data !== null && ' · the previous run is shown'}
      </p>
    </Banner>
  );
}

interface Action {
  readonly address: string;
  readonly text: string;
}

interface IndexActionsProps extends Pick<RunActionsProps, 'id' | 'store'> {
  readonly isOverlay: boolean;
}

export function IndexActions({ id, store, isOverlay }: IndexActionsProps) {
  const otherActions = isOverlay
    ? []
    : [
        { address: formatAddress('/console/optimise', { index: id }), text: 'Optimise' },
        { address: formatAddress('/console/strategies/new', { index: id }), text: 'Follow' },
      ];
  const overlay = { address: formatAddress('/console/indices/new', { beneath: id }), text: 'Overlay' };
  return <RunActions {...{ id, store }} edit={`${formatIndexAddress(id)}/edit`} others={[...otherActions, overlay]} />;
}

interface RunActionsProps {
  readonly id: string;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly isStrategy?: boolean;
  /** Address of the editor. */
  readonly edit: string;
  readonly others?: readonly Action[];
}

/** Renders the actions on an index or a strategy and on its run. On a phone, all actions except Run are in a menu. */
export function RunActions({ id, store = null, isStrategy = false, edit, others = [] }: RunActionsProps) {
  const isPhone = usePhone();
  const isRunning = liveJobs.value.some(({ job_id: job }) => job === `backtest:${id}`);
  const links: readonly Action[] = [
    ...(may('write') ? [{ address: edit, text: 'Edit' }, ...others] : []),
    ...(may('run')
      ? [{ address: formatAddress('/console/reports', { index: id, ...readShownRun() }), text: 'Report' }]
      : []),
  ];
  const isStoreMissing = isUnregistered(useStores(store !== null).data?.stores, store);
  const run = !hasOpenTerms.value && may('run') && !isStoreMissing && (
    <ActionButton
      about={formatRunSubject(id)}
      disabled={isRunning}
      act={(onRefusal) => runAsAsked({ id, isStrategy }, onRefusal)}
    >
      <Icon name="play" /> Run
    </ActionButton>
  );
  if (isPhone)
    return (
      <>
        {run}
        {links.length > 0 && (
          <Menu label={`Other actions on ${id}`} title={<span aria-hidden="true">⋯</span>}>
            {links.map(({ address, text }) => (
              <li key={address}>
                <a href={address}>{text}</a>
              </li>
            ))}
          </Menu>
        )}
      </>
    );
  return (
    <>
      {links.map(({ address, text }) => (
        <LinkButton key={address} href={address}>
          {address === edit && <Icon name="edit" />} {text}
        </LinkButton>
      ))}
      {run}
    </>
  );
}

type RunStateProps = Pick<RunActionsProps, 'id' | 'store' | 'isStrategy'>;

/** Renders the progress of a running job, or the cause of a failed run. */
export function RunState({ id, store, isStrategy = false }: RunStateProps) {
  const job = liveJobs.value.find(({ job_id: jobId }) => jobId === `backtest:${id}`);
  if (job === undefined) return <FailedRun {...{ id, store, isStrategy }} />;
  return (
    <Banner
      kind="info"
      title={job.status === 'pending' ? 'A run is queued' : `Running: ${formatPercent(job.progress, 0)}`}
      action={
        may('run') && (
          <Button kind="bare" onClick={() => cancelJob(job.job_id)}>
            Cancel
          </Button>
        )
      }
    >
      <p>{job.message}</p>
      <Progress value={job.progress} label={`Backtest of ${id}`} />
    </Banner>
  );
}
