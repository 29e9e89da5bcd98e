import type {
  ConstraintRowBody,
  ConstraintRowInput,
  ConstraintSet,
  Finding,
  IndexDocument,
  IndexDocumentBody,
  OptimiseRequest,
  TypeSpec,
} from '#clients/typescript/divisor.js';
import { Answered } from '../../components/feedback.js';
import { AnyField } from '../../components/form/any-field.js';
import { createField } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { parseJsonParameter } from '../../state/location.js';
import { useModelsOfStore } from '../../state/risk-models.js';
import { useList } from '../../state/service.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';

/** Labels of the securities that may be held. */
const CANDIDATE_PHRASES = { parent: 'those of the index', universe: 'all of its universe' };

const CANDIDATE_HELP = 'Securities that can be held.';

/** Terms of an optimisation, without its constraints: objective, expected returns, candidates, costs and risk model. */
export type OptimiseTerms = JsonObject;

interface TermsFormProps {
  readonly value: OptimiseTerms;
  readonly findings: readonly Finding[];
  readonly path: Path;
  readonly datapoints: readonly string[];
  onChange(value: OptimiseTerms): void;
}

export const useObjectiveTypes = () => useList('objective types', { follows: false });

/**
 * Renders the forms of the terms. They are generated from the contract and from the catalogues of objectives and
 * expected returns.
 */
export function TermsForm({ value, findings, path, datapoints, onChange }: TermsFormProps) {
  const types = useObjectiveTypes();
  const put = (name: string, memberValue: Json | undefined) => {
    const { [name]: _, ...others } = value;
    onChange(memberValue === undefined ? others : { ...value, [name]: memberValue });
  };
  const group = (name: string) => ({
    value: isObject(value[name]) ? value[name] : {},
    findings,
    path: [...path, name],
    onChange: (own: JsonObject) => put(name, Object.keys(own).length === 0 ? undefined : own),
  });
  const common = { findings, datapoints };
  return (
    <>
      <div class="pile field-grid is-joined terms">
        <Answered resource={types} what="the objectives">
          {({ objectives, expected_returns: returns }) => (
            <>
              <ClassField
                {...common}
                label="Objective"
                otherwise="min_tracking_error"
                types={objectives}
                value={value['objective']}
                path={[...path, 'objective']}
                onChange={(own) => put('objective', own)}
              />
              <ClassField
                {...common}
                label="Expected returns"
                otherwise={null}
                types={returns}
                value={value['expected_returns']}
                path={[...path, 'expected_returns']}
                onChange={(own) => put('expected_returns', own)}
              />
            </>
          )}
        </Answered>
        <SchemaForm
          schema="DerivationPayloadInput"
          names={['candidates']}
          changes={{ candidates: { otherwise: 'parent', words: CANDIDATE_PHRASES, help: CANDIDATE_HELP } }}
          value={value}
          findings={findings}
          path={path}
          onChange={onChange}
        />
      </div>
      <details class="terms-more">
        <summary>Uncertainty, costs and risk model</summary>
        <Uncertainty
          value={value['uncertainty']}
          findings={findings}
          path={[...path, 'uncertainty']}
          onChange={(own) => put('uncertainty', own)}
        />
        <SchemaForm schema="TradeCostsInput" {...group('costs')} />
        <RiskModel
          value={value['risk_model']}
          findings={findings}
          path={[...path, 'risk_model']}
          onChange={(own) => put('risk_model', own)}
        />
      </details>
    </>
  );
}

/** Renders the uncertainty sets of expected returns and covariances for a robust objective. */
function Uncertainty({ value, findings, path, onChange }: RiskModelProps) {
  const terms = isObject(value) ? value : {};
  const selectPart = (name: string) => {
    const { [name]: _, ...others } = terms;
    return {
      value: isObject(terms[name]) ? terms[name] : {},
      findings,
      path: [...path, name],
      onChange(objective: JsonObject) {
        const next = Object.keys(objective).length === 0 ? others : { ...others, [name]: objective };
        onChange(Object.keys(next).length === 0 ? undefined : next);
      },
    };
  };
  return (
    <>
      <SchemaForm schema="ReturnsUncertaintyInput" {...selectPart('returns')} />
      <SchemaForm schema="CovarianceUncertainty" {...selectPart('covariance')} />
    </>
  );
}

interface RiskModelProps {
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  onChange(value: Json | undefined): void;
}

/**
 * Renders the selection of a stored risk model. Also renders the settings of a model that is estimated at each
 * decision.
 */
function RiskModel({ value, findings, path, onChange }: RiskModelProps) {
  const models = useModelsOfStore();
  const text = formatPath(path);
  return (
    <>
      <FieldGrid>
        <Field
          spec={{
            name: 'risk_model',
            label: 'Risk model',
            kind: 'choice',
            choices: [
              ...new Set([...models.map(({ model_id: id }) => id), ...(typeof value === 'string' ? [value] : [])]),
            ],
            otherwise: 'estimated',
            help: 'A stored model for every decision, or a model estimated again up to each decision.',
          }}
          value={typeof value === 'string' ? value : undefined}
          findings={findings.filter(({ path: findingPath }) => findingPath === text)}
          onChange={onChange}
        />
      </FieldGrid>
      {typeof value !== 'string' && (
        <SchemaForm
          schema="RiskEstimatorInput"
          value={isObject(value) ? value : {}}
          findings={findings}
          path={path}
          onChange={(own) => onChange(Object.keys(own).length === 0 ? undefined : own)}
        />
      )}
    </>
  );
}

interface ClassFieldProps {
  readonly label: string;
  /** Class used by default; null if there is none. */
  readonly otherwise: string | null;
  readonly types: readonly TypeSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  readonly datapoints: readonly string[];
  onChange(value: JsonObject | undefined): void;
}

/** Renders the selection of a catalogue class and the parameters of the class. */
function ClassField({ label, otherwise, types, value, findings, path, datapoints, onChange }: ClassFieldProps) {
  const givenTerms: JsonObject = typeof value === 'string' ? { type: value } : isObject(value) ? value : {};
  const type = typeof givenTerms['type'] === 'string' ? givenTerms['type'] : undefined;
  const spec = types.find((known) => known.type === (type ?? otherwise));
  const text = formatPath(path);
  const put = (name: string, memberValue: Json | undefined) => {
    const fullTerms: JsonObject = { ...givenTerms, type: type ?? otherwise ?? '' };
    const { [name]: _, ...others } = fullTerms;
    onChange(memberValue === undefined ? others : { ...others, [name]: memberValue });
  };
  return (
    <FieldGrid>
      <Field
        spec={{
          name: label,
          label,
          kind: 'choice',
          choices: types.map((known) => known.type),
          words: Object.fromEntries(types.map((known) => [known.type, known.label])),
          otherwise,
          help: spec?.help ?? null,
        }}
        value={type}
        findings={findings.filter(({ path: findingPath }) => findingPath === text)}
        onChange={(chosen) => onChange(typeof chosen === 'string' ? { type: chosen } : undefined)}
      />
      {(spec?.parameters ?? []).map((parameter) => (
        <AnyField
          key={parameter.name}
          spec={createField(parameter)}
          value={givenTerms[parameter.name]}
          findings={findings}
          path={[...path, parameter.name]}
          datapoints={datapoints}
          onChange={(own) => put(parameter.name, own)}
        />
      ))}
    </FieldGrid>
  );
}

/** Casts rows of the form to rows of a request. The service validates them. */
export const asConstraints = (rows: readonly JsonObject[]): readonly (ConstraintRowBody & ConstraintRowInput)[] =>
  rows as unknown as readonly (ConstraintRowBody & ConstraintRowInput)[];

/** Casts the constraints of a stored set to form rows. */
export const asRows = (constraints: ConstraintSet['constraints']): readonly JsonObject[] =>
  constraints as unknown as readonly JsonObject[];

type SentTerms = Pick<
  OptimiseRequest,
  'objective' | 'expected_returns' | 'uncertainty' | 'costs' | 'risk_model' | 'scenario_views' | 'candidates'
>;

/** Casts terms of the form to terms of a request. The service validates them. */
export const asTerms = (terms: OptimiseTerms): SentTerms => terms as unknown as SentTerms;

/** Parses the terms in an address. Returns no terms if they are invalid. */
export function parseTerms(text: string | null): OptimiseTerms {
  const value = parseJsonParameter(text);
  if (!isObject(value)) return {};
  // a derivation accepts the type of an objective only in an object
  return typeof value['objective'] === 'string' ? { ...value, objective: { type: value['objective'] } } : value;
}

interface DerivationInput {
  readonly base: string;
  readonly rows: readonly JsonObject[];
  readonly terms: OptimiseTerms;
}

/** Returns the definition of an index that optimises its parent under constraints from a date on. It is not stored. */
export function createDerivedIndex(parent: IndexDocument, { base, rows, terms }: DerivationInput): IndexDocumentBody {
  const { id, name, calendar, base_value, currency } = parent;
  return {
    id: `${id.slice(0, 50)}-solved`,
    name,
    calendar,
    base_date: base,
    base_value,
    currency,
    derivation: { ...asTerms(terms), source_index_id: id, constraints: asConstraints(rows) },
  };
}
