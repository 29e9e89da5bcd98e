import type { Finding, OverviewView, ScenarioResult, ScenariosView } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Findings } from '../../components/findings.js';
import { Icon } from '../../components/icon.js';
import { MissingData } from '../../components/missing-data.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { usePhone } from '../../components/use-phone.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { getParameter, setParameters } from '../../state/location.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { subtractMonths } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import {
  findAnswered,
  formatScenarioName,
  nameScenario,
  requestScenarios,
  selectScenarios,
  type ScenarioAnswer,
} from './scenario-answer.js';
import { createColumns, type ScenarioRow } from './scenario-columns.js';
import { saveScenario } from './scenario-library.js';
import { Library, useKnownScenarios, useScenarioStore, selectDefaultScenarios } from './library-choice.js';
import { ScenarioMatrix } from './scenario-matrix.js';
import { OpenedScenario } from './scenario-result.js';
import { createBody } from './scenario-request.js';
import '../data/data.css';

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
