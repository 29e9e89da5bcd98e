import type { Finding, IndexDocument, RuleTypes, SweepRequest } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { keepWordsWhole } from '../../components/metrics.js';
import { Problem } from '../../components/problem.js';
import { useAddressedObject } from '../../state/addressed.js';
import { start } from '../../state/actions.js';
import { navigate, setParameters } from '../../state/location.js';
import { service, type Trouble } from '../../state/service.js';
import { formatJobAddress } from '../../words/jobs.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { AxisFields } from './axis-fields.js';
import { FoldsForm } from './folds-form.js';
import { canTestChoice, type Period } from './folds-period.js';
import { listVariedParameters } from './parameters.js';
import type { RunTime } from './run-time.js';
import { SweepSummary } from './sweep-summary.js';
import { formatBacktests } from './terms-text.js';
import { listFindingsAt, parseValues, listValueErrors, type VariedParameter } from './values.js';
import './sweeps.css';

/** A varied parameter and its values as typed. */
export interface Axis {
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

const RANK_FIELD: FieldSpec = {
  name: 'rank',
  label: 'Ranked by',
  kind: 'choice',
  choices: RANKING_CHOICES,
  words: { sharpe_ratio: 'Sharpe ratio' },
  isRequired: true,
};

/** Schema name of the terms. */
export const TERMS_SCHEMA = 'SweepTerms';

const listAxes = ({ axes }: JsonObject): readonly Axis[] =>
  Object.entries(isObject(axes) ? axes : {}).map(([pointer, text]) => ({ pointer, text: String(text) }));

export interface SweepFormProps {
  /** Indices that can be varied. */
  readonly ids: readonly string[];
  readonly index: IndexDocument;
  readonly types: RuleTypes;
  /** Terms of the backtests of the newest run. */
  readonly terms: JsonObject;
  /** Last date of the newest run; null without a run. */
  readonly end: string | null;
  readonly time: RunTime | null;
}

/** Renders the form of a sweep: its index, its varied parameters, the choice of the best variant, and the terms. */
export function SweepForm({ ids, index, types, terms: first, end, time }: SweepFormProps) {
  const period = (of: JsonObject): Period => ({
    start: String(of['start'] ?? index.base_date),
    end: typeof of['end'] === 'string' ? of['end'] : end,
  });
  const [asked, setAsked] = useAddressedObject('sweep', {
    axes: {},
    terms: first,
    rank: 'sharpe_ratio',
    folds: canTestChoice(period(first)) ? { method: 'combinatorial' } : null,
  });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const findings = trouble?.findings ?? [];
  const terms = isObject(asked['terms']) ? asked['terms'] : {};
  const costs = Number(terms['transaction_cost_bps'] ?? 0);
  const varied = useMemo(
    () => listVariedParameters(index as unknown as JsonObject, types, costs),
    [index, types, costs],
  );
  const axes = listAxes(asked);
  const put = (name: string, value: Json | undefined) => {
    setTrouble(null);
    setAsked({ ...asked, [name]: value });
  };
  const grid = createGrid(axes, varied);
  const valueErrors = axes.flatMap((axis) => listRefused(axis, varied));
  const backtests = formatBacktests(index, terms, period(terms));
  const folds = isObject(asked['folds']) ? asked['folds'] : null;
  const submit = async () => {
    const body: SweepRequest = {
      index_id: index.id,
      request: terms as unknown as NonNullable<SweepRequest['request']>, // the service validates the terms
      grid,
      rank_by: asked['rank'] as (typeof RANKING_CHOICES)[number],
      folds: folds as unknown as SweepRequest['folds'], // the service validates the folds
    };
    const job = await start(() => service.value.call('startSweep', { body }), setTrouble);
    if (job !== undefined) navigate(formatJobAddress(job));
  };
  return (
    <div class="sweep-new">
      <div class="sweep-form">
        <VariantTerms
          ids={ids}
          indexId={index.id}
          axes={axes}
          varied={varied}
          findings={[...valueErrors, ...findings]}
          onChange={(next) => put('axes', Object.fromEntries(next.map((one) => [one.pointer, one.text])))}
        />
        <ChoiceTerms
          rank={asked['rank']}
          folds={folds}
          canTest={canTestChoice(period(terms))}
          findings={findings}
          onChange={put}
        />
        <BacktestTerms terms={terms} text={backtests} findings={findings} onChange={(next) => put('terms', next)} />
        {trouble !== null && <Problem trouble={trouble} />}
      </div>
      <SweepSummary
        indexId={index.id}
        grid={grid}
        backtests={backtests}
        rank={String(asked['rank'])}
        folds={folds}
        time={time}
        isValid={valueErrors.length === 0}
        onRun={submit}
      />
    </div>
  );
}

/** Returns the values of each parameter, in its unit. */
const createGrid = (axes: readonly Axis[], varied: readonly VariedParameter[]): Readonly<Record<string, Json[]>> =>
  Object.fromEntries(
    axes.map(({ pointer, text }) => [
      pointer,
      [...parseValues(text, varied.find((one) => one.pointer === pointer)?.unit ?? null)],
    ]),
  );

/** Returns findings about typed values that a parameter does not accept. */
function listRefused({ pointer, text }: Axis, varied: readonly VariedParameter[]): readonly Finding[] {
  const parameter = varied.find((one) => one.pointer === pointer);
  const messages = parameter === undefined ? [] : listValueErrors(text, parameter);
  return messages.map((message) => ({ severity: 'error', code: 'WRONG_TYPE', message, path: `grid${pointer}` }));
}

interface VariantTermsProps extends Pick<SweepFormProps, 'ids'> {
  readonly indexId: string;
  readonly axes: readonly Axis[];
  readonly varied: readonly VariedParameter[];
  readonly findings: readonly Finding[];
  onChange(axes: readonly Axis[]): void;
}

/** Renders the index and its varied parameters. */
const VariantTerms = ({ ids, indexId, axes, varied, findings, onChange }: VariantTermsProps) => (
  <section class="sweep-part" aria-label="Variants">
    <h2>Variants</h2>
    <FieldGrid>
      <Field
        spec={{
          name: 'index_id',
          label: 'Index',
          kind: 'choice',
          choices: ids,
          words: Object.fromEntries(ids.map((id) => [id, id])),
          isRequired: true,
        }}
        value={indexId}
        findings={findings.filter(({ path }) => path === 'index_id')}
        onChange={(chosen) => setParameters({ index: String(chosen), sweep: null })}
      />
    </FieldGrid>
    <AxisFields
      axes={axes}
      varied={varied}
      findingsAt={(pointer) => listFindingsAt(findings, pointer)}
      onChange={onChange}
    />
  </section>
);

interface ChoiceTermsProps {
  readonly rank: Json | undefined;
  readonly folds: JsonObject | null;
  /** True if the period is long enough for a test of the choice. */
  readonly canTest: boolean;
  readonly findings: readonly Finding[];
  onChange(name: string, value: Json): void;
}

/** Renders the metric of the ranking, and the out-of-sample test of the selection. */
const ChoiceTerms = ({ rank, folds, canTest, findings, onChange }: ChoiceTermsProps) => (
  <section class="sweep-part" aria-label="Choice of the best variant">
    <h2>Choice of the best variant</h2>
    <div class="field-grid is-joined">
      <Field
        spec={RANK_FIELD}
        value={rank}
        findings={findings.filter(({ path }) => path === 'rank_by')}
        onChange={(value) => onChange('rank', value ?? null)}
      />
      <FoldsForm folds={folds} canTest={canTest} findings={findings} onChange={(next) => onChange('folds', next)} />
    </div>
  </section>
);

interface BacktestTermsProps {
  readonly terms: JsonObject;
  /** Summary of the terms. */
  readonly text: string;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
}

/** Renders the terms of the backtests below their summary. */
const BacktestTerms = ({ terms, text, findings, onChange }: BacktestTermsProps) => (
  <details class="sweep-part" open={findings.some(({ path }) => path.startsWith('request'))}>
    <summary>
      <h2>Terms of the backtests</h2>
      <br />
      <span class="quiet">{keepWordsWhole(text)}</span>
    </summary>
    <SchemaForm schema={TERMS_SCHEMA} value={terms} findings={findings} path={['request']} onChange={onChange} />
  </details>
);
