import type { ComponentType, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import type { JsonObject } from '../../words/paths.js';
import { Derivation } from './derivation.js';
import { useWorkshop } from './draft.js';
import { Overlay } from './overlay.js';
import { Changes, Identity, Precision, Schedule, Treatment, Universe } from './parts.js';
import { Selection } from './selection.js';
import { Weighting } from './weighting.js';

/** Title of a section in the navigation, and its form. */
type FormSection = readonly [title: string, Form: ComponentType];

const PIPELINE: readonly FormSection[] = [
  ['Universe', Universe],
  ['Selection', Selection],
  ['Weighting', Weighting],
  ['Rebalance', Schedule],
  ['Events', Treatment],
  ['Changes', Changes],
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
export function Forms({ document }: { readonly document: JsonObject }) {
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
      <nav class="designer-sections" aria-label="Sections of the definition">
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
