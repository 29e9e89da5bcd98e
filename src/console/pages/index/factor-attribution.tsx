import type { FactorAttributionView } from '#clients/typescript/divisor.js';
import { Choice } from '../../components/choice.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { addPoints } from '../../components/signed.js';
import { Findings } from '../../components/findings.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { formatFactor } from '../../words/labels.js';
import { formatDecimal, formatPercent, formatPoints, getSignClass } from '../../words/numbers.js';

const MODELS = [
  { value: 'styles', text: 'Styles' },
  { value: 'market_sector', text: 'Market and sectors' },
] as const;

/** Renders the return of a range attributed to factors, and the rest that they do not explain. */
export function FactorAttribution({ id }: { readonly id: string }) {
  const range = findChosenRange();
  const model = MODELS.find(({ value }) => value === getParameter('factors'))?.value ?? 'styles';
  const query = { ...readShownRun(), model, ...(range === null ? {} : { start: range.from, end: range.to }) };
  const view = useResource(
    `factor attribution ${formatRunKey(id)} ${model} ${range?.from} ${range?.to}`,
    (signal) => service.value.call('getFactorAttribution', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
  return (
    <Section
      title="By factor"
      aside={
        <Choice
          label="Factors"
          options={MODELS}
          value={model}
          onChoose={(chosen) => setParameters({ factors: chosen === 'styles' ? null : chosen })}
        />
      }
    >
      <Answered resource={view} what="the attribution by factor">
        {(found) => <Factors view={found} />}
      </Answered>
    </Section>
  );
}

type FactorGroup = 'Market' | 'Sectors' | 'Styles' | 'Specific' | 'Other';

const GROUPS: readonly FactorGroup[] = ['Market', 'Sectors', 'Styles', 'Specific', 'Other'];

/** Returns the group of a factor. Names of styles have only capital letters, those of sectors do not. */
const findGroup = (factor: string): FactorGroup =>
  factor === 'MARKET' ? 'Market' : factor === formatFactor(factor) ? 'Sectors' : 'Styles';

/** Factor of the model, or the rest that the factors do not explain. */
interface Row {
  readonly name: string;
  readonly group: FactorGroup;
  readonly exposure: number | null;
  readonly contribution: number;
}

function Factors({ view }: { readonly view: FactorAttributionView }) {
  const { factors, specific, other, total_return: total, covered_weight: covered } = view;
  const rows: readonly Row[] = [
    ...factors.map(({ factor, average_exposure: exposure, contribution }) => ({
      name: formatFactor(factor),
      group: findGroup(factor),
      exposure,
      contribution,
    })),
    { name: 'Security-specific return', group: 'Specific', exposure: null, contribution: specific },
    {
      name: 'Costs, overlays and securities without a regression',
      group: 'Other',
      exposure: null,
      contribution: other,
    },
  ];
  return (
    <>
      <Findings findings={view.findings} />
      <Metrics
        label="Contributions of groups of factors"
        metrics={GROUPS.flatMap((group) => {
          const groupRows = rows.filter((row) => row.group === group);
          const sum = groupRows.reduce((partial, { contribution }) => partial + contribution, 0);
          return groupRows.length === 0 ? [] : [{ term: group, value: formatPoints(sum), kind: getSignClass(sum) }];
        })}
      />
      <Table
        label="attribution by factor"
        name="by-factor"
        columns={COLUMNS}
        rows={rows}
        getKey={({ name }) => name}
        sort={{ column: 'contribution', direction: 'desc' }}
      />
      <p class="quiet">
        Together {formatPoints(total)}. Regressions have {formatPercent(covered)} of the weight.
      </p>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'factor', title: 'Factor', width: 200, grow: 1, value: ({ name }) => name },
  { id: 'group', title: 'Group', width: 92, priority: 3, value: ({ group }) => group },
  {
    id: 'exposure',
    title: 'Average exposure',
    help: 'Mean exposure of the weights held: of a sector its weight, of a style in standard deviations (SD)',
    width: 130,
    priority: 2,
    align: 'right',
    value: ({ exposure }) => exposure,
    show: ({ exposure, group }) =>
      exposure !== null && group === 'Sectors'
        ? formatPercent(exposure)
        : `${formatDecimal(exposure, 3)}${exposure !== null && group === 'Styles' ? ' SD' : ''}`,
  },
  createNumericColumn({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    help: 'Exposure times return of the factor, linked over the range',
    width: 110,
    of: ({ contribution }) => contribution,
    write: addPoints,
  }),
];
