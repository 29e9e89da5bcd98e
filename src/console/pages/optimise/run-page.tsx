import type { OptimisationRunResult, WeightRow } from '#clients/typescript/divisor.js';
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
import { useNames, type NameFacts } from '../../state/names.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, formatSecurityAddress } from '../../words/addresses.js';
import { isObject, type Json } from '../../words/paths.js';
import { ActiveBars } from './active-bars.js';
import { formatUncovered, listUncoveredSecurities, prependSentence } from './bounds.js';
import { listBindingLabels } from './constraint-rows.js';
import { ConstraintTable } from './constraint-table.js';
import { Frontier } from './frontier.js';
import {
  createPointRows,
  findChosenPoint,
  findPointTerms,
  type FrontierPoint,
  type PointRow,
} from './frontier-point.js';
import { Infeasible } from './infeasible.js';
import { LookAhead } from './look-ahead.js';
import { createChangeScale, measureOf, type Measure } from './measures.js';
import { NextSecurities } from './next-securities.js';
import { PointSummary } from './point-summary.js';
import { RunFigures } from './run-figures.js';
import { asConstraints, asRows, parseTerms } from './rows.js';
import { useObjectiveTypes } from './terms.js';
import { createPointColumns, createWeightColumns } from './weight-columns.js';
import './optimise.css';

/** Page of one optimisation: its progress, its result, or the reason for the lack of a result. */
export function RunPage({ params }: PageProps) {
  const id = params['run'] ?? '';
  const job = useResource(`job optimise ${id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: `optimise:${id}` }, signal }),
  );
  const status = getJob(`optimise:${id}`) ?? job.data;
  const requestedTerms = createRequestedTerms(job.data?.request);
  const back = formatAddress('/console/optimise', {
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
          <LinkButton href={back}>Change the constraints</LinkButton>
          {requestedTerms.index !== null && may('write') && <SaveLink id={id} asked={requestedTerms} back={back} />}
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
              <NotFeasible error={first.error} set={requestedTerms.set} back={back} />
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
  const stored = useResource(set === null ? null : `constraint set ${set}`, (signal) =>
    service.value.callWithEtag('getConstraintSet', { params: { constraint_set_id: set ?? '' }, signal }),
  );
  const { answer, etag } = stored.data ?? {};
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

interface SaveLinkProps {
  readonly id: string;
  readonly asked: RequestedTerms;
  /** Address of the optimisation of the run. */
  readonly back: string;
}

/**
 * Renders the link to the form that saves the displayed portfolio as an index: the solution, or the selected point of the
 * frontier. Renders nothing until the point is known.
 */
function SaveLink({ id, asked, back }: SaveLinkProps) {
  const named = getParameter('point');
  const result = useResource(named === null ? null : `optimisation ${id}`, (signal) =>
    service.value.call('getOptimisation', { params: { run_id: id }, signal }),
  );
  if (named === null)
    return (
      <LinkButton kind="main" href={addDerive(back)}>
        Save as an index
      </LinkButton>
    );
  const chosen = result.data?.frontier == null ? undefined : findChosenPoint(result.data.frontier, named);
  const address = chosen === undefined ? null : findSaveAddress(chosen.point, asked);
  if (chosen === undefined || address === null) return null;
  return (
    <LinkButton kind="main" href={address}>
      Save {chosen.number === null ? 'the tangency portfolio' : `point ${chosen.number}`} as an index
    </LinkButton>
  );
}

/** Adds the request to open the form that derives an index. */
const addDerive = (address: string): string => `${address}${address.includes('?') ? '&' : '?'}derive=1`;

interface ResultOfProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
}

function RunResult({ run, measure, asked }: ResultOfProps & { readonly asked: RequestedTerms }) {
  const scale = createChangeScale(run, measure);
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const store = indices.data?.indices.find(({ id }) => id === run.index_id)?.store_id ?? undefined;
  const named = getParameter('point');
  const point = run.frontier === null || named === null ? undefined : findChosenPoint(run.frontier, named);
  const facts = useNames(
    indices.data === undefined ? [] : run.weights.map(({ identifier }) => identifier),
    run.rebalance_date,
    store,
  );
  const bindingLabels = useMemo(() => listBindingLabels(run), [run]);
  const uncovered = useMemo(() => listUncoveredSecurities(bindingLabels), [bindingLabels]);
  const pointWeights = point?.point.weights;
  const pointRows = useMemo(
    () => pointWeights && createPointRows(run.weights, pointWeights),
    [run.weights, pointWeights],
  );
  const { findings, frontierFindings } = separateFindings(run, uncovered);
  const notes = findings.length > 0 && <Findings findings={findings} />;
  return (
    <>
      {point === undefined ? (
        <RunFigures run={run} measure={measure} terms={parseTerms(asked.terms)} />
      ) : (
        <PointSummary chosen={point} run={run} optimiseAddress={findPointAddress(point.point, asked)}>
          {notes}
        </PointSummary>
      )}
      {point === undefined && notes}
      {point === undefined && <ConstraintTable run={run} measure={measure} scale={scale} />}
      <ActiveBars rows={pointRows ?? run.weights} {...{ run, facts, point, bindingLabels, uncovered }} />
      <Weights {...{ run, pointRows, facts, uncovered, store }} />
      {point === undefined && <NextSecurities run={run} scale={scale} store={store} />}
      {frontierFindings.length > 0 && <Findings findings={frontierFindings} />}
      {run.frontier !== null && (
        <Frontier
          frontier={run.frontier}
          hasReturns={run.expected_return !== null}
          formatAddress={(frontierPoint) => findPointAddress(frontierPoint, asked)}
        />
      )}
    </>
  );
}

/** Separates the findings about the frontier. Names the largest excluded securities before the others. */
function separateFindings({ findings, weights }: OptimisationRunResult, uncovered: ReadonlySet<string>) {
  const frontierFindings = findings.filter(({ code }) => code.startsWith('FRONTIER'));
  const excluded = formatUncovered(
    weights.map(({ identifier, index_weight: weight }) => ({ identifier, weight })),
    uncovered,
  );
  const others = findings.filter((finding) => !frontierFindings.includes(finding));
  return { findings: prependSentence(others, excluded), frontierFindings };
}

interface WeightsProps {
  readonly run: OptimisationRunResult;
  /** Weights of the selected frontier point; undefined for the weights of the solution. */
  readonly pointRows: readonly PointRow[] | undefined;
  readonly facts: ReadonlyMap<string, NameFacts>;
  /** Securities that were excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
  readonly store: string | undefined;
}

/** Renders the weights of the solution, or those of a frontier point next to them. */
function Weights({ run, pointRows, facts, uncovered, store }: WeightsProps) {
  const shared = {
    label: 'weights of the optimisation',
    name: 'weights',
    getKey: ({ identifier }: WeightRow) => identifier,
    formatAddress: ({ identifier }: WeightRow) => formatSecurityAddress(identifier, store),
    searchIn: ({ identifier }: WeightRow) => `${identifier} ${facts.get(identifier)?.name ?? ''}`,
    sort: { column: 'weight', direction: 'desc' },
    height: 360,
  } as const;
  return (
    <Section title="Weights" aside={<a href={formatIndexAddress(run.index_id)}>{run.index_id}</a>}>
      {pointRows === undefined ? (
        <Table {...shared} columns={createWeightColumns(facts, uncovered)} rows={run.weights} />
      ) : (
        <Table {...shared} columns={createPointColumns(facts, uncovered)} rows={pointRows} />
      )}
    </Section>
  );
}
