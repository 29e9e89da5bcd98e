import type { ComponentChildren } from 'preact';
import { hasKey } from '../state/service.js';

interface GuideLinkProps {
  /** Name of a page of the guide. */
  readonly page: string;
  readonly children: ComponentChildren;
}

/** A link to the guide, which the browser opens by itself: where that needs a key, the words stand alone. */
export function GuideLink({ page, children }: GuideLinkProps) {
  return hasKey.value ? <span>{children}: in the guide</span> : <a href={`/docs/guide/${page}`}>{children}</a>;
}
