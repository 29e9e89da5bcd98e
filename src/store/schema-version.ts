/** Schema version of bodies that this release writes. A newer release wrote a body with a higher version. */
export const SCHEMA_VERSION = 1;
