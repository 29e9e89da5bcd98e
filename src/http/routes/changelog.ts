import type { changelogRoutes } from '#contract/changelog.js';
import type { Changelog } from '#services/operations/changelog.js';
import type { Handlers } from '../handler.js';

export function createChangelogHandlers(changelog: Changelog): Handlers<typeof changelogRoutes> {
  return {
    getChangelog: ({ query }) => ({ json: changelog.read(query.since) }),
  };
}
