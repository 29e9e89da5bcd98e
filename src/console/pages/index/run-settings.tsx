import type { BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createFields } from '../../components/form/schema-fields.js';
import { ValueSkeleton } from '../../components/skeleton.js';
import { attempt, runIndex, type OnRefusal } from '../../state/actions.js';
import { parseJson, useAddressedObject } from '../../state/addressed.js';
import { getBacktestRequest } from '../../state/failed-runs.js';
import { liveJobs } from '../../state/live.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { forgetRefusal, findRefusal, formatRunSubject } from '../../state/refusals.js';
import { useResource } from '../../state/resource.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { listDifferences, isObject, type Json, type JsonObject } from '../../words/paths.js';
import { listTermFindings } from './refused-terms.js';
import { OMITTED_MEMBERS } from './run-change.js';
import { toReference, readNewestRun, getTerms, formatTerms, RUN_SCHEMA as SCHEMA_NAME } from './run-terms.js';
import { TermsForm } from './terms-form.js';

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
  const newestTerms = newest.data == null ? null : getTerms(newest.data);
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
          : `${isOther ? 'Latest run: ' : ''}${formatTerms(newest.data.request as Json, SCHEMA_NAME, schemas.data)}`}
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
  `Next run: ${formatTerms(asked, SCHEMA_NAME, schemas) || 'terms changed'}`;

/**
 * Formats the terms of the first run of an index, for example `No benchmark · No transaction cost`. The terms of a
 * strategy are in its document.
 */
function formatFirstTerms(
  { asked, isStrategy }: { readonly asked: JsonObject; readonly isStrategy: boolean },
  schemas: Schemas | undefined,
): string {
  if (isStrategy || schemas === undefined) return 'Terms of the run';
  const terms = formatTerms({ transaction_cost_bps: 0, ...asked }, SCHEMA_NAME, schemas);
  return asked['benchmark'] == null ? `No benchmark · ${terms}` : terms;
}

/** Starts a run with the terms in the address. If there are none, uses the terms of the latest run. */
export async function runAsAsked({ id, isStrategy }: RequestedRun, onRefusal: OnRefusal): Promise<void> {
  const newest = isStrategy ? null : await attempt(() => readNewestRun(id), onRefusal);
  if (newest === undefined) return;
  await send(id, readAddressTerms() ?? (newest === null ? {} : getTerms(newest)), onRefusal);
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
export const runAfterFailure = (id: string, failed: JobStatus, onRefusal: OnRefusal) =>
  send(id, readAddressTerms() ?? (getBacktestRequest(failed) as JsonObject), onRefusal);

/** Requests a run; the service validates the terms. A refusal gets a finding for the term that caused it. */
const send = (id: string, terms: JsonObject, onRefusal: OnRefusal) =>
  runIndex(id, terms as unknown as BacktestRequest, (trouble) =>
    onRefusal({ ...trouble, findings: listTermFindings(trouble, terms) }),
  );

function readAddressTerms(): JsonObject | null {
  const requestedRun = parseJson(getParameter('run'));
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
  return createFields(schemas, SCHEMA_NAME).every(({ name, otherwise }) => {
    const reference = toReference(asked[name] ?? undefined);
    if (OMITTED_MEMBERS.includes(name) || (isStrategy && reference === undefined)) return true;
    const usual = (otherwise ?? undefined) as Json | undefined; // a schema default is plain JSON
    return listDifferences(reference ?? usual, toReference(taken[name] ?? undefined) ?? usual).length === 0;
  });
}
