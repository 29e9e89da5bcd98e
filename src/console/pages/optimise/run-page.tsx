import type { OptimisationRunResult, WeightRow } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Findings } from '../../components/findings.js';
import { JobState } from '../../components/job-state.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../shell/pages.js';
import { jobOf } from '../../state/live.js';
import { addressOf, go } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress, nameAddress } from '../../words/addresses.js';
import { signed } from '../../components/signed.js';
import { count, figure, percent } from '../../words/numbers.js';
import { isObject, type Json } from '../../words/paths.js';
import { Explanations } from './explanations.js';
import { Frontier } from './frontier.js';
import { Infeasible } from './infeasible.js';
import { asConstraints, asRows } from './rows.js';
import './optimise.css';

/** One optimisation: while it runs, what came of it, or why nothing could. */
export function RunPage({ params }: PageProps) {
  const id = params['run'] ?? '';
  const job = useResource(`job optimise ${id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: `optimise:${id}` }, signal }),
  );
  const status = jobOf(`optimise:${id}`) ?? job.data;
  const asked = askedOf(job.data?.request);
  const back = addressOf('/console/optimise', { index: asked.index, set: asked.set, terms: asked.terms });
  return (
    <Page
      title={asked.index === null ? id : `${asked.index} under ${asked.set}`}
      above={[{ address: '/console/optimise', text: 'Optimise' }]}
      actions={<LinkButton href={back}>Change the constraints</LinkButton>}
    >
      <Answered resource={job} what="the job">
        {(first) => (
          <>
            <JobState job={status ?? first} />
            {first.status === 'failed' && first.error?.code === 'INFEASIBLE' && (
              <NotFeasible error={first.error} set={asked.set} back={back} />
            )}
            {first.status === 'succeeded' && <Result id={id} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

interface Asked {
  readonly index: string | null;
  readonly set: string | null;
  /** As an address has them. */
  readonly terms: string | null;
}

const TERMS = ['objective', 'expected_returns', 'costs', 'risk_model', 'candidates'];

function askedOf(request: unknown): Asked {
  const asked = request as Json | undefined;
  if (!isObject(asked)) return { index: null, set: null, terms: null };
  const terms = Object.entries(asked).filter(([name, value]) => TERMS.includes(name) && value !== null);
  return {
    index: String(asked['index_id']),
    set: String(asked['constraint_set_id']),
    terms: terms.length === 0 ? null : JSON.stringify(Object.fromEntries(terms)),
  };
}

interface NotFeasibleProps {
  readonly error: { readonly message: string; readonly detail: Readonly<Record<string, unknown>> | null };
  readonly set: string | null;
  readonly back: string;
}

/** A remedy is stored with the set that was run, and seen on the page of its rows. */
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
        go(back);
      }}
    />
  );
}

function Result({ id }: { readonly id: string }) {
  const result = useResource(`optimisation ${id}`, (signal) =>
    service.value.call('getOptimisation', { params: { run_id: id }, signal }),
  );
  return (
    <Answered resource={result} what="the result">
      {(run) => (
        <>
          <Figures run={run} />
          {run.findings.length > 0 && <Findings findings={run.findings} />}
          <Section title="Binding rows" aside="what the answer sits on, and what giving way would bring">
            <Table
              label="binding rows"
              columns={BINDING}
              rows={bindingOf(run)}
              keyOf={({ label }) => label}
              sort={{ column: 'price', direction: 'desc' }}
              height={320}
            />
          </Section>
          <Explanations run={run} />
          {run.frontier !== null && <Frontier frontier={run.frontier} />}
          <Section title="Weights" aside={<a href={indexAddress(run.index_id)}>{run.index_id}</a>}>
            <Table
              label="weights of the optimisation"
              name="weights"
              columns={WEIGHTS}
              rows={run.weights}
              keyOf={({ identifier }) => identifier}
              addressOf={({ identifier }) => nameAddress(identifier)}
              searchIn={({ identifier }) => identifier}
              height={520}
            />
          </Section>
        </>
      )}
    </Answered>
  );
}

/** Runs that an earlier version stored say nothing of their objective: it was the only one. */
const objectiveOf = (run: Partial<OptimisationRunResult>): string => run.objective_type ?? 'min_tracking_error';

function Figures({ run }: { readonly run: OptimisationRunResult }) {
  return (
    <Metrics
      label="Figures of the optimisation"
      metrics={[
        {
          term: objectiveOf(run).replaceAll('_', ' '),
          value: figure(run.objective_value),
          help: 'The objective in its own terms, costs included',
        },
        { term: 'Tracking error', value: percent(run.tracking_error), help: 'Against the index, annualised' },
        { term: 'Volatility', value: percent(run.volatility), help: 'Annualised, by the risk model of the run' },
        ...(run.expected_return == null
          ? []
          : [{ term: 'Expected return', value: percent(run.expected_return), help: 'Annualised, before costs' }]),
        ...(run.costs == null
          ? []
          : [{ term: 'Costs', value: percent(run.costs, 4), help: 'Of the trades, fraction of value' }]),
        { term: 'Turnover', value: percent(run.turnover), help: 'One-way, against the index weights' },
        { term: 'Holdings', value: count(run.holdings) },
        { term: 'Rebalance', value: run.rebalance_date, note: `risk from ${run.start} to ${run.end}` },
        {
          term: 'Solution',
          value: run.converged ? 'optimal' : 'not proven',
          kind: run.converged ? '' : 'down',
          note: run.heuristic ? `choice of names, gap ${percent(run.gap)}` : run.solver_message,
        },
      ]}
    />
  );
}

interface Binding {
  readonly label: string;
  readonly type: string;
  readonly side: string;
  readonly price: number;
}

function bindingOf({ binding }: OptimisationRunResult): readonly Binding[] {
  return binding
    .flatMap((row) => (row === null ? [] : [row]))
    .map(({ label = '', type = '', side = '', shadow_price: price = '0' }) => ({
      label,
      type,
      side,
      price: Number(price),
    }));
}

const BINDING: readonly Column<Binding>[] = [
  {
    id: 'label',
    title: 'Row',
    width: 220,
    grow: 3,
    value: ({ label }) => label,
    show: ({ label }) => <span title={label}>{label}</span>,
  },
  { id: 'side', title: 'Side', width: 72, priority: 2, value: ({ side }) => side },
  {
    id: 'price',
    title: 'Shadow price',
    help: 'Change of the objective per unit of the bound',
    width: 120,
    align: 'right',
    value: ({ price }) => Math.abs(price),
    show: ({ price }) => figure(price),
  },
];

const WEIGHTS: readonly Column<WeightRow>[] = [
  {
    id: 'name',
    title: 'Name',
    width: 84,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  {
    id: 'index',
    title: 'Index',
    width: 84,
    align: 'right',
    value: (row) => row.index_weight,
    show: (row) => percent(row.index_weight),
  },
  {
    id: 'weight',
    title: 'Weight',
    width: 84,
    align: 'right',
    value: ({ weight }) => weight,
    show: ({ weight }) => percent(weight),
  },
  {
    id: 'active',
    title: 'Active',
    width: 84,
    align: 'right',
    value: (row) => row.active_weight,
    show: (row) => signed(row.active_weight),
  },
  {
    id: 'risk',
    title: 'Risk',
    help: 'Contribution to the tracking error',
    width: 84,
    priority: 2,
    align: 'right',
    value: (row) => row.risk_contribution,
    show: (row) => percent(row.risk_contribution, 3),
  },
  {
    id: 'bound',
    title: 'Bound',
    width: 84,
    priority: 3,
    value: (row) => row.at_bound,
    show: (row) => row.at_bound !== null && <Badge kind="info">{row.at_bound}</Badge>,
  },
];
