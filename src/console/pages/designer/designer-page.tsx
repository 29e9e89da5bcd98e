import './designer.css';
import type { ComponentType, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  type BenchmarkStatement,
  DivisorError,
  type DocumentChange,
  type FieldList,
  type Finding,
  type IndexDocumentBody,
  type OverlayTypes,
  type ParameterSpec,
  type RuleTypes,
} from '#clients/typescript/divisor.js';
import { type ConcurrentChange, Conflict } from '../../components/conflict.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { NoteInput } from '../../components/controls/comment.js';
import { Answered, Banner, Problem } from '../../components/feedback.js';
import { Field, FieldGrid, FormulaTerms } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { FormDialog } from '../../components/layout/dialog.js';
import { Page } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { ChangeTable } from '../../components/versions/change-table.js';
import { useOneAtATime } from '../../state/latest-request.js';
import {
  formatAddress,
  getParameter,
  navigate,
  type PageProps,
  setParameters,
  useAddressed,
  useAddressedObject,
} from '../../state/location.js';
import { useExchanges, useFields, useIndexStore } from '../../state/market.js';
import {
  createTrouble,
  may,
  notifyChange,
  service,
  type Trouble,
  useAnswer,
  useList,
  useResource,
  worldVersion,
} from '../../state/service.js';
import { getChosenStore, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { addAmendment, computeDefinitionsOn, sortChanges, type SortedChanges } from '../../words/changes.js';
import { isDate } from '../../words/dates.js';
import { formatPathLabel } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';
import { type PathDifference, isObject, type Json, type JsonObject, listDifferences } from '../../words/paths.js';
import {
  adoptStore,
  applyChanges,
  createBody,
  createDocument,
  openDraft,
  DesignerContext,
  type Draft,
  fillFromStore,
  findStoreOfNew,
  formatChanges,
  getTerms,
  isSame,
  keepDraft,
  listFindingsAt,
  readDraft,
  useWorkshop,
} from './draft.js';
import { Live } from './live.js';
import {
  DocumentChanges,
  Derivation,
  MemberFields,
  Identity,
  DefinitionPart,
  Precision,
  RebalanceSchedule,
  SelectionRules,
  Treatment,
  Universe,
  WeightingRule,
} from './parts.js';

const OVERLAY_PATH = ['overlay'] as const;
const TYPE_PATH = [...OVERLAY_PATH, 'type'] as const;
const UNDERLYING_PATH = ['source_index_id'] as const;

/** Renders the overlay type, its parameters and the underlying index. */
function Overlay() {
  const { draft, findings, known, isStored } = useWorkshop();
  const types = useList('overlay types', {
    follows: false,
  });
  const type = draft.at(TYPE_PATH);
  /** The types have different parameters. A blend has parts and no underlying index. */
  const choose = (chosen: string) => {
    const spec = types.data?.overlays.find((one) => one.type === chosen);
    const { source_index_id: beneath, ...others } = draft.document.value;
    const parts =
      chosen === 'blend' && typeof beneath === 'string' ? { parts: [{ index_id: beneath, weight: 1 }] } : {};
    const first = draft.at([...OVERLAY_PATH, 'parts', 0, 'index_id']);
    const source = chosen === 'blend' ? {} : { source_index_id: beneath ?? first };
    const proposedOverlay = isStored ? {} : rename(others, { from: String(type), to: chosen });
    draft.replace({
      ...others,
      ...proposedOverlay,
      ...source,
      overlay: { type: chosen, ...parts, ...listProposed(spec), ...createFirstMember(spec?.parameters ?? []) },
    });
  };
  // If an index is converted, its currency is the target currency.
  const into = draft.at([...OVERLAY_PATH, 'to']);
  useEffect(() => {
    if (!isStored && typeof into === 'string' && /^[A-Z]{2}[A-Za-z]$/.test(into)) draft.set(['currency'], into);
  }, [into]);
  return (
    <Answered resource={types} what="the kinds of overlay">
      {({ overlays }) => {
        const spec = overlays.find((one) => one.type === type);
        return (
          <DefinitionPart
            title="Overlay"
            help="An index on another index, with currency, leverage, risk control or fees applied"
          >
            <FieldGrid>
              <Field
                spec={{
                  name: 'type',
                  label: 'Overlay',
                  kind: 'choice',
                  choices: overlays.map((one) => one.type),
                  words: Object.fromEntries(overlays.map((one) => [one.type, one.label])),
                  isRequired: true,
                  help: spec?.help ?? null,
                }}
                value={type}
                findings={listFindingsAt(findings, TYPE_PATH)}
                onChange={(chosen) => typeof chosen === 'string' && choose(chosen)}
              />
              {type !== 'blend' && (
                <Field
                  spec={{
                    name: 'source_index_id',
                    label: 'Underlying index',
                    kind: 'choice',
                    choices: known.indices.filter((id) => !isStored || id !== draft.at(['id'])),
                    isRequired: true,
                  }}
                  value={draft.at(UNDERLYING_PATH)}
                  findings={listFindingsAt(findings, UNDERLYING_PATH)}
                  onChange={(chosen) => draft.set(UNDERLYING_PATH, chosen)}
                />
              )}
            </FieldGrid>
            <ParameterGroups key={String(type)} parameters={(spec?.parameters ?? []).map(separateUnit)} />
            {spec !== undefined && (
              <details class="quiet">
                <summary>Formula</summary>
                <p>
                  <code>{spec.formula}</code>
                </p>
                <p>{spec.reference}</p>
              </details>
            )}
          </DefinitionPart>
        );
      }}
    </Answered>
  );
}

interface Alternative {
  /** Question that the choice answers. */
  readonly label: string;
  /** Members of which exactly one must be set, each with the text of the choice and its first value. */
  readonly members: Readonly<Record<string, { readonly text: string; readonly first: Json }>>;
}

/** Parameters of overlays of which exactly one must be set. */
const ALTERNATIVES: readonly Alternative[] = [
  {
    label: 'Volatility estimate',
    members: {
      half_lives: { text: 'recent sessions count more', first: [11, 23] },
      sessions: { text: 'equal weights', first: 60 },
      windows: { text: 'the largest of several windows', first: [20, 60] },
    },
  },
  {
    label: 'Decrement in',
    members: {
      percent: { text: 'percent per year', first: 5 },
      points: { text: 'index points per year', first: 50 },
    },
  },
];

/** Returns the alternatives to which the parameters of an overlay belong. Returns undefined if there are none. */
function findAlternative(parameters: readonly ParameterSpec[]): Alternative | undefined {
  const names = new Set(parameters.map(({ name }) => name));
  return ALTERNATIVES.find(({ members }) => Object.keys(members).every((name) => names.has(name)));
}

/** Returns the first of the alternative parameters with its initial value. */
function createFirstMember(parameters: readonly ParameterSpec[]): JsonObject {
  const [first] = Object.entries(findAlternative(parameters)?.members ?? {});
  return first === undefined ? {} : { [first[0]]: first[1].first };
}

type OverlayType = OverlayTypes['overlays'][number];

/** Returns the required numbers of an overlay type's example. With them, a preview can be shown at once. */
function listProposed(spec: OverlayType | undefined): JsonObject {
  const example = (spec?.example ?? {}) as JsonObject; // the example is a document
  const requiredParameters = (spec?.parameters ?? []).filter(
    (one) => one.required && typeof example[one.name] === 'number',
  );
  return Object.fromEntries(requiredParameters.map(({ name }) => [name, example[name]]));
}

/** Parameters that few overlays change. Each group has a title. */
const FOLDED: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: 'Reviews of the exposure', names: ['tolerance', 'max_change', 'review'] },
  {
    title: 'Cash, costs and day count',
    names: ['cash', 'financing', 'spread_bps', 'cost_bps', 'basis', 'annualisation'],
  },
];

/** Maximum number of parameters that are all open. If there are more, those that few overlays change are folded. */
const OPEN_MAX = 6;

/** Renders the parameters of an overlay. If there are many, only the main parameters are open at first. */
function ParameterGroups({ parameters }: { readonly parameters: readonly ParameterSpec[] }) {
  if (parameters.length <= OPEN_MAX) return <Parameters parameters={parameters} />;
  const foldedNames = new Set(FOLDED.flatMap(({ names }) => names));
  return (
    <>
      <Parameters parameters={parameters.filter(({ name }) => !foldedNames.has(name))} />
      {FOLDED.map(({ title, names }) => (
        <FoldedGroup key={title} title={title} parameters={parameters.filter(({ name }) => names.includes(name))} />
      ))}
    </>
  );
}

interface FoldedGroupProps {
  readonly title: string;
  readonly parameters: readonly ParameterSpec[];
}

/** Renders parameters that are folded unless one of them is set or has a finding. */
function FoldedGroup({ title, parameters }: FoldedGroupProps) {
  const { draft, findings } = useWorkshop();
  const [isOpen, setOpen] = useState(() =>
    parameters.some(({ name }) => (draft.at([...OVERLAY_PATH, name]) ?? null) !== null),
  );
  const isWrong = parameters.some(({ name }) => listFindingsAt(findings, [...OVERLAY_PATH, name]).length > 0);
  if (parameters.length === 0) return null;
  return (
    <details class="overlay-group" open={isOpen || isWrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      <MemberFields fields={parameters} within={OVERLAY_PATH} />
    </details>
  );
}

/**
 * Renders the parameters of an overlay. If parameters are alternatives, the user selects one, and only its field is
 * shown.
 */
function Parameters({ parameters }: { readonly parameters: readonly ParameterSpec[] }) {
  const { draft } = useWorkshop();
  const choice = findAlternative(parameters);
  if (choice === undefined) return <MemberFields fields={parameters} within={OVERLAY_PATH} />;
  const members = Object.keys(choice.members);
  const isGiven = (name: string) => (draft.at([...OVERLAY_PATH, name]) ?? null) !== null;
  const chosenMember = members.find(isGiven) ?? members[0]!; // an alternative has members
  const otherMembers = members.filter((name) => name !== chosenMember);
  // A document that contains several of the members is invalid. All their fields are shown, so that the user can remove
  // one.
  const hiddenMembers = new Set(otherMembers.filter((name) => !isGiven(name)));
  const position = parameters.findIndex(({ name }) => members.includes(name));
  const choose = (name: string) => {
    const overlay = draft.at(OVERLAY_PATH);
    const keptEntries = Object.entries(isObject(overlay) ? overlay : {}).filter(([own]) => !members.includes(own));
    draft.set(OVERLAY_PATH, { ...Object.fromEntries(keptEntries), [name]: choice.members[name]!.first }); // one of the members
  };
  return (
    <>
      <MemberFields fields={parameters.slice(0, position)} within={OVERLAY_PATH}>
        <Field
          spec={{
            name: choice.label,
            label: choice.label,
            kind: 'choice',
            choices: members,
            words: Object.fromEntries(members.map((name) => [name, choice.members[name]!.text])),
            isRequired: true,
          }}
          value={chosenMember}
          findings={[]}
          onChange={(name) => typeof name === 'string' && choose(name)}
        />
      </MemberFields>
      <MemberFields
        fields={parameters.slice(position).filter(({ name }) => !hiddenMembers.has(name))}
        within={OVERLAY_PATH}
      />
    </>
  );
}

/**
 * Returns a parameter whose label contains no unit. For example, the unit in `Spread bps` becomes the unit of the
 * field.
 */
const separateUnit = (parameter: ParameterSpec): ParameterSpec =>
  parameter.label.endsWith(' bps')
    ? {
        ...parameter,
        label: parameter.label.slice(0, -' bps'.length),
        help: `${parameter.help ?? ''} Unit: bp.`,
      }
    : parameter;

/** Returns the texts that an overlay type appends to the id and name of the underlying index. */
const createSuffixes = (type: string): { readonly id: string; readonly name: string } =>
  type === 'fee'
    ? { id: '-NET', name: ', net of a fee' }
    : { id: `-${type.toUpperCase().replaceAll('_', '-')}`, name: `, ${type.replaceAll('_', ' ')}` };

/** Replaces the proposed id and name after the overlay type was changed. An id or name that was edited is kept. */
function rename(document: JsonObject, { from, to }: { readonly from: string; readonly to: string }): JsonObject {
  const [before, after] = [createSuffixes(from), createSuffixes(to)];
  const namedMembers = (['id', 'name'] as const).flatMap((member) => {
    const text = document[member];
    if (typeof text !== 'string' || !text.endsWith(before[member])) return [];
    return [[member, text.slice(0, text.length - before[member].length) + after[member]] as const];
  });
  return Object.fromEntries(namedMembers);
}

/** Fee of a new overlay, in percent per year. */
const INITIAL_FEE = 0.5;

/** Returns the first definition of an overlay on an index. Its type is a fee. */
const createOverlayDocument = (beneath: JsonObject): JsonObject => ({
  id: `${String(beneath['id'])}${createSuffixes('fee').id}`,
  name: `${String(beneath['name'])}${createSuffixes('fee').name}`,
  calendar: beneath['calendar'],
  base_date: beneath['base_date'],
  base_value: beneath['base_value'],
  currency: beneath['currency'],
  kind: 'overlay',
  source_index_id: beneath['id'],
  overlay: { type: 'fee', percent: INITIAL_FEE },
});

/** Definition that is edited. A stored definition has an ETag; the ETag of a new definition is null. */
interface OpenedIndex {
  readonly document: JsonObject;
  readonly etag: string | null;
  readonly isStored: boolean;
  /** Documents that a new index from a template depends on. They must be stored in this order. */
  readonly beneath?: readonly JsonObject[];
}

/** Returns the id of the stored document; empty for a new index. */
const getId = ({ document, isStored }: OpenedIndex): string => (isStored ? String(document['id']) : '');

async function loadIndex(id: string, signal?: AbortSignal): Promise<OpenedIndex> {
  const { answer, etag } = await service.value.callWithEtag('getIndex', { params: { index_id: id }, signal });
  // The response is plain JSON.
  return { document: answer as unknown as JsonObject, etag, isStored: true };
}

interface SavingInput {
  readonly draft: Draft;
  readonly opened: OpenedIndex;
  onReload(): void;
}

/** Changes of a definition with published closes. They apply from a date or to the whole history. */
interface PendingChange extends SortedChanges {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly published: PublishedIndex;
}

type PublishedIndex = NonNullable<BenchmarkStatement['publication']>;

interface SaveState {
  readonly isSaving: boolean;
  readonly trouble: Trouble | null;
  readonly clash: ConcurrentChange | null;
  /** Changes for which the user must decide between a date and the whole history; null if there are none. */
  readonly pending: PendingChange | null;
  /**
   * Saves the draft.
   * @param note reason of the change, stored with the version
   */
  save(note: string): void;
  /**
   * Saves pending changes as an amendment.
   * @param terms terms of the amendment without its date and changes
   */
  amend(date: string, terms: JsonObject, note: string): void;
  /** Saves pending changes for the whole history. */
  saveWhole(note: string): void;
  dropPending(): void;
  /** Overwrites the version that another user saved, after this user has reviewed it. */
  saveOver(clash: ConcurrentChange, document: JsonObject, note: string): void;
  takeTheirs(): void;
}

/**
 * Returns the state and the actions of saving. A save replaces only the version that the user has seen. If another
 * version was saved since, both versions are shown.
 */
function useSaving({ draft, opened, onReload }: SavingInput): SaveState {
  const [isSaving, setSaving] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [clash, setClash] = useState<ConcurrentChange | null>(null);
  const [seen, setSeen] = useState(opened);
  const [pending, setPending] = useState<PendingChange | null>(null);
  // Findings of the last save do not apply to a changed draft.
  const text = JSON.stringify(draft.document.value);
  useEffect(() => setTrouble(null), [text]);

  async function put(document: JsonObject, etag: string | null, why: string): Promise<void> {
    const body = createBody(document);
    const note = why === '' ? undefined : why;
    if (!opened.isStored) await service.value.call('createIndex', { body, note });
    else
      await service.value.call('putIndex', { params: { index_id: body.id }, body, ifMatch: etag ?? undefined, note });
    keepDraft(opened.isStored ? body.id : '', null);
    notifyChange();
    showToast('good', `${body.id} was saved.`);
    navigate(formatIndexAddress(body.id));
  }

  /** Runs the requests of a save. If one is refused, shows the error. */
  async function attemptSave(requests: () => Promise<void>): Promise<void> {
    setSaving(true);
    setTrouble(null);
    try {
      await requests();
    } catch (thrown) {
      const newTrouble = createTrouble(thrown);
      const message = `${newTrouble.message} The change may not have been saved. Save again when the service is available.`;
      setTrouble(
        newTrouble.code === null && newTrouble.retrySeconds !== null ? { ...newTrouble, message } : newTrouble,
      );
    }
    setSaving(false);
  }

  /**
   * Stores a document. If another version was saved since, reads that version.
   * @param over version that the user saw last
   */
  const store = (document: JsonObject, over: OpenedIndex, note: string) =>
    put(document, over.etag, note).catch(async (thrown: unknown) => {
      if (!(thrown instanceof DivisorError && thrown.code === 'PRECONDITION_FAILED')) throw thrown;
      const { document: theirs, etag } = await loadIndex(getId(opened));
      setPending(null);
      setClash({ base: over.document, theirs, etag });
    });

  /** Stores a change that affects no published close. For any other change, asks the user. */
  const storeOrAsk = (document: JsonObject, over: OpenedIndex, note: string) =>
    attemptSave(async () => {
      const pendingChanges = opened.isStored ? await loadPendingChanges(getId(opened), over.document, document) : null;
      if (pendingChanges === null) await store(document, over, note);
      else setPending(pendingChanges);
    });

  return {
    isSaving,
    trouble,
    clash,
    pending,
    save: (note) => void storeOrAsk(draft.document.value, seen, note),
    amend(date, terms, note) {
      if (pending !== null) void attemptSave(() => store(addAmendment(date, terms, pending), seen, note));
    },
    saveWhole(note) {
      if (pending !== null) void attemptSave(() => store(pending.after, seen, note));
    },
    dropPending() {
      setPending(null);
      setTrouble(null);
    },
    saveOver({ theirs, etag }, document, note) {
      const replacedDocument = { document: theirs, etag, isStored: true };
      setSeen(replacedDocument);
      setClash(null);
      draft.replace(document);
      void storeOrAsk(document, replacedDocument, note);
    },
    takeTheirs() {
      keepDraft(getId(opened), null);
      setParameters({ draft: null });
      setClash(null);
      onReload();
    },
  };
}

/** Returns the changes that affect published closes; null if there are none. */
async function loadPendingChanges(id: string, before: JsonObject, after: JsonObject): Promise<PendingChange | null> {
  const { publication: published } = await service.value.call('getStatement', { params: { index_id: id } });
  if (published === null) return null;
  const changes = sortChanges(before, after, published.through);
  return changes.amendable.length + changes.fixed.length === 0 ? null : { before, after, published, ...changes };
}

interface PendingChangesProps {
  readonly id: string;
  readonly pending: PendingChange;
  readonly saving: SaveState;
  /** Reason for the change, stored with the version. */
  readonly note: string;
}

const NO_TERMS: JsonObject = {};

/**
 * Renders a dialog that applies changes from a date. The dialog also offers to change the whole history, and shows how
 * many closes that affects.
 */
function PendingChanges({ id, pending, saving, note }: PendingChangesProps) {
  const { published, fixed, amendable, after } = pending;
  // The address keeps the terms while the amendment waits for approval.
  const [terms, setTerms] = useAddressedObject('amend', NO_TERMS);
  const { effective_from: from, ...others } = terms;
  const date = typeof from === 'string' && isDate(from) ? from : null;
  const reason = note === '' && typeof terms['reason'] === 'string' ? terms['reason'] : note;
  const closesText = countValues(published.closes, 'published close');
  const differences = date === null ? amendable : listAmendedFields(date, pending);
  return (
    <FormDialog title={`Amend ${id} from a date`} onClose={saving.dropPending}>
      <p>
        The index has {closesText}, {published.first} to {published.through}. An amendment keeps them: the first review
        on or after its date follows the new definition.
      </p>
      <ChangeTable label="Changed fields" changes={[...differences, ...fixed].map(toDocumentChange)} document={after} />
      {fixed.length > 0 && (
        <Banner kind="warning" title="Some fields cannot change from a date.">
          <p>
            {fixed.map(({ path }) => formatPathLabel(path, after)).join('; ')}. Discard these changes to amend the index
            from a date.
          </p>
        </Banner>
      )}
      {fixed.length === 0 && (
        <SchemaForm
          schema="Amendment"
          names={['effective_from', 'announced', 'rebalance', 'reason']}
          changes={{ rebalance: { label: 'Rebalance at once', otherwise: false } }}
          value={terms}
          findings={createLateFinding(date, published.through)}
          onChange={setTerms}
        />
      )}
      {saving.trouble !== null && <Problem trouble={saving.trouble} />}
      <div class="gap-2 dialog-actions">
        <Button onClick={saving.dropPending}>Cancel</Button>
        {fixed.length === 0 && (
          <Button
            kind="main"
            disabled={date === null || saving.isSaving}
            onClick={() => date !== null && saving.amend(date, others, reason)}
          >
            {date === null ? 'Amend from a date' : `Amend from ${date}`}
          </Button>
        )}
      </div>
      <WholeHistory closes={closesText} isDisabled={saving.isSaving} onChange={() => saving.saveWhole(note)} />
    </FormDialog>
  );
}

interface WholeHistoryProps {
  /** Number of published closes in words, such as `128 published closes`. */
  readonly closes: string;
  readonly isDisabled: boolean;
  onChange(): void;
}

/** Renders the button that changes the whole history, with the number of affected closes. */
function WholeHistory({ closes, isDisabled, onChange }: WholeHistoryProps) {
  return (
    <details>
      <summary>Change the whole history instead</summary>
      <Banner
        kind="warning"
        title={`The new definition applies from the base date: ${closes} would have to be restated.`}
      >
        <p>
          The next run computes every close again. Closes that differ are refused until they are restated with a reason,
          or decided by an error policy.
        </p>
        <div class="flow gap-3 form-actions">
          <Button kind="danger" disabled={isDisabled} onClick={onChange}>
            Change the whole history
          </Button>
        </div>
      </Banner>
    </details>
  );
}

/** Returns the fields that an amendment on a date would change. Earlier amendments are taken into account. */
function listAmendedFields(date: string, pending: PendingChange): readonly PathDifference[] {
  const { inForce, amended } = computeDefinitionsOn(date, pending);
  return listDifferences(inForce, amended);
}

const toDocumentChange = ({ path, before, after }: PathDifference): DocumentChange => ({
  path: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  op: before === undefined ? 'add' : after === undefined ? 'remove' : 'replace',
  before: before ?? null,
  after: after ?? null,
});

const createLateFinding = (date: string | null, through: string): readonly Finding[] =>
  date === null || date > through
    ? []
    : [
        {
          severity: 'warning',
          code: 'BAD_DATE',
          message: `Closes are published through ${through}: reviews up to it change published closes.`,
          path: 'effective_from',
        },
      ];

/** Title of a section in the navigation, and its form. */
type FormSection = readonly [title: string, Form: ComponentType];

const PIPELINE: readonly FormSection[] = [
  ['Universe', Universe],
  ['Selection', SelectionRules],
  ['Weighting', WeightingRule],
  ['Rebalance', RebalanceSchedule],
  ['Events', Treatment],
  ['Changes', DocumentChanges],
];

const IDENTITY: FormSection = ['Index', Identity];

/** Returns the sections of a definition. Its kind is an overlay, an optimised child, or a pipeline of rules. */
function listSections(document: JsonObject, isStored: boolean): readonly FormSection[] {
  const isDerived = document['derivation'] !== null && document['derivation'] !== undefined;
  const rules: readonly FormSection[] =
    document['overlay'] !== undefined ? [['Overlay', Overlay]] : isDerived ? [['Optimisation', Derivation]] : PIPELINE;
  // The id and the base date of a stored index rarely change, so its rules come first.
  const sections = isStored ? [...rules, IDENTITY] : [IDENTITY, ...rules];
  return [...sections, ['Rounding', Precision]];
}

/** Renders the sections of a definition, and buttons that lead to each of them. */
function Forms({ document }: { readonly document: JsonObject }) {
  const { isStored } = useWorkshop();
  const frame = useRef<HTMLDivElement>(null);
  const sections = listSections(document, isStored);
  const current = useCurrentSection(frame);
  const show = (at: number) => {
    const section = frame.current?.querySelectorAll<HTMLElement>('.designer-section')[at];
    const folded = section?.querySelector<HTMLDetailsElement>(':scope > details');
    if (folded) folded.open = true;
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  };
  return (
    <div class="designer-forms" ref={frame}>
      <nav class="wrap designer-sections" aria-label="Sections of the definition">
        {sections.map(([title], at) => (
          <Button key={title} kind="bare" aria-current={at === current ? 'true' : undefined} onClick={() => show(at)}>
            {title}
          </Button>
        ))}
      </nav>
      {sections.map(([title, Form]) => (
        <div key={title} class="designer-section" tabIndex={-1}>
          <Form />
        </div>
      ))}
    </div>
  );
}

/** Part of the window in which a section is in view: below the buttons, without the lower half. */
const VIEW_MARGIN = '-110px 0px -50% 0px';

/** Returns the position of the first section in view. */
function useCurrentSection(frame: RefObject<HTMLElement>): number {
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    const sections = [...frame.current!.querySelectorAll('.designer-section')]; // the form is in the document
    const visible = new Set<number>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries)
          visible[isIntersecting ? 'add' : 'delete'](sections.indexOf(target));
        if (visible.size > 0) setCurrent(Math.min(...visible));
      },
      { rootMargin: VIEW_MARGIN },
    );
    for (const section of sections) observer.observe(section);
    return () => observer.disconnect();
  }, []);
  return current;
}

/**
 * Creates a new index from the template of a published methodology, on the data store in the address or on the served
 * one. Also returns the documents that the index depends on.
 */
async function loadTemplate(template: string, id: string | null, signal: AbortSignal): Promise<OpenedIndex> {
  const chosen = getChosenStore();
  const [{ documents }, { stores }] = await Promise.all([
    service.value.call('getMethodologyTemplate', {
      params: { methodology_id: template },
      query: { index_id: id ?? undefined, store_id: chosen },
      signal,
    }),
    service.value.call('listStores', { signal }),
  ]);
  const store = chosen ?? findStoreOfNew(stores);
  const bodies = (documents as JsonObject[]) // the service returns JSON objects
    .map((body) => (store === null ? body : { ...body, store_id: store }));
  return { document: bodies.at(-1) ?? {}, etag: null, isStored: false, beneath: bodies.slice(0, -1) };
}

/** Returns the documents of a template that are not stored yet. Returns undefined until this is known. */
function useAbsent(documents: readonly JsonObject[] = []): readonly JsonObject[] | undefined {
  const indices = useAnswer('listIndices', documents.length === 0 ? null : {});
  if (documents.length === 0) return documents;
  if (indices.data === undefined) return indices.trouble === null ? undefined : [];
  const storedIds = new Set(indices.data.indices.map(({ id }) => id));
  return documents.filter(({ id }) => !storedIds.has(String(id)));
}

/** Renders the indices of a template that are not stored yet, and a button that stores them. */
function Beneath({ absent }: { readonly absent: readonly JsonObject[] }) {
  if (absent.length === 0) return null;
  const ids = absent.map(({ id }) => String(id)).join(', ');
  const missingText = absent.length === 1 ? ids : countValues(absent.length, 'index', 'indices');
  const store = async () => {
    for (const document of absent)
      // The service created the document.
      await service.value.call('createIndex', { body: document as unknown as IndexDocumentBody });
    showToast('good', `${ids} stored.`);
    notifyChange();
  };
  return (
    <Banner
      kind="info"
      title={`This index requires ${ids}.`}
      action={<ActionButton kind="main" act={store}>{`Store ${missingText}`}</ActionButton>}
    >
      <p>The definition is checked and previewed once {absent.length === 1 ? 'it is' : 'they are'} stored.</p>
    </Banner>
  );
}

interface StoreNamesInput {
  /** Data store of the definition; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly isStored: boolean;
}

/**
 * Loads the suggestions for fields: datapoints of the definition's store, and ids of stored documents. A new index
 * follows a store that is chosen.
 */
function useStoreNames(draft: Draft, { store, isStored }: StoreNamesInput) {
  const fields = useFields(store ?? null);
  const stores = useStores();
  const exchanges = useExchanges();
  const indices = useList('indices');
  const watchlists = useList('watchlists');
  useStoreOfDraft(isStored ? null : draft, store === undefined ? undefined : fields.data);
  return {
    datapoints: fields.data?.fields.map(({ name }) => name) ?? [],
    known: {
      exchanges,
      indices: indices.data?.indices.map(({ id }) => id) ?? [],
      universes: fields.data?.universes ?? [],
      stores: new Map(stores.data?.stores.map(({ store_id: id, name }) => [id, name])),
      watchlists: watchlists.data?.watchlists.map(({ watchlist_id: id }) => id) ?? [],
    },
  };
}

/**
 * Changes the values that a new index takes from its store when another store is chosen. Changes nothing for a draft
 * that is already on a store when the page opens.
 * @param draft null for a stored index, whose values are kept
 */
function useStoreOfDraft(draft: Draft | null, market: FieldList | undefined): void {
  const before = useRef<JsonObject | null>(null);
  useEffect(() => {
    if (draft === null || market === undefined) return;
    const after = createDocument(new Set(), { market, store: null });
    const previous = before.current ?? after;
    before.current = after;
    if (isSame(previous, after)) return;
    const changedDocument = adoptStore(draft.document.peek(), previous, after);
    if (!isSame(changedDocument, draft.document.peek())) draft.replace(changedDocument);
  }, [market]);
}

/** Returns a finding if a stored index already has the id of a new index. */
function listTakenIdFindings(id: Json | undefined, storedIds: readonly string[]): readonly Finding[] {
  if (typeof id !== 'string' || !storedIds.includes(id)) return [];
  const message = `An index is already stored under the id ${id}; a new index needs a different id.`;
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}

/** Page with a form editor of an index definition and a live preview. */
export function DesignerPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const beneath = id === null ? getParameter('beneath') : null;
  const template = id === null ? getParameter('template') : null;
  // A new index takes dates and fields from the served store. The form is therefore created again when a store is
  // served.
  const stores = useStores(id === null);
  const wasServed = useRef(false);
  wasServed.current ||= stores.data?.stores.some(({ active }) => active) === true;
  const isKnown = id !== null || (stores.data ?? stores.trouble) !== undefined;
  const openedIndex = useResource(
    isKnown
      ? `designer ${id} ${beneath} ${template} ${getParameter('id')} ${getChosenStore()} ${wasServed.current}`
      : null,
    (signal) => {
      if (id !== null) return loadIndex(id, signal);
      if (template !== null) return loadTemplate(template, getParameter('id'), signal);
      return beneath === null ? createIndex(signal) : createOverlay(beneath, signal);
    },
    { follows: false },
  );
  const types = useList('rule types', {
    follows: false,
  });
  return (
    <Answered resource={openedIndex} what="the definition">
      {(found) => (
        <Answered resource={types} what="the rule classes">
          {(known) => <Designer key={found.etag} opened={found} types={known} onReload={openedIndex.reload} />}
        </Answered>
      )}
    </Answered>
  );
}

async function createIndex(signal: AbortSignal): Promise<OpenedIndex> {
  const [{ indices }, { stores }, market] = await Promise.all([
    service.value.call('listIndices', { signal }),
    service.value.call('listStores', { signal }),
    service.value.call('listFields', { signal }).catch(() => null), // no store is served
  ]);
  const takenIds = new Set(indices.map(({ id }) => id));
  const document = createDocument(takenIds, { market, store: findStoreOfNew(stores) });
  return { document, etag: null, isStored: false };
}

async function createOverlay(beneath: string, signal: AbortSignal): Promise<OpenedIndex> {
  const { document } = await loadIndex(beneath, signal);
  return { document: createOverlayDocument(document), etag: null, isStored: false };
}

/** Returns the pages above the designer: the list of indices, and the index if it is stored. */
const listPagesAbove = (id: string, isStored: boolean) => [
  { address: '/', text: 'Indices' },
  ...(isStored ? [{ address: formatIndexAddress(id), text: id }] : []),
];

interface DesignerProps {
  readonly opened: OpenedIndex;
  readonly types: RuleTypes;
  onReload(): void;
}

function Designer({ opened, types, onReload }: DesignerProps) {
  const { document: first, isStored } = opened;
  const id = getId(opened);
  const { draft, left, discard } = useDraft(opened);
  const document = draft.document.value;
  const store = useIndexStore(document);
  const names = useStoreNames(draft, { store, isStored });
  const isChanged = !isSame(document, first);
  // Validation waits until all underlying documents are stored, for example the parent.
  const absent = useAbsent(opened.beneath);
  const report = useOneAtATime(
    absent?.length === 0 ? JSON.stringify(document) : null,
    () => service.value.call('validateIndex', { body: createBody(document) }),
    worldVersion.value,
  );
  const isValid = report.data?.valid === true && !report.isBehind && draft.unread.value === null;
  const [note, setNote] = useState('');
  const saving = useSaving({ draft, opened, onReload });
  useWarning(isChanged);
  useRuleAt(getParameter('at'));
  const findings = [...(report.data?.findings ?? []), ...(saving.trouble?.findings ?? [])];
  const idFindings = isStored ? [] : listTakenIdFindings(document['id'], names.known.indices);
  return (
    <DesignerContext.Provider value={{ draft, types, findings: [...findings, ...idFindings], isStored, ...names }}>
      <FormulaTerms.Provider value={{ functions: types.functions, request: getTerms(document), store: store ?? null }}>
        <Page
          title={isStored ? `Edit ${id}` : 'New index'}
          above={listPagesAbove(id, isStored)}
          subtitle={isStored ? <EditedVersion id={id} /> : <TemplatesLink />}
          actions={
            <>
              <UndoButtons draft={draft} />
              {isChanged && <Button onClick={discard}>Discard changes</Button>}
              {may('write') && <NoteInput value={note} onChange={setNote} />}
              {may('write') ? (
                <Button
                  kind="main"
                  disabled={!isValid || idFindings.length > 0 || saving.isSaving || (isStored && !isChanged)}
                  onClick={() => saving.save(note)}
                >
                  {isStored ? 'Save' : 'Save the index'}
                </Button>
              ) : (
                <MayNot scope="write" what="save" />
              )}
            </>
          }
        >
          {left && isChanged && <UnsavedBanner onDiscard={discard} />}
          {absent !== undefined && <Beneath absent={absent} />}
          <SavedIndex id={id} saving={saving} mine={document} note={note} />
          <div class="pile gap-5 designer">
            <Forms document={document} />
            <Live findings={findings} isValid={isValid} store={store} />
          </div>
        </Page>
      </FormulaTerms.Provider>
    </DesignerContext.Provider>
  );
}

/** Renders the version that is edited, and the version of the published run if it is another. */
function EditedVersion({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const edited = useResource(`edited version ${id}`, async (signal) => {
    const [{ versions }, { runs }] = await Promise.all([
      service.value.call('listIndexVersions', { params, query: { limit: 1 }, signal }),
      service.value.call('listRuns', { params, signal }),
    ]);
    const published = runs.find((run) => run.published)?.index_version ?? null;
    return { version: versions[0]?.version, published };
  }).data;
  if (edited?.version === undefined) return null;
  const { version, published } = edited;
  return (
    <>
      Version {version}
      {published !== null && (published === version ? ', published' : `; version ${published} is published`)}
    </>
  );
}

/** Renders a link to the templates on the data store in the address. */
const TemplatesLink = () => (
  <a href={formatAddress('/console/indices/templates', { store: getParameter('store') })}>Begin with a template</a>
);

/** Renders buttons that undo and redo changes of the draft, with the keys Ctrl+Z and Ctrl+Shift+Z. */
function UndoButtons({ draft }: { readonly draft: Draft }) {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'z' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      if (event.shiftKey) draft.redo();
      else draft.undo();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [draft]);
  return (
    <>
      <Button disabled={!draft.canUndo.value} onClick={draft.undo}>
        Undo
      </Button>
      <Button disabled={!draft.canRedo.value} onClick={draft.redo}>
        Redo
      </Button>
    </>
  );
}

/** Focuses the rule at the path of a finding, such as `pipeline.selection[0].params.count`. */
function useRuleAt(path: string | null): void {
  const rule = /^pipeline\.selection\[(\d+)\]/.exec(path ?? '')?.[1];
  useEffect(() => {
    if (rule !== undefined) globalThis.document.getElementById(`rule-${rule}`)?.focus();
  }, [rule]);
}

interface DraftState {
  readonly draft: Draft;
  /** True if the draft was restored: from the address, or from an earlier visit in this tab. */
  readonly left: boolean;
  discard(): void;
}

/** Keeps the draft in the address and in the session storage of the tab until it is saved. */
function useDraft(opened: OpenedIndex): DraftState {
  const { document: first, isStored } = opened;
  const id = getId(opened);
  // The first values of a new index depend on the date and the store. Its address therefore contains the whole document
  // and not only the changes.
  const base = isStored ? first : {};
  const addressedDraft = useAddressed('draft');
  const isBegunElsewhere = getParameter('template') !== null;
  const foundDocument = useMemo(() => {
    const ownDraft = applyChanges(base, addressedDraft.text) ?? (isBegunElsewhere ? null : readDraft(id));
    return ownDraft === null || isStored ? ownDraft : fillFromStore(ownDraft, first);
  }, []);
  const keep = (next: JsonObject) => {
    const isChanged = !isSame(next, first);
    keepDraft(id, isChanged ? next : null);
    addressedDraft.put(isChanged ? formatChanges(base, next) : null);
  };
  const draft = useMemo(() => openDraft(foundDocument ?? first, keep), []);
  useEffect(() => {
    if (foundDocument !== null) keep(foundDocument);
  }, []);
  return { draft, left: foundDocument !== null, discard: () => draft.replace(first) };
}

function UnsavedBanner({ onDiscard }: { readonly onDiscard: () => void }) {
  return (
    <Banner
      kind="info"
      title="This draft has unsaved changes."
      action={<Button onClick={onDiscard}>Discard the draft</Button>}
    />
  );
}

interface SavedIndexProps {
  readonly id: string;
  readonly saving: SaveState;
  readonly mine: JsonObject;
  readonly note: string;
}

/** Renders the result of the last attempt to save. */
function SavedIndex({ id, saving, mine, note }: SavedIndexProps) {
  const { clash, trouble, pending, takeTheirs, saveOver } = saving;
  return (
    <>
      {pending !== null && <PendingChanges id={id} pending={pending} saving={saving} note={note} />}
      {clash !== null && (
        <Conflict
          clash={clash}
          mine={mine}
          onTakeTheirs={takeTheirs}
          onKeepMine={() => saveOver(clash, mine, note)}
          onResolve={(document) => saveOver(clash, document, note)}
        />
      )}
      {trouble !== null && pending === null && <Problem trouble={trouble} />}
    </>
  );
}

/** Asks for confirmation before the tab is closed with unsaved changes. */
function useWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isChanged]);
}
