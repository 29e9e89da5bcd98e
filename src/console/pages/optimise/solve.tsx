import type { ComponentChildren } from 'preact';
import { useContext, useMemo, useState } from 'preact/hooks';
import type { Finding, IndexDocument, PreviewConstraint, PreviewResponse } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Earlier } from '../../components/earlier.js';
import { Findings } from '../../components/findings.js';
import { Metrics } from '../../components/metrics.js';
import { MissingData } from '../../components/missing-data.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { RiskWindow } from '../../components/risk-window.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Wait } from '../../components/wait.js';
import { NamesStore, useNames } from '../../state/names.js';
import { setParameters } from '../../state/location.js';
import type { Trouble } from '../../state/service.js';
import { formatInUnit } from '../../words/amounts.js';
import { countValues, formatCount, formatPercent } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { Fold } from '../designer/fold.js';
import {
  countBindingBounds,
  countBindingConstraints,
  formatBinding,
  formatBindingBounds,
  formatFirstExcess,
  formatMetSoftLimits,
  formatOtherExcesses,
  formatSide,
  formatUncovered,
  formatUncoveredShare,
  listUncoveredSecurities,
  listWeightBounds,
  prependSentence,
  removeExceeded,
} from './bounds.js';
import { FoldedInfeasible, Infeasible } from './infeasible.js';
import { LookAhead } from './look-ahead.js';
import { createComparedTiles, formatObjectives, type Measure } from './measures.js';
import { createMoveColumns } from './move-columns.js';
import { useObjectiveTypes, type Terms } from './terms.js';
import type { Solution } from './use-solution.js';

interface SolveProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly terms: Terms;
  readonly findings: readonly Finding[];
  readonly solution: Solution;
  /** Button that runs the optimisation. */
  readonly run: ComponentChildren;
  /** Button that keeps the solution. */
  readonly action: ComponentChildren;
  onRows(rows: readonly JsonObject[]): void;
  onTerms(terms: Terms): void;
}

/** Renders the live solution on a date. The last solution stays visible until a new one arrives. */
export function Solve(props: SolveProps) {
  const { asOf, hasStores, extent, data, trouble, isBehind } = props.solution;
  const { findings } = props;
  const store = useContext(NamesStore);
  // On a phone, the strip would cover the form. It is folded at first.
  const [isFolded, setFolded] = useState(() => matchMedia('(width < 520px)').matches);
  const isInfeasible = trouble?.code === 'INFEASIBLE';
  const isEarlier = trouble !== null || findings.some(({ severity }) => severity === 'error');
  return (
    <aside class={isFolded ? 'designer-live is-folded' : 'designer-live'} aria-label="Live solution">
      <div class="live-bar">
        <h2>Solution</h2>
        {isFolded && trouble !== null && <Badge kind="bad">{isInfeasible ? 'constraints conflict' : 'none'}</Badge>}
        {isFolded && trouble === null && data?.solve != null && (
          <BarFigures solve={data.solve} findings={data.findings} />
        )}
        <span class="form-actions" style={{ marginLeft: 'auto' }}>
          {asOf !== null && extent !== null && (
            <label class="select">
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
      <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
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
    <span class="quiet bar-figures">
      {measure !== undefined && <span>{formatObjectives(solve, measure)}</span>}
      {warning !== null && <strong class="excess">{warning}</strong>}
    </span>
  );
}

interface SolvedPortfolioProps {
  readonly preview: PreviewResponse;
  readonly model: Json | undefined;
  /** Constraints of the request. */
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
    <header class="section-head">
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
  {
    id: 'slack',
    title: 'Slack',
    width: 84,
    align: 'right',
    value: ({ slack }) => slack,
    show: ({ slack, unit }) => formatInUnit(slack, unit),
  },
];
