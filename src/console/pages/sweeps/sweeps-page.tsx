import type { Finding, IndexDocument, RuleTypes, StoredRun, SweepRequest } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { createFields } from '../../components/form/schema-fields.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Answered } from '../../components/wait.js';
import { useAddressedObject } from '../../state/addressed.js';
import { start } from '../../state/actions.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { findLastVisit } from '../../state/recent.js';
import { useResource } from '../../state/resource.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { service, type Trouble } from '../../state/service.js';
import { countValues } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { isFraction } from '../../words/quantities.js';
import { readNewestRun, getTerms } from '../index/run-terms.js';
import { FoldsForm } from './folds-form.js';
import { listVariedParameters } from './parameters.js';
import { StoredSweeps } from './stored-sweeps.js';
import { listFindingsAt, parseValues, listValueErrors, formatWithUnit, type VariedParameter } from './values.js';
import '../designer/designer.css';
import './sweeps.css';

/** Page of sweeps: a form that starts a sweep over variants of an index, and the list of earlier sweeps. */
export function SweepsPage() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const types = useResource('rule types', (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  const jobs = useResource('jobs sweep', (signal) =>
    service.value.call('listJobs', { query: { kind: ['sweep'], limit: 100 }, signal }),
  );
  return (
    <Page title="Sweeps" subtitle="Many variants of an index, run and ranked as one job">
      <Answered resource={jobs} what="the sweeps">
        {({ jobs: all }) => (
          <>
            {may('run') && (
              <FoldedForm isOpen={all.length === 0}>
                <Answered resource={indices} what="the indices">
                  {({ indices: indexList }) => (
                    <Answered resource={types} what="the rule classes">
                      {(classes) => (
                        <NewSweep
                          ids={indexList.filter(({ kind }) => kind === 'rule').map(({ id }) => id)}
                          types={classes}
                        />
                      )}
                    </Answered>
                  )}
                </Answered>
              </FoldedForm>
            )}
            {all.length > 0 && <StoredSweeps jobs={all} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

/**
 * Renders the form of a new sweep. If there is a result, the form is folded at first. It stays open while it is edited.
 */
function FoldedForm({ isOpen: isFirst, children }: { readonly isOpen: boolean; readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(isFirst || getParameter('sweep') !== null || getParameter('index') !== null);
  return (
    <details class="designer-part" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>New sweep</h2>
      </summary>
      {isOpen && children}
    </details>
  );
}

function NewSweep({ ids, types }: { readonly ids: readonly string[]; readonly types: RuleTypes }) {
  const id = getParameter('index') ?? findLastVisit(ids);
  const document = useResource(id === undefined ? null : `index ${id}`, (signal) =>
    service.value.call('getIndex', { params: { index_id: id ?? '' }, signal }),
  );
  const newest = useResource(id === undefined ? null : `newest run ${id}`, (signal) => readNewestRun(id ?? '', signal));
  const schemas = useSchemas();
  if (id === undefined) return <EmptyState title="No index yet">A sweep varies an index. Create one first.</EmptyState>;
  return (
    <div class="sweep-form">
      <Select
        label="Index"
        isLabelShown
        options={ids.map((value) => ({ value, text: value }))}
        value={id}
        onChoose={(chosen) => setParameters({ index: chosen, sweep: null })}
      />
      <Answered resource={document} what="the definition">
        {(index) => (
          <Answered resource={newest} what="the terms of the newest run">
            {(run) => (
              <Answered resource={schemas} what="the terms of a sweep">
                {(all) => <SweepForm key={index.id} index={index} types={types} terms={parseTerms(run, all)} />}
              </Answered>
            )}
          </Answered>
        )}
      </Answered>
    </div>
  );
}

/** A varied parameter and its values as typed. */
interface Axis {
  readonly pointer: string;
  readonly text: string;
}

const RANKING_CHOICES = [
  'sharpe_ratio',
  'total_return',
  'annualised_return',
  'max_drawdown',
  'volatility',
  'tracking_error',
] as const;
const AXES_MAX = 4;

const RANK_FIELD: FieldSpec = {
  name: 'rank',
  label: 'Ranked by',
  kind: 'choice',
  choices: RANKING_CHOICES,
  words: { sharpe_ratio: 'Sharpe ratio' },
  isRequired: true,
};

/** Returns the terms of the latest run that a sweep supports. These are all terms except the benchmark. */
function parseTerms(run: StoredRun | null, schemas: Schemas): JsonObject {
  const termNames = new Set(createFields(schemas, TERMS_SCHEMA).map(({ name }) => name));
  return Object.fromEntries(Object.entries(run === null ? {} : getTerms(run)).filter(([name]) => termNames.has(name)));
}

/** Schema name of the terms. */
const TERMS_SCHEMA = 'SweepTerms';

const listAxes = ({ axes }: JsonObject): readonly Axis[] =>
  Object.entries(isObject(axes) ? axes : {}).map(([pointer, text]) => ({ pointer, text: String(text) }));

interface SweepFormProps {
  readonly index: IndexDocument;
  readonly types: RuleTypes;
  /** Terms of the backtests. */
  readonly terms: JsonObject;
}

function SweepForm({ index, types, terms: first }: SweepFormProps) {
  const [asked, setAsked] = useAddressedObject('sweep', { axes: {}, terms: first, rank: 'sharpe_ratio', folds: null });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const terms = isObject(asked['terms']) ? asked['terms'] : {};
  const costs = Number(terms['transaction_cost_bps'] ?? 0);
  const variedParameters = useMemo(
    () => listVariedParameters(index as unknown as JsonObject, types, costs),
    [index, types, costs],
  );
  const axes = listAxes(asked);
  const put = (name: string, value: Json | undefined) => {
    setTrouble(null);
    setAsked({ ...asked, [name]: value });
  };
  const setAxes = (next: readonly Axis[]) =>
    put('axes', Object.fromEntries(next.map((one) => [one.pointer, one.text])));
  const listValues = ({ pointer, text }: Axis) =>
    parseValues(text, variedParameters.find((one) => one.pointer === pointer)?.unit ?? null);
  const listRefused = ({ pointer, text }: Axis): readonly Finding[] => {
    const variedParameter = variedParameters.find((one) => one.pointer === pointer);
    const valueErrors = variedParameter === undefined ? [] : listValueErrors(text, variedParameter);
    return valueErrors.map((message) => ({ severity: 'error', code: 'WRONG_TYPE', message, path: `grid${pointer}` }));
  };
  const variants = axes.reduce((product, axis) => product * listValues(axis).length, axes.length === 0 ? 0 : 1);
  const free = variedParameters.filter(({ pointer }) => !axes.some((axis) => axis.pointer === pointer));
  const submit = async () => {
    const body: SweepRequest = {
      index_id: index.id,
      request: terms as unknown as NonNullable<SweepRequest['request']>, // the service validates the terms
      grid: Object.fromEntries(axes.map((axis) => [axis.pointer, listValues(axis)])),
      rank_by: asked['rank'] as (typeof RANKING_CHOICES)[number],
      folds: asked['folds'] as unknown as SweepRequest['folds'], // the service validates the folds
    };
    const job = await start(() => service.value.call('startSweep', { body }), setTrouble);
    if (job !== undefined) navigate(`/console/sweeps/${job.job_id.slice('sweep:'.length)}`);
  };
  return (
    <>
      {axes.map((axis, k) => (
        <AxisField
          key={axis.pointer}
          axis={axis}
          varied={variedParameters.find(({ pointer }) => pointer === axis.pointer)}
          findings={[...listRefused(axis), ...listFindingsAt(trouble?.findings ?? [], axis.pointer)]}
          onChange={(text) => setAxes(axes.map((own, i) => (i === k ? { ...own, text } : own)))}
          onRemove={() => setAxes(axes.filter((_, i) => i !== k))}
        />
      ))}
      {axes.length < AXES_MAX && (
        <Select
          label="Vary a parameter"
          options={[
            { value: '', text: '+ Vary a parameter' },
            ...free.map(({ pointer, label }) => ({ value: pointer, text: label })),
          ]}
          value=""
          onChoose={(pointer) =>
            pointer !== '' && setAxes([...axes, { pointer, text: suggestValues(variedParameters, pointer) }])
          }
        />
      )}
      <details open={(trouble?.findings ?? []).some(({ path }) => path.startsWith('request'))}>
        <summary>
          Terms of the backtests
          {Object.keys(first).length > 0 && <span class="quiet"> as in the newest run, without its benchmark</span>}
        </summary>
        <SchemaForm
          schema={TERMS_SCHEMA}
          value={terms}
          findings={trouble?.findings ?? []}
          path={['request']}
          onChange={(next) => put('terms', next)}
        />
      </details>
      <ChoiceTerms asked={asked} findings={trouble?.findings ?? []} onChange={put} />
      {trouble !== null && <Problem trouble={trouble} />}
      <div class="sweep-start">
        <Button
          kind="main"
          disabled={variants === 0 || axes.some((axis) => listRefused(axis).length > 0)}
          onClick={() => void submit()}
        >
          Run {countValues(variants, 'variant')}
        </Button>
        {axes.length === 0 && <span class="quiet">Choose a parameter to vary first.</span>}
      </div>
    </>
  );
}

interface ChoiceTermsProps {
  readonly asked: JsonObject;
  readonly findings: readonly Finding[];
  onChange(name: string, value: Json): void;
}

/** Renders the metric of the ranking, and the out-of-sample test of the selection. */
function ChoiceTerms({ asked: { rank, folds }, findings, onChange }: ChoiceTermsProps) {
  return (
    <div class="sweep-choice">
      <FieldGrid>
        <Field
          spec={RANK_FIELD}
          value={rank}
          findings={findings.filter(({ path }) => path === 'rank_by')}
          onChange={(value) => onChange('rank', value ?? null)}
        />
      </FieldGrid>
      <FoldsForm
        folds={isObject(folds) ? folds : null}
        findings={findings}
        onChange={(next) => onChange('folds', next)}
      />
    </div>
  );
}

/** Suggests values for a parameter: the values that it accepts, or numbers near its current value. */
function suggestValues(varied: readonly VariedParameter[], pointer: string): string {
  const { now, choices } = varied.find((one) => one.pointer === pointer) ?? {};
  if (choices) return choices.join(', ');
  if (typeof now !== 'number') return now === undefined || now === null ? '' : String(now);
  if (now === 0) return '0, 5, 10, 20';
  return [0.5, 1, 1.5, 2].map((factor) => Number((now * factor).toPrecision(6))).join(', ');
}

interface AxisFieldProps {
  readonly axis: Axis;
  readonly varied: VariedParameter | undefined;
  readonly findings: readonly Finding[];
  onChange(text: string): void;
  onRemove(): void;
}

function AxisField({ axis, varied, findings, onChange, onRemove }: AxisFieldProps) {
  const label = varied?.label ?? axis.pointer;
  const unit = varied?.unit ?? null;
  const readValues = parseValues(axis.text, unit).map((value) => formatWithUnit(value, unit));
  return (
    <div class="sweep-axis">
      <Field
        spec={{
          name: axis.pointer,
          label,
          kind: 'text',
          unit,
          help: `Values, separated by commas; now ${formatWithUnit(varied?.now, unit)}.${isFraction(unit) && readValues.length > 0 && findings.length === 0 ? ` Read as ${readValues.join(', ')}.` : ''}`,
        }}
        value={axis.text}
        findings={findings}
        onChange={(value) => onChange(String(value ?? ''))}
      />
      <Button kind="bare" aria-label={`Remove ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </div>
  );
}
