/** Schema version of bodies that this release writes; a body with a higher version was written by a newer release. */
export const SCHEMA_VERSION = 1;
