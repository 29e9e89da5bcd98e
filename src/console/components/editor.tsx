import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useOneAtATime } from '../state/one-at-a-time.js';
import { may } from '../state/principal.js';
import { changed } from '../state/resource.js';
import { troubleOf, type Trouble } from '../state/service.js';
import type { JsonObject } from '../words/paths.js';
import { Banner } from './banner.js';
import { Button } from './button.js';
import { Confirm } from './confirm.js';
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

/** What a write says besides the document. */
export interface Write {
  /** Of the version that is written over; undefined for a new document. */
  readonly ifMatch: string | undefined;
  /** Why it is written. */
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
  readonly title: string;
  readonly above: Parameters<typeof Page>[0]['above'];
  readonly opened: Opened;
  /** What the service says of a document; without it that is said when it is saved. */
  readonly validate?: (document: JsonObject) => Promise<readonly Finding[]>;
  /** Its versions. */
  readonly versioned?: Versioned | undefined;
  /** @returns the etag of what is stored then */
  readonly save: (document: JsonObject, version: Write) => Promise<{ readonly etag: string | null }>;
  readonly remove?: () => Promise<unknown>;
  readonly actions?: (edited: Edited) => ComponentChildren;
  readonly onSaved: (document: JsonObject) => void;
  readonly onRemoved?: () => void;
  readonly onReload: () => void;
  readonly children: (edited: Edited) => ComponentChildren;
}

/** A document in forms: checked while it is written, saved only over the version that was opened. */
export function Editor(props: EditorProps) {
  const { title, above, opened, actions, remove, versioned, onReload, children } = props;
  const { edited, trouble } = useEdited(props);
  const isStored = opened.etag !== null;
  const isWrong = edited.findings.some(({ severity }) => severity === 'error');
  const isClash = trouble?.code === 'PRECONDITION_FAILED';
  return (
    <Page
      title={title}
      above={above ?? []}
      actions={
        may('write') ? (
          <>
            {actions?.(edited)}
            {isStored && remove !== undefined && <Remove {...props} remove={remove} />}
            <NoteInput value={edited.note} onChange={edited.setNote} />
            <Button
              kind="main"
              disabled={isWrong || (isStored && !edited.isChanged)}
              onClick={() => void edited.save().then((isSaved) => isSaved && props.onSaved(edited.document))}
            >
              Save
            </Button>
          </>
        ) : (
          <MayNot scope="write" what="save" />
        )
      }
    >
      {isClash && (
        <Banner
          kind="warning"
          title="Another version was saved since you opened this one. Nothing is saved yet."
          action={<Button onClick={onReload}>Take theirs</Button>}
        />
      )}
      {trouble !== null && !isClash && trouble.findings.length === 0 && <Problem trouble={trouble} />}
      {children(edited)}
      {isStored && versioned !== undefined && <VersionHistory {...versioned} onRestored={onReload} />}
    </Page>
  );
}

function useEdited({ opened, validate, save }: EditorProps): {
  readonly edited: Edited;
  readonly trouble: Trouble | null;
} {
  const [document, setDocument] = useState(opened.document);
  const [first, setFirst] = useState(opened);
  const [note, setNote] = useState('');
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const shown = useRef(opened);
  // Another version was opened; not at the beginning, when somebody may have typed before the effect.
  useEffect(() => {
    if (shown.current === opened) return;
    shown.current = opened;
    setDocument(opened.document);
    setFirst(opened);
    setTrouble(null);
  }, [opened]);
  const text = JSON.stringify(document);
  const checked = useOneAtATime(validate === undefined ? null : text, async () => validate?.(document) ?? []);
  const store = async () => {
    try {
      const { etag } = await save(document, {
        ifMatch: first.etag ?? undefined,
        note: note === '' ? undefined : note,
      });
      setFirst({ document, etag });
      setNote('');
    } catch (thrown) {
      setTrouble(troubleOf(thrown));
      return false;
    }
    changed();
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
    save: store,
  };
  return { edited, trouble };
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
          onConfirm={() => void remove().then(changed).then(onRemoved)}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
