import type { ChangelogEntryView, ChangelogResponse, ChangelogSectionView } from '#contract/changelog.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { compareVersions, parseVersion } from '#base/text/version.js';

export interface Changelog {
  /**
   * Returns the releases of the changelog. @param since returns only releases after this version. @throws Refusal
   * VALIDATION_FAILED if `since` is not a version
   */
  read(since: string | undefined): ChangelogResponse;
}

export interface ChangelogDependencies {
  /** Text of the changelog in Markdown, with the headings of Keep a Changelog. */
  readonly text: string;
  /** The running engine version. */
  readonly version: string;
}

const UNRELEASED = 'Unreleased';

export function createChangelog({ text, version }: ChangelogDependencies): Changelog {
  const entries = parseChangelog(text).filter((entry) => entry.version === UNRELEASED || entry.sections.length > 0);
  return {
    read(sinceText) {
      if (sinceText === undefined) return { version, entries };
      const floor = parseVersion(sinceText);
      if (floor === undefined) {
        const message = `since must be a semantic version such as ${version}, not ${JSON.stringify(sinceText)}.`;
        throw refuseWithFindings('query', [
          { severity: 'error', code: 'WRONG_TYPE', message, path: 'since', value: sinceText },
        ]);
      }
      const isLater = (entry: ChangelogEntryView) => {
        const release = parseVersion(entry.version);
        return release === undefined || compareVersions(release, floor) > 0;
      };
      return { version, entries: entries.filter(isLater) };
    },
  };
}

type Heading = ChangelogSectionView['heading'];
const HEADINGS: Record<Heading, true> = {
  Added: true,
  Changed: true,
  Fixed: true,
  Removed: true,
  Deprecated: true,
  Security: true,
};
const isHeading = (text: string): text is Heading => Object.hasOwn(HEADINGS, text);

const RELEASE = /^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?/;
const SECTION = /^### (\w+)/;
const ITEM = /^[-*] (.*)$/;
const CONTINUATION = /^\s+\S/;

/**
 * Returns the entries in the order of the file, newest first. A section is left out if it has no items or another
 * heading.
 */
export function parseChangelog(text: string): ChangelogEntryView[] {
  const entries: { version: string; date: string | null; sections: { heading: string; items: string[] }[] }[] = [];
  for (const line of text.split('\n')) {
    const release = RELEASE.exec(line);
    const heading = SECTION.exec(line)?.[1];
    const item = ITEM.exec(line)?.[1];
    const items = entries.at(-1)?.sections.at(-1)?.items;
    if (release !== null) entries.push({ version: release[1]!, date: release[2] ?? null, sections: [] });
    else if (heading !== undefined) entries.at(-1)?.sections.push({ heading, items: [] });
    else if (item !== undefined) items?.push(item.trim());
    else if (items !== undefined && items.length > 0 && CONTINUATION.test(line))
      items.push(`${items.pop()} ${line.trim()}`);
  }
  return entries.map(({ sections, ...entry }) => ({ ...entry, sections: sections.flatMap(toSection) }));
}

function toSection({ heading, items }: { readonly heading: string; readonly items: string[] }): ChangelogSectionView[] {
  return isHeading(heading) && items.length > 0 ? [{ heading, items }] : [];
}
