import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ParameterSpec } from '#clients/typescript/divisor.js';
import { rescueFocus } from '../../components/controls/action-button.js';
import { Button, Icon } from '../../components/controls/button.js';
import { Answered } from '../../components/feedback.js';
import { AnyField } from '../../components/form/any-field.js';
import {
  createField,
  type FieldSpec,
  isApplicable,
  removeInapplicable,
  withLabelledHelp,
} from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { listRows, RowList } from '../../components/form/row-list.js';
import { NamesStore, useIndexStore } from '../../state/market.js';
import { useList } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMessageAt } from '../../words/findings.js';
import { addValue, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { TermsForm } from '../optimise/terms.js';
import { listFindingsAt, useWorkshop } from './draft.js';

interface DocumentFieldProps {
  readonly spec: FieldSpec;
  readonly within: Path;
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

function DocumentField({ spec, within, isDisabled = false, onChange }: DocumentFieldProps) {
  const { draft, findings, datapoints } = useWorkshop();
  const path = [...within, spec.name];
  return (
    <AnyField
      spec={spec}
      value={draft.at(path)}
      findings={findings}
      path={path}
      datapoints={datapoints}
      isDisabled={isDisabled}
      onChange={onChange}
    />
  );
}

interface PartProps {
  readonly title: string;
  readonly help?: string;
  /** True if the fields are wide, for long values. */
  readonly isRoomy?: boolean;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function DefinitionPart({ title, help, isRoomy = false, aside, children }: PartProps) {
  return (
    <section
      class={isRoomy ? 'stack raised gap-3 designer-part is-roomy' : 'stack raised gap-3 designer-part'}
      aria-label={title}
    >
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {help !== undefined && <p class="quiet">{help}</p>}
      {children}
    </section>
  );
}

const NEW_WATCHLIST = { address: '/console/watchlists/new', text: 'New watchlist' };

interface FieldsProps {
  readonly fields: readonly ParameterSpec[];
  readonly within: Path;
  /** Read-only fields. */
  readonly fixed?: readonly string[];
  /** Further fields after these. */
  readonly children?: ComponentChildren;
}

/**
 * Renders the fields of the definition. Fields that do not apply, because of the values of other fields, are left out.
 */
export function MemberFields({ fields, within, fixed = [], children }: FieldsProps) {
  const { draft, known } = useWorkshop();
  const value = draft.at(within);
  const isIndex = draft.at([...within, 'kind']) === 'index';
  /** Values of kinds that were deselected. They are restored when the kind is selected again. */
  const left = useRef<JsonObject>({});
  /**
   * Returns the ids of the stored watchlists. The id in the definition is included even if that watchlist was deleted.
   */
  const listWatchlists = (named: Json | undefined) => [
    ...new Set([...known.watchlists, ...(typeof named === 'string' && named !== '' ? [named] : [])]),
  ];
  const createSpec = (parameter: ParameterSpec): FieldSpec => {
    const labelled = withLabelledHelp(createField(parameter), fields);
    const isDouble = within.length > 0 && (labelled.help?.length ?? 0) > LONG_HELP;
    const spec = { ...labelled, isDouble, ...(fields.some(isParts) && { words: UNIVERSE_WORDS }) };
    switch (parameter.format) {
      case 'calendar':
        return {
          ...spec,
          kind: 'choice',
          choices: [...known.exchanges.keys()],
          words: Object.fromEntries([...known.exchanges].map(([code, name]) => [code, `${code}, ${name}`])),
        };
      case 'store':
        return {
          ...spec,
          kind: 'choice',
          choices: [...known.stores.keys()],
          words: Object.fromEntries([...known.stores].map(([store, name]) => [store, `${store}, ${name}`])),
        };
      case 'universe':
        return { ...spec, suggestions: isIndex ? known.indices : known.universes };
      case 'watchlist':
        return {
          ...spec,
          kind: 'choice',
          choices: listWatchlists(draft.at([...within, spec.name])),
          link: NEW_WATCHLIST,
        };
      default:
        return spec;
    }
  };
  const put = (name: string, next: Json | undefined) => {
    // Adding a member to an object returns an object.
    const changedValue = addValue(isObject(value) ? { ...left.current, ...value } : value, [name], next) as JsonObject;
    const nextDocument = addFirstPart(changedValue, value, fields);
    const keptDocument = removeInapplicable(fields, nextDocument) as JsonObject; // removing members from an object returns an object
    left.current = Object.fromEntries(Object.entries(nextDocument).filter(([own]) => !(own in keptDocument)));
    draft.set(within, keptDocument);
  };
  return (
    <FieldGrid>
      {fields
        .filter((parameter) => isApplicable(parameter, fields, value))
        .map((parameter) =>
          isParts(parameter) ? (
            <Universes
              key={parameter.name}
              fields={fields}
              within={[...within, parameter.name]}
              help={parameter.help}
            />
          ) : (
            <DocumentField
              key={parameter.name}
              spec={createSpec(parameter)}
              within={within}
              isDisabled={fixed.includes(parameter.name)}
              onChange={(next) => put(parameter.name, next)}
            />
          ),
        )}
      {children}
    </FieldGrid>
  );
}

/** Number of characters above which the help of a field needs two columns. */
const LONG_HELP = 110;

const UNIVERSE_WORDS = { all: 'all securities' };

const isParts = ({ name, type }: ParameterSpec): boolean => name === 'of' && type === 'json';

/** Changes a universe to a set. The previous universe becomes the first part of the set. */
function addFirstPart(changed: JsonObject, before: Json | undefined, fields: readonly ParameterSpec[]): JsonObject {
  const parts = fields.find(isParts);
  if (parts === undefined || changed[parts.name] !== undefined || !isApplicable(parts, fields, changed)) return changed;
  return { ...changed, [parts.name]: [before ?? INITIAL_UNIVERSE, INITIAL_UNIVERSE] };
}

const INITIAL_UNIVERSE: JsonObject = { kind: 'all' };

/** Maximum nesting of universes. */
const DEPTH_MAX = 4;

/** Returns the fields of a universe inside a set. At the maximum depth, it cannot be a set itself. */
const listFieldsWithin = (fields: readonly ParameterSpec[], within: Path): readonly ParameterSpec[] => {
  const parts = fields.find(isParts);
  if (parts === undefined || within.filter((step) => typeof step === 'number').length < DEPTH_MAX - 2) return fields;
  const sets = new Set(parts.when?.flatMap(({ kind = [] }) => kind));
  return fields.map((own) => ({ ...own, choices: own.choices?.filter((choice) => !sets.has(choice)) ?? null }));
};

interface UniversesProps {
  readonly fields: readonly ParameterSpec[];
  readonly within: Path;
  readonly help: string | null;
}

function Universes({ fields, within, help }: UniversesProps) {
  const { draft, findings } = useWorkshop();
  const parts = draft.at(within);
  const rows = Array.isArray(parts) ? (parts as readonly Json[]) : [];
  const [removed, setRemoved] = useState(0);
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>Universes</legend>
      {help !== null && <p class="small field-help">{help}</p>}
      {listFindingsAt(findings, within).map((finding) => (
        <p key={finding.code} class="down">
          {formatMessageAt(finding, 'of', 'Universes')}
        </p>
      ))}
      {rows.map((_, at) => (
        // The key changes when a row is removed. Values of other kinds that are remembered then stay with their row.
        <div key={`${removed} ${at}`} class="pile gap-2 field-row" role="group" aria-label={`Universe ${at + 1}`}>
          <MemberFields fields={listFieldsWithin(fields, within)} within={[...within, at]} />
          <Button
            kind="bare"
            aria-label={`Remove universe ${at + 1}`}
            onClick={() => {
              setRemoved(removed + 1);
              draft.set([...within, at], undefined);
              setTimeout(rescueFocus);
            }}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button onClick={() => draft.set([...within, rows.length], INITIAL_UNIVERSE)}>
        <Icon name="plus" /> Add a universe
      </Button>
    </fieldset>
  );
}

/** Rarely used fields of the index, which have defaults. */
const RARE_FIELDS: ReadonlySet<string> = new Set(['base_market_value', 'rounding']);

/** Fields that are folded, because they do not affect the level. */
const FOLDED_FIELDS: ReadonlySet<string> = new Set(['description', 'tags']);

/**
 * Renders the fields of the index: the data store if there are several, the name, and the others in the order of the
 * catalogue.
 */
export function Identity() {
  const { isStored, types, known } = useWorkshop();
  const isStore = ({ name }: ParameterSpec) => name === 'store_id';
  const isStoreFirst = known.stores.size > 1;
  const rank = (field: ParameterSpec) => (isStore(field) ? 0 : field.name === 'name' ? 1 : 2);
  const fields = types.fields.index.filter(({ name }) => !RARE_FIELDS.has(name));
  const isFolded = (field: ParameterSpec) => FOLDED_FIELDS.has(field.name) || (isStore(field) && !isStoreFirst);
  const shownFields = fields.filter((field) => !isFolded(field)).toSorted((a, b) => rank(a) - rank(b));
  return (
    <DefinitionPart title="Index" isRoomy>
      <MemberFields fields={shownFields} within={[]} fixed={isStored ? ['id'] : []} />
      <details class="field-more">
        <summary>{isStoreFirst ? 'Description and tags' : 'Description, tags and data store'}</summary>
        <MemberFields fields={fields.filter(isFolded)} within={[]} />
      </details>
    </DefinitionPart>
  );
}

/** Renders a section of the definition that is closed at first. */
const FoldedPart = ({ title, children }: Pick<PartProps, 'title' | 'children'>) => (
  <details class="stack raised gap-3 designer-part">
    <summary>
      <h2>{title}</h2>
    </summary>
    {children}
  </details>
);

export const Precision = () => (
  <FoldedPart title="Base market value and rounding">
    <MemberFields fields={useWorkshop().types.fields.index.filter(({ name }) => RARE_FIELDS.has(name))} within={[]} />
  </FoldedPart>
);

export function Universe() {
  return (
    <DefinitionPart title="Universe" help="Securities eligible for selection">
      <MemberFields fields={useWorkshop().types.fields.universe} within={['universe']} />
    </DefinitionPart>
  );
}

export const Treatment = () => (
  <FoldedPart title="Events and gaps">
    <MemberFields fields={useWorkshop().types.fields.treatment} within={['pipeline', 'treatment']} />
  </FoldedPart>
);

export const DocumentChanges = () => (
  <FoldedPart title="Changes between rebalances">
    <MemberFields fields={useWorkshop().types.fields.events} within={['events']} />
  </FoldedPart>
);

export function RebalanceSchedule() {
  const { types, draft } = useWorkshop();
  return (
    <DefinitionPart title="Rebalance">
      <MemberFields fields={types.fields.rebalance} within={['rebalance']} />
      {isObject(draft.at(['pipeline'])) && <MemberFields fields={types.fields.reviews} within={[]} />}
    </DefinitionPart>
  );
}

const DERIVATION_PATH = ['derivation'] as const;
const CONSTRAINTS_PATH = [...DERIVATION_PATH, 'constraints'] as const;

/** Renders the settings of a derived index. It optimises its parent at each rebalance; the parent does not change. */
export function Derivation() {
  const { draft, findings, datapoints, types: definitions } = useWorkshop();
  const store = useIndexStore(draft.document.value) ?? null;
  const types = useList('constraint types', {
    follows: false,
  });
  const value = draft.at(DERIVATION_PATH);
  const parentId = String(draft.at([...DERIVATION_PATH, 'source_index_id']));
  return (
    <>
      <DefinitionPart title="Objective" aside={<a href={formatIndexAddress(parentId)}>optimised from {parentId}</a>}>
        <NamesStore.Provider value={store}>
          <TermsForm
            value={isObject(value) ? value : {}}
            findings={findings}
            path={DERIVATION_PATH}
            datapoints={datapoints}
            onChange={(terms) => draft.set(DERIVATION_PATH, terms)}
          />
        </NamesStore.Provider>
      </DefinitionPart>
      <DefinitionPart title="Constraints" help="Always, unless changed: weights add up to 100%, and none is below 0">
        <Answered resource={types} what="the constraint classes">
          {({ specs }) => (
            <RowList
              what="constraint"
              rows={listRows(draft.at(CONSTRAINTS_PATH))}
              types={specs}
              path={CONSTRAINTS_PATH}
              findings={findings}
              datapoints={datapoints}
              onChange={(rows) => draft.set(CONSTRAINTS_PATH, rows)}
            />
          )}
        </Answered>
        <MemberFields fields={definitions.fields.derivation} within={DERIVATION_PATH} />
      </DefinitionPart>
    </>
  );
}

const SELECTION_PATH = ['pipeline', 'selection'] as const;

/** Renders the selection rules. Each rule applies to the securities that the previous rule kept. */
export function SelectionRules() {
  const { draft, types, findings, datapoints } = useWorkshop();
  return (
    <DefinitionPart
      title="Selection"
      help="Rules in order; each one selects from the securities that the previous one kept"
    >
      <RowList
        what="rule"
        rows={listRows(draft.at(SELECTION_PATH))}
        types={types.selection}
        path={SELECTION_PATH}
        findings={findings}
        datapoints={datapoints}
        onChange={(rows) => draft.set(SELECTION_PATH, rows)}
      />
    </DefinitionPart>
  );
}

const WEIGHTING_PATH = ['pipeline', 'weighting'] as const;

export function WeightingRule() {
  const { draft, types, findings } = useWorkshop();
  const type = draft.at([...WEIGHTING_PATH, 'type']);
  const spec = types.weighting.find((known) => known.type === type);
  /** Weighting classes have different parameters, but they all share the limits. */
  const choose = (chosen: string) => {
    const before = draft.at(WEIGHTING_PATH);
    const { params: _, ...limits } = isObject(before) ? before : {};
    draft.set(WEIGHTING_PATH, { ...limits, type: chosen });
  };
  return (
    <DefinitionPart title="Weighting">
      <Field
        spec={{
          name: 'type',
          label: 'Weights',
          kind: 'choice',
          choices: types.weighting.map((known) => known.type),
          words: Object.fromEntries(types.weighting.map((known) => [known.type, known.label])),
          isRequired: true,
          help: spec?.help ?? null,
        }}
        value={type}
        findings={listFindingsAt(findings, [...WEIGHTING_PATH, 'type'])}
        onChange={(value) => typeof value === 'string' && choose(value)}
      />
      <MemberFields fields={spec?.parameters ?? []} within={[...WEIGHTING_PATH, 'params']} />
      <MemberFields fields={sortGroups(types.fields.weighting)} within={WEIGHTING_PATH} />
    </DefinitionPart>
  );
}

/** Sorts fields with members after the others, which are side by side. */
const sortGroups = (fields: readonly ParameterSpec[]): readonly ParameterSpec[] =>
  fields.toSorted((a, b) => Number(a.fields !== null) - Number(b.fields !== null));
