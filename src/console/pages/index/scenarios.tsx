import '../data/data.css';
import type { ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type {
  Finding,
  OverviewView,
  ScenarioRequest,
  ScenarioResult,
  ScenariosView,
} from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { AddSelect, Toggles } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Answered, Banner, EmptyState, Findings, Problem, ValueSkeleton, Wait } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Bars } from '../../components/layout/bars.js';
import { addPoints, addSign } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { usePhone } from '../../components/layout/viewport.js';
import { awaitNames, useNameAddress } from '../../components/securities.js';
import { MissingData } from '../../components/stores.js';
import { type Column, readCell } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { getParameter, setParameters } from '../../state/location.js';
import { isCash, NamesStore, useNames } from '../../state/market.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { createTrouble, service, useAnswer, useList, useResource } from '../../state/service.js';
import { createStoredList } from '../../state/stored-list.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { subtractMonths } from '../../words/dates.js';
import { formatMessageAt } from '../../words/findings.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatAtMost,
  formatChange,
  formatDecimal,
  formatPercent,
  formatPoints,
  getSignClass,
} from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { createDrawdownScenarios, createWindowScenarios } from './scenario-windows.js';
import type { RunPartProps } from './run-tabs.js';

/** Results of the scenarios that the service accepted, and errors of the other scenarios. */
interface ScenarioAnswer {
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
async function requestScenarios(
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

const selectScenarios = (scenarios: readonly JsonObject[], positions: readonly number[]): readonly JsonObject[] =>
  scenarios.filter((_, position) => positions.includes(position));

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
function findAnswered(answer: ScenarioAnswer | undefined, scenario: JsonObject, position: number): AnsweredScenario {
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
const formatScenarioName = ({ name }: JsonObject, position: number): string =>
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
function nameScenario(finding: Finding, scenarios: readonly JsonObject[]): Finding {
  const position = getScenarioPosition(finding);
  // Other warnings contain the name of their scenario.
  if (position === null || (finding.severity !== 'error' && !finding.message.startsWith(finding.path))) return finding;
  const name = formatScenarioName(scenarios[position] ?? {}, position);
  return { ...finding, message: `${name}: ${formatScenarioError(finding)}` };
}

interface ScenarioRow {
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
function createColumns(terms: ColumnTerms): readonly Column<ScenarioRow>[] {
  const { rows, isPhone, isAwaited, edited, onEdit, onRemove } = terms;
  const isUsed = (column: Column<ScenarioRow>) => rows.some((row) => readCell(column, row) !== null);
  const isPartial = rows.some(({ result }) => (result?.covered_weight ?? 1) < WHOLE);
  const largestReturn = Math.max(...rows.map((row) => Math.abs(getReturn(row) ?? 0)));
  return [
    { id: 'name', title: 'Scenario', width: 150, grow: 1, lines: 2 },
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
          <span class="pile scenario-return">
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
  {
    id: 'covered',
    title: 'Proxies',
    help: 'Weight of securities without own returns in the scenario. They use the mean return of their group.',
    width: 90,
    priority: 5,
    below: 'nothing',
    value: ({ result }: ScenarioRow) => getProxiedWeight(result),
    write: formatPercent,
  },
  {
    id: 'fit',
    title: 'R²',
    help: 'Of the regression on what is shocked',
    width: 72,
    priority: 6,
    value: ({ result }: ScenarioRow) => result?.r_squared ?? null,
    write: formatDecimal,
  },
];

/**
 * Creates the body of a scenario request. The service validates it.
 * @param on date of the holdings; null for the latest date
 */
const createBody = (scenarios: readonly JsonObject[], on: string | null): ScenarioRequest =>
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
function ScenarioMatrix({ id, own, asked }: ScenarioMatrixProps) {
  const runs = useList('backtests');
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
  { id: 'name', title, width: 150, grow: 2 },
  ...ids.map((id, k): Column<Row> => ({
    id,
    title: id,
    width: Math.max(92, CHARACTER * id.length),
    grow: 1,
    priority: k,
    value: ({ returns }) => returns.get(id) ?? null,
    write: addSign,
  })),
];

/** Width of a character of a title, in pixels. */
const CHARACTER = 9;

/** Return of the group that is shocked, as a fraction. The other groups respond to it. */
const DEFAULT_SHOCK = -0.2;

/** Returns shock scenarios, one for each group of a column. */
const listShocks = (column: string, groups: readonly string[]): readonly JsonObject[] =>
  groups.map((group) => ({
    name: `${group} ${100 * DEFAULT_SHOCK}%`.replace('-', '\u2212'),
    shocks: { [`${column}:${group}`]: DEFAULT_SHOCK },
  }));

const SAVED_SCENARIOS_MAX = 50;

const { items, set } = createStoredList<JsonObject>('divisor.scenarios', SAVED_SCENARIOS_MAX);

/** Scenarios saved in this browser. */
const savedScenarios = items;

/** Saves a scenario. If a saved scenario has the same name, it is replaced. */
const saveScenario = (scenario: JsonObject): void =>
  set([...items.peek().filter(({ name }) => name !== scenario['name']), scenario]);

/**
 * Scenarios for an index. The windows are historical periods within the dates of its data store; on a generated market they
 * are the drawdowns of the index. The shocks are to the sectors of the index, the largest sector first.
 */
export interface KnownScenarios {
  readonly windows: readonly JsonObject[];
  readonly shocks: readonly JsonObject[];
}

/**
 * Returns the scenarios that apply to the displayed run of an index. Returns null until they are known, and if
 * `useScenarioStore` has no dates.
 */
function useKnownScenarios(id: string): KnownScenarios | null {
  const { store } = useScenarioStore();
  const runWeights = useAnswer('getWeights', { params: { index_id: id }, query: readShownRun() });
  // A generated market has no historical crises.
  const isGenerated = store?.kind === 'synthetic';
  const performance = useAnswer(
    'getPerformance',
    isGenerated ? { params: { index_id: id }, query: readShownRun() } : null,
  );
  const facts = useNames(runWeights.data?.weights.map(({ identifier }) => identifier) ?? [], runWeights.data?.as_of);
  if (store?.start == null || store.end === null) return null;
  // The reference data of the holdings is read after the holdings.
  if (
    runWeights.data === undefined ||
    (facts.size === 0 && runWeights.data.weights.some(({ identifier }) => !isCash(identifier)))
  )
    return null;
  if (isGenerated && performance.data === undefined) return null;
  const weights = new Map<string, number>();
  for (const { identifier, weight } of runWeights.data.weights) {
    const sector = facts.get(identifier)?.sector;
    if (sector != null) weights.set(sector, (weights.get(sector) ?? 0) + weight);
  }
  const sectors = [...weights].toSorted(([, a], [, b]) => b - a).map(([sector]) => sector);
  const windows =
    performance.data === undefined
      ? createWindowScenarios(store.start, store.end)
      : createDrawdownScenarios(performance.data.drawdowns.slice(0, WINDOWS_USUAL));
  return { windows, shocks: listShocks('SECTOR', sectors) };
}

/** Returns the data store of the displayed run. It has no dates if it is missing or cannot be read. */
function useScenarioStore() {
  const stores = useStores();
  const id = useContext(NamesStore);
  const store = findStoreOfDocument(stores.data?.stores, id);
  return { id, store, hasNoDates: stores.data !== undefined && (store?.start == null || store.end === null) };
}

/** Returns the scenarios that a page shows at first: the latest windows, and shocks to the largest sectors. */
const selectDefaultScenarios = ({ windows, shocks }: KnownScenarios): readonly JsonObject[] => [
  ...windows.slice(-WINDOWS_USUAL),
  ...shocks.slice(0, SHOCKS_USUAL),
];

const WINDOWS_USUAL = 4;
const SHOCKS_USUAL = 3;

interface LibraryProps {
  readonly known: KnownScenarios | null;
  readonly asked: readonly JsonObject[];
  onAdd(scenario: JsonObject): void;
}

/** Renders a selector that adds a scenario. It offers scenarios of the library and saved scenarios. */
function Library({ known, asked, onAdd }: LibraryProps) {
  const library: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['saved', savedScenarios.value],
    ['window', known?.windows ?? []],
    ['shock', known?.shocks ?? []],
  ];
  const all = library.flatMap(([kind, scenarios]) =>
    scenarios
      .filter(({ name }) => asked.every((own) => own['name'] !== name))
      .map((scenario) => ({ value: JSON.stringify(scenario), text: `${kind}: ${String(scenario['name'])}` })),
  );
  if (all.length === 0) return null;
  return (
    <AddSelect
      label="Add from the library"
      prompt="+ From the library"
      options={all}
      onAdd={(text) => onAdd(JSON.parse(text) as JsonObject)} // each option value is a scenario as JSON
    />
  );
}

const LISTED_MAX = 12;

interface OpenedScenarioProps {
  readonly result: ScenarioResult | undefined;
  readonly by: string;
  readonly asOf: string;
}

type NameRow = ScenarioResult['by_name'][number] & { readonly company: string | null };

function OpenedScenario({ result, by, asOf }: OpenedScenarioProps) {
  const facts = useNames(result?.by_name.map(({ identifier }) => identifier) ?? [], asOf);
  const formatNameAddress = useNameAddress();
  if (result === undefined) return null;
  const { name, by_name: names, by_group: groups, proxied } = result;
  if (result.return === null) return <p class="quiet">{name} has no return: the store does not cover its dates.</p>;
  const affectedNames = names.filter(({ contribution }) => contribution !== 0);
  const rows = affectedNames.map((row): NameRow => ({ ...row, company: facts.get(row.identifier)?.name ?? null }));
  const affectedGroups = groups.filter(({ contribution }) => contribution !== 0);
  const isEstimated = names.some(({ standard_error: error }) => error !== null);
  return (
    <>
      <Section title={`Scenario ${name}: contributions by ${by.toLowerCase()}`} aside="worst first">
        <Bars
          label={`Contributions to ${name}`}
          bars={affectedGroups
            .slice(0, LISTED_MAX)
            .map(({ group, contribution }) => ({ label: group, value: contribution }))}
          format={formatPoints}
        />
        {affectedGroups.length < groups.length && (
          <p class="quiet">
            Without an effect:{' '}
            {groups
              .filter(({ contribution }) => contribution === 0)
              .map(({ group }) => group)
              .join(', ')}
          </p>
        )}
      </Section>
      <Section
        title={`Scenario ${name}: contributions by security`}
        aside={
          proxied.length > 0 &&
          `${countValues(proxied.length, 'security', 'securities')} without prices: ${proxied.length === 1 ? 'its group’s returns are' : 'the returns of their groups are'} used`
        }
      >
        <Table
          label={`names in ${name}`}
          columns={awaitNames(
            isEstimated ? SECURITY_COLUMNS : SECURITY_COLUMNS.filter(({ id }) => id !== 'error'),
            facts,
            ['company'],
          )}
          rows={rows}
          getKey={({ identifier }) => identifier}
          formatAddress={({ identifier }) => formatNameAddress(identifier)}
          searchIn={({ identifier, company }) => `${identifier} ${company ?? ''}`}
          sort={{ column: 'contribution', direction: 'asc' }}
          height={360}
        />
        {affectedNames.length < names.length && (
          <p class="quiet">
            Without an effect: {countValues(names.length - affectedNames.length, 'security', 'securities')}
          </p>
        )}
      </Section>
    </>
  );
}

const SECURITY_COLUMNS: readonly Column<NameRow>[] = [
  { id: 'name', title: 'Security', width: 86, grow: 1, value: ({ identifier }) => identifier },
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3 },
  { id: 'weight', adds: true, title: 'Weight', width: 84, write: formatPercent },
  { id: 'return', title: 'Return', width: 90, write: addSign },
  { id: 'contribution', adds: true, title: 'Contribution', width: 104, write: addPoints },
  {
    id: 'error',
    title: 'Error',
    help: 'Standard error of a response by regression',
    width: 84,
    priority: 2,
    value: (row) => row.standard_error,
    write: formatPercent,
  },
];

/**
 * Renders the returns of the run's holdings in historical windows and after shocks. The address contains the scenarios.
 */
export function Scenarios({ id, run }: RunPartProps) {
  const text = getParameter('scenarios');
  const knownScenarios = useKnownScenarios(id);
  const { id: store, hasNoDates } = useScenarioStore();
  const requestedScenarios =
    text === null ? (knownScenarios === null ? [] : selectDefaultScenarios(knownScenarios)) : parseScenarios(text);
  const [edited, setEdited] = useState<number | null>(null);
  const date = getParameter('on') ?? run.end;
  const setScenarios = (next: readonly JsonObject[]) => setParameters({ scenarios: JSON.stringify(next) });
  const add = (scenario: JsonObject, isEdited: boolean) => {
    setScenarios([...requestedScenarios, scenario]);
    setEdited(isEdited ? requestedScenarios.length : null);
  };
  const { data, trouble, isBehind, isRequested } = useScenarioAnswer(id, date, requestedScenarios);
  const answer = isRequested && trouble === null ? data : undefined;
  const openedScenario = edited === null ? undefined : requestedScenarios[edited];
  return (
    <div class="stack gap-4 index-part">
      <Adding
        run={run}
        on={date}
        asked={requestedScenarios}
        onAdd={(scenario) => add(scenario, true)}
        onClear={() => setScenarios([])}
      >
        <Library known={knownScenarios} asked={requestedScenarios} onAdd={(scenario) => add(scenario, false)} />
      </Adding>
      {text !== null && requestedScenarios.length === 0 && <NoScenarios isUnreadable={text !== '[]'} on={date} />}
      {openedScenario !== undefined && (
        <ScenarioForm
          key={edited}
          scenario={openedScenario}
          findings={answer?.errors ?? []}
          path={`scenarios[${edited}]`}
          onChange={(next) => setScenarios(requestedScenarios.map((own, i) => (i === edited ? next : own)))}
          onClose={() => setEdited(null)}
        />
      )}
      {requestedScenarios.some(isEmptyShock) && (
        <p class="quiet">An empty shock is ignored. Add a security, group or series and its change.</p>
      )}
      {text === null &&
        knownScenarios === null &&
        (hasNoDates ? <MissingData store={store} /> : <Wait what="the scenarios" />)}
      {trouble !== null && <Problem trouble={trouble} />}
      {answer !== undefined && <Errors answer={answer} />}
      {requestedScenarios.length > 0 && (
        <Returns
          asked={requestedScenarios}
          answer={answer}
          isAwaited={isBehind}
          on={date}
          edited={edited}
          onEdit={setEdited}
          onRemove={(position) => {
            setScenarios(requestedScenarios.toSpliced(position, 1));
            setEdited(null);
          }}
        />
      )}
      {answer?.view != null && (
        <Results id={id} view={answer.view} asked={selectScenarios(answer.scenarios, answer.accepted)} />
      )}
    </div>
  );
}

/**
 * Requests the results of scenarios. A shock that has no entries yet is left out, so that the other scenarios can be
 * computed.
 */
function useScenarioAnswer(id: string, date: string, requestedScenarios: readonly JsonObject[]) {
  const filledPositions = requestedScenarios.flatMap((scenario, k) => (isEmptyShock(scenario) ? [] : [k]));
  const isRequested = filledPositions.length > 0;
  const latest = useOneAtATime(
    isRequested ? `${formatRunKey(id)} ${date} ${JSON.stringify(requestedScenarios)}` : null,
    () =>
      requestScenarios(requestedScenarios, filledPositions, (scenarios) =>
        service.value.call('runScenarios', {
          params: { index_id: id },
          query: readShownRun(),
          body: createBody(scenarios, date),
        }),
      ),
  );
  return { ...latest, isRequested };
}

/** Renders the errors of the scenarios that the service refused. */
function Errors({ answer: { errors, scenarios } }: { readonly answer: ScenarioAnswer }) {
  if (errors.length === 0) return null;
  return (
    <Banner kind="bad" title={`${countValues(errors.length, 'error')} in the scenarios.`}>
      <Findings findings={errors.map((finding) => nameScenario(finding, scenarios))} shown={3} />
    </Banner>
  );
}

interface NoScenariosProps {
  /** True if the address contains scenarios that cannot be read. */
  readonly isUnreadable: boolean;
  /** Date of the holdings. */
  readonly on: string;
}

function NoScenarios({ isUnreadable, on }: NoScenariosProps) {
  return (
    <>
      {isUnreadable && (
        <Banner
          kind="warning"
          title="The scenarios in this address cannot be read. The address is incomplete or was changed."
        />
      )}
      <EmptyState title="No scenario yet">
        A window applies past returns to the holdings on {on}; a shock changes securities, groups such as{' '}
        <code>SECTOR:Energy</code>, or series, and the other securities respond by regression.
      </EmptyState>
    </>
  );
}

interface ResultsProps {
  readonly id: string;
  readonly view: ScenariosView;
  readonly asked: readonly JsonObject[];
}

/** Renders the returns of other indices in each scenario, and the contributions in the open scenario. */
function Results({ id, view, asked }: ResultsProps) {
  const openResult = findOpenResult(view.scenarios);
  return (
    <>
      <ScenarioMatrix id={id} own={view.scenarios} asked={asked} />
      <OpenedScenario result={openResult} by={view.by} asOf={view.as_of} />
    </>
  );
}

interface AddingProps {
  readonly run: OverviewView;
  /** Date of the holdings. */
  readonly on: string;
  readonly asked: readonly JsonObject[];
  onAdd(scenario: JsonObject): void;
  onClear(): void;
  /** Selector of library scenarios. */
  readonly children: ComponentChildren;
}

function Adding({ run, on, asked, onAdd, onClear, children }: AddingProps) {
  const nameScenario = (what: string) => `${what} ${asked.length + 1}`;
  return (
    <div class="flow gap-3 form-actions scenario-tools">
      {children}
      <Button
        onClick={() =>
          onAdd({ name: nameScenario('Window'), window: { start: subtractMonths(run.end, 12), end: run.end } })
        }
      >
        <Icon name="plus" /> Window
      </Button>
      <Button onClick={() => onAdd({ name: nameScenario('Shock'), shocks: {} })}>
        <Icon name="plus" /> Shock
      </Button>
      <label class="inline-line gap-2 select">
        <span class="quiet">Held on</span>
        <DateInput
          label="Date of what is held"
          value={on}
          least={run.start}
          most={run.end}
          onChange={(date) => setParameters({ on: date === run.end ? null : date })}
        />
      </label>
      {asked.length > 1 && (
        <Button kind="bare" onClick={onClear}>
          Remove all
        </Button>
      )}
    </div>
  );
}

interface ReturnsProps extends Omit<Parameters<typeof createColumns>[0], 'rows' | 'isPhone'> {
  readonly asked: readonly JsonObject[];
  /** Results and errors. Undefined before the first response, and after the service refused the request. */
  readonly answer: ScenarioAnswer | undefined;
  /** Date of the holdings. */
  readonly on: string;
}

function Returns({ asked, answer, on, ...terms }: ReturnsProps) {
  const rows = asked.map((scenario, position): ScenarioRow => ({
    at: position,
    name: formatScenarioName(scenario, position),
    scenario,
    ...findAnswered(answer, scenario, position),
  }));
  const view = answer?.view ?? null;
  const openResult = findOpenResult(view?.scenarios ?? []);
  const isPhone = usePhone();
  return (
    <>
      {answer !== undefined && view !== null && view.findings.length > 0 && (
        <Findings findings={view.findings.map((finding) => nameScenario(finding, answer.scenarios))} shown={3} />
      )}
      <Section title="Returns" aside={`of the holdings on ${view?.as_of ?? on}`}>
        <div aria-busy={terms.isAwaited}>
          <Table
            label="scenarios"
            columns={createColumns({ rows, isPhone, ...terms })}
            rows={rows}
            getKey={({ at }) => String(at)}
            onOpen={({ name }) => setParameters({ scenario: name })}
            openKey={String(rows.findIndex(({ result }) => result !== undefined && result === openResult))}
            sort={{ column: 'return', direction: 'asc' }}
            height={420}
          />
        </div>
      </Section>
    </>
  );
}

/** Returns the scenario of the address. Default: the one with the largest loss, which is the first of the table. */
const findOpenResult = (results: readonly ScenarioResult[]): ScenarioResult | undefined =>
  results.find(({ name }) => name === getParameter('scenario')) ??
  results.toSorted((a, b) => (a.return ?? Infinity) - (b.return ?? Infinity))[0];

/** Returns true for a shock that has no entries. The service would refuse it. */
const isEmptyShock = ({ shocks }: JsonObject): boolean => isObject(shocks) && Object.keys(shocks).length === 0;

function parseScenarios(text: string | null): readonly JsonObject[] {
  try {
    const value = JSON.parse(text ?? '[]') as Json;
    return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
  } catch {
    return [];
  }
}

interface ScenarioFormProps {
  readonly scenario: JsonObject;
  readonly findings: readonly Finding[];
  readonly path: string;
  onChange(scenario: JsonObject): void;
  onClose(): void;
}

function ScenarioForm({ scenario, findings, path, onChange, onClose }: ScenarioFormProps) {
  const name = String(scenario['name'] ?? '');
  const { window } = scenario;
  const isWindow = window !== undefined;
  return (
    <section class="form-card scenario-card" aria-label={name}>
      <SchemaForm
        schema={isWindow ? 'WindowScenario' : 'ShockScenario'}
        names={isWindow ? ['name'] : ['name', 'shocks', 'regression_sessions']}
        changes={{
          shocks: { unit: 'fraction' },
          regression_sessions: {
            help: 'Sessions up to the date of the holdings whose returns estimate the responses.',
          },
        }}
        value={scenario}
        findings={findings}
        path={[path]}
        onChange={onChange}
      />
      {isWindow && (
        <SchemaForm
          schema="WindowScenario.window"
          value={isObject(window) ? window : {}}
          findings={findings}
          path={[path, 'window']}
          onChange={(next) => onChange({ ...scenario, window: next })}
        />
      )}
      <div class="flow gap-3 form-actions">
        <Button onClick={onClose}>Close</Button>
        <Button
          aria-label={`Save in the library: ${name}`}
          disabled={isEmptyShock(scenario)}
          onClick={() => {
            saveScenario(scenario);
            showToast('good', `${name} was saved in the library of this browser.`);
          }}
        >
          Save in the library
        </Button>
      </div>
    </section>
  );
}
