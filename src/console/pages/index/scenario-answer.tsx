import type { Finding, ScenarioRequest, ScenarioResult, ScenariosView } from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { Toggles } from '../../components/controls/choice.js';
import { Answered, ValueSkeleton } from '../../components/feedback.js';
import { addSign } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { usePhone } from '../../components/layout/viewport.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { createTrouble, service, useResource } from '../../state/service.js';
import { formatMessageAt } from '../../words/findings.js';
import { formatLabel } from '../../words/labels.js';
import { formatAtMost, formatChange, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

/** Results of the scenarios that the service accepted, and errors of the other scenarios. */
export interface ScenarioAnswer {
  /** Scenarios of the page to which the answer belongs. */
  readonly scenarios: readonly JsonObject[];
  /** Response; null if the service refused every scenario. Its findings have the positions of the page. */
  readonly view: ScenariosView | null;
  /** Positions of the accepted scenarios, in the order of the results. */
  readonly accepted: readonly number[];
  /** Errors of refused scenarios. Their paths have the positions of the page. */
  readonly errors: readonly Finding[];
}

/**
 * Requests results. If the service refuses some scenarios, repeats the request without them.
 * @param scenarios scenarios of the page
 * @param positions positions of the scenarios to compute
 * @throws the error of the service if it is not about a scenario
 */
export async function requestScenarios(
  scenarios: readonly JsonObject[],
  positions: readonly number[],
  send: (scenarios: readonly JsonObject[]) => Promise<ScenariosView>,
): Promise<ScenarioAnswer> {
  const errors: Finding[] = [];
  let accepted = positions;
  while (accepted.length > 0) {
    const sentPositions = accepted;
    const renumber = (finding: Finding) => renumberScenarios(finding, sentPositions);
    try {
      const view = await send(selectScenarios(scenarios, sentPositions));
      return { scenarios, view: { ...view, findings: view.findings.map(renumber) }, accepted, errors };
    } catch (thrown) {
      const refusals = createTrouble(thrown)
        .findings.filter(({ severity }) => severity === 'error')
        .map(renumber);
      const refusedPositions = new Set(refusals.map(getScenarioPosition));
      accepted = sentPositions.filter((position) => !refusedPositions.has(position));
      if (accepted.length === sentPositions.length) throw thrown;
      errors.push(...refusals.filter((finding) => getScenarioPosition(finding) !== null));
    }
  }
  return { scenarios, view: null, accepted, errors };
}

/** Returns the scenarios at the given positions. */
export const selectScenarios = (
  scenarios: readonly JsonObject[],
  positions: readonly number[],
): readonly JsonObject[] => scenarios.filter((_, position) => positions.includes(position));

/** Matches the position of a scenario in a path or a message. */
const POSITION = /\bscenarios\[(\d+)\]/g;

/** Replaces the positions of the request by those of the page. */
function renumberScenarios(finding: Finding, positions: readonly number[]): Finding {
  const renumberText = (text: string) =>
    text.replaceAll(POSITION, (_, k: string) => `scenarios[${positions[Number(k)] ?? k}]`);
  const message = renumberText(finding.message).replace(/ scenarios\[\d+\]\.name/, ' another scenario');
  return { ...finding, path: renumberText(finding.path), message };
}

/** Returns the position of the scenario to which a finding belongs; null if it belongs to none. */
function getScenarioPosition({ path }: Pick<Finding, 'path'>): number | null {
  const [, position] = /^scenarios\[(\d+)\]/.exec(path) ?? [];
  return position === undefined ? null : Number(position);
}

/** Result and errors of a scenario of the page. */
export interface AnsweredScenario {
  readonly result: ScenarioResult | undefined;
  readonly errors: readonly Finding[];
}

/**
 * Returns the part of an answer for a scenario of the page. The page may have changed since the request, so that the
 * scenario has another position.
 */
export function findAnswered(
  answer: ScenarioAnswer | undefined,
  scenario: JsonObject,
  position: number,
): AnsweredScenario {
  const text = JSON.stringify(scenario);
  const isSame = (other: JsonObject | undefined) => JSON.stringify(other) === text;
  const scenarios = answer?.scenarios ?? [];
  const own = isSame(scenarios[position]) ? position : scenarios.findIndex(isSame);
  const rank = answer?.accepted.indexOf(own) ?? -1;
  return {
    result: rank < 0 ? undefined : answer?.view?.scenarios[rank],
    errors: own < 0 ? [] : (answer?.errors ?? []).filter((finding) => getScenarioPosition(finding) === own),
  };
}

/** Returns the name of a scenario; of a scenario without a name, its number, which counts from 1. */
export const formatScenarioName = ({ name }: JsonObject, position: number): string =>
  typeof name === 'string' && name !== '' ? name : `Scenario ${position + 1}`;

/**
 * Formats the message of a finding about a scenario without its name: `scenarios[8].window.end is 2020-01-01` becomes
 * `End is 2020-01-01`.
 */
function formatScenarioError(finding: Pick<Finding, 'path' | 'message'>): string {
  const [, member = 'scenario'] = /^scenarios\[\d+\]\.(?:window\.)?([^.]+)/.exec(finding.path) ?? [];
  return formatMessageAt(finding, member, formatLabel(member));
}

/** Formats a finding with the name of its scenario in front, for a list of the findings of several scenarios. */
export function nameScenario(finding: Finding, scenarios: readonly JsonObject[]): Finding {
  const position = getScenarioPosition(finding);
  // Other warnings contain the name of their scenario.
  if (position === null || (finding.severity !== 'error' && !finding.message.startsWith(finding.path))) return finding;
  const name = formatScenarioName(scenarios[position] ?? {}, position);
  return { ...finding, message: `${name}: ${formatScenarioError(finding)}` };
}

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

/**
 * Creates the body of a scenario request. The service validates it.
 * @param on date of the holdings; null for the latest date
 */
export const createBody = (scenarios: readonly JsonObject[], on: string | null): ScenarioRequest =>
  ({ ...(on === null ? {} : { as_of: on }), scenarios }) as unknown as ScenarioRequest;

interface ScenarioMatrixProps {
  readonly id: string;
  /** Results of the displayed index. */
  readonly own: readonly ScenarioResult[];
  readonly asked: readonly JsonObject[];
}

/** Number of other indices at first, and maximum number. */
const OTHERS_USUAL = 3;
const OTHERS_MAX = 11;

/** Returns of another index by scenario. They are empty if the service refused the index. */
interface IndexReturns {
  readonly returns: ReadonlyMap<string, number | null>;
  /** Reason of the refusal; null without a refusal. */
  readonly refusal: string | null;
}

interface Row {
  readonly name: string;
  readonly returns: ReadonlyMap<string, number | null>;
}

/** Renders the returns of several indices under the same scenarios. Each scenario is a row, and each index a column. */
export function ScenarioMatrix({ id, own, asked }: ScenarioMatrixProps) {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  const freeIds = (runs.data?.backtests ?? []).map(({ index_id: one }) => one).filter((one) => one !== id);
  const otherIds = (getParameter('beside') ?? freeIds.slice(0, OTHERS_USUAL).join())
    .split(',')
    .filter((one) => freeIds.includes(one))
    .slice(0, OTHERS_MAX);
  const results = useResource(
    otherIds.length === 0 ? null : `scenarios of ${otherIds.join()} ${JSON.stringify(asked)}`,
    async (signal) =>
      new Map(await Promise.all(otherIds.map(async (one) => [one, await readReturns(one, asked, signal)] as const))),
    { keeps: true },
  );
  if (freeIds.length === 0) return null;
  return (
    <Section title="Indices by scenarios" aside="each with its newest holdings">
      <Toggles
        label="Other indices"
        values={freeIds.slice(0, 40)}
        chosen={otherIds}
        onChoose={(next) => setParameters({ beside: next.slice(0, OTHERS_MAX).join() })}
      />
      {otherIds.length > 0 && (
        <Answered resource={results} what="the scenarios of the other indices">
          {(all) => (
            <>
              <Matrix
                ids={[id, ...otherIds]}
                scenarios={own.map(({ name, return: earned }) => ({
                  name,
                  returns: new Map([
                    [id, earned],
                    ...otherIds.map((one) => [one, all.get(one)?.returns.get(name) ?? null] as const),
                  ]),
                }))}
              />
              {otherIds.map((one) => {
                const refusal = all.get(one)?.refusal ?? null;
                return (
                  refusal !== null && (
                    <p key={one} class="quiet">
                      {one} has no returns. {refusal}
                    </p>
                  )
                );
              })}
            </>
          )}
        </Answered>
      )}
    </Section>
  );
}

interface MatrixProps {
  readonly ids: readonly string[];
  readonly scenarios: readonly Row[];
}

/**
 * Renders the returns with indices as columns. On a phone, ids of indices are too long for columns, so indices are
 * rows.
 */
function Matrix({ ids, scenarios }: MatrixProps) {
  const isPhone = usePhone();
  const rows: readonly Row[] = isPhone
    ? ids.map((id) => ({
        name: id,
        returns: new Map(scenarios.map(({ name, returns }) => [name, returns.get(id) ?? null])),
      }))
    : scenarios;
  return (
    <Table
      key={String(isPhone)}
      label="returns of indices by scenarios"
      name="matrix"
      columns={createMatrixColumns(isPhone ? 'Index' : 'Scenario', isPhone ? scenarios.map(({ name }) => name) : ids)}
      rows={rows}
      getKey={({ name }) => name}
    />
  );
}

/**
 * Reads the returns of an index by scenario. A scenario that the service refuses has none, for example a shock to a
 * group that is not held. If the service refuses the index, the other indices keep their returns.
 */
async function readReturns(
  id: string,
  requestedScenarios: readonly JsonObject[],
  signal: AbortSignal,
): Promise<IndexReturns> {
  const positions = requestedScenarios.map((_, position) => position);
  try {
    const { view } = await requestScenarios(requestedScenarios, positions, (scenarios) =>
      service.value.call('runScenarios', {
        params: { index_id: id },
        body: createBody(scenarios, null),
        signal,
      }),
    );
    return { returns: new Map(view?.scenarios.map(({ name, return: earned }) => [name, earned])), refusal: null };
  } catch (thrown) {
    const { message, code, findings, retrySeconds } = createTrouble(thrown);
    // The request is repeated if the service is busy or cannot be reached.
    if (code === null || retrySeconds !== null) throw thrown;
    return { returns: new Map(), refusal: findings[0]?.message ?? message };
  }
}

const createMatrixColumns = (title: string, ids: readonly string[]): readonly Column<Row>[] => [
  { id: 'name', title, width: 150, grow: 2, value: ({ name }) => name },
  ...ids.map((id, k) =>
    createNumericColumn<Row>({
      id,
      title: id,
      width: Math.max(92, CHARACTER * id.length),
      grow: 1,
      priority: k,
      of: ({ returns }) => returns.get(id) ?? null,
      write: addSign,
    }),
  ),
];

/** Width of a character of a title, in pixels. */
const CHARACTER = 9;
