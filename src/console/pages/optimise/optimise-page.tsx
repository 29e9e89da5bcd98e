import '../designer/designer.css';
import './optimise.css';
import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type {
  ConstraintSet,
  ConstraintSetBody,
  Finding,
  IndexCollection,
  IndexDocument,
  IndexDocumentBody,
  JobStatus,
  ObjectiveTypes,
  OptimisationRunResult,
  PreviewConstraint,
  PreviewResponse,
  TypeSpec,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Answered, Badge, EmptyState, FiguresSkeleton, Findings, Problem, Wait } from '../../components/feedback.js';
import { Field } from '../../components/form/field.js';
import { listRows, RowList } from '../../components/form/row-list.js';
import { JobTable } from '../../components/jobs.js';
import { DeleteButton, FormDialog } from '../../components/layout/dialog.js';
import { addPoints, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { Earlier, Fold, RiskWindow } from '../../components/layout/preview.js';
import { nameColumn } from '../../components/securities.js';
import { MissingData } from '../../components/stores.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { VersionHistory } from '../../components/versions/history.js';
import { tryAction, type OnRefusal, submitJob } from '../../state/actions.js';
import { type LatestRequest, useOneAtATime } from '../../state/latest-request.js';
import { getParameter, navigate, parseJsonParameter, setParameters, useAddressed } from '../../state/location.js';
import { type NameFacts, NamesStore, useFields, useIndexStore, useNames } from '../../state/market.js';
import { may, notifyChange, service, type Trouble, useAnswer, useList, useResource } from '../../state/service.js';
import { findLastVisit } from '../../state/stored-list.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { countValues, formatCount, formatPercent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatInUnit } from '../../words/quantities.js';
import {
  type BoundSide,
  countBindingBounds,
  countBindingConstraints,
  countCandidates,
  createExample,
  type Example,
  formatBinding,
  formatBindingBounds,
  formatFirstExcess,
  formatMetSoftLimits,
  formatOtherExcesses,
  formatSide,
  formatUncovered,
  formatUncoveredShare,
  listTightBounds,
  listUncoveredSecurities,
  listWeightBounds,
  prependSentence,
  removeExceeded,
} from './bounds.js';
import { FoldedInfeasible, Infeasible, listConflictPositions, LookAhead } from './infeasible.js';
import { createComparedTiles, formatObjectives, type Measure } from './measures.js';
import {
  asConstraints,
  asRows,
  asTerms,
  createDerivedIndex,
  parseTerms,
  type OptimiseTerms,
  TermsForm,
  useObjectiveTypes,
} from './terms.js';

/** Maximum number of runs whose results are read, newest first. Each needs one request. */
const READ_MAX = 20;

/** Renders the list of earlier optimisations with their objectives and results. */
function EarlierRuns() {
  const jobs = useAnswer('listJobs', { query: { kind: ['optimise'], limit: 50 } });
  return (
    <Answered resource={jobs} what="earlier runs">
      {({ jobs: all }) => all.length > 0 && <Runs jobs={all} />}
    </Answered>
  );
}

function Runs({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const types = useObjectiveTypes();
  const ids = jobs
    .filter(({ status }) => status === 'succeeded')
    .slice(0, READ_MAX)
    .map(({ job_id: id }) => id);
  const results = useResource(ids.length === 0 ? null : `optimisation results ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getJob', { params: { job_id: id }, signal }))),
  );
  const runs = new Map(results.data?.map(({ job_id: id, result }) => [id, result as OptimisationRunResult | null])); // the kind of the job determines the type of its result
  return (
    <Section title="Earlier runs">
      <JobTable
        jobs={jobs}
        label="optimisations"
        isOneKind
        height={260}
        moreColumns={createColumns(runs, types.data)}
      />
    </Section>
  );
}

type Figure = 'volatility' | 'tracking_error' | 'turnover';

function createColumns(
  runs: ReadonlyMap<string, OptimisationRunResult | null>,
  types: ObjectiveTypes | undefined,
): readonly Column<JobStatus>[] {
  const createFigure = (
    id: Figure,
    { title, width, priority }: Pick<Column<JobStatus>, 'title' | 'width' | 'priority'>,
  ): Column<JobStatus> => ({
    id,
    title,
    width,
    priority: priority ?? 3,
    value: ({ job_id: jobId }) => runs.get(jobId)?.[id] ?? null,
    write: formatPercent,
  });
  return [
    {
      id: 'objective',
      title: 'Objective',
      width: 170,
      grow: 1,
      priority: 2,
      lines: 1,
      value: ({ request }) => {
        const { objective } = request as JsonObject; // requests are plain JSON
        const type = isObject(objective) ? objective['type'] : 'min_tracking_error';
        return types?.objectives.find((one) => one.type === type)?.label ?? null;
      },
    },
    {
      id: 'as-of',
      title: 'As of',
      help: 'Date of the rebalance whose weights were optimised',
      width: 100,
      priority: 3,
      value: ({ job_id: id }) => runs.get(id)?.rebalance_date ?? null,
    },
    createFigure('volatility', { title: 'Volatility', width: 84 }),
    createFigure('tracking_error', { title: 'Tracking error', width: 104, priority: 2 }),
    createFigure('turnover', { title: 'Turnover', width: 80 }),
  ];
}

type RelaxedMove = PreviewResponse['assets'][number];

interface MoveMarks {
  /** Securities that are excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
  /** Securities whose weight is at a bound. */
  readonly bounds: ReadonlyMap<string, BoundSide>;
}

/** Returns the columns of the securities whose weight differs from their index weight. */
const createMoveColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  { uncovered, bounds }: MoveMarks,
): readonly Column<RelaxedMove>[] => [
  { ...nameColumn(facts), ideal: 165, grow: 3 },
  {
    id: 'index',
    adds: true,
    title: 'Index',
    width: 64,
    grow: 0,
    value: (row) => row.source_weight,
    write: formatPercent,
  },
  {
    id: 'solved',
    adds: true,
    title: 'Solved',
    width: 64,
    grow: 0,
    value: (row) => row.solved_weight,
    write: formatPercent,
    show: ({ identifier, solved_weight: weight }) =>
      uncovered.has(identifier) ? (
        <Badge kind="warning" title="Excluded, because it has no risk estimate">
          excluded
        </Badge>
      ) : (
        formatPercent(weight)
      ),
  },
  {
    id: 'delta',
    title: 'Active',
    help: 'Weight minus index weight, in percentage points. Sorts by size, without the sign.',
    width: 80,
    grow: 0,
    align: 'right',
    value: ({ weight_delta: delta }) => (delta === null ? null : Math.abs(delta)),
    copy: ({ weight_delta: delta }) => delta,
    show: ({ weight_delta: delta }) => addPoints(delta),
  },
  ...(bounds.size === 0
    ? []
    : [
        {
          id: 'bound',
          title: 'Bound',
          width: 72,
          grow: 0,
          priority: 4,
          below: 'nothing' as const, // the binding bounds are listed above the table
          value: ({ identifier }: RelaxedMove) => bounds.get(identifier) ?? null,
          show: ({ identifier }: RelaxedMove) =>
            bounds.has(identifier) && <Badge kind="info">{bounds.get(identifier)}</Badge>,
        },
      ]),
];

interface RunButtonProps {
  readonly isValid: boolean;
  onRun(onRefusal: OnRefusal): Promise<{ readonly job_id: string } | undefined>;
}

/** Renders the button that saves the constraints and runs the optimisation, which adds costs and the frontier. */
const RunButton = ({ isValid, onRun }: RunButtonProps) => (
  <ActionButton
    kind="main"
    disabled={!isValid}
    title="Saves the constraints, and adds to the solution the cost of each constraint and the efficient frontier"
    act={async (onRefusal) => {
      const job = await onRun(onRefusal);
      if (job !== undefined) navigate(`/console/optimise/runs/${job.job_id.slice('optimise:'.length)}`);
    }}
  >
    Run
  </ActionButton>
);

interface SaveConstraintsProps {
  readonly name: string;
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
  /** Id of the constraint set that was opened; null for new rows. */
  readonly stored: string | null;
  onName(name: string): void;
  onSave(onRefusal: OnRefusal): Promise<unknown>;
}

/** Renders the form that saves the rows under an id. */
function SaveConstraints({ name, findings, isValid, stored, onName, onSave }: SaveConstraintsProps) {
  return (
    <section class="stack raised gap-3 designer-part" aria-label="Constraint set">
      <h2>Constraint set</h2>
      <p class="quiet">A run saves the constraints under this id.</p>
      <div class="pile gap-3 optimise-run">
        <Field
          spec={{ name: 'id', label: 'Id of the constraint set', kind: 'text', isRequired: true }}
          value={name}
          findings={findings}
          onChange={(value) => onName(String(value ?? ''))}
        />
        <ActionButton disabled={!isValid} act={onSave}>
          Save the constraints
        </ActionButton>
        {stored !== null && <DeleteSet id={stored} />}
      </div>
      {stored !== null && <VersionHistory key={stored} kind="constraint set" id={stored} />}
    </section>
  );
}

function DeleteSet({ id }: { readonly id: string }) {
  const remove = () =>
    tryAction(async () => {
      await service.value.call('deleteConstraintSet', { params: { constraint_set_id: id } });
      setParameters({ set: null, rows: null, as: null });
      notifyChange();
    });
  return (
    <DeleteButton subject={id} label={`Delete ${id}`} kind="plain" onConfirm={() => void remove()}>
      <p>Existing runs are kept.</p>
    </DeleteButton>
  );
}

interface SaveIndexProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly isValid: boolean;
  /**
   * Stores the derived index.
   * @returns the error of a refused request; null if it succeeded
   */
  onDerive(id: string, name: string, rows: readonly JsonObject[]): Promise<Trouble | null>;
}

/** Renders the button that saves the optimisation as an index, and its form. A link of a result opens the form. */
function SaveIndex(props: SaveIndexProps) {
  const isAsked = getParameter('derive') !== null;
  const [isOpen, setOpen] = useState(isAsked);
  useEffect(() => {
    if (!isAsked) return;
    setOpen(true);
    setParameters({ derive: null });
  }, [isAsked]);
  return (
    <>
      <Button disabled={!props.isValid} onClick={() => setOpen(true)}>
        Save as an index
      </Button>
      {isOpen && <SaveForm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Renders the form of a derived index. At each rebalance, it optimises the weights of its parent. */
function SaveForm({ parent, rows, isValid, onDerive, onClose }: SaveIndexProps & { onClose(): void }) {
  const [id, setId] = useState(`${parent.id}-OPT`);
  const [name, setName] = useState(`${parent.name}, optimised`);
  const [refused, setRefused] = useState<Trouble | null>(null);
  const listFindings = (field: string) => refused?.findings.filter(({ path }) => path === field) ?? [];
  return (
    <FormDialog title="Save as an index" onClose={onClose}>
      <p class="quiet">An index with these weights, optimised again at each rebalance of {parent.id}.</p>
      <div class="pile gap-3 optimise-run">
        <Field
          spec={{ name: 'id', label: 'Id', kind: 'text', isRequired: true }}
          value={id}
          findings={listFindings('id')}
          onChange={(value) => setId(String(value ?? ''))}
        />
        <Field
          spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
          value={name}
          findings={listFindings('name')}
          onChange={(value) => setName(String(value ?? ''))}
        />
      </div>
      {refused !== null && <Problem trouble={refused} />}
      <div class="gap-2 dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="main"
          disabled={!isValid || id === '' || name === ''}
          onClick={async () => setRefused(await onDerive(id, name, rows))}
        >
          Save
        </Button>
      </div>
    </FormDialog>
  );
}

interface SolutionQuery {
  readonly parent: IndexDocument;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly rows: readonly JsonObject[];
  readonly terms: OptimiseTerms;
  readonly isValid: boolean;
}

/** Live solution of an optimisation on a date. */
interface Solution extends LatestRequest<PreviewResponse> {
  /** False until the store of the index is known. */
  readonly hasStores: boolean;
  /** Decision date; null if the store of the index has no data. */
  readonly asOf: string | null;
  /** First and last date of the store of the index; null if it has no data. */
  readonly extent: { readonly start: string; readonly end: string } | null;
  readonly findings: readonly Finding[];
}

/** Returns the solution of the last rebalance on or before a date. A run would give the same result. */
function useSolution({ parent, store, rows, terms, isValid }: SolutionQuery): Solution {
  const stores = useStores();
  const { start = null, end = null } = findStoreOfDocument(stores.data?.stores, store) ?? {};
  const asOf = getParameter('on') ?? end;
  const body = { ...asTerms(terms), index_id: parent.id, constraints: asConstraints(rows), as_of: asOf };
  const solution = useOneAtATime(isValid && asOf !== null ? JSON.stringify(body) : null, () =>
    service.value.call('previewOptimisation', { body }),
  );
  const extent = start === null || end === null ? null : { start, end };
  return {
    ...solution,
    hasStores: stores.data !== undefined && store !== undefined,
    asOf,
    extent,
    findings: solution.isBehind ? [] : (solution.trouble?.findings ?? []),
  };
}

/** Converts findings about a derivation to findings about the fields of its rows and terms. */
function convertFindings(trouble: Pick<Trouble, 'findings'> | null): readonly Finding[] {
  return (trouble?.findings ?? []).flatMap((finding) => {
    const path = /(?:^|\.)derivation\.(.*)$/.exec(finding.path)?.[1];
    return path === undefined ? [] : [{ ...finding, path }];
  });
}

interface SolveProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly terms: OptimiseTerms;
  readonly findings: readonly Finding[];
  readonly solution: Solution;
  /** Button that runs the optimisation. */
  readonly run: ComponentChildren;
  /** Button that keeps the solution. */
  readonly action: ComponentChildren;
  onRows(rows: readonly JsonObject[]): void;
  onTerms(terms: OptimiseTerms): void;
}

/** Renders the live solution on a date. The last solution stays visible until a new one arrives. */
function Solve(props: SolveProps) {
  const { asOf, hasStores, extent, data, trouble, isBehind } = props.solution;
  const { findings } = props;
  const store = useContext(NamesStore);
  // On a phone, the strip would cover the form. It is folded at first.
  const [isFolded, setFolded] = useState(() => matchMedia('(width < 520px)').matches);
  const isInfeasible = trouble?.code === 'INFEASIBLE';
  const isEarlier = trouble !== null || findings.some(({ severity }) => severity === 'error');
  return (
    <aside
      class={isFolded ? 'stack raised gap-3 designer-live is-folded' : 'stack raised gap-3 designer-live'}
      aria-label="Live solution"
    >
      <div class="flow spread gap-2 live-bar">
        <h2>Solution</h2>
        {isFolded && trouble !== null && <Badge kind="bad">{isInfeasible ? 'constraints conflict' : 'none'}</Badge>}
        {isFolded && trouble === null && data?.solve != null && (
          <BarFigures solve={data.solve} findings={data.findings} />
        )}
        <span class="flow gap-3 form-actions" style={{ marginLeft: 'auto' }}>
          {asOf !== null && extent !== null && (
            <label class="inline-line gap-2 select">
              <span class="quiet">On</span>
              <DateInput
                label="Date"
                value={asOf}
                least={extent.start}
                most={extent.end}
                onChange={(on) => setParameters({ on: on === extent.end ? null : on })}
              />
            </label>
          )}
          {!(isFolded && isInfeasible) && [props.run, props.action]}
          <Fold isFolded={isFolded} of="the solution" {...(isInfeasible && { prompt: 'Why' })} onFold={setFolded} />
        </span>
        {isFolded && isInfeasible && <FoldedInfeasible {...trouble} rows={props.rows} onRows={props.onRows} />}
      </div>
      {asOf === null && !isBehind && data === undefined && hasStores && <MissingData store={store} />}
      {!hasStores && <Wait what="the data stores" />}
      {findings.length > 0 && <Findings findings={findings} shown={4} isOpenForm />}
      <div class={isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'} aria-busy={isBehind}>
        {trouble !== null && !isBehind && <RefusedSolution {...props} trouble={trouble} />}
        {isBehind && data === undefined && asOf !== null && <p class="quiet">Solving for {asOf}</p>}
        {isBehind && <Wait what="the solution" {...(data === undefined && { skeleton: <FiguresSkeleton /> })} />}
        {data !== undefined && (
          <Earlier isEarlier={isEarlier} of="The last solution">
            <SolvedPortfolio preview={data} model={props.terms['risk_model']} constraints={props.rows} />
          </Earlier>
        )}
      </div>
    </aside>
  );
}

/** Renders why there is no solution, and changes that would help. */
function RefusedSolution({ parent, rows, terms, trouble, ...act }: SolveProps & { readonly trouble: Trouble }) {
  const { code, message, detail } = trouble;
  if (code === 'INFEASIBLE') return <Infeasible message={message} detail={detail} rows={rows} onRows={act.onRows} />;
  if (code !== 'LOOK_AHEAD') return <Problem trouble={trouble} />;
  return (
    <LookAhead
      message={message}
      detail={detail}
      indexId={parent.id}
      onModel={(id) => act.onTerms({ ...terms, risk_model: id })}
    />
  );
}

type Solved = NonNullable<PreviewResponse['solve']>;

/** Returns how the objective of a solution is measured. Returns undefined until the objectives are loaded. */
function useMeasure(solve: Solved | null): Measure | undefined {
  const types = useObjectiveTypes();
  return types.data?.objectives.find(({ type }) => type === solve?.objective)?.measure;
}

interface BarFiguresProps {
  readonly solve: Solved;
  readonly findings: readonly Finding[];
}

/**
 * Renders the objective of the solution, and its first violated soft limit or the share of the index without a risk
 * estimate. On a phone, the folded bar shows this.
 */
function BarFigures({ solve, findings }: BarFiguresProps) {
  const measure = useMeasure(solve);
  const warning = formatFirstExcess(solve.exceeded) ?? formatUncoveredShare(findings);
  return (
    <span class="quiet wrap bar-figures">
      {measure !== undefined && <span>{formatObjectives(solve, measure)}</span>}
      {warning !== null && <strong class="excess">{warning}</strong>}
    </span>
  );
}

interface SolvedPortfolioProps {
  readonly preview: PreviewResponse;
  readonly model: Json | undefined;
  readonly constraints: readonly JsonObject[];
}

function SolvedPortfolio({ preview, model, constraints }: SolvedPortfolioProps) {
  const { assets, solve, total_weight: total } = preview;
  const measure = useMeasure(solve);
  const moves = assets.filter(({ weight_delta: delta }) => delta !== null && delta !== 0);
  const facts = useNames(
    moves.map(({ identifier }) => identifier),
    solve?.rebalance_date,
  );
  const uncoveredSecurities = useMemo(() => listUncoveredSecurities(solve?.binding ?? []), [solve]);
  const bounds = useMemo(() => listWeightBounds(solve?.binding ?? []), [solve]);
  const columns = useMemo(
    () => createMoveColumns(facts, { uncovered: uncoveredSecurities, bounds }),
    [facts, uncoveredSecurities, bounds],
  );
  if (solve === null) return null;
  const rows = [...solve.constraints.map(({ label }) => label), ...solve.binding];
  const binding = removeExceeded(solve.binding, solve.exceeded);
  const exceededCount = countBindingConstraints(solve.exceeded.map(({ label }) => label));
  const holdingCount = assets.filter(({ weight }) => weight !== null && weight !== 0).length;
  return (
    <>
      {solve.rebalance_date !== preview.as_of && (
        <p class="quiet">
          At the rebalance of {solve.rebalance_date}, the latest until {preview.as_of}
        </p>
      )}
      <Metrics
        label="Figures of the solution"
        metrics={[
          ...(measure === undefined ? [] : createComparedTiles(solve, measure)),
          { term: 'Constituents', value: formatCount(holdingCount) },
          ...(Math.abs((total ?? 1) - 1) < SHOWN_MIN ? [] : [{ term: 'Sum of weights', value: formatPercent(total) }]),
          ...createExcludedTile(assets, uncoveredSecurities),
          {
            term: 'Binding limits',
            value: formatCount(countBindingBounds(binding)),
            help: 'Limits on securities, groups or the portfolio that hold the solution back',
            note:
              exceededCount > 0
                ? `${countValues(exceededCount, 'constraint')} exceeded`
                : `of ${countValues(constraints.length, 'constraint')}`,
          },
        ]}
      />
      <SolutionNotes preview={preview} solve={solve} constraints={constraints} rows={rows} />
      <LargestChanges columns={columns} rows={moves} date={solve.rebalance_date} />
      <h3>Constraints</h3>
      <Table
        label="constraints with their slack"
        columns={createConstraintColumns(rows, binding)}
        rows={solve.constraints}
        getKey={({ label }) => label}
        sort={{ column: 'slack', direction: 'asc' }}
        height={280}
      />
      <RiskWindow model={model} />
    </>
  );
}

interface LargestChangesProps {
  readonly columns: ReturnType<typeof createMoveColumns>;
  readonly rows: PreviewResponse['assets'];
  /** Date of the index weights. */
  readonly date: string;
}

/** Renders the securities whose weight differs from their index weight. */
const LargestChanges = ({ columns, rows, date }: LargestChangesProps) => (
  <>
    <header class="flow spread gap-2 section-head">
      <h3>Largest changes of weight</h3>
      <span class="quiet">to the index weights of {date}, largest first</span>
    </header>
    <Table
      label="difference to the index weights"
      columns={columns}
      rows={rows}
      getKey={({ identifier }) => identifier}
      sort={{ column: 'delta', direction: 'desc' }}
      height={280}
      empty="The weights equal those of the index: no constraint excludes them."
    />
  </>
);

interface SolutionNotesProps extends Pick<SolvedPortfolioProps, 'preview' | 'constraints'> {
  readonly solve: Solved;
  /** Labels of all constraints. */
  readonly rows: readonly string[];
}

/** Renders in words which soft limits the solution meets or exceeds, its findings, and the binding bounds. */
function SolutionNotes({ preview: { assets, findings }, solve, constraints, rows }: SolutionNotesProps) {
  const excesses = formatOtherExcesses(solve.exceeded, rows);
  const metSoftLimits = formatMetSoftLimits(constraints, solve.exceeded, rows);
  const excluded = formatUncovered(
    assets.flatMap(({ identifier, source_weight: weight }) => (weight === null ? [] : [{ identifier, weight }])),
    listUncoveredSecurities(solve.binding),
  );
  const binding = removeExceeded(solve.binding, solve.exceeded);
  return (
    <>
      {excesses !== null && <p class="excess">Soft limits exceeded: {excesses}.</p>}
      {metSoftLimits !== null && (
        <p class="quiet">Soft limits met: {metSoftLimits}. A solution may exceed a soft limit at a penalty.</p>
      )}
      {findings.length > 0 && <Findings findings={prependSentence(findings, excluded)} shown={3} />}
      {countBindingConstraints(binding) > 0 && <p class="quiet">Binding: {formatBindingBounds(binding, rows)}.</p>}
    </>
  );
}

/** Returns the share of the index that is excluded for lack of a risk estimate; nothing if no security is excluded. */
function createExcludedTile(assets: PreviewResponse['assets'], uncovered: ReadonlySet<string>) {
  if (uncovered.size === 0) return [];
  const share = assets.reduce(
    (sum, { identifier, source_weight: weight }) => sum + (uncovered.has(identifier) ? (weight ?? 0) : 0),
    0,
  );
  const note = `${countValues(uncovered.size, 'security', 'securities')} without a risk estimate`;
  return [{ term: 'Excluded share of the index', value: formatPercent(share), note, kind: 'warning' }];
}

/** Difference from a full investment below which the sum of weights is not shown. */
const SHOWN_MIN = 5e-5;

/**
 * Returns the columns of the constraints. A row is one side of a constraint, with the security or group that is nearest
 * to its limit, or with the number of those at the limit.
 */
const createConstraintColumns = (
  rows: readonly string[],
  binding: readonly string[],
): readonly Column<PreviewConstraint>[] => [
  {
    id: 'label',
    title: 'Constraint',
    width: 150,
    grow: 2,
    value: ({ label }) => formatSide(label, rows, binding),
    show: ({ label }) => <span title={label}>{formatSide(label, rows, binding)}</span>,
  },
  {
    id: 'binding',
    title: 'State',
    width: 80,
    priority: 2,
    value: ({ binding: isBinding }) => Number(!isBinding),
    copy: ({ binding: isBinding }) => (isBinding ? 'binding' : null),
    show: ({ label, binding: isBinding }) =>
      isBinding && (/:eq(?::|$)/.test(label) ? 'equality' : <Badge kind="info">{formatBinding(label, binding)}</Badge>),
  },
  { id: 'slack', title: 'Slack', width: 84, align: 'right', show: ({ slack, unit }) => formatInUnit(slack, unit) },
];

/**
 * Page for optimisation under constraints: constraint rows, a live solution, the start of a run, and derivation of an
 * index.
 */
export function OptimisePage() {
  const indices = useList('indices');
  const types = useList('constraint types', {
    follows: false,
  });
  return (
    <Page
      title="Optimise"
      subtitle="The weights that come closest to an objective, such as low volatility, within your constraints"
    >
      <Answered resource={indices} what="the indices">
        {({ indices: all }) => {
          const ids = all.map(({ id }) => id);
          const ruleIds = all.filter(({ kind }) => kind === 'rule').map(({ id }) => id);
          const id = getParameter('index') ?? findLastVisit(ruleIds.length > 0 ? ruleIds : ids);
          if (id === undefined)
            return (
              <EmptyState title="No index yet">An optimisation starts from an index. Create one first.</EmptyState>
            );
          return (
            <Answered resource={types} what="the constraint classes">
              {({ specs }) => <IndexForm key={id} id={id} indices={all} specs={specs} />}
            </Answered>
          );
        }}
      </Answered>
      <EarlierRuns />
    </Page>
  );
}

interface IndexFormProps {
  readonly id: string;
  readonly indices: IndexCollection['indices'];
  readonly specs: readonly TypeSpec[];
}

function IndexForm({ id, indices, specs }: IndexFormProps) {
  const parent = useAnswer('getIndex', { params: { index_id: id } });
  const sets = useList('constraint sets');
  const store = useIndexStore(parent.data);
  const isRead = useRef(false);
  if (!sets.isLoading) isRead.current = true;
  const hasRun = indices.find((index) => index.id === id)?.has_run === true;
  const weights = useAnswer('getWeights', hasRun ? { params: { index_id: id } } : null, { follows: false });
  const securityCount = weights.data?.weights.length ?? null;
  if (hasRun && securityCount === null && weights.trouble === null) return <Wait what="the weights of the index" />;
  const example = createExample(securityCount);
  return (
    <>
      <div class="flow gap-3 optimise-bar">
        <Select
          label="Index"
          isLabelShown
          options={indices.map(({ id: value }) => ({ value, text: value }))}
          value={id}
          onChoose={(chosen) => setParameters({ index: chosen })}
        />
        <Select
          label="Begin with"
          isLabelShown
          options={[
            { value: '', text: example.text },
            { value: NOTHING, text: 'no constraints' },
            ...(sets.data?.constraint_sets ?? []).map(({ id: set, name }) => ({
              value: set,
              text: `${set} · ${name}`,
            })),
          ]}
          value={getParameter('set') ?? (isExample() ? '' : NOTHING)}
          onChoose={(set) =>
            setParameters({
              set: set === '' || set === NOTHING ? null : set,
              rows: set === NOTHING ? '[]' : null,
              terms: null,
              as: null,
            })
          }
        />
        <a href={formatIndexAddress(id)}>The index</a>
        <a href="/console/risk-models">Risk models</a>
      </div>
      <Answered resource={parent} what="the index">
        {(document) => (
          <Answered resource={sets} what="the constraint sets">
            {({ constraint_sets: all }) => {
              const requestedSet = getParameter('set');
              const constraintSet = all.find(({ id: setId }) => setId === requestedSet);
              // A cached list may not contain the set yet. The form waits for the current list. Otherwise the list
              // would replace the form after the user started to edit it.
              if (requestedSet !== null && constraintSet === undefined && !isRead.current)
                return <Wait what="the constraint set" />;
              return (
                <NamesStore.Provider value={store ?? null}>
                  <Rows
                    key={constraintSet?.id}
                    parent={document}
                    set={constraintSet}
                    {...{ store, example, securityCount, specs }}
                  />
                </NamesStore.Provider>
              );
            }}
          </Answered>
        )}
      </Answered>
    </>
  );
}

/** Value of the choice to use no constraints. A constraint set cannot have this id. */
const NOTHING = ' ';

const isExample = (): boolean => ['set', 'rows', 'terms'].every((name) => getParameter(name) === null);

/** Stores the terms in the address. If all of them are defaults, removes them. */
const setTerms = (example: Example) => (next: OptimiseTerms) => {
  const terms = Object.keys(next).length === 0 ? null : JSON.stringify(next);
  setParameters(isExample() ? { terms, rows: JSON.stringify(example.rows) } : { terms });
};

interface RowsProps {
  readonly parent: IndexDocument;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly set: ConstraintSet | undefined;
  /** Initial problem if the address contains none. */
  readonly example: Example;
  /** Number of securities of the index; null if it is unknown. */
  readonly securityCount: number | null;
  readonly specs: readonly TypeSpec[];
}

function Rows({ parent, store, set, example, securityCount, specs }: RowsProps) {
  const { rows, setRows, name, setName, isTooLong } = useRows(parent, { set, example });
  const terms = isExample() ? example.terms : parseTerms(getParameter('terms'));
  const datapoints = useFields(store ?? null).data?.fields.map(({ name: field }) => field) ?? [];
  const body = { id: name, name, constraints: asConstraints(rows) };
  const document = createDerivedIndex(parent, { base: parent.base_date, rows: [], terms });
  const report = useOneAtATime(JSON.stringify([body, terms]), () => validate(body, document));
  const isValid = report.data?.every(({ severity }) => severity !== 'error') === true && !report.isBehind;
  const solution = useSolution({ parent, store, rows, terms, isValid });
  const isSolvable = isValid && solution.trouble === null && solution.data !== undefined;
  const reportedFindings = report.data ?? [];
  const tightBounds = listTightBounds(rows, countCandidates(solution.data) ?? securityCount);
  const findings = [...reportedFindings, ...solution.findings, ...tightBounds];
  const run = (onRefusal: OnRefusal) => submitJob(() => startRun(parent.id, body, terms), onRefusal);
  return (
    <div class="pile gap-5 designer">
      <div class="designer-forms">
        <section class="stack raised gap-3 designer-part" aria-label="Objective">
          <h2>Objective</h2>
          <TermsForm value={terms} findings={findings} path={[]} datapoints={datapoints} onChange={setTerms(example)} />
        </section>
        <section class="stack raised gap-3 designer-part" aria-label="Constraints">
          <ConstraintsHead />
          <RowList
            what="constraint"
            rows={rows}
            types={specs}
            path={['constraints']}
            findings={findings}
            datapoints={datapoints}
            conflicts={listConflictPositions(solution.isBehind ? null : (solution.trouble?.detail ?? null))}
            onChange={setRows}
          />
          {isTooLong && <TooLong />}
        </section>
        {may('run') && may('write') && (
          <SaveConstraints
            name={name}
            findings={findings.filter(({ path }) => path === 'id')}
            isValid={isValid}
            stored={set?.id ?? null}
            onName={setName}
            onSave={(onRefusal) => saveRows(body, onRefusal)}
          />
        )}
      </div>
      <Solve
        {...{ parent, rows, terms, solution }}
        findings={reportedFindings}
        run={may('run') && may('write') && <RunButton isValid={isValid} onRun={run} />}
        action={
          may('write') && <SaveIndex {...{ parent, rows }} isValid={isSolvable} onDerive={derive(parent.id, terms)} />
        }
        onRows={setRows}
        onTerms={setTerms(example)}
      />
    </div>
  );
}

const ConstraintsHead = () => (
  <header class="flow spread gap-2 section-head">
    <h2>Constraints</h2>
    <span class="quiet">Always, unless changed: weights add up to 100%, and none is below 0</span>
  </header>
);

function TooLong() {
  return <p class="quiet">These constraints are too long for the address. Save them before you share the page.</p>;
}

/** Keeps edited rows and their id in the address while they differ from the stored set. */
function useRows(parent: IndexDocument, { set, example }: Pick<RowsProps, 'set' | 'example'>) {
  const addressedRows = useAddressed('rows');
  const isFirst = addressedRows.text === null && isExample();
  const first = useMemo(
    () => (isFirst ? example.rows : asRows(set?.constraints ?? [])),
    [set, isFirst, JSON.stringify(example.rows)],
  );
  const rows = useMemo(
    () => (addressedRows.text === null ? first : listRows(parseJsonParameter(addressedRows.text))),
    [addressedRows.text, first],
  );
  const ownName = set?.id ?? `${parent.id}-limits`;
  return {
    rows,
    setRows: (next: readonly JsonObject[]) => {
      const text = JSON.stringify(next);
      if (text === JSON.stringify(first)) return addressedRows.put(null);
      if (isFirst) setParameters({ terms: JSON.stringify(example.terms) });
      return addressedRows.put(text);
    },
    name: getParameter('as') ?? ownName,
    setName: (typed: string) => setParameters({ as: typed === ownName ? null : typed }),
    isTooLong: addressedRows.isTooLong,
  };
}

/** Saves the rows as a constraint set and opens the set. */
const saveRows = (body: ConstraintSetBody, onRefusal: OnRefusal) =>
  tryAction(async () => {
    await service.value.call('putConstraintSet', { params: { constraint_set_id: body.id }, body });
    notifyChange();
    setParameters({ set: body.id, rows: null, as: null });
    showToast('good', `The constraint set ${body.id} was saved.`);
  }, onRefusal);

/** Saves the rows as a constraint set and starts an optimisation at the decision date of the preview. */
async function startRun(indexId: string, body: ConstraintSetBody, terms: OptimiseTerms) {
  await service.value.call('putConstraintSet', { params: { constraint_set_id: body.id }, body });
  const asOf = getParameter('on');
  const request = {
    ...asTerms(terms),
    index_id: indexId,
    constraint_set_id: body.id,
    ...(asOf === null ? {} : { as_of: asOf }),
  };
  return service.value.call('startOptimisation', { body: request });
}

async function validate(set: ConstraintSetBody, document: IndexDocumentBody): Promise<readonly Finding[]> {
  const [ofRows, ofTerms] = await Promise.all([
    service.value.call('validateConstraintSet', { body: set }),
    service.value.call('validateIndex', { body: document }),
  ]);
  return [...ofRows.findings, ...convertFindings(ofTerms)];
}

/**
 * Stores an index that optimises its parent at each rebalance, and opens it.
 * @returns the error of a refused request; null if it succeeded
 */
const derive =
  (parentId: string, terms: OptimiseTerms) => async (id: string, name: string, rows: readonly JsonObject[]) => {
    const body = { ...asTerms(terms), id, name, constraints: asConstraints(rows) };
    let refusal: Trouble | null = null;
    const savedIndex = await tryAction(
      () => service.value.call('optimiseIndex', { params: { index_id: parentId }, body }),
      (trouble) => {
        refusal = trouble;
      },
    );
    if (savedIndex !== undefined) navigate(formatIndexAddress(savedIndex.index.id));
    return refusal;
  };
