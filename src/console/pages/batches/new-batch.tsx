import type { Finding, IndexCollection } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Problem } from '../../components/problem.js';
import { Answered } from '../../components/wait.js';
import { start } from '../../state/actions.js';
import { useAddressedObject } from '../../state/addressed.js';
import { navigate } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { selectModels, useStoredModels, type StoredModel } from '../../state/risk-models.js';
import { service, type Trouble } from '../../state/service.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import './batches.css';
import { FileColumns } from './file-columns.js';
import { inspectFile, KINDS, type AccountsFile } from './accounts-file.js';

const TERMS = ['batch_id', 'parent', 'risk_model', 'as_of', 'whole_shares'] as const;
const SEARCH = ['search_nodes'] as const;
const DEFAULTS = ['tracking_error_limit', 'minimum_trade', 'tilts', 'exclusions', 'substitutes'] as const;
const TAXES = ['short_rate', 'long_rate', 'lot_method', 'wash_sales', 'budget', 'limit', 'carry_forward'] as const;

/** Renders the form of a new batch: a file of accounts, the terms, and defaults for the accounts. */
export function NewBatch() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  const storedModels = useStoredModels();
  return (
    <Answered resource={indices} what="the indices">
      {({ indices: indexList }) => (
        <Answered resource={models} what="the risk models">
          {({ risk_models: all }) => (
            <BatchForm
              indices={indexList}
              storedModels={storedModels}
              areModelsKnown={storedModels.length === all.length}
            />
          )}
        </Answered>
      )}
    </Answered>
  );
}

interface BatchFormProps {
  readonly indices: IndexCollection['indices'];
  readonly storedModels: readonly StoredModel[];
  /** False until the stored models and their data stores are loaded. */
  readonly areModelsKnown: boolean;
}

function BatchForm({ indices, storedModels, areModelsKnown }: BatchFormProps) {
  const [terms, setTerms] = useAddressedObject('batch', {});
  /** Returns the models that apply to the parent index of the terms. */
  const selectApplicable = ({ parent }: JsonObject) => {
    const index = indices.find(({ id }) => id === parent);
    return index === undefined ? storedModels.map(({ model }) => model) : selectModels(storedModels, index.store_id);
  };
  /** Returns the ids of those that have factors. */
  const listModels = (of: JsonObject): readonly string[] =>
    selectApplicable(of)
      .filter(({ factors }) => factors !== null)
      .map(({ model_id: id }) => id);
  const [file, setFile] = useState<AccountsFile | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isSending, setSending] = useState(false);
  const put = (next: JsonObject) => {
    setTrouble(null);
    const { risk_model: model, ...others } = next;
    const isModelOfOtherStore =
      typeof model === 'string' && next['parent'] !== terms['parent'] && !listModels(next).includes(model);
    setTerms(isModelOfOtherStore ? others : next);
  };
  const submit = async ({ media, blob, hasTerms }: AccountsFile) => {
    setSending(true);
    const { batch_id: id, ...others } = terms;
    const query = {
      ...(hasTerms ? {} : { terms: JSON.stringify(others) }),
      ...(typeof id === 'string' ? { batch_id: id } : {}),
    };
    const job = await start(() => service.value.upload('startBatch', media, blob, { query }), setTrouble);
    setSending(false);
    if (job !== undefined) navigate(`/console/batches/${job.job_id.slice('batch:'.length)}`);
  };
  const models = listModels(terms);
  const isModelMissing = areModelsKnown && file?.hasTerms !== true && models.length === 0;
  const needed = listMissing(file, terms).filter((item) => item !== MODEL || !isModelMissing);
  const isReady = needed.length === 0 && !isModelMissing;
  return (
    <div class="batch-form">
      {isModelMissing && <NoModel parent={getParent(terms)} models={selectApplicable(terms).length} />}
      <FileChoice
        file={file}
        onChoose={(next) => {
          setTrouble(null);
          setFile(next);
        }}
      />
      {file?.hasTerms === true ? (
        <p>The first line of the file has the terms of the batch.</p>
      ) : (
        <Terms
          terms={terms}
          findings={trouble?.findings ?? []}
          parents={indices.map(({ id }) => id)}
          models={models}
          onChange={put}
        />
      )}
      {trouble !== null && <Problem trouble={trouble} />}
      <div class="batch-line">
        <Button
          kind="main"
          aria-describedby="batch-start"
          disabled={!isReady || isSending}
          onClick={() => file !== null && void submit(file)}
        >
          {isSending ? 'Sending the accounts' : 'Start the batch'}
        </Button>
        <span class="quiet" id="batch-start">
          {isReady && 'The page of the batch shows its expected duration and has a button that cancels it.'}
          {!isReady && formatSteps(needed, isModelMissing)}
        </span>
      </div>
    </div>
  );
}

const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' });

const MODEL = 'a risk model';

/** Lists what has to be chosen before the batch can start. */
const listMissing = (file: AccountsFile | null, { parent, risk_model: model }: JsonObject): readonly string[] => [
  ...(file === null ? ['an accounts file'] : []),
  ...(file?.hasTerms !== true && parent === undefined ? ['a parent index'] : []),
  ...(file?.hasTerms !== true && model === undefined ? [MODEL] : []),
];

const getParent = ({ parent }: JsonObject): string | undefined => (typeof parent === 'string' ? parent : undefined);

/** Formats the steps before a batch can start, for example `Choose a parent index; estimate a factor model.` */
function formatSteps(needed: readonly string[], isModelMissing: boolean): string {
  if (needed.length === 0) return 'Estimate a factor model.';
  return `Choose ${CONJUNCTION.format(needed)}${isModelMissing ? '; estimate a factor model' : ''}.`;
}

/**
 * Explains why no stored model can be chosen.
 * @param models number of models without factors that apply to the parent index
 */
function formatNoModel(parent: string | undefined, models: number): string {
  const scope = parent === undefined ? '' : ` for ${parent}`;
  if (models === 0) return `No factor model is stored${scope}.`;
  return models === 1
    ? `1 risk model is stored${scope}, but it has no factors.`
    : `${formatCount(models)} risk models are stored${scope}, but none has factors.`;
}

interface NoModelProps {
  readonly parent: string | undefined;
  /** Number of models without factors that apply to the parent index. */
  readonly models: number;
}

/** Explains why no risk model can be chosen, with a link to the estimation of one. */
const NoModel = ({ parent, models }: NoModelProps) => (
  <Banner
    kind="warning"
    title={formatNoModel(parent, models)}
    action={
      <a class="button plain" href={formatEstimateAddress(parent)}>
        Estimate a factor model
      </a>
    }
  >
    A batch needs a risk model with factors.
  </Banner>
);

/** Returns the address of the form that estimates a factor model for an index. */
const formatEstimateAddress = (parent: string | undefined): string =>
  `/console/risk-models?${new URLSearchParams({
    add: 'estimate',
    estimate: JSON.stringify({ estimator: 'statistical', ...(parent === undefined ? {} : { index_id: parent }) }),
  })}`;

interface FileChoiceProps {
  readonly file: AccountsFile | null;
  onChoose(file: AccountsFile | null): void;
}

function FileChoice({ file, onChoose }: FileChoiceProps) {
  const input = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const choose = async (chosen: File) => {
    const inspectedFile = await inspectFile(chosen);
    setRefused(inspectedFile === null ? `${chosen.name} is none of ${Object.keys(KINDS).join(', ')}.` : null);
    onChoose(inspectedFile);
  };
  return (
    <>
      <input
        ref={input}
        hidden
        type="file"
        aria-label="File of accounts"
        accept={Object.keys(KINDS).join(',')}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? [];
          if (chosen !== undefined) void choose(chosen);
          currentTarget.value = '';
        }}
      />
      <div class="field" role="group" aria-labelledby="batch-file">
        <span class="batch-label" id="batch-file">
          Accounts file
          <span class="field-required" title="required" aria-hidden="true">
            {' '}
            *
          </span>
          <span class="unseen">, required</span>
        </span>
        <div class="batch-line">
          <Button onClick={() => input.current?.click()}>Choose a file</Button>
          {file !== null && (
            <strong>
              {file.name}, {formatBytes(file.blob.size)}
              {file.accounts !== null && `, ${countValues(file.accounts, 'account')}`}
            </strong>
          )}
        </div>
        <p class="field-help">
          CSV, Parquet, Arrow, or lines of JSON.{' '}
          <Download
            address="/optimise/batches/template"
            fileName="accounts.csv"
            read={async () => new TextEncoder().encode(await service.value.call('getBatchTemplate', {}))}
          >
            CSV template
          </Download>
        </p>
        <FileColumns />
      </div>
      {refused !== null && (
        <p class="down" role="alert">
          {refused}
        </p>
      )}
    </>
  );
}

const BATCH_LABELS = {
  batch_id: { label: 'Id of the batch', help: 'Default: a generated id.' },
  whole_shares: { label: 'Whole shares only' },
};
const TAX_LABELS = { budget: { label: 'Budget of net gains' }, limit: { label: 'Limit of the tax' } };

interface TermsProps {
  readonly parents: readonly string[];
  readonly models: readonly string[];
  readonly terms: JsonObject;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
}

function Terms({ terms, findings, parents, models, onChange }: TermsProps) {
  const defaults = isObject(terms['defaults']) ? terms['defaults'] : {};
  const taxes = isObject(defaults['tax']) ? defaults['tax'] : {};
  const objective = isObject(terms['objective']) ? terms['objective'] : {};
  const putDefaults = (next: JsonObject) => onChange({ ...terms, defaults: next });
  return (
    <>
      <SchemaForm
        schema="BatchRequest"
        names={TERMS}
        changes={{
          ...BATCH_LABELS,
          parent: { kind: 'choice', choices: parents, label: 'Parent index' },
          risk_model: {
            kind: 'choice',
            choices: models,
            link: { address: '/console/risk-models', text: 'Risk models' },
          },
        }}
        value={terms}
        findings={findings}
        onChange={onChange}
      />
      <details>
        <summary>Objective and search</summary>
        <SchemaForm schema="BatchRequest" names={SEARCH} value={terms} findings={findings} onChange={onChange} />
        <SchemaForm
          schema="BatchObjective"
          value={objective}
          findings={findings}
          path={['objective']}
          onChange={(next) => onChange({ ...terms, objective: next })}
        />
      </details>
      <details open={Object.keys(defaults).length > 0}>
        <summary>
          Defaults of the accounts <span class="quiet">for fields that an account does not state</span>
        </summary>
        <SchemaForm
          schema="PersonalAccount"
          names={DEFAULTS}
          changes={{ substitutes: { help: 'Groups that count as the same for wash sales, as JSON: [["A", "B"]].' } }}
          value={defaults}
          findings={findings}
          path={['defaults']}
          onChange={putDefaults}
        />
        <SchemaForm
          schema="AccountTax"
          names={TAXES}
          changes={TAX_LABELS}
          value={taxes}
          findings={findings}
          path={['defaults', 'tax']}
          onChange={(next) => putDefaults({ ...defaults, tax: next })}
        />
      </details>
    </>
  );
}
