import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineRoutes } from './route.js';

export const CHANGELOG_HEADINGS = ['Added', 'Changed', 'Fixed', 'Removed', 'Deprecated', 'Security'] as const;

export const ChangelogSectionView = defineObject(() => ({
  heading: z.enum(CHANGELOG_HEADINGS),
  items: z.array(z.string()).meta({ description: 'Changes as Markdown, one per entry.' }),
})).meta({ id: 'ChangelogSectionView' });
export type ChangelogSectionView = z.infer<typeof ChangelogSectionView>;

export const ChangelogEntryView = defineObject(() => ({
  version: z.string().meta({ description: 'Version number, or Unreleased.' }),
  date: z.string().nullable().meta({ description: 'YYYY-MM-DD; null for Unreleased.' }),
  sections: z
    .array(ChangelogSectionView)
    .meta({ description: 'Sections of the release; empty for an empty Unreleased entry.' }),
})).meta({ id: 'ChangelogEntryView' });
export type ChangelogEntryView = z.infer<typeof ChangelogEntryView>;

export const ChangelogResponse = defineObject(() => ({
  version: z.string().meta({ description: 'The running engine version, as /health reports it.' }),
  entries: z.array(ChangelogEntryView).meta({ description: 'Newest first; releases without changes are omitted.' }),
})).meta({ id: 'ChangelogResponse' });
export type ChangelogResponse = z.infer<typeof ChangelogResponse>;

export const changelogRoutes = defineRoutes({
  getChangelog: {
    method: 'GET',
    path: '/changelog',
    scope: 'read',
    tag: 'service',
    summary: 'Returns the release notes, newest first.',
    query: defineObject(() => ({
      since: z.string().max(64).optional().meta({
        description: 'Semantic version. The response contains only later releases, and Unreleased.',
        example: '0.1.0',
      }),
    })),
    success: { status: 200, description: 'The releases and the running version.', schema: ChangelogResponse },
    errors: [],
  },
});
