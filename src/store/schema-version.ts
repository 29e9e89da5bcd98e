/** Schema version of bodies that this version writes; a higher one means a newer version. */
export const SCHEMA_VERSION = 1;
