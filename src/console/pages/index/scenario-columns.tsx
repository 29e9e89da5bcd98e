import type { Finding, ScenarioResult } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { addSign } from '../../components/signed.js';
import { ValueSkeleton } from '../../components/skeleton.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatChange, formatDecimal, formatAtMost, formatPercent, getSignClass } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatScenarioError } from './scenario-answer.js';

/** A scenario of the page with its result. */
export interface ScenarioRow {
  /** Position among the scenarios of the page. */
  readonly at: number;
  readonly name: string;
  readonly scenario: JsonObject;
  /** Undefined while the result is being computed, and if the service refused the scenario. */
  readonly result: ScenarioResult | undefined;
  /** Errors for which the service refused the scenario. */
  readonly errors: readonly Finding[];
}

/** Describes a scenario, for example `2020-02-19 to 2020-03-23` or `sector Energy falls by 20%`. */
export function formatScenario({ window, shocks }: JsonObject): string {
  if (isObject(window)) return `${String(window['start'])} to ${String(window['end'])}`;
  return Object.entries(isObject(shocks) ? shocks : {})
    .map(([what, by]) => `${formatSubject(what)} ${formatShock(by)}`)
    .join(', ');
}

/** Describes what is shocked: a security, a series, or a group such as `SECTOR:Energy`. */
function formatSubject(what: string): string {
  const [column = '', ...group] = what.split(':');
  return group.length === 0 ? what : `${column.toLowerCase().replaceAll('_', ' ')} ${group.join(':')}`;
}

const formatShock = (by: Json | undefined): string =>
  typeof by === 'number' ? `${by < 0 ? 'falls' : 'rises'} by ${formatAtMost(100 * Math.abs(by), 2)}%` : String(by);

interface ColumnTerms {
  readonly rows: readonly ScenarioRow[];
  /** True on a phone. Returns then have no bars. */
  readonly isPhone: boolean;
  /** True while the results are computed. */
  readonly isAwaited: boolean;
  /** Position of the scenario whose form is open. */
  readonly edited: number | null;
  onEdit(position: number | null): void;
  onRemove(position: number): void;
}

/**
 * Returns the columns of the scenarios. If all scenarios are windows or all are shocks, columns that would be empty are
 * left out.
 */
export function createColumns(terms: ColumnTerms): readonly Column<ScenarioRow>[] {
  const { rows, isPhone, isAwaited, edited, onEdit, onRemove } = terms;
  const isUsed = (column: Column<ScenarioRow>) => rows.some((row) => column.value(row) !== null);
  const isPartial = rows.some(({ result }) => (result?.covered_weight ?? 1) < WHOLE);
  const largestReturn = Math.max(...rows.map((row) => Math.abs(getReturn(row) ?? 0)));
  return [
    { id: 'name', title: 'Scenario', width: 150, grow: 1, lines: 2, value: ({ name }) => name },
    {
      id: 'return',
      title: 'Return',
      width: isPhone ? 84 : 112,
      grow: isPhone ? 0 : 1.2,
      align: 'right',
      value: getReturn,
      show: (row) =>
        row.result === undefined && row.errors.length === 0 && isAwaited ? (
          <ValueSkeleton />
        ) : (
          <span class="scenario-return">
            {!isPhone && <SignedBar value={getReturn(row) ?? 0} most={largestReturn} />}
            {addSign(getReturn(row))}
          </span>
        ),
    },
    {
      id: 'terms',
      title: 'Definition',
      width: 210,
      grow: 1.6,
      priority: 3,
      value: formatTerms,
      show: (row) => <ScenarioTerms row={row} />,
      showBelow: (row) => <ScenarioTerms row={row} isBelow />,
    },
    ...COLUMNS.filter((column) => isUsed(column) && (column.id !== 'covered' || isPartial)),
    {
      id: 'acts',
      title: '',
      width: 80,
      grow: 0,
      value: () => null,
      show: ({ at, name }) => (
        <span class="scenario-acts">
          <Button
            kind="bare"
            aria-label={`Edit ${name}`}
            aria-expanded={edited === at}
            onClick={() => onEdit(edited === at ? null : at)}
          >
            <Icon name="edit" />
          </Button>
          <Button kind="bare" aria-label={`Remove ${name}`} onClick={() => onRemove(at)}>
            <Icon name="close" />
          </Button>
        </span>
      ),
    },
  ];
}

/** Returns the errors of a refused scenario, or the description of the scenario. */
const formatTerms = ({ scenario, errors }: ScenarioRow): string =>
  errors.length === 0 ? formatScenario(scenario) : errors.map(formatScenarioError).join(' ');

interface ScenarioTermsProps {
  readonly row: ScenarioRow;
  /** True in the second line of a row, which also has the weight of the proxies. */
  readonly isBelow?: boolean;
}

function ScenarioTerms({ row, isBelow = false }: ScenarioTermsProps) {
  const text = formatTerms(row);
  if (row.errors.length === 0) return <>{isBelow ? `${text}${formatCoverage(row.result)}` : text}</>;
  return (
    <span class="down" title={text}>
      {text}
    </span>
  );
}

/** Minimum covered weight, as a fraction, at which all securities count as having their own return. */
const WHOLE = 0.99995;

/** States the weight of the securities that have no own return in a scenario. */
const formatCoverage = (result: ScenarioResult | undefined): string =>
  (result?.covered_weight ?? 1) < WHOLE ? ` · proxies ${formatPercent(getProxiedWeight(result))}` : '';

const getProxiedWeight = (result: ScenarioResult | undefined): number | null =>
  result === undefined ? null : 1 - result.covered_weight;

const getReturn = ({ result }: ScenarioRow): number | null => result?.return ?? null;

/** Renders a bar from the middle of a cell. A gain extends to the right, a loss to the left. */
function SignedBar({ value, most }: { readonly value: number; readonly most: number }) {
  const width = most === 0 ? 0 : (50 * Math.abs(value)) / most;
  return (
    <span class="scenario-bar" aria-hidden="true">
      <span class="bar-zero" style={{ left: '50%' }} />
      <span
        class={`bar ${getSignClass(value)}`}
        style={{ left: `${value < 0 ? 50 - width : 50}%`, width: `${width}%` }}
      />
    </span>
  );
}

const COLUMNS: readonly Column<ScenarioRow>[] = [
  {
    id: 'worst',
    title: 'Worst session',
    width: 170,
    priority: 4,
    below: 'titled',
    value: ({ result }) => result?.worst_session?.return ?? null,
    show: ({ result }) =>
      result?.worst_session && `${formatChange(result.worst_session.return)} on ${result.worst_session.date}`,
  },
  createNumericColumn({
    id: 'covered',
    title: 'Proxies',
    help: 'Weight of securities without own returns in the scenario. They use the mean return of their group.',
    width: 90,
    priority: 5,
    below: 'nothing',
    of: ({ result }: ScenarioRow) => getProxiedWeight(result),
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'fit',
    title: 'R²',
    help: 'Of the regression on what is shocked',
    width: 72,
    priority: 6,
    of: ({ result }: ScenarioRow) => result?.r_squared ?? null,
    write: formatDecimal,
  }),
];
