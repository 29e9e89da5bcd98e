import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { LinkButton } from '../../components/button.js';
import { Findings } from '../../components/findings.js';
import { JobState } from '../../components/job-state.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { getJob } from '../../state/live.js';
import { formatAddress, navigate, getParameter } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { useNames } from '../../state/names.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, formatSecurityAddress } from '../../words/addresses.js';
import { isObject, type Json } from '../../words/paths.js';
import { ActiveBars } from './active-bars.js';
import { BindingConstraints, BindingSummary, listBindingRows } from './binding-constraints.js';
import { formatCostliest, listUncoveredSecurities } from './bounds.js';
import { Explanations } from './explanations.js';
import { Frontier } from './frontier.js';
import { findChosenPoint, findPointTerms, type FrontierPoint } from './frontier-point.js';
import { Infeasible } from './infeasible.js';
import { LookAhead } from './look-ahead.js';
import { createChangeFormats, measureOf, type Measure } from './measures.js';
import { PointSummary } from './point-summary.js';
import { RunFigures } from './run-figures.js';
import { asConstraints, asRows, parseTerms } from './rows.js';
import { useObjectiveTypes } from './terms.js';
import { createWeightColumns } from './weight-columns.js';
import './optimise.css';

/** Page of one optimisation: its progress, its result, or the reason for the lack of a result. */
export function RunPage({ params }: PageProps) {
  const id = params['run'] ?? '';
  const job = useResource(`job optimise ${id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: `optimise:${id}` }, signal }),
  );
  const status = getJob(`optimise:${id}`) ?? job.data;
  const requestedTerms = createRequestedTerms(job.data?.request);
  const backAddress = formatAddress('/console/optimise', {
    index: requestedTerms.index,
    set: requestedTerms.set,
    terms: requestedTerms.terms,
  });
  return (
    <Page
      title={requestedTerms.index === null ? id : `${requestedTerms.index} under constraint set ${requestedTerms.set}`}
      above={[{ address: '/console/optimise', text: 'Optimise' }]}
      actions={
        <>
          <LinkButton href={backAddress}>Change the constraints</LinkButton>
          {requestedTerms.index !== null && may('write') && (
            <LinkButton kind="main" href={addDerive(backAddress)}>
              {getParameter('point') === null ? 'Save as an index' : 'Save the solution as an index'}
            </LinkButton>
          )}
        </>
      }
    >
      <Answered resource={job} what="the job">
        {(first) => (
          <>
            {first.error?.code === 'LOOK_AHEAD' && requestedTerms.index !== null ? (
              <LookAhead
                message={first.error.message}
                detail={first.error.detail}
                indexId={requestedTerms.index}
                onModel={(model) =>
                  navigate(
                    formatAddress('/console/optimise', {
                      ...requestedTerms,
                      terms: formatModel(requestedTerms, model),
                    }),
                  )
                }
              />
            ) : (
              <JobState job={status ?? first} />
            )}
            {first.status === 'failed' && first.error?.code === 'INFEASIBLE' && (
              <NotFeasible error={first.error} set={requestedTerms.set} back={backAddress} />
            )}
            {first.status === 'succeeded' && <Result id={id} asked={requestedTerms} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

interface RequestedTerms {
  readonly index: string | null;
  readonly set: string | null;
  /** Terms as JSON text for the address. */
  readonly terms: string | null;
}

const REQUEST_MEMBERS = ['objective', 'expected_returns', 'uncertainty', 'costs', 'risk_model', 'candidates'];

function createRequestedTerms(request: unknown): RequestedTerms {
  const runRequest = request as Json | undefined;
  if (!isObject(runRequest)) return { index: null, set: null, terms: null };
  const terms = Object.entries(runRequest).filter(([name, value]) => REQUEST_MEMBERS.includes(name) && value !== null);
  return {
    index: String(runRequest['index_id']),
    set: String(runRequest['constraint_set_id']),
    terms: terms.length === 0 ? null : JSON.stringify(Object.fromEntries(terms)),
  };
}

const formatModel = ({ terms }: RequestedTerms, model: string): string =>
  JSON.stringify({ ...parseTerms(terms), risk_model: model });

interface NotFeasibleProps {
  readonly error: { readonly message: string; readonly detail: Readonly<Record<string, unknown>> | null };
  readonly set: string | null;
  readonly back: string;
}

/**
 * Renders why a run is infeasible. A button saves a relaxation in the constraint set of the run and opens the page of
 * the set.
 */
function NotFeasible({ error, set, back }: NotFeasibleProps) {
  const storedSet = useResource(set === null ? null : `constraint set ${set}`, (signal) =>
    service.value.callWithEtag('getConstraintSet', { params: { constraint_set_id: set ?? '' }, signal }),
  );
  const { answer, etag } = storedSet.data ?? {};
  if (answer === undefined) return null;
  return (
    <Infeasible
      message={error.message}
      detail={error.detail}
      rows={asRows(answer.constraints)}
      onRows={async (rows) => {
        const body = { ...answer, constraints: asConstraints(rows) };
        await service.value.call('putConstraintSet', {
          params: { constraint_set_id: answer.id },
          body,
          ifMatch: etag ?? undefined,
        });
        navigate(back);
      }}
    />
  );
}

function Result({ id, asked }: { readonly id: string; readonly asked: RequestedTerms }) {
  const result = useResource(`optimisation ${id}`, (signal) =>
    service.value.call('getOptimisation', { params: { run_id: id }, signal }),
  );
  const types = useObjectiveTypes();
  return (
    <Answered resource={types} what="the objectives">
      {(known) => (
        <Answered resource={result} what="the result">
          {(run) => <RunResult run={run} measure={measureOf(run, known)} asked={asked} />}
        </Answered>
      )}
    </Answered>
  );
}

/** Returns the address of an optimisation under the same constraints that gives a point of the frontier. */
function findPointAddress(point: FrontierPoint, { index, set, terms }: RequestedTerms): string | null {
  const pointTerms = findPointTerms(point, parseTerms(terms));
  return pointTerms && formatAddress('/console/optimise', { index, set, terms: JSON.stringify(pointTerms) });
}

/** Returns the address of the form that saves a point of the frontier as an index. */
function findSaveAddress(point: FrontierPoint, asked: RequestedTerms): string | null {
  const address = asked.index === null ? null : findPointAddress(point, asked);
  return address && addDerive(address);
}

/** Adds the request to open the form that derives an index. */
const addDerive = (address: string): string => `${address}${address.includes('?') ? '&' : '?'}derive=1`;

interface ResultOfProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
}

function RunResult({ run, measure, asked }: ResultOfProps & { readonly asked: RequestedTerms }) {
  const changes = createChangeFormats(run, measure);
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const store = indices.data?.indices.find(({ id }) => id === run.index_id)?.store_id ?? undefined;
  const namedPoint = getParameter('point');
  const point = run.frontier === null || namedPoint === null ? undefined : findChosenPoint(run.frontier, namedPoint);
  const facts = useNames(
    run.weights.map(({ identifier }) => identifier),
    run.rebalance_date,
  );
  const bindingLabels = useMemo(() => listBindingRows(run).map(({ label }) => label), [run]);
  const columns = useMemo(
    () => createWeightColumns(point, facts, listUncoveredSecurities(bindingLabels)),
    [point, facts, bindingLabels],
  );
  const frontierFindings = run.findings.filter(({ code }) => code.startsWith('FRONTIER'));
  const findings = run.findings.filter((finding) => !frontierFindings.includes(finding));
  return (
    <>
      {point !== undefined && (
        <PointSummary chosen={point} run={run} saveAddress={findSaveAddress(point.point, asked)} />
      )}
      {point !== undefined && <h2>Solution of the run</h2>}
      <RunFigures run={run} measure={measure} terms={parseTerms(asked.terms)} />
      {findings.length > 0 && <Findings findings={findings} />}
      <BindingSummary
        labels={bindingLabels}
        exceeded={run.exceeded ?? []}
        costliest={formatCostliest(run.constraint_costs ?? [], changes.cost)}
      />
      <ActiveBars run={run} facts={facts} point={point} bindingLabels={bindingLabels} />
      <Section title="Weights" aside={<a href={formatIndexAddress(run.index_id)}>{run.index_id}</a>}>
        <Table
          label="weights of the optimisation"
          name="weights"
          columns={columns}
          rows={run.weights}
          getKey={({ identifier }) => identifier}
          formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
          searchIn={({ identifier }) => `${identifier} ${facts.get(identifier)?.name ?? ''}`}
          sort={{ column: 'weight', direction: 'desc' }}
          height={360}
        />
      </Section>
      <BindingConstraints run={run} measure={measure} changes={changes} />
      <Explanations run={run} changes={changes} store={store} />
      {frontierFindings.length > 0 && <Findings findings={frontierFindings} />}
      {run.frontier !== null && (
        <Frontier
          frontier={run.frontier}
          hasReturns={run.expected_return !== null}
          formatAddress={(point) => findPointAddress(point, asked)}
        />
      )}
    </>
  );
}
