import type { StoredStrategy } from '#clients/typescript/divisor.js';
import { type EditedDocument, Editor, type OpenedDocument } from '../../components/editor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { isApplicable } from '../../components/form/field-spec.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Section } from '../../components/layout/page.js';
import { Answered } from '../../components/feedback.js';
import { getParameter, navigate, type PageProps } from '../../state/location.js';
import { service, useList, useResource } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { StrategyFigures, StrategySentence } from './strategy-summary.js';
import '../data/data.css';
import './strategies.css';

/** Page of a strategy: a portfolio that follows an index under its own terms. */
export function StrategyPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const followedIndex = getParameter('index');
  const openedDocument = useResource(
    `strategy ${id} ${followedIndex}`,
    (signal) => (id === null ? createStrategy(followedIndex, signal) : load(id, signal)),
    { follows: false },
  );
  return (
    <Answered resource={openedDocument} what="the strategy">
      {(first) => (
        <Editor
          title={id === null ? 'New strategy' : `Edit ${id}`}
          above={[
            { address: '/', text: 'Indices' },
            ...(id === null ? [] : [{ address: formatIndexAddress(id), text: id }]),
          ]}
          opened={first}
          validate={async (document) =>
            (await service.value.call('validateStrategy', { body: createBody(document) })).findings.filter(
              ({ code }) => id === null || code !== 'DUPLICATE_ID',
            )
          }
          versioned={id === null ? undefined : { kind: 'strategy', id }}
          reread={() => load(id ?? '')}
          save={(document, write) =>
            write.ifMatch === undefined
              ? service.value.callWithEtag('createStrategy', { body: createBody(document), note: write.note })
              : service.value.callWithEtag('putStrategy', {
                  params: { strategy_id: String(document['id']) },
                  body: createBody(document),
                  ...write,
                })
          }
          remove={() => service.value.call('deleteStrategy', { params: { strategy_id: id ?? '' } })}
          onSaved={(document) => navigate(formatIndexAddress(String(document['id'])))}
          onRemoved={() => navigate('/')}
          onReload={openedDocument.reload}
        >
          {(edited) => <Form edited={edited} isStored={id !== null} />}
        </Editor>
      )}
    </Answered>
  );
}

type StrategyDocument = StoredStrategy['strategy'];

/** Casts a draft to a request body. The service validates it. */
const createBody = (document: JsonObject): StrategyDocument => document as unknown as StrategyDocument;

async function load(id: string, signal?: AbortSignal): Promise<OpenedDocument> {
  const { answer, etag } = await service.value.callWithEtag('getStrategy', { params: { strategy_id: id }, signal });
  return { document: answer.strategy as unknown as JsonObject, etag }; // the response is plain JSON
}

async function createStrategy(followed: string | null, signal: AbortSignal): Promise<OpenedDocument> {
  const { indices } = await service.value.call('listIndices', { signal });
  const index = indices.find(({ id }) => id === followed) ?? indices[0];
  const document = {
    id: `${index?.id ?? 'INDEX'}-FUND`,
    name: `${index?.name ?? 'Index'}, followed`,
    index_id: index?.id,
  };
  return { document, etag: null };
}

/** Labels of the kinds of benchmarks. */
const BENCHMARKS = { index: 'a stored index', identifier: 'a security or series' };

/** Fields of the optional benchmark. Members that are missing are reported only if one of them is set. */
const BENCHMARK_FIELDS = {
  kind: { label: 'Benchmark', isRequired: false, words: BENCHMARKS, help: 'Compared in addition to the index.' },
  id: { label: 'Name', isRequired: false, help: 'Id of the index, or identifier of the security.' },
  price_column: { help: 'Price column of a security.' },
};

const FIELD_HELP = {
  id: { help: 'Differs from the ids of all indices.' },
  description: { help: null },
  initial_capital: { help: 'Value at the start, in the currency of the index.' },
  exposure: { unit: 'fraction', help: 'Share that is invested at each rebalance; the rest is cash without interest.' },
  transaction_cost_bps: { help: 'Of the value of each trade.' },
  drift_tolerance: {
    unit: 'fraction',
    help: 'Smallest difference between weight and target that is traded, such as 0.005. Empty: every difference.',
  },
};

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const indices = useList('indices');
  const sets = useList('constraint sets');
  const createChoices = (ids: readonly string[] | undefined) => ({ kind: 'choice' as const, choices: ids ?? [] });
  const index = indices.data?.indices.find(({ id }) => id === document['index_id']);
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="StrategyDocument"
      names={names}
      changes={{
        ...FIELD_HELP,
        index_id: createChoices(indices.data?.indices.map(({ id }) => id)),
        constraint_set_id: createChoices(sets.data?.constraint_sets.map(({ id }) => id)),
      }}
      fixed={isStored ? ['id'] : []}
      value={document}
      findings={findings}
      onChange={set}
    />
  );
  const benchmark = isObject(document['benchmark']) ? document['benchmark'] : {};
  return (
    <>
      <StrategySentence document={document} index={index} />
      <div class="stack gap-5 strategy-form">
        <div class="form-card strategy-groups">
          <Section title="Portfolio">{renderFields(['id', 'name', 'index_id'])}</Section>
          <Section title="Capital and costs">
            {renderFields(['initial_capital', 'exposure', 'transaction_cost_bps'])}
          </Section>
          <Section title="Trading">
            <div class="pile field-grid is-joined">
              {renderFields(['drift_tolerance', 'constraint_set_id'])}
              <Dates edited={edited} />
            </div>
          </Section>
          <Section title="Period and benchmark">
            <div class="pile field-grid is-joined">
              {renderFields(['start', 'end'])}
              <SchemaForm
                schema="BenchmarkRef"
                names={'kind' in benchmark ? ['kind', 'id', 'price_column'] : ['kind']}
                changes={BENCHMARK_FIELDS}
                value={benchmark}
                findings={findings}
                path={['benchmark']}
                onChange={(own) =>
                  set({ ...document, benchmark: Object.keys(own).length === 0 || !('kind' in own) ? undefined : own })
                }
              />
            </div>
          </Section>
          <Section title="Notes">{renderFields(['description'])}</Section>
        </div>
        <div class="stack gap-3">
          <StrategyFigures document={document} index={index} isStored={isStored} />
        </div>
      </div>
    </>
  );
}

/** Renders the choice of rebalance dates: those of the index, or separate dates. */
function Dates({ edited: { document, findings, set } }: { readonly edited: EditedDocument }) {
  const { rebalance } = document;
  const isOwn = isObject(rebalance);
  const types = useResource(isOwn ? 'rule types' : null, (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  const fields = types.data?.fields.rebalance;
  return (
    <>
      <FieldGrid>
        <Field
          spec={{
            name: 'rebalance',
            label: 'Own dates',
            kind: 'boolean',
            otherwise: false,
            help: 'Rebalances on other dates than the index.',
          }}
          value={isOwn ? true : undefined}
          findings={findings.filter(({ path }) => path === 'rebalance')}
          onChange={(value) => set({ ...document, rebalance: value === true ? {} : undefined })}
        />
      </FieldGrid>
      {isOwn && (
        <SchemaForm
          schema="RebalanceSpec"
          {...(fields !== undefined && {
            names: fields.filter((field) => isApplicable(field, fields, rebalance)).map(({ name }) => name),
          })}
          value={rebalance}
          findings={findings}
          path={['rebalance']}
          onChange={(own) => set({ ...document, rebalance: own })}
        />
      )}
    </>
  );
}
