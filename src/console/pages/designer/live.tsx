import { useState } from 'preact/hooks';
import type { Finding } from '#clients/typescript/divisor.js';
import { Choice } from '../../components/choice.js';
import { Earlier } from '../../components/earlier.js';
import { Findings } from '../../components/findings.js';
import { MissingData } from '../../components/missing-data.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { usePhone } from '../../components/use-phone.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime, type LatestRequest } from '../../state/one-at-a-time.js';
import { getParameter, setParameters } from '../../state/location.js';
import { NamesStore } from '../../state/names.js';
import { service } from '../../state/service.js';
import { findStore, useStores } from '../../state/stores.js';
import { countValues } from '../../words/numbers.js';
import { createBody, useWorkshop } from './draft.js';
import { Fold } from './fold.js';
import { JsonEditor } from './json-editor.js';
import { FoldedLevel, isListed, LevelView, useLevelSketch } from './level-view.js';
import { countHeld, Preview } from './preview.js';
import { WhatIf } from './what-if.js';

const VIEWS = [
  { value: 'preview', text: 'Preview' },
  { value: 'change', text: 'Change' },
  { value: 'level', text: 'Level' },
  { value: 'json', text: 'JSON' },
] as const;

interface LiveProps {
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
  /** Data store of the definition; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

/** Renders a live preview of the definition. Its dates and names are those of its data store. */
export function Live(props: LiveProps) {
  const stores = useStores();
  const { store } = props;
  const { start = null, end = null, name } = findStore(stores.data?.stores, store) ?? {};
  const isOneOfMany = (stores.data?.stores.length ?? 0) > 1;
  return (
    <NamesStore.Provider value={store ?? null}>
      <Views {...props} start={start} end={end} storeName={isOneOfMany ? name : undefined} />
    </NamesStore.Provider>
  );
}

interface ViewsProps extends LiveProps {
  /** First date of the store; the next field is its last date. */
  readonly start: string | null;
  readonly end: string | null;
  /** Name of the store if there are several; otherwise undefined. */
  readonly storeName: string | undefined;
}

function Views({ findings, isValid, store, start, end, storeName }: ViewsProps) {
  const { draft, isStored } = useWorkshop();
  const document = draft.document.value;
  const asOf = getParameter('on') ?? end;
  const isOverlay = document['overlay'] !== undefined;
  // An overlay has no selection. Only the level view shows what it does.
  const views = VIEWS.filter(({ value }) =>
    isOverlay ? value === 'level' || value === 'json' : value !== 'change' || isStored,
  );
  const [isFolded, setFolded] = useFold();
  const [first] = views;
  const view = views.find(({ value }) => value === getParameter('view'))?.value ?? first!.value;
  const canPreview = isValid && asOf !== null;
  const urgent = findings.filter(({ severity }) => severity !== 'info');
  const otherFindings = findings.filter(({ severity }) => severity === 'info');
  const isCurrent = !findings.some(({ severity }) => severity === 'error');
  // The service has neither accepted nor refused the draft.
  const isUnchecked = !isValid && isCurrent && asOf !== null;
  const text = JSON.stringify(document);
  const preview = useOneAtATime(canPreview && view === 'preview' ? `${asOf} ${text}` : null, () =>
    service.value.call('previewDocument', { body: { document: createBody(document), as_of: asOf } }),
  );
  const comparison = useOneAtATime(canPreview && view === 'change' && isStored ? `${asOf} ${text}` : null, () =>
    service.value.call('whatIf', {
      body: { index_id: String(document['id']), changed: createBody(document), as_of: asOf },
    }),
  );
  const level = useLevelSketch(canPreview && view === 'level' ? document : null);
  return (
    <aside class={isFolded ? 'designer-live is-folded' : 'designer-live'} aria-label="Preview">
      <div class="live-bar">
        <Choice
          label="View"
          options={views}
          value={view}
          onChoose={(chosen) => setParameters({ view: chosen === first?.value ? null : chosen })}
        />
        {isFolded && view === 'preview' && preview.data !== undefined && (
          <span class="quiet">{countValues(countHeld(preview.data), 'constituent')}</span>
        )}
        {isFolded && view === 'level' && <FoldedLevel sketch={level.data} />}
        <Fold isFolded={isFolded} onFold={setFolded} />
        {(view === 'preview' || view === 'change') && <DecisionDate asOf={asOf} start={start} end={end} />}
      </div>
      {storeName !== undefined && view !== 'json' && <p class="quiet">Data store: {storeName}</p>}
      {urgent.length > 0 && <Findings findings={urgent} shown={4} isOpenForm />}
      {asOf === null && view !== 'json' && store !== undefined && <MissingData store={store} />}
      {isUnchecked && view === 'preview' && preview.data === undefined && <Wait what="the preview" />}
      {view === 'preview' && (
        <Answer latest={preview} isCurrent={isCurrent} shown={urgent}>
          {(data) => <Preview preview={data} shown={findings} />}
        </Answer>
      )}
      {view === 'change' && (
        <Answer latest={comparison} isCurrent={isCurrent} shown={urgent}>
          {(data) => <WhatIf change={data} />}
        </Answer>
      )}
      {view === 'level' && <LevelView sketchedLevel={level} isUnchecked={isUnchecked} shown={urgent} />}
      {view === 'json' && <JsonEditor />}
      {otherFindings.length > 0 && <Findings findings={otherFindings} shown={4} isOpenForm />}
    </aside>
  );
}

/** Returns if the strip is folded, and folds it. On a phone, it would cover the form and is folded at first. */
function useFold(): readonly [boolean, (isFolded: boolean) => void] {
  const isPhone = usePhone();
  const [chosenFold, setFolded] = useState<boolean | null>(null);
  return [chosenFold ?? isPhone, setFolded];
}

interface DecisionDateProps extends Pick<ViewsProps, 'start' | 'end'> {
  readonly asOf: string | null;
}

function DecisionDate({ asOf, start, end }: DecisionDateProps) {
  if (asOf === null || start === null || end === null) return null;
  return (
    <label class="select">
      <span class="quiet">On</span>
      <DateInput
        label="Decision date"
        value={asOf}
        least={start}
        most={end}
        onChange={(on) => setParameters({ on: on === end ? null : on })}
      />
    </label>
  );
}

interface AnswerProps<T> {
  readonly latest: LatestRequest<T>;
  /** True if the draft is valid. If not, the displayed response belongs to an earlier draft. */
  readonly isCurrent: boolean;
  /** Findings that are already listed above the response. */
  readonly shown: readonly Finding[];
  readonly children: (data: T) => preact.ComponentChildren;
}

/** Renders the last response. It is marked while it belongs to an earlier draft. */
function Answer<T>({ latest: { data, trouble, isBehind }, isCurrent, shown, children }: AnswerProps<T>) {
  return (
    <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
      {isBehind && data === undefined && <Wait what="the preview" />}
      {trouble !== null &&
        (isListed(trouble, shown) ? (
          <p class="quiet">The findings above prevent a preview.</p>
        ) : (
          <Problem trouble={trouble} />
        ))}
      {data !== undefined && <Earlier isEarlier={!isCurrent}>{children(data)}</Earlier>}
    </div>
  );
}
