import type {
  ConstraintSet,
  ConstraintSetBody,
  Finding,
  IndexCollection,
  IndexDocument,
  IndexDocumentBody,
  TypeSpec,
} from '#clients/typescript/divisor.js';
import { useMemo, useRef } from 'preact/hooks';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { RowList, listRows } from '../../components/form/row-list.js';
import { Page } from '../../components/page.js';
import { Answered, Wait } from '../../components/wait.js';
import { attempt, start, type OnRefusal } from '../../state/actions.js';
import { parseJson, useAddressed } from '../../state/addressed.js';
import { useFields } from '../../state/fields.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { findLastVisit } from '../../state/recent.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service, type Trouble } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { countCandidates } from './bounds.js';
import { EarlierRuns } from './earlier-runs.js';
import { listConflictPositions } from './infeasible.js';
import { createExample, listTightBounds, type Example } from './position-bounds.js';
import { asConstraints, asRows, asTerms, createDerivedIndex, parseTerms } from './rows.js';
import { useIndexStore } from '../../state/index-store.js';
import { NamesStore } from '../../state/names.js';
import { RunButton, SaveConstraints } from './run-form.js';
import { SaveIndex } from './save-index.js';
import { Solve } from './solve.js';
import { TermsForm, type Terms } from './terms.js';
import { convertFindings, useSolution } from './use-solution.js';
import '../designer/designer.css';
import './optimise.css';

/**
 * Page for optimisation under constraints: constraint rows, a live solution, the start of a run, and derivation of an
 * index.
 */
export function OptimisePage() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const types = useResource('constraint types', (signal) => service.value.call('listConstraintTypes', { signal }), {
    follows: false,
  });
  return (
    <Page
      title="Optimise"
      subtitle="The weights that come closest to an objective, such as low volatility, within your constraints"
    >
      <Answered resource={indices} what="the indices">
        {({ indices: all }) => {
          const ids = all.map(({ id }) => id);
          const ruleIds = all.filter(({ kind }) => kind === 'rule').map(({ id }) => id);
          const id = getParameter('index') ?? findLastVisit(ruleIds.length > 0 ? ruleIds : ids);
          if (id === undefined)
            return (
              <EmptyState title="No index yet">An optimisation starts from an index. Create one first.</EmptyState>
            );
          return (
            <Answered resource={types} what="the constraint classes">
              {({ specs }) => <IndexForm key={id} id={id} indices={all} specs={specs} />}
            </Answered>
          );
        }}
      </Answered>
      <EarlierRuns />
    </Page>
  );
}

interface IndexFormProps {
  readonly id: string;
  readonly indices: IndexCollection['indices'];
  readonly specs: readonly TypeSpec[];
}

function IndexForm({ id, indices, specs }: IndexFormProps) {
  const parent = useResource(`index ${id}`, (signal) =>
    service.value.call('getIndex', { params: { index_id: id }, signal }),
  );
  const sets = useResource('constraint sets', (signal) => service.value.call('listConstraintSets', { signal }));
  const store = useIndexStore(parent.data);
  const isRead = useRef(false);
  if (!sets.isLoading) isRead.current = true;
  const hasRun = indices.find((index) => index.id === id)?.has_run === true;
  const weights = useResource(
    hasRun ? `weights ${id}` : null,
    (signal) => service.value.call('getWeights', { params: { index_id: id }, signal }),
    { follows: false },
  );
  const securityCount = weights.data?.weights.length ?? null;
  if (hasRun && securityCount === null && weights.trouble === null) return <Wait what="the weights of the index" />;
  const example = createExample(securityCount);
  return (
    <>
      <div class="optimise-bar">
        <Select
          label="Index"
          isLabelShown
          options={indices.map(({ id: value }) => ({ value, text: value }))}
          value={id}
          onChoose={(chosen) => setParameters({ index: chosen })}
        />
        <Select
          label="Begin with"
          isLabelShown
          options={[
            { value: '', text: example.text },
            { value: NOTHING, text: 'no constraints' },
            ...(sets.data?.constraint_sets ?? []).map(({ id: set, name }) => ({
              value: set,
              text: `${set} · ${name}`,
            })),
          ]}
          value={getParameter('set') ?? (isExample() ? '' : NOTHING)}
          onChoose={(set) =>
            setParameters({
              set: set === '' || set === NOTHING ? null : set,
              rows: set === NOTHING ? '[]' : null,
              terms: null,
              as: null,
            })
          }
        />
        <a href={formatIndexAddress(id)}>The index</a>
        <a href="/console/risk-models">Risk models</a>
      </div>
      <Answered resource={parent} what="the index">
        {(document) => (
          <Answered resource={sets} what="the constraint sets">
            {({ constraint_sets: all }) => {
              const requestedSet = getParameter('set');
              const constraintSet = all.find(({ id: setId }) => setId === requestedSet);
              // A cached list may not contain the set yet. The form waits for the current list. Otherwise the list
              // would replace the form after the user started to edit it.
              if (requestedSet !== null && constraintSet === undefined && !isRead.current)
                return <Wait what="the constraint set" />;
              return (
                <NamesStore.Provider value={store ?? null}>
                  <Rows
                    key={constraintSet?.id}
                    parent={document}
                    set={constraintSet}
                    {...{ store, example, securityCount, specs }}
                  />
                </NamesStore.Provider>
              );
            }}
          </Answered>
        )}
      </Answered>
    </>
  );
}

/** Value of the choice to use no constraints. A constraint set cannot have this id. */
const NOTHING = ' ';

/** Returns true if the address contains no problem. The page then shows the example. */
const isExample = (): boolean => ['set', 'rows', 'terms'].every((name) => getParameter(name) === null);

/** Stores the terms in the address. If all of them are defaults, removes them. */
const setTerms = (example: Example) => (next: Terms) => {
  const terms = Object.keys(next).length === 0 ? null : JSON.stringify(next);
  setParameters(isExample() ? { terms, rows: JSON.stringify(example.rows) } : { terms });
};

interface RowsProps {
  readonly parent: IndexDocument;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly set: ConstraintSet | undefined;
  /** Initial problem if the address contains none. */
  readonly example: Example;
  /** Number of securities of the index; null if it is unknown. */
  readonly securityCount: number | null;
  readonly specs: readonly TypeSpec[];
}

function Rows({ parent, store, set, example, securityCount, specs }: RowsProps) {
  const { rows, setRows, name, setName, isTooLong } = useRows(parent, { set, example });
  const terms = isExample() ? example.terms : parseTerms(getParameter('terms'));
  const datapoints = useFields(store ?? null).data?.fields.map(({ name: field }) => field) ?? [];
  const body = { id: name, name, constraints: asConstraints(rows) };
  const document = createDerivedIndex(parent, { base: parent.base_date, rows: [], terms });
  const report = useOneAtATime(JSON.stringify([body, terms]), () => validate(body, document));
  const isValid = report.data?.every(({ severity }) => severity !== 'error') === true && !report.isBehind;
  const solution = useSolution({ parent, store, rows, terms, isValid });
  const isSolvable = isValid && solution.trouble === null && solution.data !== undefined;
  const reportedFindings = report.data ?? [];
  const tightBounds = listTightBounds(rows, countCandidates(solution.data) ?? securityCount);
  const findings = [...reportedFindings, ...solution.findings, ...tightBounds];
  const run = (onRefusal: OnRefusal) => start(() => startRun(parent.id, body, terms), onRefusal);
  return (
    <div class="designer">
      <div class="designer-forms">
        <section class="designer-part" aria-label="Objective">
          <h2>Objective</h2>
          <TermsForm value={terms} findings={findings} path={[]} datapoints={datapoints} onChange={setTerms(example)} />
        </section>
        <section class="designer-part" aria-label="Constraints">
          <ConstraintsHead />
          <RowList
            what="constraint"
            rows={rows}
            types={specs}
            path={['constraints']}
            findings={findings}
            datapoints={datapoints}
            conflicts={listConflictPositions(solution.isBehind ? null : (solution.trouble?.detail ?? null))}
            onChange={setRows}
          />
          {isTooLong && <TooLong />}
        </section>
        {may('run') && may('write') && (
          <SaveConstraints
            name={name}
            findings={findings.filter(({ path }) => path === 'id')}
            isValid={isValid}
            stored={set?.id ?? null}
            onName={setName}
            onSave={(onRefusal) => saveRows(body, onRefusal)}
          />
        )}
      </div>
      <Solve
        {...{ parent, rows, terms, solution }}
        findings={reportedFindings}
        run={may('run') && may('write') && <RunButton isValid={isValid} onRun={run} />}
        action={
          may('write') && <SaveIndex {...{ parent, rows }} isValid={isSolvable} onDerive={derive(parent.id, terms)} />
        }
        onRows={setRows}
        onTerms={setTerms(example)}
      />
    </div>
  );
}

const ConstraintsHead = () => (
  <header class="section-head">
    <h2>Constraints</h2>
    <span class="quiet">Always, unless changed: weights add up to 100%, and none is below 0</span>
  </header>
);

function TooLong() {
  return <p class="quiet">These constraints are too long for the address. Save them before you share the page.</p>;
}

/** Keeps edited rows and their id in the address while they differ from the stored set. */
function useRows(parent: IndexDocument, { set, example }: Pick<RowsProps, 'set' | 'example'>) {
  const addressedRows = useAddressed('rows');
  const isFirst = addressedRows.text === null && isExample();
  const first = useMemo(
    () => (isFirst ? example.rows : asRows(set?.constraints ?? [])),
    [set, isFirst, JSON.stringify(example.rows)],
  );
  const rows = useMemo(
    () => (addressedRows.text === null ? first : listRows(parseJson(addressedRows.text))),
    [addressedRows.text, first],
  );
  const ownName = set?.id ?? `${parent.id}-limits`;
  return {
    rows,
    setRows: (next: readonly JsonObject[]) => {
      const text = JSON.stringify(next);
      if (text === JSON.stringify(first)) return addressedRows.put(null);
      if (isFirst) setParameters({ terms: JSON.stringify(example.terms) });
      return addressedRows.put(text);
    },
    name: getParameter('as') ?? ownName,
    setName: (typed: string) => setParameters({ as: typed === ownName ? null : typed }),
    isTooLong: addressedRows.isTooLong,
  };
}

/** Saves the rows as a constraint set and opens the set. */
const saveRows = (body: ConstraintSetBody, onRefusal: OnRefusal) =>
  attempt(async () => {
    await service.value.call('putConstraintSet', { params: { constraint_set_id: body.id }, body });
    notifyChange();
    setParameters({ set: body.id, rows: null, as: null });
    showToast('good', `The constraint set ${body.id} was saved.`);
  }, onRefusal);

/** Saves the rows as a constraint set and starts an optimisation at the decision date of the preview. */
async function startRun(indexId: string, body: ConstraintSetBody, terms: Terms) {
  await service.value.call('putConstraintSet', { params: { constraint_set_id: body.id }, body });
  const asOf = getParameter('on');
  const request = {
    ...asTerms(terms),
    index_id: indexId,
    constraint_set_id: body.id,
    ...(asOf === null ? {} : { as_of: asOf }),
  };
  return service.value.call('startOptimisation', { body: request });
}

/** Validates the constraints and the terms with the service. */
async function validate(set: ConstraintSetBody, document: IndexDocumentBody): Promise<readonly Finding[]> {
  const [ofRows, ofTerms] = await Promise.all([
    service.value.call('validateConstraintSet', { body: set }),
    service.value.call('validateIndex', { body: document }),
  ]);
  return [...ofRows.findings, ...convertFindings(ofTerms)];
}

/**
 * Stores an index that optimises its parent at each rebalance, and opens it.
 * @returns the error of a refused request; null if it succeeded
 */
const derive = (parentId: string, terms: Terms) => async (id: string, name: string, rows: readonly JsonObject[]) => {
  const body = { ...asTerms(terms), id, name, constraints: asConstraints(rows) };
  let refusal: Trouble | null = null;
  const savedIndex = await attempt(
    () => service.value.call('optimiseIndex', { params: { index_id: parentId }, body }),
    (trouble) => {
      refusal = trouble;
    },
  );
  if (savedIndex !== undefined) navigate(formatIndexAddress(savedIndex.index.id));
  return refusal;
};
