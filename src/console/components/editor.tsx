import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Finding, Operations } from '#clients/typescript/divisor.js';
import { useOneAtATime } from '../state/latest-request.js';
import { navigate } from '../state/location.js';
import { createTrouble, may, notifyChange, type Scope, service, type Trouble, useResource } from '../state/service.js';
import type { JsonObject } from '../words/paths.js';
import { type ConcurrentChange, Conflict } from './conflict.js';
import { isFocusLost, rescueFocus } from './controls/action-button.js';
import { Button } from './controls/button.js';
import { NoteInput } from './controls/comment.js';
import { Answered, Problem } from './feedback.js';
import { Field } from './form/field.js';
import { DeleteButton } from './layout/dialog.js';
import { Page } from './layout/page.js';
import { MayNot } from './permission.js';
import {
  createRoutes,
  getScope,
  type VersionedFamily,
  type VersionedNoun,
  VersionHistory,
} from './versions/history.js';

interface IdFieldProps {
  readonly edited: EditedDocument;
  /** Member that contains the id. */
  readonly member: string;
  /** True if the id cannot change, as for a stored document. */
  readonly isFixed: boolean;
}

/** Renders the id of a document. The editor derives the id of a new document from its name. */
export function IdField({ edited: { document, findings, set }, member, isFixed }: IdFieldProps) {
  const help = isFixed ? {} : { help: 'Derived from the name. Letters, digits, dashes and underscores.' };
  return (
    <Field
      spec={{ name: member, label: 'Id', kind: 'text', isRequired: true, ...help }}
      value={document[member]}
      findings={findings.filter(({ path }) => path === member)}
      isDisabled={isFixed}
      onChange={(value) => set({ ...document, [member]: value ?? '' })}
    />
  );
}

/** Derives the id of a new document from its name until the user enters another id. */
function withDerivedId(before: JsonObject, next: JsonObject, member: string): JsonObject {
  const isDerived = before['name'] !== next['name'] && (before[member] ?? '') === deriveId(before['name']);
  return isDerived ? { ...next, [member]: deriveId(next['name']) } : next;
}

const deriveId = (name: unknown): string =>
  String(name ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, ID_LENGTH_MAX);

/** Maximum length of an id in the contract. */
const ID_LENGTH_MAX = 64;

/** Stored document with its ETag, or a new document. The ETag of a new document is null. */
export interface OpenedDocument {
  readonly document: JsonObject;
  readonly etag: string | null;
}

/** Parameters of a write request in addition to the document. */
export interface WriteTerms {
  /** ETag of the version to overwrite; undefined for a new document. */
  readonly ifMatch: string | undefined;
  /** Reason for the change. */
  readonly note: string | undefined;
}

export interface EditedDocument {
  readonly document: JsonObject;
  readonly findings: readonly Finding[];
  readonly isChanged: boolean;
  set(document: JsonObject): void;
  readonly note: string;
  setNote(note: string): void;
  /**
   * Saves the document.
   * @returns true if the document was stored
   */
  save(): Promise<boolean>;
}

interface EditorProps {
  /** Scope required for saving. Default: `write`. */
  readonly scope?: Scope;
  readonly title: string;
  /** Name of the document in the confirmation of its deletion. Default: the title. */
  readonly subject?: string;
  readonly subtitle?: ComponentChildren;
  readonly above: Parameters<typeof Page>[0]['above'];
  readonly opened: OpenedDocument;
  /** Validates a document with the service. Default: the document is validated when it is saved. */
  readonly validate?: (document: JsonObject) => Promise<readonly Finding[]>;
  /** Returns true if a document may be saved. If absent, every document without errors may be saved. */
  readonly isReady?: (document: JsonObject) => boolean;
  /** Member that contains the id, which is part of the address. The id of a new document is derived from its name. */
  readonly idMember?: string;
  /** Members that must not be empty, in addition to the id and the name. */
  readonly required?: readonly string[];
  /** False for a document in which each row has its own reason. Default: each version has a reason. */
  readonly hasNote?: boolean;
  /** Document whose versions are listed below the editor. */
  readonly versioned?: VersionedFamily | undefined;
  /** Reads the stored document. If somebody else changed it, it is shown next to the draft. */
  readonly reread: () => Promise<OpenedDocument>;
  /**
   * Saves the document.
   * @returns the ETag of the stored version
   */
  readonly save: (document: JsonObject, version: WriteTerms) => Promise<{ readonly etag: string | null }>;
  readonly remove?: () => Promise<unknown>;
  readonly actions?: (edited: EditedDocument) => ComponentChildren;
  readonly onSaved: (document: JsonObject) => void;
  readonly onRemoved?: () => void;
  readonly onReload: () => void;
  readonly children: (edited: EditedDocument) => ComponentChildren;
}

/**
 * Renders the editor of a document. The document is validated while it is edited. It can be saved only if the stored
 * version is still the opened version.
 */
export function Editor(props: EditorProps) {
  const { title, above, opened, actions, remove, versioned, onReload, children, scope = 'write' } = props;
  const { isReady = () => true, hasNote = true } = props;
  const { edited, trouble, clash, resolve } = useEdited(props);
  const isStored = opened.etag !== null;
  const isWrong = edited.findings.some(({ severity }) => severity === 'error');
  const report = (isSaved: boolean, document: JsonObject) => isSaved && props.onSaved(document);
  const missing = listMissing(edited.document, props);
  const canSave = !isWrong && missing.length === 0 && (!isStored || edited.isChanged) && isReady(edited.document);
  // The pressed button is disabled until the next change and loses the focus. The focus then moves to the heading.
  const isPressed = useRef(false);
  useLayoutEffect(() => {
    if (isPressed.current && !canSave) rescueFocus();
    isPressed.current &&= canSave;
  }, [canSave]);
  return (
    <Page
      title={title}
      subtitle={props.subtitle}
      above={above ?? []}
      isEditor
      actions={
        may(scope) ? (
          <>
            {actions?.(edited)}
            {isStored && remove !== undefined && (
              <DeleteButton
                subject={props.subject ?? title}
                onConfirm={() => void remove().then(notifyChange).then(props.onRemoved)}
              />
            )}
            {missing.length > 0 && <span class="quiet">Required: {missing.join(', ')}</span>}
            {hasNote && edited.isChanged && <NoteInput value={edited.note} onChange={edited.setNote} />}
            <Button
              kind="main"
              disabled={!canSave}
              onClick={() => {
                isPressed.current = true;
                void edited.save().then((isSaved) => report(isSaved, edited.document));
              }}
            >
              Save
            </Button>
          </>
        ) : (
          <MayNot scope={scope} what="save" />
        )
      }
    >
      {clash !== null && (
        <Conflict
          clash={clash}
          mine={edited.document}
          onTakeTheirs={onReload}
          onKeepMine={() => void resolve(edited.document).then((isSaved) => report(isSaved, edited.document))}
          onResolve={(document) => void resolve(document).then((isSaved) => report(isSaved, document))}
        />
      )}
      {trouble !== null && <RefusedChange trouble={trouble} />}
      {children(edited)}
      {isStored && versioned !== undefined && <VersionHistory {...versioned} onRestored={onReload} />}
    </Page>
  );
}

/** Kind of stored documents whose pages read, save and delete them by the operations of the kind. */
export interface EditedKind {
  readonly kind: VersionedNoun;
  /** Operation that reads a document. Default: `get` with the name of the kind. */
  readonly reads?: 'getSchedulePlan';
  /** Members of a response that are not part of the document. */
  readonly derived?: readonly string[];
  /** Members that the service requires and a form may remove. */
  readonly defaults?: JsonObject;
  /** True if a document contains its id. Otherwise the id is only in the address of a request. */
  readonly hasId?: boolean;
  /** Address of the page that lists the documents. */
  readonly list: string;
  formatAddress(id: string): string;
}

interface DocumentEditorProps {
  readonly of: EditedKind;
  /** Null for a new document. */
  readonly id: string | null;
  /** Creates a new document. */
  create(signal: AbortSignal): JsonObject | Promise<JsonObject>;
  /** Parameters of the address from which a new document is created. */
  readonly origin?: readonly (string | null)[];
  /** Returns what the page shows of a document. The default title is that of a new document. */
  children(opened: OpenedDocument): Partial<EditorProps> & Pick<EditorProps, 'above' | 'children'>;
}

/** Renders the page of a stored or new document in its editor. */
export function DocumentEditor({ of, id, create, origin = [], children }: DocumentEditorProps) {
  const { kind } = of;
  const { parameter } = createRoutes({ kind, id: id ?? '' });
  const opened = useResource(
    `document ${kind} ${id} ${origin.join()}`,
    async (signal) => (id === null ? { document: await create(signal), etag: null } : readDocument(of, id, signal)),
    { follows: false },
  );
  return (
    <Answered resource={opened} what={`the ${kind}`}>
      {(first) => (
        <Editor
          scope={getScope(kind)}
          title={`New ${kind}`}
          idMember={parameter}
          opened={first}
          versioned={id === null ? undefined : { kind, id }}
          reread={() => readDocument(of, id ?? '')}
          save={(document, write) => putDocument(of, document, write)}
          remove={() => deleteDocument(of, id ?? '')}
          onSaved={(document) => {
            navigate(of.formatAddress(String(document[parameter])));
            opened.reload();
          }}
          onRemoved={() => navigate(of.list)}
          onReload={opened.reload}
          {...children(first)}
        />
      )}
    </Answered>
  );
}

async function readDocument(
  { kind, reads, derived = [] }: EditedKind,
  id: string,
  signal?: AbortSignal,
): Promise<OpenedDocument> {
  const { routes, params } = createRoutes({ kind, id });
  const { answer, etag } = await service.value.callWithEtag((reads ?? `get${routes}`) as 'getIndex', {
    params,
    signal,
  });
  const members = Object.entries(answer as unknown as JsonObject); // the response is plain JSON
  return { document: Object.fromEntries(members.filter(([member]) => !derived.includes(member))), etag };
}

type IndexBody = Operations['putIndex']['request']['body'];

/** Writes a document. The service validates it. */
function putDocument({ kind, defaults, hasId = false }: EditedKind, document: JsonObject, write: WriteTerms) {
  const { parameter } = createRoutes({ kind, id: '' });
  const { [parameter]: id, ...others } = document;
  const { routes, params } = createRoutes({ kind, id: String(id) });
  const body = { ...defaults, ...(hasId ? document : others) } as unknown as IndexBody;
  return service.value.callWithEtag(`put${routes}` as 'putIndex', { params, body, ...write });
}

function deleteDocument({ kind }: EditedKind, id: string): Promise<unknown> {
  const { routes, params } = createRoutes({ kind, id });
  return service.value.call(`delete${routes}` as 'deleteIndex', { params });
}

/**
 * Renders the reason why a document was not saved. The element gets the focus, because the disabled save button lost
 * it.
 */
function RefusedChange({ trouble }: { readonly trouble: Trouble }) {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (isFocusLost()) frame.current?.focus();
  }, [trouble]);
  return (
    <div ref={frame} tabIndex={-1}>
      <Problem trouble={trouble} />
    </div>
  );
}

/** Returns the empty members of a document that must have a value: the id, the name and those in `required`. */
function listMissing(
  document: JsonObject,
  { idMember, required = [] }: Pick<EditorProps, 'idMember' | 'required'>,
): readonly string[] {
  const isEmpty = (member: string): boolean => {
    const value = document[member];
    return value === '' || (Array.isArray(value) && value.length === 0);
  };
  return [...(idMember !== undefined && isEmpty(idMember) ? ['id'] : []), ...['name', ...required].filter(isEmpty)];
}

interface EditorState {
  readonly edited: EditedDocument;
  readonly trouble: Trouble | null;
  /** Version that somebody else saved after the document was opened. */
  readonly clash: ConcurrentChange | null;
  /**
   * Saves the document over the version in `clash`, after the user has reviewed it.
   * @returns true if the document was stored
   */
  resolve(document: JsonObject): Promise<boolean>;
}

function useEdited({ opened, validate, save, reread, idMember }: EditorProps): EditorState {
  const [document, setDocument] = useState(opened.document);
  const [first, setFirst] = useState(opened);
  const [note, setNote] = useState('');
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [clash, setClash] = useState<ConcurrentChange | null>(null);
  const shownDocument = useRef(opened);
  const text = JSON.stringify(document);
  /** Text of the last save; null after the page has read the saved version. */
  const savedText = useRef<string | null>(null);
  // Loads another opened version into the form. Does nothing at the first render, because the user may edit the text
  // before the effect runs.
  useEffect(() => {
    if (shownDocument.current === opened) return;
    shownDocument.current = opened;
    setFirst(opened);
    const isEditedSinceSave = savedText.current !== null && savedText.current !== text;
    savedText.current = null;
    if (isEditedSinceSave) return; // the page read the version that it saved; the newer text is kept
    setDocument(opened.document);
    setTrouble(null);
    setClash(null);
  }, [opened]);
  const latestCheck = useOneAtATime(validate === undefined ? null : text, async () => validate?.(document) ?? []);
  const store = async (written: JsonObject, over: OpenedDocument) => {
    try {
      const { etag } = await save(written, { ifMatch: over.etag ?? undefined, note: note === '' ? undefined : note });
      setFirst({ document: written, etag });
      savedText.current = JSON.stringify(written);
      setNote('');
    } catch (thrown) {
      const newTrouble = createTrouble(thrown);
      if (newTrouble.code === 'PRECONDITION_FAILED') {
        const theirs = await reread().catch(() => null);
        if (theirs !== null) setClash({ base: over.document, theirs: theirs.document, etag: theirs.etag });
        else setTrouble(newTrouble);
      } else setTrouble(newTrouble);
      return false;
    }
    notifyChange();
    return true;
  };
  const editedDocument: EditedDocument = {
    document,
    findings: [...(latestCheck.data ?? []), ...(trouble?.findings ?? [])],
    isChanged: text !== JSON.stringify(first.document),
    set(next) {
      setTrouble(null);
      const isNew = opened.etag === null && idMember !== undefined;
      setDocument(isNew ? withDerivedId(document, next, idMember) : next);
    },
    note,
    setNote,
    save: () => store(document, first),
  };
  return {
    edited: editedDocument,
    trouble,
    clash,
    resolve: (written) => {
      const replacedDocument = clash === null ? first : { document: clash.theirs, etag: clash.etag };
      setClash(null);
      setFirst(replacedDocument);
      setDocument(written);
      return store(written, replacedDocument);
    },
  };
}
