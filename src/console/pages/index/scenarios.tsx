import type { Finding, OverviewView, ScenarioResult } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Bars } from '../../components/bars.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Findings } from '../../components/findings.js';
import { Icon } from '../../components/icon.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { useNames } from '../../state/names.js';
import { parameter, setParameters } from '../../state/place.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { runKey, shownRun } from '../../state/shown-run.js';
import { nameAddress } from '../../words/addresses.js';
import { monthsBefore } from '../../words/dates.js';
import { withSign } from '../../components/signed.js';
import { change, countValues, decimal, percent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { saveScenario } from './scenario-library.js';
import { Library } from './library-choice.js';
import { ScenarioMatrix } from './scenario-matrix.js';
import { bodyOf } from './scenario-request.js';
import '../data/data.css';

interface ScenariosProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the composition of the run in past windows and under shocks; the address contains the request. */
export function Scenarios({ id, run }: ScenariosProps) {
  const text = parameter('scenarios');
  const asked = scenariosIn(text);
  const on = parameter('on') ?? run.end;
  const set = (next: readonly JsonObject[]) =>
    setParameters({ scenarios: next.length === 0 ? null : JSON.stringify(next) });
  // A shock without entries leaves the others unchanged.
  const written = asked.filter((scenario) => !isEmptyShock(scenario));
  const isWritten = written.length > 0;
  const answer = useOneAtATime(isWritten ? `${runKey(id)} ${on} ${JSON.stringify(written)}` : null, () =>
    service.value.call('runScenarios', {
      params: { index_id: id },
      query: shownRun(),
      body: bodyOf(written, on),
    }),
  );
  const { data, trouble, isBehind } = answer;
  return (
    <div class="index-part">
      <Adding id={id} run={run} on={on} asked={asked} onChange={set} />
      {text !== null && asked.length === 0 && (
        <Banner
          kind="warning"
          title="The scenarios in this address cannot be read. The address is incomplete or was changed."
        />
      )}
      {asked.length === 0 && (
        <EmptyState title="No scenario yet">
          A window applies past returns to the holdings on {on}; a shock changes securities, groups such as{' '}
          <code>SECTOR:Energy</code>, or series, and the other securities respond by regression.
        </EmptyState>
      )}
      {asked.map((scenario, at) => (
        <Asked
          key={at}
          scenario={scenario}
          findings={isWritten ? (trouble?.findings ?? []) : []}
          path={`scenarios[${written.indexOf(scenario)}]`}
          onChange={(next) => set(asked.map((own, i) => (i === at ? next : own)))}
          onRemove={() => set(asked.filter((_, i) => i !== at))}
        />
      ))}
      {asked.some(isEmptyShock) && (
        <p class="quiet">An empty shock is ignored. Add a security, group or series and its change.</p>
      )}
      {isWritten && isBehind && <Wait what="the scenarios" />}
      {isWritten && trouble !== null && <Problem trouble={trouble} />}
      {isWritten && data !== undefined && trouble === null && (
        <>
          {data.findings.length > 0 && <Findings findings={data.findings} shown={3} />}
          <Section title="Returns" aside={`holdings on ${data.as_of}`}>
            <Table
              label="scenarios"
              columns={COLUMNS}
              rows={data.scenarios}
              keyOf={({ name: own }) => own}
              onOpen={({ name: own }) => setParameters({ scenario: own })}
              openKey={openOf(data.scenarios)?.name ?? null}
              height={300}
            />
          </Section>
          <Opened result={openOf(data.scenarios)} by={data.by} asOf={data.as_of} />
          <ScenarioMatrix id={id} own={data.scenarios} asked={written} />
        </>
      )}
    </div>
  );
}

interface AddingProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Date of the holdings. */
  readonly on: string;
  readonly asked: readonly JsonObject[];
  onChange(asked: readonly JsonObject[]): void;
}

/** Buttons that add scenarios, and the date of the composition. */
function Adding({ id, run, on, asked, onChange }: AddingProps) {
  const name = (what: string) => `${what} ${asked.length + 1}`;
  return (
    <div class="form-actions">
      <Button
        onClick={() => {
          const window = { start: monthsBefore(run.end, 12), end: run.end };
          onChange([...asked, { name: name('Window'), window: { ...window } }]);
        }}
      >
        <Icon name="plus" /> Window
      </Button>
      <Button onClick={() => onChange([...asked, { name: name('Shock'), shocks: {} }])}>
        <Icon name="plus" /> Shock
      </Button>
      <Library id={id} asked={asked} onChange={onChange} />
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
    </div>
  );
}

const openOf = (results: readonly ScenarioResult[]): ScenarioResult | undefined =>
  results.find(({ name }) => name === parameter('scenario')) ?? results[0];

/** Returns true for a shock without entries, which cannot be requested. */
const isEmptyShock = ({ shocks }: JsonObject): boolean => isObject(shocks) && Object.keys(shocks).length === 0;

function scenariosIn(text: string | null): readonly JsonObject[] {
  try {
    const value = JSON.parse(text ?? '[]') as Json;
    return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
  } catch {
    return [];
  }
}

interface AskedProps {
  readonly scenario: JsonObject;
  readonly findings: readonly Finding[];
  /** Path of the value in findings. */
  readonly path: string;
  onChange(scenario: JsonObject): void;
  onRemove(): void;
}

function Asked({ scenario, findings, path, onChange, onRemove }: AskedProps) {
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
        <Button aria-label={`Remove ${name}`} onClick={onRemove}>
          Remove
        </Button>
        <Button
          aria-label={`Save in the library: ${name}`}
          disabled={isEmptyShock(scenario)}
          onClick={() => {
            saveScenario(scenario);
            say('good', `${name} was saved in the library of this browser.`);
          }}
        >
          Save in the library
        </Button>
      </div>
    </section>
  );
}

const SHOWN = 12;

interface OpenedProps {
  readonly result: ScenarioResult | undefined;
  readonly by: string;
  readonly asOf: string;
}

type NameRow = ScenarioResult['by_name'][number] & { readonly company: string | null };

/** Renders the sources of the return of one scenario. */
function Opened({ result, by, asOf }: OpenedProps) {
  const facts = useNames(result?.by_name.map(({ identifier }) => identifier) ?? [], asOf);
  if (result === undefined) return null;
  const { name, by_name: names, by_group: groups, proxied } = result;
  if (result.return === null) return <p class="quiet">{name} has no return: the store does not cover its dates.</p>;
  const rows = names.map((row): NameRow => ({ ...row, company: facts.get(row.identifier)?.name ?? null }));
  const isEstimated = names.some(({ standard_error: error }) => error !== null);
  return (
    <>
      <Section title={`${name} by ${by.toLowerCase()}`} aside="contributions to the return, worst first">
        <Bars
          label={`Contributions to ${name}`}
          bars={groups.slice(0, SHOWN).map(({ group, contribution }) => ({ label: group, value: contribution }))}
          format={(value) => change(value)}
        />
      </Section>
      <Section
        title={`${name} by security`}
        aside={
          proxied.length > 0 &&
          `${countValues(proxied.length, 'security', 'securities')} without prices use the returns of their group`
        }
      >
        <Table
          label={`names in ${name}`}
          columns={isEstimated ? NAMES : NAMES.filter(({ id }) => id !== 'error')}
          rows={rows}
          keyOf={({ identifier }) => identifier}
          addressOf={({ identifier }) => nameAddress(identifier)}
          searchIn={({ identifier, company }) => `${identifier} ${company ?? ''}`}
          sort={{ column: 'contribution', direction: 'asc' }}
          height={360}
        />
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<ScenarioResult>[] = [
  { id: 'name', title: 'Scenario', width: 130, grow: 2, value: ({ name }) => name },
  numeric({ id: 'return', title: 'Return', width: 90, of: (row) => row.return, write: withSign }),
  numeric({
    id: 'covered',
    title: 'Covered',
    help: 'Weight of securities with their own returns',
    width: 90,
    priority: 3,
    of: (row) => row.covered_weight,
    write: percent,
  }),
  {
    id: 'worst',
    title: 'Worst session',
    width: 170,
    priority: 2,
    value: (row) => row.worst_session?.return ?? null,
    show: ({ worst_session: worst }) => worst && `${change(worst.return)} on ${worst.date}`,
  },
  numeric({
    id: 'fit',
    title: 'R²',
    help: 'Of the regression on what is shocked',
    width: 72,
    priority: 4,
    of: (row) => row.r_squared,
    write: decimal,
  }),
];

const NAMES: readonly Column<NameRow>[] = [
  { id: 'name', title: 'Security', width: 86, grow: 1, value: ({ identifier }) => identifier },
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3, value: ({ company }) => company },
  numeric({ id: 'weight', adds: true, title: 'Weight', width: 84, of: ({ weight }) => weight, write: percent }),
  numeric({ id: 'return', title: 'Return', width: 90, of: (row) => row.return, write: withSign }),
  numeric({
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    width: 104,
    of: ({ contribution }) => contribution,
    write: withSign,
  }),
  numeric({
    id: 'error',
    title: 'Error',
    help: 'Standard error of a response by regression',
    width: 84,
    priority: 2,
    of: (row) => row.standard_error,
    write: percent,
  }),
];
