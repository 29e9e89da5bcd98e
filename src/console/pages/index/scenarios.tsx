import '../data/data.css';
import type { ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { Finding, OverviewView, ScenarioResult, ScenariosView } from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { AddSelect } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Banner, EmptyState, Findings, Problem, Wait } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Bars } from '../../components/layout/bars.js';
import { addPoints, addSign } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { usePhone } from '../../components/layout/viewport.js';
import { awaitNames, useNameAddress } from '../../components/securities.js';
import { MissingData } from '../../components/stores.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { getParameter, setParameters } from '../../state/location.js';
import { isCash, NamesStore, useNames } from '../../state/market.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { service, useResource } from '../../state/service.js';
import { createStoredList } from '../../state/stored-list.js';
import { findStore, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { subtractMonths } from '../../words/dates.js';
import { countValues, formatPercent, formatPoints } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import {
  createBody,
  createColumns,
  findAnswered,
  formatScenarioName,
  nameScenario,
  requestScenarios,
  type ScenarioAnswer,
  ScenarioMatrix,
  type ScenarioRow,
  selectScenarios,
} from './scenario-answer.js';
import { listDrawdowns, listWindows } from './scenario-windows.js';

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
  const runWeights = useResource(`weights ${formatRunKey(id)}`, (signal) =>
    service.value.call('getWeights', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  // A generated market has no historical crises.
  const isGenerated = store?.kind === 'synthetic';
  const performance = useResource(isGenerated ? `drawdowns ${formatRunKey(id)}` : null, (signal) =>
    service.value.call('getPerformance', { params: { index_id: id }, query: readShownRun(), signal }),
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
      ? listWindows(store.start, store.end)
      : listDrawdowns(performance.data.drawdowns.slice(0, WINDOWS_USUAL));
  return { windows, shocks: listShocks('SECTOR', sectors) };
}

/** Returns the data store of the displayed run. It has no dates if it is missing or cannot be read. */
function useScenarioStore() {
  const stores = useStores();
  const id = useContext(NamesStore);
  const store = findStore(stores.data?.stores, id);
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

/** Renders the contributions to the return of one scenario. */
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
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3, value: ({ company }) => company },
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Weight',
    width: 84,
    of: ({ weight }) => weight,
    write: formatPercent,
  }),
  createNumericColumn({ id: 'return', title: 'Return', width: 90, of: (row) => row.return, write: addSign }),
  createNumericColumn({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: addPoints,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Error',
    help: 'Standard error of a response by regression',
    width: 84,
    priority: 2,
    of: (row) => row.standard_error,
    write: formatPercent,
  }),
];

interface ScenariosProps {
  readonly id: string;
  readonly run: OverviewView;
}

/**
 * Renders the returns of the run's holdings in historical windows and after shocks. The address contains the scenarios.
 */
export function Scenarios({ id, run }: ScenariosProps) {
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
  const { data, trouble, isBehind, isRequested } = useAnswer(id, date, requestedScenarios);
  const answer = isRequested && trouble === null ? data : undefined;
  const openedScenario = edited === null ? undefined : requestedScenarios[edited];
  return (
    <div class="index-part">
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
function useAnswer(id: string, date: string, requestedScenarios: readonly JsonObject[]) {
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
  /** Adds a scenario, optionally with its form open. */
  onAdd(scenario: JsonObject): void;
  onClear(): void;
  /** Selector of library scenarios. */
  readonly children: ComponentChildren;
}

/** Renders buttons that add scenarios, and the date of the holdings. */
function Adding({ run, on, asked, onAdd, onClear, children }: AddingProps) {
  const nameScenario = (what: string) => `${what} ${asked.length + 1}`;
  return (
    <div class="form-actions scenario-tools">
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
      <label class="select">
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

/** Renders the scenarios with their returns, and buttons that edit and remove them. */
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
  /** Path of the value in findings. */
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
      <div class="form-actions">
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
