import type { Finding, IndexCollection } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
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
import { formatBytes, formatCount } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import './batches.css';
import { inspectFile, KINDS, type AccountsFile } from './accounts-file.js';

const TERMS = ['batch_id', 'parent', 'risk_model', 'whole_shares', 'as_of'] as const;
const SEARCH = ['search_nodes'] as const;
const DEFAULTS = ['tracking_error_limit', 'minimum_trade', 'tilts', 'exclusions', 'substitutes'] as const;
const TAXES = ['short_rate', 'long_rate', 'lot_method', 'wash_sales', 'budget', 'carry_forward'] as const;

/** Renders the form of a new batch: a file of accounts, the terms, and defaults for the accounts. */
export function NewBatch() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  const storedModels = useStoredModels();
  return (
    <Answered resource={indices} what="the indices">
      {({ indices: indexList }) => (
        <Answered resource={models} what="the risk models">
          {() => <BatchForm indices={indexList} storedModels={storedModels} />}
        </Answered>
      )}
    </Answered>
  );
}

interface BatchFormProps {
  readonly indices: IndexCollection['indices'];
  readonly storedModels: readonly StoredModel[];
}

function BatchForm({ indices, storedModels }: BatchFormProps) {
  const [terms, setTerms] = useAddressedObject('batch', {});
  /** Returns the ids of the models that apply to the parent index of the terms. */
  const listModels = ({ parent }: JsonObject): readonly string[] => {
    const index = indices.find(({ id }) => id === parent);
    const models =
      index === undefined ? storedModels.map(({ model }) => model) : selectModels(storedModels, index.store_id);
    return models.map(({ model_id: id }) => id);
  };
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
  const isReady =
    file !== null && (file.hasTerms || (terms['parent'] !== undefined && terms['risk_model'] !== undefined));
  return (
    <div class="batch-form">
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
          models={listModels(terms)}
          onChange={put}
        />
      )}
      {trouble !== null && <Problem trouble={trouble} />}
      <p>
        <Button kind="main" disabled={!isReady || isSending} onClick={() => file !== null && void submit(file)}>
          {isSending ? 'Sending the accounts' : 'Start the batch'}
        </Button>{' '}
        <span class="quiet">The page of the batch states its expected duration, and cancels it.</span>
      </p>
    </div>
  );
}

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
      <p>
        <Button onClick={() => input.current?.click()}>Choose a file of accounts</Button>{' '}
        {file === null ? (
          <span class="quiet">CSV, Parquet, Arrow, or lines of JSON</span>
        ) : (
          <strong>
            {file.name}, {formatBytes(file.blob.size)}
            {file.accounts !== null && `, ${formatCount(file.accounts)} accounts`}
          </strong>
        )}{' '}
        <Download
          address="/optimise/batches/template"
          fileName="accounts.csv"
          read={async () => new TextEncoder().encode(await service.value.call('getBatchTemplate', {}))}
        >
          CSV template
        </Download>
      </p>
      {refused !== null && (
        <p class="down" role="alert">
          {refused}
        </p>
      )}
    </>
  );
}

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
          batch_id: { label: 'Id of the batch' },
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
          value={taxes}
          findings={findings}
          path={['defaults', 'tax']}
          onChange={(next) => putDefaults({ ...defaults, tax: next })}
        />
      </details>
    </>
  );
}
