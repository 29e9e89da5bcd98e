import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useOneAtATime } from '../state/one-at-a-time.js';
import { may, type Scope } from '../state/principal.js';
import { notifyChange } from '../state/resource.js';
import { troubleOf, type Trouble } from '../state/service.js';
import type { JsonObject } from '../words/paths.js';
import { Button } from './button.js';
import { Conflict, type Clash } from './conflict/conflict.js';
import { Confirm } from './confirm.js';
import { isFocusLost, rescueFocus } from './focus.js';
import { MayNot } from './may-not.js';
import { NoteInput } from './note-input.js';
import { Page } from './page.js';
import { Problem } from './problem.js';
import type { Versioned } from './versions/families.js';
import { VersionHistory } from './versions/version-history.js';

/** A stored document with its etag, or a new one without. */
export interface Opened {
  readonly document: JsonObject;
  readonly etag: string | null;
}

/** Parameters of a write in addition to the document. */
export interface Write {
  /** ETag of the version to overwrite; undefined for a new document. */
  readonly ifMatch: string | undefined;
  /** Reason of the change. */
  readonly note: string | undefined;
}

/** A document while it is written. */
export interface Edited {
  readonly document: JsonObject;
  readonly findings: readonly Finding[];
  readonly isChanged: boolean;
  set(document: JsonObject): void;
  readonly note: string;
  setNote(note: string): void;
  /** @returns whether it is stored */
  save(): Promise<boolean>;
}

interface EditorProps {
  /** Scope of its writes. Default: `write`. */
  readonly scope?: Scope;
  readonly title: string;
  readonly subtitle?: string | undefined;
  readonly above: Parameters<typeof Page>[0]['above'];
  readonly opened: Opened;
  /** Checks a document with the service. Default: it is checked when it is saved. */
  readonly validate?: (document: JsonObject) => Promise<readonly Finding[]>;
  /** True if a document may be saved. Default: any without an error. */
  readonly isReady?: (document: JsonObject) => boolean;
  /** Member with the id, which is part of the address that the document is saved under. */
  readonly idMember?: string;
  /** False for a document whose rows have their reasons. Default: a version has one. */
  readonly hasNote?: boolean;
  /** Its versions. */
  readonly versioned?: Versioned | undefined;
  /** Reads the stored document, which is shown next to the draft if someone else changed it. */
  readonly reread: () => Promise<Opened>;
  /** @returns the etag of what is stored then */
  readonly save: (document: JsonObject, version: Write) => Promise<{ readonly etag: string | null }>;
  readonly remove?: () => Promise<unknown>;
  readonly actions?: (edited: Edited) => ComponentChildren;
  readonly onSaved: (document: JsonObject) => void;
  readonly onRemoved?: () => void;
  readonly onReload: () => void;
  readonly children: (edited: Edited) => ComponentChildren;
}

/** Renders a document in forms: checked while it is written, saved only over the version that was opened. */
export function Editor(props: EditorProps) {
  const { title, above, opened, actions, remove, versioned, onReload, children, scope = 'write' } = props;
  const { isReady = () => true, hasNote = true } = props;
  const { edited, trouble, clash, resolve } = useEdited(props);
  const isStored = opened.etag !== null;
  const isWrong = edited.findings.some(({ severity }) => severity === 'error');
  const report = (isSaved: boolean, document: JsonObject) => isSaved && props.onSaved(document);
  const canSave = !isWrong && (!isStored || edited.isChanged) && isReady(edited.document);
  // The pressed button is disabled until the next change, which takes its focus.
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
      actions={
        may(scope) ? (
          <>
            {actions?.(edited)}
            {isStored && remove !== undefined && <Remove {...props} remove={remove} />}
            {hasNote && <NoteInput value={edited.note} onChange={edited.setNote} />}
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
      {trouble !== null && <Refused trouble={trouble} />}
      {children(edited)}
      {isStored && versioned !== undefined && <VersionHistory {...versioned} onRestored={onReload} />}
    </Page>
  );
}

/** Renders why a document was not saved. It takes the focus that the button loses when it is disabled. */
function Refused({ trouble }: { readonly trouble: Trouble }) {
  const own = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (isFocusLost()) own.current?.focus();
  }, [trouble]);
  return (
    <div ref={own} tabIndex={-1}>
      <Problem trouble={trouble} />
    </div>
  );
}

/** Describes a document without an id, for which the service has no address. */
function missingId(path: string): Trouble {
  const message = 'An id is required.';
  const finding: Finding = { severity: 'error', code: 'REQUIRED', path, message };
  return { ...troubleOf(new Error(message)), findings: [finding] };
}

interface Editing {
  readonly edited: Edited;
  readonly trouble: Trouble | null;
  /** The version that someone else saved after the document was opened. */
  readonly clash: Clash | null;
  /** Saves over that version after it was reviewed. @returns true if it was stored */
  resolve(document: JsonObject): Promise<boolean>;
}

function useEdited({ opened, validate, idMember, save, reread }: EditorProps): Editing {
  const [document, setDocument] = useState(opened.document);
  const [first, setFirst] = useState(opened);
  const [note, setNote] = useState('');
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [clash, setClash] = useState<Clash | null>(null);
  const shown = useRef(opened);
  const text = JSON.stringify(document);
  /** Text of the last save until the page has read it again. */
  const saved = useRef<string | null>(null);
  // Another version was opened. Skipped at first, because the text may be edited before the effect runs.
  useEffect(() => {
    if (shown.current === opened) return;
    shown.current = opened;
    setFirst(opened);
    const isEditedSinceSave = saved.current !== null && saved.current !== text;
    saved.current = null;
    if (isEditedSinceSave) return; // The page read its own save: the newer text stays.
    setDocument(opened.document);
    setTrouble(null);
    setClash(null);
  }, [opened]);
  const checked = useOneAtATime(validate === undefined ? null : text, async () => validate?.(document) ?? []);
  const store = async (written: JsonObject, over: Opened) => {
    if (idMember !== undefined && (written[idMember] ?? '') === '') {
      setTrouble(missingId(idMember));
      return false;
    }
    try {
      const { etag } = await save(written, { ifMatch: over.etag ?? undefined, note: note === '' ? undefined : note });
      setFirst({ document: written, etag });
      saved.current = JSON.stringify(written);
      setNote('');
    } catch (thrown) {
      const told = troubleOf(thrown);
      if (told.code === 'PRECONDITION_FAILED') {
        const theirs = await reread().catch(() => null);
        if (theirs !== null) setClash({ base: over.document, theirs: theirs.document, etag: theirs.etag });
        else setTrouble(told);
      } else setTrouble(told);
      return false;
    }
    notifyChange();
    return true;
  };
  const edited: Edited = {
    document,
    findings: [...(checked.data ?? []), ...(trouble?.findings ?? [])],
    isChanged: text !== JSON.stringify(first.document),
    set(next) {
      setTrouble(null);
      setDocument(next);
    },
    note,
    setNote,
    save: () => store(document, first),
  };
  return {
    edited,
    trouble,
    clash,
    resolve: (written) => {
      const over = clash === null ? first : { document: clash.theirs, etag: clash.etag };
      setClash(null);
      setFirst(over);
      setDocument(written);
      return store(written, over);
    },
  };
}

function Remove({
  title,
  remove,
  onRemoved,
}: Pick<EditorProps, 'title' | 'onRemoved'> & Required<Pick<EditorProps, 'remove'>>) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Delete
      </Button>
      {isAsking && (
        <Confirm
          title={`Delete ${title}?`}
          action="Delete"
          onConfirm={() => void remove().then(notifyChange).then(onRemoved)}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
