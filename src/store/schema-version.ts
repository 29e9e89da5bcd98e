/** Schema version of each kind's body as this version writes it: a larger one is a newer version's. */
export const SCHEMA_VERSION = 1;
